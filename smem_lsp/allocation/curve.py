"""Bytes against barriers: what k added barriers buy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

from smem_lsp.allocation.best import best
from smem_lsp.allocation.candidates import Candidate, candidates
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.conflicts import Conflicts
from smem_lsp.analysis.facts import Facts
from smem_lsp.analysis.reuse import Graph, Survey, graph, relate, survey
from smem_lsp.ir.model import Seq

BARRIERS = 3  # more are never proposed
SUBSETS = 3000  # sets of places tried for one number of barriers; beyond that, greedily
EVENTS = 300_000  # and events walked for that: about half a second


def curve(
    items: Sequence[Item],
    body: Seq,
    facts: Facts,
    fixed: frozenset[int],
    limit: int = BARRIERS,
    found: Survey | None = None,
) -> list[Plan]:
    """The best plan without added barriers, then each that more barriers (up to ``limit``) make smaller.
    ``found``: the survey of ``body``, where it is there already.

    ``Plan.barriers`` are Place points, ``Plan.cost`` the executions of the added barriers per block. Among
    sets of the same bytes the cheapest is taken, then the one with the later points. Where there are too
    many sets to try them all the points come from a greedy search and may need fewer barriers: ``optimal``
    is False there (reference: reuse of shared memory, 3.2).
    """
    if len(items) < 2:
        return [best(items, Conflicts())]
    work = _Work(items, found or survey(body, facts, fixed))
    now = relate(work.found)
    plans = [best(items, now, work.found.liveness.lives)]
    present = {item.index for item in items}
    if not any(key <= present for key in now.soft):
        return plans  # nothing that a barrier could cure
    places = candidates(body, facts, now)
    # Every candidate at once frees the most: nothing under it can be reached.
    reach = work.plan(places).bytes
    for count in range(1, min(limit, len(places)) + 1):
        if plans[-1].bytes <= reach:
            break
        exhaustive = comb(len(places), count) <= min(SUBSETS, EVENTS // (1 + work.found.length))
        chosen = _cheapest(work, places, count, reach) if exhaustive else _greedy(work, places, count)
        plan = work.plan(chosen)
        if plan.bytes < plans[-1].bytes:
            points = tuple(sorted(place.point for place in chosen))
            cost = sum(place.cost for place in chosen)
            plans.append(replace(plan, barriers=points, cost=cost, optimal=plan.optimal and exhaustive))
    return plans


@dataclass(frozen=True, slots=True)
class _Work:
    items: Sequence[Item]
    found: Survey
    layouts: dict[Graph, Plan] = field(default_factory=dict)  # few sets of barriers differ in what they free

    def plan(self, added: Iterable[Candidate]) -> Plan:
        edges = graph(self.found, frozenset(place.point for place in added))
        if edges not in self.layouts:
            soft, equal = edges
            conflicts = Conflicts(self.found.hard, dict.fromkeys(soft, frozenset()), equal)
            self.layouts[edges] = best(self.items, conflicts, self.found.liveness.lives)
        return self.layouts[edges]


def _cheapest(work: _Work, places: Sequence[Candidate], count: int, reach: int) -> tuple[Candidate, ...]:
    def price(chosen: tuple[Candidate, ...]) -> tuple[int, tuple[int, ...]]:
        return sum(place.cost for place in chosen), tuple(-place.point for place in chosen)

    smallest: tuple[int, tuple[Candidate, ...]] | None = None
    for chosen in sorted(combinations(places, count), key=price):
        size = work.plan(chosen).bytes
        if smallest is None or size < smallest[0]:
            smallest = size, chosen
        if size <= reach:
            break
    return smallest[1] if smallest else ()


def _greedy(work: _Work, places: Sequence[Candidate], count: int) -> list[Candidate]:
    """One barrier after the other, each time the place that frees the most bytes of soft pairs."""
    sizes = {item.index: item.size for item in work.items}

    def left_over(place: Candidate) -> tuple[int, int, int]:
        soft, _ = graph(work.found, frozenset(each.point for each in (*chosen, place)))
        blocked = sum(min(sizes.get(buffer, 0) for buffer in key) for key in soft)
        return blocked, place.cost, -place.point

    chosen: list[Candidate] = []
    for _ in range(count):
        chosen.append(min((place for place in places if place not in chosen), key=left_over))
    return chosen
