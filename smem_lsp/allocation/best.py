"""The layout with the fewest bytes, and the proof that there is none with fewer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from smem_lsp.allocation.bound import lower_bound
from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.allocation.problem import Problem, components, problem
from smem_lsp.allocation.search import search
from smem_lsp.analysis.conflicts import Conflicts
from smem_lsp.analysis.liveness import Life, bits

EXACT = 30  # buffers; more than that are laid out by the first-fit orders alone
STEPS = 4000  # of the search, about 6 ms: a count, so that equal input gives equal output


def best(items: Sequence[Item], conflicts: Conflicts, lives: Mapping[int, Life] | None = None) -> Plan:
    """The smallest layout of ``items`` (bytes), exact unless the search runs out of steps.

    ``optimal`` says that no layout is smaller; ``lower_bound`` is what ``clique`` alone forces, which may
    be less than any layout can reach. When nothing is saved the declared order stays. Ties go to the
    declared order. ``lives`` only orders the first attempts (reference: reuse of shared memory, 3.1).
    """
    as_declared = declared(items)
    of = problem(items, conflicts)
    parts = [(part, *lower_bound(of, part)) for part in components(of)]
    parts.sort(key=lambda part: -part[1])
    bound, clique = (parts[0][1], parts[0][2]) if parts else (0, 0)
    offsets: dict[int, int] = {}
    steps = STEPS
    peak = reached = 0
    for part, part_bound, _ in parts:
        goal = max(part_bound, reached)  # smaller than the other parts is of no use
        placed = _first_fits(of, part, items, lives or {}, goal)
        proved = part_bound
        if _peak(of, placed) > goal:
            if len(items) <= EXACT:
                found, steps = search(of, part, placed, goal, steps)
                placed = found.offsets
                proved = _peak(of, placed) if found.complete else part_bound
        else:
            proved = _peak(of, placed)
        peak = max(peak, _peak(of, placed))
        reached = max(reached, proved)
        offsets.update(placed)
    members = tuple(items[place].index for place in bits(clique))
    if peak >= as_declared.bytes:
        peak, by_index = as_declared.bytes, as_declared.offsets
    else:
        by_index = {item.index: offsets[place] for place, item in enumerate(items)}
    return Plan("best", peak, by_index, bound, peak <= reached, members)


def _peak(of: Problem, offsets: Mapping[int, int]) -> int:
    return max((offset + of.size[place] for place, offset in offsets.items()), default=0)


def _first_fits(
    of: Problem, part: int, items: Sequence[Item], lives: Mapping[int, Life], goal: int
) -> dict[int, int]:
    """The best of the declared order and the six first-fit orders; ties go to the earlier one."""
    first: dict[int, int] | None = None
    for order in _orders(of, part, items, lives):
        placed = _first_fit(of, order)
        if first is None or _peak(of, placed) < _peak(of, first):
            first = placed
        if _peak(of, first) <= goal:
            break
    return first or {}


def _orders(of: Problem, part: int, items: Sequence[Item], lives: Mapping[int, Life]) -> Iterable[list[int]]:
    members = list(bits(part))
    spans = {
        place: (life.first, life.last) if (life := lives.get(items[place].index)) else (0, 0)
        for place in members
    }
    length = {place: span[1] - span[0] + 1 for place, span in spans.items()}
    yield members
    yield sorted(members, key=lambda place: -of.size[place])
    yield sorted(members, key=lambda place: -of.size[place] * length[place])
    yield sorted(members, key=lambda place: -length[place])
    yield sorted(members, key=lambda place: -spans[place][0])
    yield sorted(members, key=lambda place: -spans[place][1])
    yield sorted(members, key=lambda place: (-of.align[place], -of.size[place]))


def _first_fit(of: Problem, order: Iterable[int]) -> dict[int, int]:
    """Each item at the lowest offset that the ones before it leave, holes included."""
    placed: dict[int, int] = {}
    for place in order:
        near = [other for other in placed if (of.apart[place] | of.equal[place]) >> other & 1]
        starts = {0} | {align_up(placed[other] + of.size[other], of.align[place]) for other in near}
        starts |= {placed[other] for other in near if placed[other] % of.align[place] == 0}
        placed[place] = next(start for start in sorted(starts) if _fits(of, place, start, near, placed))
    return placed


def _fits(of: Problem, place: int, start: int, near: Iterable[int], placed: Mapping[int, int]) -> bool:
    end = start + of.size[place]
    for other in near:
        low = placed[other]
        overlap = start < low + of.size[other] and low < end
        if overlap and (of.apart[place] >> other & 1 or start != low):
            return False
    return True
