"""A launch whose clusters do not fit: the grid is no multiple of them, or they have more blocks than a device takes.

## Why

The blocks of a grid are handed out in clusters. A grid that is not divisible by the cluster in each dimension does not
launch, and only a checked return value shows it. Clusters of up to 8 blocks run on every device that has them; up to
16 a device may take where the kernel has the attribute `cudaFuncAttributeNonPortableClusterSizeAllowed`.

## Example

```cuda
__global__ void __cluster_dims__(4, 1, 1) k(float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
}
void host(float* out) {
  k<<<10, 128>>>(out);
}
```

## Use instead

```cuda
__global__ void __cluster_dims__(4, 1, 1) k(float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
}
void host(float* out) {
  k<<<12, 128>>>(out);
}
```

## Fix

No quick fix. Round the grid up to a multiple of the cluster, and let the blocks behind the end return; or launch
clusters of 8 blocks or fewer, or set the attribute.

## Limits

Clusters by `__cluster_dims__`, or by an attribute of `cudaLaunchKernelEx` that is set in the same function, outside
branches and loops. A cluster of more than 8 blocks is an error when every use of the kernel's name is in sight and
nothing there sets the attribute, else a hint: another file may set it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from smem_lsp.ir.nodes import Dims
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Note, Severity, kernel_rule
from smem_lsp.rules.words import LaunchPlace

_PORTABLE, _MOST = 8, 16  # blocks of a cluster


@kernel_rule("SMEM507", "cluster-launch", Severity.ERROR)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    for site in kernel.launches:
        cluster = site.cluster or kernel.cluster
        if cluster is None:
            continue
        blocks, severity = prod(cluster), Severity.ERROR
        if blocks > _MOST:
            message = f"clusters of {blocks} blocks: no device takes more than {_MOST}"
        elif site.grid is not None and any(many % each for many, each in zip(site.grid, cluster)):
            message = (
                f"a grid of {_words(site.grid)} blocks is not divisible by clusters of {_words(cluster)}"
            )
        elif blocks > _PORTABLE and not kernel.non_portable:
            message = (
                f"clusters of {blocks} blocks: more than {_PORTABLE} need the attribute "
                "cudaFuncAttributeNonPortableClusterSizeAllowed of the kernel"
            )
            severity = Severity.ERROR if kernel.internal else Severity.HINT
        else:
            continue
        yield Finding(
            "SMEM507",
            message,
            LaunchPlace.of(kernel, site),
            severity,
            kernel=kernel.name,
            related=(Note(kernel.name_at, f"`{kernel.name}`"),),
            data={"cluster_blocks": blocks, "grid_blocks": None if site.grid is None else prod(site.grid)},
        )


def _words(dims: Dims) -> str:
    return " × ".join(f"{each:,}" for each in dims)
