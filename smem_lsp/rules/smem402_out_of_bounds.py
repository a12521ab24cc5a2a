"""An index provably leaves the whole shared object.

## Why

Shared memory has no guard pages: what is written behind an array lands in the next one, or in nothing, and reads give
whatever stands there. The compiler warns of constant indices at best.

## Example

```cuda
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid + 1] = in[tid];
  __syncthreads();
  out[tid] = s[255 - tid];
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Use instead

```cuda
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float s[257];
  int tid = threadIdx.x;
  s[tid + 1] = in[tid];
  __syncthreads();
  out[tid] = s[255 - tid];
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Limits

An index that only leaves an inner dimension is left alone: `tile[0][i]` over a whole tile is an idiom. A finding is
shown by a thread of the block that is launched in sight or stated, or by thread 0 of any block. Neither the index nor
anything that decides whether the access is reached may depend on more than the thread, the block and constants:
parameters and loaded values are not guessed. Dynamic shared memory is SMEM504's.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.hazards.model import Overrun
from smem_lsp.ir.nodes import Access, walk
from smem_lsp.rules import racing
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, Severity, kernel_rule
from smem_lsp.rules.words import said


@kernel_rule("SMEM402", "out-of-bounds", Severity.ERROR, portable=True)
def RULE(facts: KernelFacts) -> Iterator[Finding]:
    if not racing.followed(facts):
        return
    nodes = {node.point: node for node in walk(facts.kernel.body) if isinstance(node, Access)}
    told: set[tuple[int, int]] = set()
    for overrun in facts.hazards.overruns:
        access = nodes[overrun.access.point]
        where = racing.where(facts, access)
        if (access.buffer, where.start) in told:
            continue
        told.add((access.buffer, where.start))
        yield _finding(facts, overrun, access)


def _finding(facts: KernelFacts, overrun: Overrun, access: Access) -> Finding:
    buffer = facts.kernel.buffers[access.buffer]
    size = buffer.element_bytes
    if size and not buffer.record and len(buffer.dims) == 1 and overrun.byte % size == 0:
        where = f"`{buffer.name}[{overrun.byte // size}]`"
        ends = f"it has {buffer.dims[0]:,} elements"
    else:
        where = f"byte {overrun.byte:,} of `{buffer.name}`"
        ends = f"it has {buffer.bytes:,} bytes"
    message = said(f"thread {overrun.thread} {racing.DOES[access.kind]} {where}, but {ends}")
    grade = facts.graded(overrun, Severity.ERROR)
    return Finding(
        "SMEM402",
        message + grade.words,
        racing.where(facts, access),
        grade.severity,
        kernel=facts.kernel.name,
        verdict=grade.verdict,
        buffers=(buffer.name,),
        data={"thread": overrun.thread, "byte": overrun.byte, "bytes": buffer.bytes},
    )
