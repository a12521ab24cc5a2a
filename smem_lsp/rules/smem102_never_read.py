"""A shared buffer is written and never read.

## Why

ptxas drops the array and the stores to it; the loads and arithmetic that fill it may remain. Most often a read was
forgotten, or the buffer is left over from an earlier version.

## Example

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float copy[256];
  copy[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = in[threadIdx.x];
}
```

## Use instead

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float copy[256];
  copy[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = copy[255 - threadIdx.x];
}
```

## Fix

No quick fix: a forgotten read and a buffer that is left over look alike. Read the buffer, or delete it and the stores
to it.

## Limits

Silent for `volatile` buffers, for buffers whose address is taken, when an inactive `#if` branch names the buffer, and
when part of the kernel was not understood. Atomic operations count as reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Access, walk
from smem_lsp.rules.buffers import accessed, inactive_names
from smem_lsp.rules.elements import named
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Note, Severity, kernel_rule
from smem_lsp.source import checkpoint


@kernel_rule("SMEM102", "never-read", Severity.WARNING, portable=True, unanimous=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    if not kernel.complete or facts.withheld or kernel.open(Opens.ANYTHING | Opens.UNDECLARED):
        return
    accesses = [node for node in walk(kernel.body) if isinstance(node, Access)]
    read = {node.buffer for node in accesses if node.kind.reads}
    used, inactive = accessed(facts), inactive_names(facts)
    for buffer in kernel.buffers:
        checkpoint()
        if buffer.index in read or buffer.index not in used or buffer.fixed is not None:
            continue
        if buffer.stays or buffer.name in inactive:
            continue
        writes = [node for node in accesses if node.buffer == buffer.index]
        notes = tuple(Note(node.span, "written here") for node in writes[:3] if node.span is not None)
        yield Finding(
            "SMEM102",
            named(facts, [buffer]) + " is written and never read",
            buffer.declared,
            Severity.WARNING,
            kernel=kernel.name,
            buffers=(buffer.name,),
            related=notes,
            data={"bytes": buffer.bytes},
        )
