"""A layout problem by position: item i of the list is bit i of every mask."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.allocation.plan import Item
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.masks import bits, gathered
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
    hard_or_soft = conflicts.hard | conflicts.soft
    at = [item.index for item in items]
    apart, equal = (
        tuple(gathered([pairs.row(index) for index in at], at))
        for pairs in (hard_or_soft, conflicts.equal - hard_or_soft)
    )
    return Problem(tuple(item.size for item in items), tuple(item.align for item in items), apart, equal)


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
    """A clique around each of ``places``, grown in their order; one where they and their friends are the same."""
    out: dict[tuple[int, ...], None] = {}
    for around in dict.fromkeys(of.apart[seed] | 1 << seed for seed in places):
        checkpoint()
        members = list[int]()
        friends = around
        for place in places:
            if friends >> place & 1:
                members.append(place)
                friends &= of.apart[place]
        out[tuple(sorted(members))] = None
    return list(out)
