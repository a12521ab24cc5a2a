"""The layout with the fewest bytes, and the proof that there is none with fewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from smem_lsp.allocation.bound import MANY, lower_bound
from smem_lsp.allocation.branch_and_bound import branch_and_bound
from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.first_fit import climb, first_fit, orders, peak
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.allocation.problem import Problem, components, problem
from smem_lsp.allocation.stacked_height import stacked_height
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.liveness import Life
from smem_lsp.analysis.dataflow.masks import bits

EXACT = 30  # buffers; with more only the first-fit orders are tried
TRIES = 60  # orders tried after the first ones
WORK = 40_000  # bounds the tries for many buffers: to place n takes about n * n / 2 comparisons
STEPS = 4000  # of the search, about 4 ms: a count, so that equal input gives equal output
FEW = 12  # buffers; beyond it a step takes longer, so the search makes fewer


def best(items: Sequence[Item], conflicts: Conflicts, lives: Mapping[int, Life] | None = None) -> Plan:
    """The smallest layout of ``items`` (bytes), exact unless the search runs out of steps.

    ``optimal``: no layout is smaller; ``lower_bound``: the bytes that ``clique`` alone forces, which may be
    fewer than any layout reaches. Where nothing is saved, and in a tie, the declared order stays. ``lives``
    only orders the first attempts.
    """
    as_declared = declared(items)
    of = problem(items, conflicts)
    parts = [(part, *lower_bound(of, part)) for part in components(of)]
    parts.sort(key=lambda part: -part[1])
    bound, clique = (parts[0][1], parts[0][2]) if parts else (0, 0)
    offsets: dict[int, int] = {}
    steps = STEPS * FEW // max(FEW, len(items))
    highest = reached = 0
    spans = _spans(items, lives or {})
    for part, part_bound, forced in parts:
        goal = max(part_bound, reached)  # smaller than the largest part so far gains nothing
        placed = _first_fits(of, part, spans, list(bits(forced)), goal)
        proved = part_bound
        if peak(of, placed) > goal:
            if len(items) <= EXACT:
                found, steps = branch_and_bound(of, part, placed, goal, steps)
                placed = found.offsets
                proved = peak(of, placed) if found.complete else part_bound
        else:
            proved = peak(of, placed)
        highest = max(highest, peak(of, placed))
        reached = max(reached, proved)
        offsets.update(placed)
    members = tuple(items[place].index for place in bits(clique))
    if highest >= as_declared.bytes:
        highest, by_index = as_declared.bytes, as_declared.offsets
    else:
        by_index = {item.index: offsets[place] for place, item in enumerate(items)}
    return Plan("best", highest, by_index, bound, highest <= reached, members)


def _spans(items: Sequence[Item], lives: Mapping[int, Life]) -> list[tuple[int, int]]:
    found = (lives.get(item.index) for item in items)
    return [(0, 0) if life is None else (life.first, life.last) for life in found]


def _first_fits(
    of: Problem, part: int, spans: Sequence[tuple[int, int]], clique: list[int], goal: int
) -> dict[int, int]:
    """The best first fit of a set of orders and of the neighbours of the best one; in a tie the earlier one."""
    lowest = stacked_height(of, clique)
    best_order: list[int] = []
    placed: dict[int, int] = {}
    made = orders(of, part, spans, clique if lowest is None else lowest[1])
    for order in made if len(spans) <= MANY else islice(made, 2):
        found = first_fit(of, order)
        if not placed or peak(of, found) < peak(of, placed):
            placed, best_order = found, order
        if peak(of, placed) <= goal:
            return placed
    return climb(of, best_order, goal, min(TRIES, WORK // len(best_order) ** 2))
