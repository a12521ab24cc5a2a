"""More buffers could share bytes with an added barrier, and that gains a resident block or crosses a limit.

## Why

Two buffers that are never live together may still be touched in the same phase: a fast warp would overwrite what a slow
one still reads. One `__syncthreads()` between them lets them share. A barrier costs time, so it is only proposed when
the bytes buy something: another resident block per SM, or a kernel that ptxas accepts at all (nvFuser's rule for
matmul epilogues: at equal occupancy no barrier is paid).

## Example

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
```

## Use instead

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  float (&b)[7000] = a;  // shares a's bytes: a is dead by then
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  __syncthreads();  // b reuses a: every warp must be done reading it
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
```

## Fix

The quick fix does what that of SMEM301 does and inserts the barriers, with a comment on each. `--fix` applies it when
`--select SMEM302` asks for that. Safe when every access is resolved and the barrier stands outside every loop, where
every thread runs it; unsafe inside a loop (the title gives the executions per block) or when the plan rests on an
assumed block size.

## Limits

The cheapest point of the curve that gains a step is reported; the others are in `smem-lsp layout`. Info instead of
warning when the registers are not known ("shared memory alone"). A pipeline often ends with groups of asynchronous
copies that nobody waits for, empty ones perhaps, and its buffer then keeps its bytes: where that is all that keeps
them, the fix adds the wait for every group, too, in the kernel's own spelling, in front of the barrier. The wait
stands behind every copy, outside every loop, and no thread may return before it. Ranges that pointers carve out of
dynamic shared memory are told, as info, where the launches in sight then have another resident block; the fix moves the
pointers, adds the barriers and changes the bytes that the launches pass, as that of SMEM301 does.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.allocation.plan import Plan
from smem_lsp.facts.layouts import LayoutCandidate
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import (
    OccupancyStep,
    assumption_words,
    best_step,
    crosses_limit,
    data_of,
    data_of_ranges,
    headline,
    merged_buffers,
    reason,
    related_notes,
    step_of_ranges,
)
from smem_lsp.rules.model import Finding, KernelFinding, MergeBuffers, MoveRanges, Severity, kernel_rule
from smem_lsp.rules.words import said


@kernel_rule("SMEM302", "mergeable-with-barrier", Severity.WARNING)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    yield from _ranges(facts)
    yield from _merge(facts)


def _ranges(facts: KernelFacts) -> Iterator[KernelFinding]:
    """Ranges of dynamic shared memory, where the launches in sight then have another resident block."""
    ranges, divided = facts.of_ranges, facts.dynamic_partition
    if ranges is None or divided is None or facts.withheld or not divided.best:
        return
    if any(each.members for each in divided.partition.ranges):
        return  # no pointers that could start elsewhere
    before, base = divided.declared.bytes, facts.kernel.buffers[divided.partition.base]
    least = min((each.plan.bytes for each in divided.best if not each.plan.barriers), default=before)
    for number, candidate in enumerate(divided.best):
        plan = candidate.plan
        step = step_of_ranges(facts, before - plan.bytes, before - least) if plan.barriers else None
        if step is None:
            continue
        merged = merged_buffers(ranges, plan)
        message = (
            f" in `{base.name}`: with {_added(plan, waits=False)} "
            f"{before:,} → {plan.bytes:,} B of dynamic shared memory"
        )
        if least < before:
            message += f" ({least:,} without)"
        yield Finding(
            "SMEM302",
            said(
                headline(ranges, candidate, merged),
                f"{message}, {step.words()}; ",
                reason(ranges, candidate, merged),
                assumption_words(ranges, candidate),
            ),
            base.declared,
            Severity.INFO,
            kernel=facts.kernel.name,
            buffers=tuple(b.name for b in merged),
            data={
                **data_of_ranges(before, plan, plan.bytes, step),
                "bytes_saved_over_301": least - plan.bytes,
            },
            remedy=MoveRanges(facts.index, number),
        )
        return


def _merge(facts: KernelFacts) -> Iterator[KernelFinding]:
    """The cheapest plan with an added barrier that gains a step."""
    if facts.declared is None or facts.withheld or not facts.best:
        return
    before = facts.total(facts.declared.bytes)
    without = facts.total(facts.best[0].plan.bytes) if not facts.best[0].plan.barriers else before
    chosen, drained = _first_that_gains(facts, without), facts.of_drained
    waits = chosen is None and drained is not None
    if waits and drained is not None:
        facts, chosen = drained, _first_that_gains(drained, without)
    if chosen is None:
        return
    candidate, step, limit = chosen
    plan = candidate.plan
    after = facts.total(plan.bytes)
    merged = merged_buffers(facts, plan)
    if not merged:
        return
    message = f": with {_added(plan, waits=waits)} {before:,} → {after:,} B"
    if without < before:
        message += f" ({without:,} without)"
    if limit:
        message += f", within the {facts.static_limit:,} B that ptxas accepts"
    gains = step is not None and step.after > step.before
    if step is not None and gains:
        from_declared = OccupancyStep(step.row, facts.blocks(step.row, before), step.after)
        message += _blocks_gained(step, from_declared)
        step = from_declared
    known = step is not None and step.row.registers is not None
    shown = best_step(facts, before, after)
    yield Finding(
        "SMEM302",
        said(
            headline(facts, candidate, merged),
            message,
            "; ",
            reason(facts, candidate, merged),
            assumption_words(facts, candidate),
        ),
        merged[-1].declared,
        Severity.WARNING if limit or (gains and known) else Severity.INFO,
        kernel=facts.kernel.name,
        buffers=tuple(b.name for b in merged),
        related=related_notes(candidate, merged, facts),
        data={**data_of(facts, plan, step or shown), "bytes_saved_over_301": without - after},
        remedy=MergeBuffers(facts.index, candidate, step.with_launch() if step is not None else "", waits),
    )


def _added(plan: Plan, *, waits: bool) -> str:
    """What the plan adds to the kernel, and how often that runs."""
    count = len(plan.barriers)
    added = "1 added barrier" if count == 1 else f"{count} added barriers"
    added = f"one more wait for its copies and {added}" if waits else added
    return f"{added}, {plan.cost} executions per block" if plan.cost > count else added


def _blocks_gained(step: OccupancyStep, from_declared: OccupancyStep) -> str:
    """The blocks gained over the declared layout; ``step``: over the plan without added barriers."""
    gained = f", {from_declared.words()}"
    return gained if from_declared.before == step.before else f"{gained} ({step.before} without)"


def _first_that_gains(
    facts: KernelFacts, without: int
) -> tuple[LayoutCandidate, OccupancyStep | None, bool] | None:
    """The cheapest point of the curve that beats the plan without added barriers in blocks or limits."""
    for candidate in facts.best:
        if not candidate.plan.barriers:
            continue
        after = facts.total(candidate.plan.bytes)
        limit = crosses_limit(facts, without, after)
        step = best_step(facts, without, after)
        if limit or (step is not None and step.after > step.before):
            return candidate, step, limit
    return None
