"""Bytes of an asynchronous copy are read before the wait, or the barrier behind it, that the copy needs.

## Why

An asynchronous copy lands at any time until its own thread has waited for the group that it was committed to: a barrier
alone does not make it land. And a wait is for the thread's own copies only: what other threads have copied is there
after a barrier behind their waits. `wait_group N` leaves the N newest groups in flight, empty ones included.

## Example

```cuda
#include <cuda_pipeline.h>

static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  __pipeline_memcpy_async(&s[tid], &in[tid], sizeof(float));
  __pipeline_commit();
  __syncthreads();
  out[tid] = s[255 - tid];
  __pipeline_wait_prior(0);
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Use instead

```cuda
#include <cuda_pipeline.h>

static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  __pipeline_memcpy_async(&s[tid], &in[tid], sizeof(float));
  __pipeline_commit();
  __pipeline_wait_prior(0);  // every copy of this thread must have landed
  __syncthreads();
  out[tid] = s[255 - tid];
  __pipeline_wait_prior(0);
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
```

## Fix

The quick fix inserts the wait, the barrier or both, in the kernel's own spelling, or lowers the number of groups that
a wait leaves open. A lowered number is unsafe, because it was checked for the first and the last iterations alone; the
others are safe or unsafe as for SMEM201.

## Limits

One run of one block, as for SMEM201, in which the groups of each thread are counted: the first iterations of a loop and
its last ones. A copy is lost sight of where a commit or a wait may or may not run, at calls that are not understood,
and at any wait of a `cuda::barrier`, `cuda::pipeline` or `mbarrier` object; the pipeline of a thread may be handed to
helpers in sight. Bulk and tensor copies are not judged. A copy that overwrites what other threads still read is
SMEM201.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.hazards.model import Race
from smem_lsp.analysis.repairs.copy_waits import MissingCopyWait
from smem_lsp.ir.nodes import AccessKind, CopyWait, walk
from smem_lsp.rules import racing
from smem_lsp.rules.elements import element
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import (
    Finding,
    InsertBarrier,
    InsertWait,
    KernelFinding,
    LowerWait,
    Severity,
    kernel_rule,
)
from smem_lsp.rules.places import DOES, line_of, where
from smem_lsp.rules.words import Words, said
from smem_lsp.source import checkpoint


@kernel_rule("SMEM206", "async-copy-not-waited", Severity.ERROR, of_functions=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    if not racing.followed(facts):
        return
    for gap in facts.missing_barriers.copies:
        checkpoint()
        races = gap.races
        race = races[0]
        grade = facts.graded(race, Severity.ERROR)
        yield Finding(
            "SMEM206",
            _message(facts, gap, race) + grade.words,
            where(facts, race.second),
            grade.severity,
            kernel=facts.kernel.name,
            buffers=tuple(dict.fromkeys(facts.kernel.buffers[each.first.buffer].name for each in races)),
            verdict=grade.verdict,
            related=racing.notes(facts, races),
            data=racing.numbers(race),
            remedy=_remedy(facts, gap, race),
        )


def _message(facts: KernelFacts, gap: MissingCopyWait, race: Race) -> Words:
    place = element(facts, race.first, race.byte)
    copier, other = race.threads
    does = DOES[race.second.kind]
    together = race.first.start is not None
    whose = "a group of threads" if together else f"thread {copier}"
    copies = said(f"{whose} copies ", place, " asynchronously (", line_of(race.first), ")")
    who = "it" if copier == other and not together else f"thread {other}"
    if not race.pending:
        message = copies + f" and waits for its own copies only; {who} {does} it ("
        message += said(line_of(race.second), "), with no barrier behind the wait")
    else:
        message = copies + f"; {who} {does} it ("
        message += said(line_of(race.second), ") while the copy may be in flight")
    if gap.lower is not None:
        point, left = gap.lower
        wait = next(n for n in walk(facts.kernel.body) if isinstance(n, CopyWait) and n.point == point)
        leaves = f" leaves {_groups(wait.left)} open, and must not leave more than {left}"
        return said(message, ": the wait at line ", wait.line, leaves)
    found = racing.place_of(facts, gap.place)
    if found is None and together:
        return message + ": the group has to wait for it first"
    if found is None:
        return message
    what = {(True, True): "wait for it and put a barrier", (True, False): "wait for it"}.get(
        (gap.wait, gap.barrier), "put one"
    )
    return said(message, f"; {what} before line ", found.line)


def _groups(count: int) -> str:
    return "1 group" if count == 1 else f"{count} groups"


def _remedy(
    facts: KernelFacts, gap: MissingCopyWait, race: Race
) -> InsertBarrier | InsertWait | LowerWait | None:
    if gap.lower is not None:
        return LowerWait(facts.index, *gap.lower)
    if gap.place is None:
        return None
    if gap.wait:
        return InsertWait(facts.index, gap.place, gap.barrier, gap.ungrouped, race.proved)
    name = facts.kernel.buffers[race.first.buffer].name
    done = "read" if race.second.kind is AccessKind.READ else "use"
    return InsertBarrier(
        facts.index,
        gap.place,
        f"all copies into {name} must have landed before others {done} it",
        race.proved,
    )
