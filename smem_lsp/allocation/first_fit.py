"""Layouts that place one buffer after the other, each as low as it may."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from random import Random

from smem_lsp.allocation.problem import Problem
from smem_lsp.analysis.dataflow.masks import bits
from smem_lsp.source import checkpoint

SIDEWAYS = 0.1  # share of the worse orders from which the search goes on all the same


def peak(of: Problem, offsets: dict[int, int]) -> int:
    """Bytes of a layout."""
    return max((offset + of.size[place] for place, offset in offsets.items()), default=0)


def first_fit(of: Problem, order: Iterable[int]) -> dict[int, int]:
    """Offsets in bytes: each item as low as those placed before it allow, in a hole between them if it fits."""
    offsets: dict[int, int] = {}
    placed: list[tuple[int, int, int]] = []  # start, end, item: by rising start
    for place in order:
        checkpoint()
        size, align = of.size[place], of.align[place]
        apart, equal = of.apart[place], of.equal[place]
        start, at = 0, 0
        while at < len(placed):
            low, high, other = placed[at]
            at += 1
            if low >= start + size:
                if not equal:
                    break
                continue
            if high <= start:
                continue
            if apart >> other & 1:
                start = -(-high // align) * align
            elif equal >> other & 1 and low != start:
                start = low if low > start and low % align == 0 else -(-high // align) * align
            else:
                continue
            if equal:
                at = 0  # what it coincided with may be in the way now
        offsets[place] = start
        insort(placed, (start, start + size, place))
    return offsets


def climb(of: Problem, order: Sequence[int], goal: int, tries: int) -> dict[int, int]:
    """The best first fit among ``tries`` orders that grow out of ``order``; ends at ``goal`` bytes.

    An item that reaches over ``goal`` moves in front of one that it may not overlap. Equal input gives equal output.
    """
    order = list(order)
    rng = Random(len(order))
    offsets = best = first_fit(of, order)
    now = least = peak(of, offsets)
    for _ in range(tries):
        checkpoint()
        if least <= goal:
            break
        mover = rng.choice([place for place in order if offsets[place] + of.size[place] > goal])
        at = order.index(mover)
        interfering = of.apart[mover] | of.equal[mover]
        targets = [before for before in range(at) if interfering >> order[before] & 1]
        if not targets:
            continue
        changed = order[:at] + order[at + 1 :]
        changed.insert(rng.choice(targets), mover)
        placed = first_fit(of, changed)
        height = peak(of, placed)
        if height <= now or rng.random() < SIDEWAYS:
            order, offsets, now = changed, placed, height
            if now < least:
                best, least = offsets, now
    return best


def orders(
    of: Problem, part: int, spans: Sequence[tuple[int, int]], first: Sequence[int]
) -> Iterable[list[int]]:
    """Orders to place the items of the mask ``part`` in: as declared; ``first`` and then the others, by size or by
    area; then all by size, area, alignment, length of life, first point and last point, the largest in front.
    ``spans``: first and last point of each life; an area is bytes times length of life."""
    members = list(bits(part))
    size = of.size
    length = [last - start + 1 for start, last in spans]
    yield members
    by_size = sorted(members, key=lambda place: -size[place])
    by_area = sorted(members, key=lambda place: -size[place] * length[place])
    ahead = set(first)
    yield [*first, *(place for place in by_size if place not in ahead)]
    yield [*first, *(place for place in by_area if place not in ahead)]
    yield by_size
    yield by_area
    yield sorted(members, key=lambda place: (-of.align[place], -size[place]))
    yield sorted(members, key=lambda place: -length[place])
    yield sorted(members, key=lambda place: -spans[place][0])
    yield sorted(members, key=lambda place: -spans[place][1])
