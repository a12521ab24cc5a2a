"""Which layouts a map shows. Static arrays and ranges of dynamic shared memory are combined into one layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from smem_lsp.allocation.plan import Plan, align_up
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.engine.report import KernelReport, OccupancyRow
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class MapPart:
    """Buffers at the places of ``plan``, with the lives that hold under ``under``."""

    facts: KernelFacts
    plan: Plan
    under: Facts


@dataclass(frozen=True, slots=True)
class MapLayout:
    """``plan``: of all parts. ``assumes``: what it rests on, in words. ``dynamic_at``: the byte at which the ranges of
    dynamic shared memory begin; None without any."""

    plan: Plan
    parts: tuple[MapPart, ...]
    assumes: tuple[str, ...] = ()
    dynamic_at: int | None = None


def layouts(facts: KernelFacts, report: KernelReport) -> list[MapLayout]:
    """One for each plan of the report; with ranges of dynamic shared memory the declared one and the best ones."""
    ranges, divided = facts.of_ranges, facts.dynamic_partition
    if ranges is None or divided is None:
        return [_alone(facts, plan) for plan in report.plans]
    return layouts_beside(facts, _choices(ranges), divided.partition.base)


def layouts_beside(facts: KernelFacts, ranges: Sequence[MapLayout], base: int) -> list[MapLayout]:
    """Layouts of the ranges of buffer ``base``, the declared one first, each with one of the static buffers."""
    (before, *static), (divided, *dynamic) = _choices(facts), ranges
    align = facts.kernel.buffers[base].align or 1
    both = [_joined(facts, a, b, align) for a, b in product(static or [before], dynamic or [divided])]
    return [_joined(facts, before, divided, align), *_falling(both)]


def with_ranges(facts: KernelFacts, report: KernelReport, found: Sequence[MapLayout]) -> KernelReport:
    """The report of the kernel that ``found`` shows: its ranges are buffers of their own."""
    ranges = facts.of_ranges
    if ranges is None:
        return report
    saved = [each.plan.bytes - (each.dynamic_at or 0) for each in found[:2]]
    rows = (
        _with_less(facts, report, row, saved[0] - saved[-1]) if found[-1].plan.allocator == "best" else row
        for row in report.occupancy
    )
    return replace(
        report, kernel=ranges.kernel, plans=tuple(each.plan for each in found), occupancy=tuple(rows)
    )


def _alone(facts: KernelFacts, plan: Plan) -> MapLayout:
    candidate = next((each for each in facts.best if each.plan is plan), None)
    if candidate is None:
        return MapLayout(plan, (MapPart(facts, plan, facts_in_force(facts)),))
    return MapLayout(
        plan, (MapPart(facts, plan, candidate.facts),), tuple(facts.told(facts.assumptions(candidate)))
    )


def facts_in_force(facts: KernelFacts) -> Facts:
    """The facts that hold without assuming a block's shape; if every best layout assumes one, those of the first."""
    for candidate in facts.best:
        if not candidate.assumes_shape:
            return candidate.facts
    return facts.best[0].facts if facts.best else Facts()


def _choices(facts: KernelFacts) -> list[MapLayout]:
    """The declared layout and the best ones; one empty layout if no buffer has a known size."""
    if facts.declared is None or not facts.items:
        return [MapLayout(Plan("declared", 0, {}, optimal=True), ())]
    return [_alone(facts, plan) for plan in (facts.declared, *(each.plan for each in facts.best))]


def _joined(facts: KernelFacts, static: MapLayout, dynamic: MapLayout, align: int) -> MapLayout:
    """The ranges begin behind the static arrays, like the array that they are carved out of."""
    at = align_up(facts.total(static.plan.bytes), align)
    moved = {index: at + offset for index, offset in dynamic.plan.offsets.items()}
    barriers = tuple(sorted({*static.plan.barriers, *dynamic.plan.barriers}))
    plans = static.plan, dynamic.plan
    whole = Plan(
        dynamic.plan.allocator if dynamic.plan.allocator != "declared" else static.plan.allocator,
        at + dynamic.plan.bytes,
        {**static.plan.offsets, **moved},
        lower_bound=align_up(facts.total(static.plan.lower_bound), align) + dynamic.plan.lower_bound,
        optimal=all(plan.optimal for plan in plans) and not barriers,
        clique=(*static.plan.clique, *dynamic.plan.clique),
        barriers=barriers,
        cost=sum(plan.cost for plan in plans),
    )
    parts = [*static.parts]
    parts += [replace(part, plan=replace(part.plan, offsets=moved)) for part in dynamic.parts]
    assumes = tuple(dict.fromkeys((*static.assumes, *dynamic.assumes)))
    return MapLayout(whole, tuple(parts), assumes, at)


def _falling(found: Sequence[MapLayout]) -> Iterator[MapLayout]:
    """The smallest layout for each number of added barriers, as long as each needs fewer bytes than the one before."""
    least: int | None = None
    for layout in sorted(found, key=lambda each: (len(each.plan.barriers), each.plan.bytes, each.plan.cost)):
        if layout.plan.allocator == "best" and (least is None or layout.plan.bytes < least):
            least = layout.plan.bytes
            yield layout


def _with_less(facts: KernelFacts, report: KernelReport, row: OccupancyRow, saved: int) -> OccupancyRow:
    """``row`` where every launch passes ``saved`` bytes less."""
    asked = next((each for each in facts.occupied if each.arch == row.arch), None)
    if asked is None or saved <= 0 or asked.dynamic_bytes < saved or report.static_bytes is None:
        return row
    static = report.static_bytes if report.best is None else facts.total(report.best.bytes)
    less = replace(asked, dynamic_bytes=asked.dynamic_bytes - saved)
    return replace(row, blocks_after=facts.blocks(less, static))
