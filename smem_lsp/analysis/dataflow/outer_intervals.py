"""What of a function's body may run before its first barrier, and what after its last one.

Both walks are conservative: a barrier counts only where every thread runs it, and a path that a jump may take is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smem_lsp.ir.nodes import Access, Barrier, Branch, Jump, Loop, Node, Seq, bodies
from smem_lsp.ir.walks import Backward, Flow
from smem_lsp.source import checkpoint


def between(body: Seq, first: int, last: int) -> list[Node]:
    """The outermost nodes whose points lie in ``first`` to ``last``."""
    found: list[Node] = []
    for node in body:
        checkpoint()
        if first <= node.point <= last:
            found.append(node)
        else:
            found += (each for inner in bodies(node) for each in between(inner, first, last))
    return found


def before_first(items: Sequence[Node], barriers: Collection[int]) -> list[Access]:
    """Accesses to which a path leads from the entry that passes none of ``barriers`` (points)."""
    walk = _Forward(barriers)
    walk.seq(items, True)
    return walk.found


def after_last(items: Sequence[Node], barriers: Collection[int]) -> list[Access]:
    """Accesses from which a path leads to the end that passes none of ``barriers``, in program order."""
    walk = _Backward(barriers)
    walk.seq(items, True, True, True)
    return sorted(walk.found, key=lambda access: access.point)


class _Reached:
    """The accesses that a path comes to, in the order in which they are come to."""

    def __init__(self, barriers: Collection[int]) -> None:
        self.barriers = barriers
        self.found: list[Access] = []

    def step(self, node: Node, reached: bool) -> bool:
        if isinstance(node, Access) and reached:
            self.found.append(node)
        return reached and not (isinstance(node, Barrier) and node.point in self.barriers)


class _Forward(_Reached, Flow[bool]):
    none = False

    def join(self, one: bool, other: bool) -> bool:
        return one or other

    def jump(self, node: Jump, reached: bool) -> bool:
        return reached

    def loop(self, node: Loop, reached: bool) -> bool:
        found = self.seq(node.body, reached)
        return found.end or found.breaks or found.continues or (reached and not node.min_trip)


class _Backward(_Reached, Backward[bool]):
    def jump(self, node: Jump, reached: bool, breaks: bool, continues: bool) -> bool:
        return True

    def branch(self, node: Branch, reached: bool, breaks: bool, continues: bool) -> bool:
        then, other = (self.seq(arm.items, reached, breaks, continues) for arm in bodies(node))
        return then or other

    def loop(self, node: Loop, reached: bool) -> bool:
        return self.seq(node.body.items, reached, True, True) or (reached and not node.min_trip)
