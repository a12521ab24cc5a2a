"""The tail of a buffer is never touched: it is declared larger than the kernel needs.

## Why

ptxas gives an array all its bytes once one element is used. Rows that no thread of any launch can reach cost shared
memory and, with it, resident blocks.

## Example

```cuda
__global__ void __launch_bounds__(128) k(const float* in, float* out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  __syncthreads();
  out[tid] = s[127 - tid];
}
```

## Use instead

```cuda
__global__ void __launch_bounds__(128) k(const float* in, float* out) {
  __shared__ float s[128];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  __syncthreads();
  out[tid] = s[127 - tid];
}
```

## Fix

No quick fix: the size may be meant for a kernel to come. Declare the extent that the message names as used.

## Limits

Only the outermost dimension counts, from 128 bytes on: inner ones are pitch and padding (`tile[32][33]`). Every access
has to be known, with bounds that hold for every block that can be launched: from `__launch_bounds__`, loop conditions,
`%`, `&` and the like. Of a template it has to hold in every instance in sight. Silent beside `#if` in the kernel:
another configuration may use the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.facts.layouts import WORTH_SAYING
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import AddressSpace
from smem_lsp.rules.elements import named
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Severity, kernel_rule


@kernel_rule("SMEM104", "oversized-buffer", Severity.INFO, portable=True, unanimous=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    if (
        not kernel.complete
        or facts.withheld
        or kernel.open(Opens.ANYTHING | Opens.UNDECLARED)
        or kernel.more_instances
        or kernel.conditional
    ):
        return
    for buffer in kernel.buffers:
        extent = facts.extents.get(buffer.index)
        if extent is None or buffer.space is not AddressSpace.STATIC or buffer.function != kernel.name:
            continue
        rows = buffer.dims[0] if buffer.dims else None
        if rows is None or not buffer.bytes or buffer.bytes % rows:
            continue
        row = buffer.bytes // rows
        used = -(-extent[1] // row)
        unused = buffer.bytes - used * row
        if extent[0] < 0 or used < 1 or unused < WORTH_SAYING:
            continue
        yield Finding(
            "SMEM104",
            named(facts, [buffer])
            + f" is used up to index {used - 1} of {rows}: {unused:,} of its {buffer.bytes:,} B are never touched",
            buffer.declared,
            Severity.INFO,
            kernel=kernel.name,
            buffers=(buffer.name,),
            data={"bytes": buffer.bytes, "bytes_unused": unused, "extent": rows, "extent_used": used},
        )
