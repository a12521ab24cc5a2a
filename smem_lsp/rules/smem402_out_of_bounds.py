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

## Fix

No quick fix: the array may be too small, or the index wrong. The message names the thread and the element; declare as
many, or guard the access.

## Limits

An index that only leaves an inner dimension is left alone: `tile[0][i]` over a whole tile is an idiom. A finding is
shown by a thread of the block that is launched in sight or stated, or by thread 0 of any block. Neither the index nor
anything that decides whether the access is reached may depend on more than the thread, the block and constants:
parameters and loaded values are not guessed. Where a launch in sight stays inside, or its block is not known, the
finding is `likely`, a warning, and names the blocks that leave the object. Of dynamic shared memory an access in front
of its first byte is told, and one past the bytes of every launch, where these are as many as the ranges of the kernel
take together; where they are fewer, the launch passes too few: that is SMEM504's.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.hazards.model import Overrun
from smem_lsp.analysis.storage.dynamic_need import Touched
from smem_lsp.ir.nodes import Access, LaunchSite, walk
from smem_lsp.ir.places import At, Row
from smem_lsp.rules import racing
from smem_lsp.rules.elements import element, has_element
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.ground import dims_words
from smem_lsp.rules.launch_bytes import bytes_together, highest_used, is_misplaced, lowest_used
from smem_lsp.rules.model import Finding, KernelFinding, Severity, kernel_rule
from smem_lsp.rules.places import DOES, line_of, related, where
from smem_lsp.rules.words import LaunchPlace, Words, said
from smem_lsp.source import plural


@kernel_rule("SMEM402", "out-of-bounds", Severity.ERROR, portable=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    if not racing.followed(facts):
        return
    nodes = {node.point: node for node in walk(facts.kernel.body) if isinstance(node, Access)}
    told: set[tuple[int, At | Row]] = set()
    for overrun in facts.hazards.overruns:
        access = nodes[overrun.access.point]
        place = access.buffer, where(facts, access)
        if place in told:
            continue
        told.add(place)
        yield _finding(facts, overrun, access)
    for site in facts.kernel.launches:
        block = "" if site.block is None else dims_words(site.block)
        for touched in _outside(facts, site):
            access = nodes[touched.access]
            place = access.buffer, where(facts, access)
            if place not in told:
                told.add(place)
                yield _in_dynamic_memory(facts, site, block, touched, access)


def _outside(facts: KernelFacts, site: LaunchSite) -> Iterator[Touched]:
    """Bytes of dynamic shared memory that no launch could pass, or that all launches should not need."""
    lowest, highest = lowest_used(facts, site), highest_used(facts, site)
    if lowest is not None and lowest.first < 0:
        yield lowest
    if highest is not None and site.dynamic_bytes is not None and highest.end > site.dynamic_bytes:
        if is_misplaced(facts, highest):
            yield highest


def _in_dynamic_memory(
    facts: KernelFacts, site: LaunchSite, block: str, touched: Touched, access: Access
) -> KernelFinding:
    name, passed = facts.kernel.buffers[access.buffer].name, site.dynamic_bytes
    message = said(
        f"the {block} block of ",
        LaunchPlace.of(facts.kernel, site),
        f" {DOES[access.kind]} bytes {touched.first:,} to {touched.end - 1:,} of `{name}`, ",
        "in front of its first byte"
        if touched.first < 0
        else f"past the {passed:,} B of that launch; its ranges take {bytes_together(facts):,} B together",
    )
    return Finding(
        "SMEM402",
        message,
        where(facts, access),
        Severity.ERROR,
        kernel=facts.kernel.name,
        verdict="proved",
        buffers=(name,),
        related=related(facts, where(facts, access), [access]),
        data={"first": touched.first, "end": touched.end, "bytes": passed},
    )


def _finding(facts: KernelFacts, overrun: Overrun, access: Access) -> KernelFinding:
    buffer = facts.kernel.buffers[access.buffer]
    place = element(facts, access, overrun.byte)
    if None in buffer.dims or not has_element(facts, access, overrun.byte):
        ends = f"it has {buffer.bytes:,} bytes"
    elif len(buffer.dims) == 1:
        ends = f"it has {plural(buffer.dims[0] or 0, 'element')}"
    else:
        ends = f"it is declared `{buffer.name}{''.join(f'[{dim}]' for dim in buffer.dims)}`"
    away = said(" (", line_of(access), ")") if access.elsewhere is not None else Words()
    message = said(f"thread {overrun.thread} {DOES[access.kind]} ", place, away, f", but {ends}")
    grade = facts.graded(overrun, Severity.ERROR)
    return Finding(
        "SMEM402",
        message + grade.words,
        where(facts, access),
        grade.severity,
        kernel=facts.kernel.name,
        verdict=grade.verdict,
        buffers=(buffer.name,),
        related=related(facts, where(facts, access), [access]),
        data={"thread": overrun.thread, "byte": overrun.byte, "bytes": buffer.bytes},
    )
