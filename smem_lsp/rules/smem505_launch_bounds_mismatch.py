"""A launch has more threads per block than the kernel allows, or than any block can have.

## Why

`__launch_bounds__(256)` lets ptxas use as many registers as 256 threads can share. A launch with more threads fails,
and only a checked return value shows it.

## Example

```cuda
__global__ void __launch_bounds__(256) k(float* out) {
  __shared__ float s[512];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
void host(float* out) {
  k<<<1, 512>>>(out);
}
```

## Use instead

```cuda
__global__ void __launch_bounds__(512) k(float* out) {
  __shared__ float s[512];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
void host(float* out) {
  k<<<1, 512>>>(out);
}
```

## Fix

No quick fix. Launch no more threads than the bounds allow, or raise the bounds and look at the registers that are
left.

## Limits

Launches in the same file whose block is a constant.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Note, Severity, kernel_rule
from smem_lsp.rules.words import LaunchPlace
from smem_lsp.targets.every import MAX_THREADS


@kernel_rule("SMEM505", "launch-bounds-mismatch", Severity.WARNING)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    bounds = kernel.launch_bounds
    for site in kernel.launches:
        if site.threads is None:
            continue
        if site.threads > MAX_THREADS:
            message = f"a block of {site.threads:,} threads: no device runs more than {MAX_THREADS:,}"
        elif bounds is not None and site.threads > bounds[0]:
            message = f"{site.threads} threads at the launch, but `__launch_bounds__({bounds[0]})`: the launch fails"
        else:
            continue
        yield Finding(
            "SMEM505",
            message,
            LaunchPlace.of(kernel, site),
            Severity.WARNING,
            kernel=kernel.name,
            related=(Note(kernel.name_at, f"`{kernel.name}`"),),
            data={
                "threads": site.threads,
                "limit": min(MAX_THREADS, bounds[0]) if bounds is not None else MAX_THREADS,
            },
        )
