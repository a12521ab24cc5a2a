"""A launch passes fewer dynamic bytes than the kernel uses, or more than it may without opting in.

## Why

The third launch argument is the size of `extern __shared__` memory. Too few bytes: the kernel reads and writes past the
end. Static and dynamic bytes together over 48 KiB: the launch fails, unless the host has raised
`cudaFuncAttributeMaxDynamicSharedMemorySize` for this kernel.

## Example

```cuda
__global__ void k(const float* in, float* out) {
  extern __shared__ float s[];
  s[threadIdx.x] = in[threadIdx.x];
  s[threadIdx.x + 256] = in[threadIdx.x + 256];
  __syncthreads();
  out[threadIdx.x] = s[511 - threadIdx.x];
}
void host(const float* in, float* out) {
  k<<<1, 256, 256 * sizeof(float)>>>(in, out);
}
```

## Use instead

```cuda
__global__ void k(const float* in, float* out) {
  extern __shared__ float s[];
  s[threadIdx.x] = in[threadIdx.x];
  s[threadIdx.x + 256] = in[threadIdx.x + 256];
  __syncthreads();
  out[threadIdx.x] = s[511 - threadIdx.x];
}
void host(const float* in, float* out) {
  k<<<1, 256, 512 * sizeof(float)>>>(in, out);
}
```

## Fix

No quick fix. Pass the bytes that the message names, or call `cudaFuncSetAttribute(k,
cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)` before the launch.

## Limits

Launches in the same file whose block and bytes are constants. What the kernel uses counts as far as every run does it:
no index that depends on data, nothing behind a condition on anything but the thread. Where every launch passes what the
ranges of the kernel take together, and one of them lies past its end, the offset is wrong: that is SMEM402's. Without
the attribute the finding is an error when every use of the kernel's name is in sight, else a hint: another file may set
it.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.ir.nodes import Access, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.ground import dims_words
from smem_lsp.rules.launch_bytes import highest_used, is_misplaced
from smem_lsp.rules.model import Finding, KernelFinding, Note, Severity, kernel_rule
from smem_lsp.rules.words import LaunchPlace, said
from smem_lsp.targets.every import STATIC_LIMIT


@kernel_rule("SMEM504", "launch-size-mismatch", Severity.ERROR)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    static = facts.static_bytes
    lines = {node.point: node.line for node in walk(kernel.body) if isinstance(node, Access)}
    for site in kernel.launches:
        passed = site.dynamic_bytes
        if passed is None:
            continue
        used = highest_used(facts, site)
        if site.block is not None and used is not None and used.end > passed:
            if is_misplaced(facts, used):
                continue
            yield Finding(
                "SMEM504",
                said(
                    *(
                        f"{passed:,} B of dynamic shared memory at the launch, but line ",
                        lines[used.access],
                    ),
                    f" of the kernel uses {used.end:,} B with the {dims_words(site.block)} block of ",
                    LaunchPlace.of(kernel, site),
                ),
                LaunchPlace.of(kernel, site),
                Severity.ERROR,
                kernel=kernel.name,
                related=(Note(kernel.name_at, f"`{kernel.name}`"),),
                data={"bytes_passed": passed, "bytes_used": used.end, "threads": site.threads},
            )
        elif passed and static is not None and static + passed > STATIC_LIMIT and not kernel.may_opt_in:
            yield Finding(
                "SMEM504",
                f"{static + passed:,} B of shared memory ({static:,} static + {passed:,} dynamic) are over the "
                f"{STATIC_LIMIT:,} B that a launch gets without cudaFuncAttributeMaxDynamicSharedMemorySize",
                LaunchPlace.of(kernel, site),
                Severity.ERROR if kernel.internal else Severity.HINT,
                kernel=kernel.name,
                related=(Note(kernel.name_at, f"`{kernel.name}`"),),
                data={
                    "bytes": static + passed,
                    "limit": STATIC_LIMIT,
                    "bytes_over": static + passed - STATIC_LIMIT,
                },
            )
