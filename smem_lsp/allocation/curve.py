"""Bytes against barriers: the bytes that each number of added barriers saves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from itertools import combinations
from math import comb

from smem_lsp.allocation.best import best
from smem_lsp.allocation.candidates import Candidate, candidates
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.dataflow.conflicts import Conflicts, Pairs
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import (
    Graph,
    Interference,
    graph,
    interference,
    pairs_of,
    relate,
    witnesses,
)
from smem_lsp.analysis.dataflow.masks import mask_of
from smem_lsp.ir.nodes import Seq
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

BARRIERS = 3  # one point of the curve for each number up to it; after them only the end of the curve
SUBSETS = 3000  # sets of places tried for one number of barriers; beyond it a greedy search
EVENTS = 300_000  # walked, and pairs of buffers judged, for the same: about half a second
SOFT = 20_000  # pairs of buffers without a barrier between them; beyond it no barrier is looked for
WITNESSES = 100_000  # pairs of accesses for which places are looked for


def curve(
    items: Sequence[Item],
    body: Seq,
    facts: Facts,
    fixed: frozenset[int],
    found: Interference | None = None,
) -> list[Plan]:
    """The best plan without added barriers, then each that up to ``BARRIERS`` make smaller, then the end
    of the curve: the fewest bytes that any barriers lead to, with none of them that could be left out.
    ``found``: the interference of ``body``, if it has been worked out already.

    ``Plan.barriers`` are Place points, ``Plan.cost`` the executions of the added barriers per block. Among
    sets of the same bytes the cheapest is taken, then the one with the later points. Where there are too
    many sets to try, a greedy search chooses the points, as for the end of the curve; fewer barriers might do, and
    ``optimal`` is False.
    """
    if len(items) < 2:
        return [best(items, Conflicts())]
    work = _Work(items, found or interference(body, facts, fixed))
    now = relate(work.found)
    plans = [best(items, now, work.found.liveness.lives)]
    present = mask_of(item.index for item in items)
    if not now.soft.within(present) or len(now.soft) > SOFT:
        return plans  # no pair that a barrier could separate, or too many
    most = -(-WITNESSES // len(work.found.accesses))
    places = candidates(body, facts, witnesses(work.found, most=most))
    # All candidates at once free the most: no set of them leads to fewer bytes.
    reach = work.plan(places).bytes
    for count in range(1, min(BARRIERS, len(places)) + 1):
        checkpoint()
        if plans[-1].bytes <= reach:
            break
        exhaustive = comb(len(places), count) <= min(SUBSETS, EVENTS // work.cost)
        chosen = _cheapest(work, places, count, reach) if exhaustive else _greedy(work, places, count)
        if work.plan(chosen).bytes < plans[-1].bytes:
            plans.append(work.with_barriers(chosen, proved=exhaustive))
    if plans[-1].bytes > reach and len(places) * work.cost <= EVENTS:
        plans.append(work.with_barriers(_irredundant(work, places, reach), proved=False))
    return plans


@dataclass(frozen=True, slots=True)
class _Work:
    items: Sequence[Item]
    found: Interference
    graphs: dict[Graph, Plan] = field(default_factory=dict)
    # many sets of barriers leave the same pairs
    layouts: dict[tuple[Pairs, Pairs], Plan] = field(default_factory=dict)

    @property
    def cost(self) -> int:
        """What it takes to try one set of barriers, in events."""
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

    def with_barriers(self, chosen: Sequence[Candidate], *, proved: bool) -> Plan:
        """``proved``: no smaller or cheaper set of barriers leads to the same bytes."""
        plan = self.plan(chosen)
        points = tuple(sorted(place.point for place in chosen))
        cost = sum(place.cost for place in chosen)
        return replace(plan, barriers=points, cost=cost, optimal=plan.optimal and proved)


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
    """One barrier after the other, each time the place that frees the most bytes of soft pairs. Where trying
    every place would take too long, an evenly spaced part of them is tried."""
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


def _irredundant(work: _Work, places: Sequence[Candidate], reach: int) -> list[Candidate]:
    """Of all ``places`` those that it takes for ``reach`` bytes: the costliest and the earliest are left out first."""
    chosen = sorted(places, key=lambda place: (-place.cost, place.point))
    for place in tuple(chosen):
        checkpoint()
        others = [each for each in chosen if each is not place]
        if work.plan(others).bytes <= reach:
            chosen = others
    return chosen
