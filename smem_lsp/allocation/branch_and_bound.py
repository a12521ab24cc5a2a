"""Exhaustive search for a smaller layout of a few buffers."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.allocation.plan import align_up
from smem_lsp.allocation.problem import Problem, cliques
from smem_lsp.analysis.dataflow.masks import bits
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass


@record
class Found:
    """``complete``: everything was tried, or ``goal`` reached."""

    offsets: dict[int, int]
    complete: bool


def branch_and_bound(
    of: Problem, part: int, known: Mapping[int, int], goal: int, steps: int
) -> tuple[Found, int]:
    """A layout of the items in the mask ``part`` that is smaller than ``known``, or ``known``; steps left.

    Pushing every buffer down turns any layout into one where, taken by rising offset, each sits at 0, right
    above one below it, or at the offset of one it may only coincide with. Only those are tried, in that
    order, as in MiniMalloc (Moffitt, ASPLOS 2023); the search ends when ``goal`` bytes are reached or ``steps`` items
    have been looked at.
    """
    grain = _grain(of, part)
    left = sorted(bits(part), key=lambda place: (-of.size[place], place))
    ground = [0] * len(of.size)
    # Most often the goal can be reached, and nothing prunes like asking for exactly that.
    known_cliques = cliques(of, left)
    exact = _SearchState(of, grain, known_cliques, goal, goal + 1, dict(known), steps * 3 // 4)
    _place(exact, left, ground, ground, {}, (0, -1), 0)
    rest = steps - steps * 3 // 4 + max(exact.steps, 0)
    if exact.peak <= goal:
        return Found(exact.offsets, True), rest
    peak = max(known[place] + of.size[place] for place in left)
    free = _SearchState(of, grain, known_cliques, goal, peak, dict(known), rest)
    _place(free, left, ground, ground, {}, (0, -1), 0)
    return Found(free.offsets, free.steps >= 0 or free.peak <= goal), max(free.steps, 0)


@dataclass(slots=True)
class _SearchState:
    of: Problem
    grain: Mapping[int, tuple[int, ...]]
    cliques: list[tuple[int, ...]]  # items that all conflict with each other
    goal: int
    peak: int  # only layouts under it are of interest
    offsets: dict[int, int]
    steps: int


def _grain(of: Problem, part: int) -> dict[int, tuple[int, ...]]:
    """Per item with ``equal`` neighbours: the alignments a pile of coinciding items around it can ask for."""
    out: dict[int, tuple[int, ...]] = {}
    for place in bits(part):
        checkpoint()
        group = 0
        edge = 1 << place
        while edge:
            group |= edge
            reach = 0
            for member in bits(edge):
                reach |= of.equal[member]
            edge = reach & ~group
        if of.equal[place]:
            out[place] = tuple(sorted({of.align[member] for member in bits(group)}))
    return out


def _place(
    state: _SearchState,
    left: list[int],
    lows: list[int],
    clears: list[int],
    placed: dict[int, int],
    last: tuple[int, int],
    peak: int,
) -> None:
    """Tries every item of ``left`` as the next one at or above ``last`` (offset, item).

    ``lows``: per item the highest end of the placed ones it may not overlap; ``clears``: of those and of
    the ones it may only coincide with.
    """
    checkpoint()
    if not left:
        state.peak, state.offsets = peak, dict(placed)
        return
    size, align = state.of.size, state.of.align
    state.steps -= 2 + len(left)  # the time a node takes
    below = second = state.peak  # the lowest ends that an item of its own could have
    lowest = -1
    moves: list[tuple[int, int]] = []
    for place in left:
        step = align[place]
        start = -(-lows[place] // step) * step
        if max(start, -(-last[0] // step) * step) + size[place] >= state.peak:
            return
        end = -(-clears[place] // step) * step + size[place]
        if end < below:
            below, second, lowest = end, below, place
        elif end < second:
            second = end
        if place in state.grain:
            moves += [(at, place) for at in _starts(state, place, lows[place], placed)]
        else:
            moves.append((start, place))
    if _piled(state, lows, placed, last[0]) >= state.peak:
        return
    moves.sort(key=lambda move: move[0])
    for start, place in moves:
        end = start + size[place]
        # Something that fits entirely below this item could be moved there: that layout is tried elsewhere.
        fits_below = (second if place == lowest else below) <= start
        if (start, place) <= last or fits_below or end >= state.peak:
            continue
        placed[place] = start
        remaining = [other for other in left if other != place]
        up = _raised(lows, state.of.apart[place], end)
        both = _raised(clears, state.of.apart[place] | state.of.equal[place], end) if state.grain else up
        _place(state, remaining, up, both, placed, (start, place), max(peak, end))
        del placed[place]
        if state.peak <= state.goal or state.steps < 0:
            return


def _piled(state: _SearchState, lows: list[int], placed: Mapping[int, int], floor: int) -> int:
    """Bytes that a clique needs when all of it that is not placed yet goes on top of ``floor``."""
    size = state.of.size
    most = 0
    for clique in state.cliques:
        checkpoint()
        total = 0
        base = state.peak
        for place in clique:
            if place not in placed:
                total += size[place]
                if lows[place] < base:
                    base = lows[place]
        if total and total + max(base, floor) > most:
            most = total + max(base, floor)
    return most


def _raised(ends: list[int], interfering: int, end: int) -> list[int]:
    return [end if interfering >> place & 1 and end > low else low for place, low in enumerate(ends)]


def _starts(state: _SearchState, place: int, low: int, placed: Mapping[int, int]) -> set[int]:
    """Where an item that may coincide with others can go: alone, upon one, or as part of a pile of them."""
    of = state.of
    mates = {other: offset for other, offset in placed.items() if of.equal[place] >> other & 1}
    starts = {0, *mates.values()}
    for other, offset in placed.items():
        checkpoint()
        starts.update(align_up(offset + of.size[other], step) for step in state.grain[place])
    return {
        start
        for start in starts
        if start >= low
        and start % of.align[place] == 0
        and all(start == offset or start >= offset + of.size[mate] for mate, offset in mates.items())
    }
