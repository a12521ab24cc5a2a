"""Bytes against barriers: what k added barriers buy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

from smem_lsp.allocation.best import best
from smem_lsp.allocation.candidates import Candidate, candidates
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import (
    Graph,
    Interference,
    Pairs,
    graph,
    interference,
    pairs_of,
    relate,
    witnesses,
)
from smem_lsp.ir.nodes import Seq
from smem_lsp.source import checkpoint

BARRIERS = 3  # more are never proposed
SUBSETS = 3000  # sets of places tried for one number of barriers; beyond that, greedily
EVENTS = 300_000  # and events walked, and pairs judged, for that: about half a second
SOFT = 20_000  # pairs of buffers without a barrier between them: with more of them none is looked for
WITNESSES = 100_000  # pairs of accesses that a barrier is looked for between


def curve(
    items: Sequence[Item],
    body: Seq,
    facts: Facts,
    fixed: frozenset[int],
    limit: int = BARRIERS,
    found: Interference | None = None,
) -> list[Plan]:
    """The best plan without added barriers, then each that more barriers (up to ``limit``) make smaller.
    ``found``: the survey of ``body``, where it is there already.

    ``Plan.barriers`` are Place points, ``Plan.cost`` the executions of the added barriers per block. Among
    sets of the same bytes the cheapest is taken, then the one with the later points. Where there are too
    many sets to try them all the points come from a greedy search and may need fewer barriers: ``optimal``
    is False there.
    """
    if len(items) < 2:
        return [best(items, Conflicts())]
    work = _Work(items, found or interference(body, facts, fixed))
    now = relate(work.found)
    plans = [best(items, now, work.found.liveness.lives)]
    present = {item.index for item in items}
    if not any(key <= present for key in now.soft) or len(now.soft) > SOFT:
        return plans  # nothing that a barrier could cure, or too much
    most = -(-WITNESSES // len(work.found.accesses))
    places = candidates(body, facts, witnesses(work.found, most=most))
    # Every candidate at once frees the most: nothing under it can be reached.
    reach = work.plan(places).bytes
    for count in range(1, min(limit, len(places)) + 1):
        checkpoint()
        if plans[-1].bytes <= reach:
            break
        exhaustive = comb(len(places), count) <= min(SUBSETS, EVENTS // work.cost)
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
    found: Interference
    graphs: dict[Graph, Plan] = field(default_factory=dict)
    layouts: dict[tuple[Pairs, Pairs], Plan] = field(
        default_factory=dict
    )  # few sets of barriers differ in these

    @property
    def cost(self) -> int:
        """Of trying one set of barriers, in events."""
        return 1 + self.found.length + len(relate(self.found).soft)

    def plan(self, added: Iterable[Candidate]) -> Plan:
        edges = graph(self.found, frozenset(place.point for place in added))
        if edges not in self.graphs:
            pairs = pairs_of(self.found, edges)
            if pairs not in self.layouts:
                conflicts = Conflicts(self.found.hard, *pairs)
                self.layouts[pairs] = best(self.items, conflicts, self.found.liveness.lives)
            self.graphs[edges] = self.layouts[pairs]
        return self.graphs[edges]


def _cheapest(work: _Work, places: Sequence[Candidate], count: int, reach: int) -> tuple[Candidate, ...]:
    def price(chosen: tuple[Candidate, ...]) -> tuple[int, tuple[int, ...]]:
        checkpoint()
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
    """One barrier after the other, each time the place that frees the most bytes of soft pairs. Where walking that
    often would take too long, some of the places are tried, as far from each other as can be."""
    sizes = {item.index: item.size for item in work.items}
    step = -(-len(places) * work.cost // EVENTS)
    tried = places[step // 2 :: step]

    def left_over(place: Candidate) -> tuple[int, int, int]:
        added = frozenset(each.point for each in (*chosen, place))
        soft, _ = pairs_of(work.found, graph(work.found, added))
        blocked = sum(min(sizes.get(buffer, 0) for buffer in key) for key in soft)
        return blocked, place.cost, -place.point

    chosen: list[Candidate] = []
    for _ in range(min(count, len(tried))):
        checkpoint()
        chosen.append(min((place for place in tried if place not in chosen), key=left_over))
    return chosen
