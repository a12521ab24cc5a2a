"""A layout problem by position: item i of the list is bit i of every mask."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.allocation.plan import Item
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.liveness import bits
from smem_lsp.source import checkpoint, record


@record
class Problem:
    """Sizes and alignments in bytes; ``apart[i]``: may not overlap i; ``equal[i]``: only at one offset."""

    size: tuple[int, ...]
    align: tuple[int, ...]
    apart: tuple[int, ...]
    equal: tuple[int, ...]


def problem(items: Sequence[Item], conflicts: Conflicts) -> Problem:
    """The layout problem of ``items`` under ``conflicts``. Pairs of other buffers are ignored."""
    position = {item.index: place for place, item in enumerate(items)}
    apart = [0] * len(items)
    equal = [0] * len(items)
    for keys, masks in ((conflicts.hard, apart), (conflicts.soft, apart), (conflicts.equal, equal)):
        checkpoint()
        for key in keys:
            a, b = key
            if a in position and b in position:
                masks[position[a]] |= 1 << position[b]
                masks[position[b]] |= 1 << position[a]
    only_equal = tuple(mask & ~apart[place] for place, mask in enumerate(equal))
    return Problem(
        tuple(item.size for item in items), tuple(item.align for item in items), tuple(apart), only_equal
    )


def components(of: Problem) -> list[int]:
    """Masks of the connected items; two items of different masks may share bytes freely."""
    left = (1 << len(of.size)) - 1
    out: list[int] = []
    while left:
        checkpoint()
        found = 0
        edge = left & -left
        while edge:
            found |= edge
            reach = 0
            for place in bits(edge):
                reach |= of.apart[place] | of.equal[place]
            edge = reach & ~found
        out.append(found)
        left &= ~found
    return out


def cliques(of: Problem, places: Sequence[int]) -> list[tuple[int, ...]]:
    """A clique around each of ``places``, grown in their order."""
    out: dict[tuple[int, ...], None] = {}
    for seed in places:
        checkpoint()
        members = [seed]
        friends = of.apart[seed]
        for place in places:
            if friends >> place & 1:
                members.append(place)
                friends &= of.apart[place]
        out[tuple(sorted(members))] = None
    return list(out)
