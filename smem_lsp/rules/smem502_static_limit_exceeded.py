"""Over 48 KiB of static shared memory: ptxas will refuse the kernel.

## Why

Every target caps static shared memory at 49,152 bytes; more is only possible as dynamic shared memory with
`cudaFuncAttributeMaxDynamicSharedMemorySize`. The front end of nvcc does not notice: the error comes from ptxas, late.

## Example

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float a[14000];
  int tid = threadIdx.x;
  for (int i = tid; i < 14000; i += 256) a[i] = in[i];
  __syncthreads();
  out[tid] = a[13999 - tid];
}
```

## Use instead

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float a[12000];
  int tid = threadIdx.x;
  for (int i = tid; i < 12000; i += 256) a[i] = in[i];
  __syncthreads();
  out[tid] = a[11999 - tid];
}
```

## Fix

The quick fix declares the buffers in dynamic shared memory, lets every launch in the file pass the bytes, and opts in
to them before. It is unsafe, because host code changes with it, and it is shown only where no launch is in the file,
or one in another file or of a form that it does not edit. Where a merge (SMEM301) brings the kernel under the limit,
that is offered instead.

## Limits

Arrays that nobody reads do not count: ptxas drops them. Where no merge is enough, a fix declares the buffers in dynamic
shared memory and lets every launch in the file pass the bytes, after it has opted in to them; never for templates.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, MoveToDynamic, Note, Severity, kernel_rule


@kernel_rule("SMEM502", "static-limit-exceeded", Severity.ERROR)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    if facts.declared is None or not facts.kernel.complete:
        return
    total = facts.total(facts.declared.bytes)
    if total <= facts.static_limit:
        return
    over = total - facts.static_limit
    buffers = [facts.kernel.buffers[item.index] for item in facts.items]
    yield Finding(
        "SMEM502",
        f"{total:,} B of static shared memory, {over:,} B over the {facts.static_limit:,} B that ptxas accepts",
        facts.kernel.name_at,
        Severity.ERROR,
        kernel=facts.kernel.name,
        buffers=tuple(b.name for b in buffers),
        related=tuple(Note(b.declared, f"`{b.name}`: {b.bytes:,} B") for b in buffers),
        data={"bytes": total, "limit": facts.static_limit, "bytes_over": over},
        remedy=_remedy(facts),
    )


def _remedy(facts: KernelFacts) -> MoveToDynamic | None:
    """Where no merge brings the kernel under the limit."""
    if not facts.best or facts.withheld:
        return None
    least = min(facts.total(candidate.plan.bytes) for candidate in facts.best)
    return None if least <= facts.static_limit else MoveToDynamic(facts.index)
