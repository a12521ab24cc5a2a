"""The lowest pile of buffers that may not overlap at all."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

from smem_lsp.allocation.plan import align_up
from smem_lsp.allocation.problem import Problem
from smem_lsp.source import checkpoint

STATES = 1024  # sets of buffers looked at for one pile, about a millisecond


def stacked_height(of: Problem, places: Sequence[int]) -> tuple[int, list[int]] | None:
    """Bytes of the lowest pile of the items ``places``, and those items from bottom to top; None: too many.

    The end of a pile is the least over its top item of the end without it, aligned, plus its size: a search over
    sets. Items of one alignment that are equally long past a multiple of the largest alignment change places
    freely, and what is a multiple of it lies at the bottom and moves nothing.
    """
    top = lcm(*(of.align[place] for place in places))
    order = [place for place in places if of.size[place] % top == 0]
    base = sum(of.size[place] // top * top for place in places)
    alike: dict[tuple[int, int], list[int]] = {}
    for place in places:
        checkpoint()
        if of.size[place] % top:
            alike.setdefault((of.align[place], of.size[place] % top), []).append(place)
    kinds: list[
        tuple[int, int, int, int]
    ] = []  # alignment, length, how many states one more of it is away, count
    states = 1
    for (align, length), members in alike.items():
        kinds.append((align, length, states, len(members) + 1))
        states *= len(members) + 1
        if states > STATES:
            return None
    ends = [0] * states
    tops = [0] * states
    for state in range(1, states):
        least = -1
        for kind, (align, length, stride, count) in enumerate(kinds):
            if state // stride % count:
                end = -(-ends[state - stride] // align) * align + length
                if end < least or least < 0:
                    least, tops[state] = end, kind
        ends[state] = least
    state = states - 1
    left = list(alike.values())
    above: list[int] = []
    while state:
        kind = tops[state]
        above.append(left[kind].pop())
        state -= kinds[kind][2]
    return base + ends[-1], order + above[::-1]


def stacked(of: Problem, order: Sequence[int]) -> int:
    """Bytes of a pile of the items in this order, from the bottom up."""
    end = 0
    for place in order:
        end = align_up(end, of.align[place]) + of.size[place]
    return end
