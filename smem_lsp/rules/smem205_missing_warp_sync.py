"""Lanes of one warp exchange data through shared memory without `__syncwarp()`.

## Why

Since Volta every lane has a program counter of its own: lanes of a warp need not run in step, and the compiler may move
their accesses past each other. What one lane writes and another one reads needs `__syncwarp()` between the two; a
`volatile` does not order lanes, and a shuffle or vote makes them meet but orders no memory.

## Example

```cuda
static __global__ void __launch_bounds__(32) k(const float* in, float* out) {
  __shared__ float s[32];
  int lane = threadIdx.x;
  s[lane] = in[lane];
  out[lane] = s[31 - lane];
}
void host(const float* in, float* out) {
  k<<<1, 32>>>(in, out);
}
```

## Use instead

```cuda
static __global__ void __launch_bounds__(32) k(const float* in, float* out) {
  __shared__ float s[32];
  int lane = threadIdx.x;
  s[lane] = in[lane];
  __syncwarp();  // lanes exchange data through s
  out[lane] = s[31 - lane];
}
void host(const float* in, float* out) {
  k<<<1, 32>>>(in, out);
}
```

## Fix

The quick fix inserts `__syncwarp()` between the two accesses, with a comment. It is safe or unsafe as for SMEM201.
Where one statement reads and writes, read into a local variable first.

## Limits

One finding for each kernel, at the first such pair; the others are related places. Each is one run of one block, as
for SMEM201, and any `__syncwarp()` between two accesses counts, whatever its mask. What a missing barrier of the
block (SMEM201) would order too, in this or another instance of a template, is not told twice. Info when a shuffle or
vote lies between; nothing is said of a write behind one with a full mask whose operand is made of what the other lane
has read. Nothing is said when two lanes may store the same value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.analysis.hazards.model import Race
from smem_lsp.analysis.repairs.missing_barriers import MissingBarrier
from smem_lsp.rules import racing
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, InsertBarrier, KernelFinding, Severity, kernel_rule
from smem_lsp.rules.places import where
from smem_lsp.rules.unplaced import why_no_place
from smem_lsp.rules.words import said
from smem_lsp.source import checkpoint


@kernel_rule("SMEM205", "missing-warp-sync", Severity.WARNING, of_functions=True, in_warps=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    if not racing.followed(facts):
        return
    gaps = facts.missing_barriers.within
    for severity, group in (
        (Severity.WARNING, [gap for gap in gaps if not gap.races[0].exchanged]),
        (Severity.INFO, [gap for gap in gaps if gap.races[0].exchanged]),
    ):
        checkpoint()
        races = [race for gap in group for race in gap.races]
        if races:
            yield _finding(facts, group[0], races, severity)


def _finding(
    facts: KernelFacts, gap: MissingBarrier, races: Sequence[Race], severity: Severity
) -> KernelFinding:
    race = races[0]
    message = racing.headline(race) + racing.sentence(facts, race, back=gap.back)
    if not racing.alone(gap, race):
        message += ": lanes of one warp need not run in step"
    if race.exchanged:
        message += ", and the shuffle or vote between them orders no memory"
    place = racing.place_of(facts, gap.place)
    if place is not None:
        message += said("; put `__syncwarp()` before line ", place.line)
    elif race.first.line == race.second.line and race.first.point != race.second.point:
        message += "; read into a local variable, then `__syncwarp()`, then write"
    elif not racing.alone(gap, race):
        message += said("; ", why_no_place(facts, gap, lanes=True))
    remedy = None
    if gap.place is not None:
        reason = f"lanes exchange data through {facts.kernel.buffers[race.first.buffer].name}"
        remedy = InsertBarrier(facts.index, gap.place, reason, race.proved, warp=True)
    grade = facts.graded(race, severity)
    return Finding(
        "SMEM205",
        message + grade.words,
        where(facts, race.second),
        grade.severity,
        kernel=facts.kernel.name,
        buffers=tuple(dict.fromkeys(facts.kernel.buffers[r.first.buffer].name for r in races)),
        verdict=grade.verdict,
        related=racing.notes(facts, races),
        data=racing.numbers(race),
        remedy=remedy,
    )
