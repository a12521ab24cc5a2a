"""A named barrier waits for another number of threads than come to it.

## Why

`bar.sync id, n` lets threads go on as soon as `n` of them have come, counted in whole warps. When fewer ever come,
those that do wait for ever; when more do, some pass without the others. There are 16 barriers, and number 0 is the one
that `__syncthreads()` uses.

## Example

```cuda
__device__ void wait_for(int number, int count) {
  asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(count) : "memory");
}
static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float s[128];
  int tid = threadIdx.x;
  if (tid < 128) {
    s[tid] = in[tid];
    wait_for(1, 256);
    out[tid] = s[127 - tid];
  }
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Use instead

```cuda
__device__ void wait_for(int number, int count) {
  asm volatile("bar.sync %0, %1;" :: "r"(number), "r"(count) : "memory");
}
static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float s[128];
  int tid = threadIdx.x;
  if (tid < 128) {
    s[tid] = in[tid];
    wait_for(1, 128);
    out[tid] = s[127 - tid];
  }
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Fix

No quick fix: the count may be wrong, or the threads that come. Pass the number of threads that come, whole warps, and
a number from 1 to 15 that no other group uses at that time.

## Limits

Too few or too many threads are counted in one run of one block, when its size is known: too few only when every way to
the barrier can be followed, too many only at one place and when nobody arrives without waiting. A number over 15 and a
count that is no multiple of 32 are told whatever the block.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.execution.named_barrier_arrivals import Miscount, MiscountKind
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Barrier, walk
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.ground import condition
from smem_lsp.rules.model import Finding, KernelFinding, Severity, kernel_rule
from smem_lsp.rules.words import Words, said


@kernel_rule("SMEM207", "named-barrier-count", Severity.ERROR)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    kernel = facts.kernel
    if not kernel.complete or facts.withheld or kernel.open(Opens.ANYTHING):
        return
    nodes = {node.point: node for node in walk(kernel.body) if isinstance(node, Barrier)}
    for found in facts.hazards.miscounts:
        node = nodes[found.barrier.point]
        if node.span is None or node.guess:
            continue
        yield Finding(
            "SMEM207",
            _message(facts, found),
            node.span,
            Severity.ERROR,
            kernel=kernel.name,
            data={"number": found.number, "count": found.count, "come": found.come},
        )


def _message(facts: KernelFacts, found: Miscount) -> Words:
    if found.kind is MiscountKind.NUMBER:
        return said(f"there is no barrier {found.number}: they are numbered 0 to 15")
    if found.kind is MiscountKind.MULTIPLE:
        return said(
            f"the barrier waits for {found.count} threads, which are no whole warps: use a multiple of 32"
        )
    waits = f"barrier {found.number} waits for {found.count} threads"
    if found.kind is MiscountKind.BLOCK:
        waits += f" of {found.come}, but it is the one that `__syncthreads()` uses: take another number"
    elif found.kind is MiscountKind.FEW:
        waits += f", but only {found.come} ever come to it: those wait for ever"
    else:
        waits += f", but {found.come} come to it here: some pass without the others"
    return said(waits, condition(facts.kernel, found.ground))
