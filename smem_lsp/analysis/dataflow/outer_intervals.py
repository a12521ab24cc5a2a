"""What of a function's body may run before its first barrier, and what after its last one.

Both walks are conservative: a barrier counts only where every thread runs it, and a path that a jump may take is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smem_lsp.ir.nodes import Access, Barrier, Branch, Jump, Loop, Node, Seq
from smem_lsp.source import checkpoint


def between(body: Seq, first: int, last: int) -> list[Node]:
    """The outermost nodes whose points lie in ``first`` to ``last``."""
    found: list[Node] = []
    for node in body:
        checkpoint()
        if first <= node.point <= last:
            found.append(node)
        elif isinstance(node, Branch):
            found += between(node.then, first, last) + between(node.otherwise, first, last)
        elif isinstance(node, Loop):
            found += between(node.body, first, last)
    return found


def before_first(items: Sequence[Node], barriers: Collection[int]) -> list[Access]:
    """Accesses to which a path leads from the entry that passes none of ``barriers`` (points)."""
    found: list[Access] = []
    _forward(items, barriers, found, reached=True)
    return found


def after_last(items: Sequence[Node], barriers: Collection[int]) -> list[Access]:
    """Accesses from which a path leads to the end that passes none of ``barriers``, in program order."""
    found: list[Access] = []
    _backward(items, barriers, found, reached=True)
    return sorted(found, key=lambda access: access.point)


def _forward(
    items: Sequence[Node], barriers: Collection[int], found: list[Access], *, reached: bool
) -> tuple[bool, bool]:
    """(whether such a path leads behind ``items``, whether one leads to a jump in them)."""
    jumped = False
    for node in items:
        if isinstance(node, Access) and reached:
            found.append(node)
        elif isinstance(node, Barrier) and node.point in barriers:
            reached = False
        elif isinstance(node, Jump):
            jumped = jumped or reached
        elif isinstance(node, Branch):
            arms = [
                _forward(arm.items, barriers, found, reached=reached) for arm in (node.then, node.otherwise)
            ]
            reached = any(behind for behind, _ in arms)
            jumped = jumped or any(left for _, left in arms)
        elif isinstance(node, Loop):
            behind, left = _forward(node.body.items, barriers, found, reached=reached)
            reached = behind or left or (reached and not node.min_trip)
    return reached, jumped


def _backward(
    items: Sequence[Node], barriers: Collection[int], found: list[Access], *, reached: bool
) -> bool:
    """Does such a path lead from before ``items``?"""
    for node in reversed(items):
        if isinstance(node, Access) and reached:
            found.append(node)
        elif isinstance(node, Barrier) and node.point in barriers:
            reached = False
        elif isinstance(node, Jump):
            reached = True
        elif isinstance(node, Branch):
            arms = [
                _backward(arm.items, barriers, found, reached=reached) for arm in (node.then, node.otherwise)
            ]
            reached = any(arms)
        elif isinstance(node, Loop):
            within = _backward(node.body.items, barriers, found, reached=reached)
            reached = within or (reached and not node.min_trip)
    return reached
