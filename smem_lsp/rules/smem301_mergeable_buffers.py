"""Buffers whose lives never meet could share bytes; the barriers that are there suffice.

## Why

nvcc and ptxas never overlap two shared arrays, whatever their scopes and lives: every array costs its bytes for the
whole kernel. Bytes decide how many blocks an SM holds and whether a larger tile or one more stage still fits.

Every pair that would share bytes is proved path by path: neither is written while the other still holds a value that
will be read, and a barrier that every thread runs stands between their accesses, over the back edge of every loop too.

## Example

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[256];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid] + tile[255 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
```

## Use instead

```cuda
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid] + tile[255 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
```

## Fix

The quick fix iterations the arrays that are not the largest into references to its bytes, or lays all of them out in
one array of bytes, with a comment and, where the sizes need it, a `static_assert`; nothing else in the kernel changes.
`--fix` applies it when `--select SMEM301` asks for that. Safe when every access is resolved and every barrier proved;
unsafe when the plan rests on a block size that the launch only suggests (the title says so). The layout is checked by a
second, independent validator before anyone sees it.

## Limits

A warning when it changes resident blocks on a target in force (registers known) or lifts the kernel under 48 KiB; else
info. Under 128 bytes without such a step nothing is said. Buffers whose address escapes keep their place, and arrays of
helper functions: where one could use the bytes of its caller's buffers, from 1 KiB or a step on, the parameter that it
would need is shown. Members of a class in shared memory are planned one by one: an access belongs to the member that it
names. They are told, never edited: the fix shows the class with the `union` that the author would write, and its bytes
are those of that text. Ranges that pointers carve out of dynamic shared memory are told, as info, where every access is
known to stay in its range for the block that is launched. The fix changes where the pointers start, and the bytes that
the launches in the file pass, and the limit that is raised for them, where those are a literal, a product, or a
sum of these, spelled in the launch, in a constant or in a function that returns nothing else and that nothing else
uses; a launch that it leaves alone is named. Ranges whose places are numbers of the launch are not told, but offered as
a refactor action, in terms.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.facts.layouts import WORTH_SAYING
from smem_lsp.facts.partition import PartitionLayouts
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
from smem_lsp.rules.model import (
    Finding,
    KernelFinding,
    MergeBuffers,
    MoveRanges,
    Severity,
    ShowCallerReuse,
    ShowStorage,
    kernel_rule,
)
from smem_lsp.rules.storage_union import as_union
from smem_lsp.rules.words import said

_WORTH_A_PARAMETER = 1024  # bytes: fewer are not worth another interface


@kernel_rule("SMEM301", "mergeable-buffers", Severity.WARNING, portable=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    yield from _ranges(facts)
    for divided in facts.class_partitions:
        yield from _members(facts, divided)
    found = list(_merge(facts))
    yield from found or _lent(facts)


def _merge(facts: KernelFacts) -> Iterator[KernelFinding]:
    """The best plan without an added barrier."""
    if facts.declared is None or facts.withheld or not facts.best:
        return
    candidate = facts.best[0]
    plan = candidate.plan
    before, after = facts.total(facts.declared.bytes), facts.total(plan.bytes)
    if plan.barriers:
        return
    worth = _weigh(facts, before, after)
    merged = merged_buffers(facts, plan)
    if worth is None or not merged:
        return
    message, severity, step = worth
    yield Finding(
        "SMEM301",
        said(
            headline(facts, candidate, merged),
            f": {message}, no barrier added (",
            reason(facts, candidate, merged),
            ")",
            assumption_words(facts, candidate),
        ),
        merged[-1].declared,
        severity,
        kernel=facts.kernel.name,
        buffers=tuple(b.name for b in merged),
        related=related_notes(candidate, merged, facts),
        data=data_of(facts, plan, step),
        remedy=MergeBuffers(facts.index, candidate, step.with_launch() if step is not None else ""),
    )


def _weigh(facts: KernelFacts, before: int, after: int) -> tuple[str, Severity, OccupancyStep | None] | None:
    """The bytes and what they buy, in words; the severity; the step. None: not worth saying."""
    step = best_step(facts, before, after)
    gains = step is not None and step.after > step.before
    limit = crosses_limit(facts, before, after)
    if before <= after or (before - after < WORTH_SAYING and not gains and not limit):
        return None
    message = f"{before:,} → {after:,} B"
    if limit:
        message += f", within the {facts.static_limit:,} B that ptxas accepts"
    if step is not None and gains:
        message += f", {step.words()}"
    known = step is not None and step.row.registers is not None
    return message, Severity.WARNING if limit or (gains and known) else Severity.INFO, step


def _lent(facts: KernelFacts) -> Iterator[KernelFinding]:
    """Arrays of the functions that the kernel calls: shown, as their callers would have to change too."""
    reuse = facts.caller_reuse
    if reuse is None or facts.withheld or facts.declared is None:
        return
    before, after = facts.total(facts.declared.bytes), facts.total(reuse.bytes)
    worth = _weigh(facts, before, after)
    if worth is None:
        return
    message, severity, step = worth
    gains = step is not None and step.after > step.before
    if not gains and not crosses_limit(facts, before, after) and before - after < _WORTH_A_PARAMETER:
        return
    buffers = facts.kernel.buffers
    if any(facts.text(buffers[lent].declared) != buffers[lent].name for lent in reuse.hosts):
        return  # of a header
    shared = [(buffers[lent], buffers[host]) for lent, host in sorted(reuse.hosts.items())]
    words = ", ".join(
        f"`{lent.name}` of {lent.function}() can use the bytes of `{host.name}`" for lent, host in shared
    )
    yield Finding(
        "SMEM301",
        f"{words}: {message}, no barrier added",
        shared[0][1].declared,
        severity,
        kernel=facts.kernel.name,
        buffers=tuple(dict.fromkeys(each.name for both in shared for each in both)),
        data=data_of(facts, reuse.plan, step),
        remedy=ShowCallerReuse(facts.index, tuple(sorted(reuse.hosts.items()))),
    )


def _ranges(facts: KernelFacts) -> Iterator[KernelFinding]:
    """Ranges of dynamic shared memory."""
    ranges = facts.of_ranges
    if ranges is None or facts.dynamic_partition is None or facts.withheld or not ranges.best:
        return
    candidate = ranges.best[0]
    before, after = facts.dynamic_partition.declared.bytes, candidate.plan.bytes
    found = as_union(facts, facts.dynamic_partition, candidate)
    if found is not None:
        before, after = found.before, found.after
    merged = merged_buffers(ranges, candidate.plan)
    if candidate.plan.barriers or before - after < WORTH_SAYING or not merged:
        return
    base = facts.kernel.buffers[facts.dynamic_partition.partition.base]
    remedy: MoveRanges | ShowStorage | None = MoveRanges(facts.index)
    if any(
        each.members for each in facts.dynamic_partition.partition.ranges
    ):  # no pointers that could start elsewhere
        remedy = None if found is None else ShowStorage(facts.index, base.name, found.text)
    step = step_of_ranges(facts, before - after)
    gained = f", {step.words()}" if step is not None else ""
    yield Finding(
        "SMEM301",
        said(
            headline(ranges, candidate, merged),
            f" in `{base.name}`: {before:,} → {after:,} B of dynamic shared memory"
            f"{gained}, no barrier added (",
            reason(ranges, candidate, merged),
            ")",
            assumption_words(ranges, candidate),
        ),
        base.declared,
        Severity.INFO,
        kernel=facts.kernel.name,
        buffers=tuple(b.name for b in merged),
        data=data_of_ranges(before, candidate.plan, after, step),
        remedy=remedy,
    )


def _members(facts: KernelFacts, divided: PartitionLayouts) -> Iterator[KernelFinding]:
    """Members of a class: shown as the union that the author would write."""
    if facts.withheld or facts.static_bytes is None or not divided.best or divided.best[0].plan.barriers:
        return
    candidate, members = divided.best[0], facts.split(divided)
    found = as_union(facts, divided, candidate)
    if found is None:
        return
    before, after = facts.static_bytes, found.total
    worth = _weigh(facts, before, after)
    if worth is None:
        return
    message, severity, step = worth
    buffer = facts.kernel.buffers[divided.partition.base]
    merged = [members.kernel.buffers[index] for index in found.sharing]
    yield Finding(
        "SMEM301",
        said(
            headline(members, candidate, merged),
            f" in `{buffer.name}`: {message}, no barrier added (",
            reason(members, candidate, merged),
            ")",
            assumption_words(facts, candidate),
        ),
        buffer.declared,
        severity,
        kernel=facts.kernel.name,
        buffers=(buffer.name,),
        data=data_of_ranges(before, candidate.plan, after, step),
        remedy=ShowStorage(facts.index, buffer.name, found.text),
    )
