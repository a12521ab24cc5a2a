"""Shared memory is read before anybody can have written it.

## Why

Shared memory starts with whatever the last block left there; it is not zero. A read that no write precedes, on any
path, gives garbage that differs from run to run.

## Example

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float sum[8];
  if (threadIdx.x < 8) sum[threadIdx.x] += in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = sum[threadIdx.x & 7];
}
```

## Use instead

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float sum[8];
  if (threadIdx.x < 8) sum[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = sum[threadIdx.x & 7];
}
```

## Fix

No quick fix: only the author knows the first value. Write every element that is read before the barrier in front of
the read, by the threads that there are: `for (int i = threadIdx.x; i < n; i += blockDim.x) sum[i] = 0;`.

## Limits

One finding for each buffer, and only when nothing at all writes any of it before: not on another path, not in an
earlier iteration of a loop around it, not in the other arm of a branch. A buffer that is written in part counts as
written.
Nothing is said of buffers that are handed to functions that are not in sight, of structs, and of atomic updates.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Access, walk
from smem_lsp.rules import racing
from smem_lsp.rules.elements import named
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Note, Severity, Stand, kernel_rule
from smem_lsp.rules.places import where
from smem_lsp.rules.words import said
from smem_lsp.source import checkpoint


@kernel_rule("SMEM103", "uninitialized-read", Severity.ERROR, portable=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    if not racing.followed(facts) or facts.kernel.open(Opens.ANYTHING):
        return
    if not facts.unwritten:
        return
    accesses = [node for node in walk(facts.kernel.body) if isinstance(node, Access)]
    for access in accesses:
        checkpoint()
        if access.point not in facts.unwritten:
            continue
        buffer = facts.kernel.buffers[access.buffer]
        name = named(facts, [buffer])
        later = next((a for a in accesses if a.buffer == access.buffer and a.kind.writes), None)
        if later is None or later.point == access.point:
            message = name + " is read, and nothing in the kernel has written it"
        else:
            before = " is read before anything writes it; the first write is at line "
            message = said(name, before, later.line)
        related: list[Note[Stand]] = [
            Note(buffer.declared, "declared here: shared memory is not zero at first")
        ]
        if later is not None and later.point != access.point:
            related.append(Note(where(facts, later), "first written here"))
        yield Finding(
            "SMEM103",
            message,
            where(facts, access),
            Severity.ERROR,
            kernel=facts.kernel.name,
            buffers=(buffer.name,),
            related=tuple(related),
        )
