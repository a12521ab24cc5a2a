"""More shared memory than a block can get on a target, even after opting in.

## Why

`cudaFuncAttributeMaxDynamicSharedMemorySize` raises the limit of a block to what the device offers: 163 KiB on sm_80,
99 KiB on sm_86, 89 and 120, 227 KiB on sm_90 and 100. Beyond it the attribute call or the launch fails.

## Example

```cuda
__global__ void k(const float* in, float* out) {
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < 60000; i += 256) s[i] = in[i];
  __syncthreads();
  out[threadIdx.x] = s[59999 - threadIdx.x];
}
void host(const float* in, float* out) {
  cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 240000);
  k<<<1, 256, 240000>>>(in, out);
}
```

## Use instead

```cuda
__global__ void k(const float* in, float* out) {
  extern __shared__ float s[];
  for (int i = threadIdx.x; i < 40000; i += 256) s[i] = in[i];
  __syncthreads();
  out[threadIdx.x] = s[39999 - threadIdx.x];
}
void host(const float* in, float* out) {
  cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 160000);
  k<<<1, 256, 160000>>>(in, out);
}
```

## Fix

No quick fix. `smem-lsp fit FILE:KERNEL --vary NAME=RANGE` says which tile sizes fit; a merge (SMEM301) may give the
bytes back.

## Limits

Targets that are configured, or that the file is compiled for; without any only what exceeds every target. Static bytes
have to be known, dynamic ones a constant at a launch in sight. A size that is negative there, or that overflows its
type, is over every limit, unless host code may have asked for it before: a size function may return -1 for what does
not fit.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.ir.nodes import ImpossibleSize
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Note, Severity, kernel_rule
from smem_lsp.rules.words import LaunchPlace
from smem_lsp.targets import TARGETS, target


@kernel_rule("SMEM503", "device-limit-exceeded", Severity.ERROR)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    static = facts.static_bytes
    if static is None:
        return
    for site in facts.kernel.launches:
        wanted = site.dynamic_bytes if site.impossible is None else site.impossible.bytes
        if not wanted:
            continue
        total = static + wanted
        limits = {name: target(name).shared_per_block_opt_in for name in facts.targets}
        exceeded = {name: limit for name, limit in limits.items() if total > limit or wanted < 0}
        if not facts.configured:
            most = max(gpu.shared_per_block_opt_in for gpu in TARGETS.values())
            exceeded = {"every target": most} if total > most or wanted < 0 else {}
        for name, limit in exceeded.items():
            yield Finding(
                "SMEM503",
                f"{_words(static, wanted, site.impossible, limit)} the {limit:,} B that a block can get on {name}",
                facts.kernel.name_at,
                Severity.ERROR,
                kernel=facts.kernel.name,
                related=(Note(LaunchPlace.of(facts.kernel, site), f"launched here with {wanted:,} B"),),
                data={"arch": name, "bytes": total, "limit": limit, "bytes_over": total - limit},
            )
            return


def _words(static: int, wanted: int, impossible: ImpossibleSize | None, limit: int) -> str:
    if impossible is not None and impossible.overflow:
        return f"{impossible.overflow} in the dynamic shared memory that a launch asks for: it is {wanted:,}, far over"
    if wanted < 0:
        return f"{wanted:,} B of dynamic shared memory at a launch, where a size has no sign: it is far over"
    return f"{static:,} B static and {wanted:,} B dynamic shared memory: {static + wanted - limit:,} B over"
