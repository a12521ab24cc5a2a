"""Do two threads begin the barrier interval of two accesses at one place?

A barrier in an arm that some threads do not take lets those who come to it go on only when the others wait elsewhere or
have returned: what stands behind it in that arm comes after all that the others do before. Nothing lies between the two
in the text then, and still they are in order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from smem_lsp.analysis.decision.conditions import Condition, Position
from smem_lsp.analysis.decision.path_classes import Open
from smem_lsp.ir.nodes import Access, Barrier
from smem_lsp.source.record import dataclass


@dataclass(slots=True)
class IntervalStarts:
    """``doubtful``: barriers to which perhaps not all threads come; ``branches``: points of all branches."""

    positions: Mapping[int, Position]
    doubtful: Collection[Barrier]
    branches: frozenset[int]

    def told(self, pair: Open) -> Open:
        """The pair, of which nothing is told unless they do."""
        return pair if self.are_alike(pair.first, pair.second) else replace(pair, surely=frozenset())

    def are_alike(self, one: Access, other: Access) -> bool:
        """Does no thread come to one of the two through a barrier that one who comes to the other may not come to?"""
        return not any(
            self._parts(barrier, here, there)
            for barrier in self.doubtful
            for here, there in ((one, other), (other, one))
        )

    def _parts(self, barrier: Barrier, here: Access, there: Access) -> bool:
        holds, mine, others = (set(self._arms(each.point)) for each in (barrier, here, there))
        if barrier.point < here.point and holds <= mine:
            return not holds <= others
        left = {each.branch for each in mine - holds} & {each.branch for each in holds - mine}
        return barrier.point < there.point and not left.isdisjoint(each.branch for each in holds - others)

    def _arms(self, point: int) -> Iterable[Condition]:
        return (each for each in self.positions[point].conditions if each.branch in self.branches)
