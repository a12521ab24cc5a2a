"""Which ranges of an array have copies that land behind a wait, path by path of one thread.

A copy lands with the first wait for its group. What is bound to an object, or waited for in stages of a pipeline, may
land behind every wait that follows.
"""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.ir.nodes import (
    NO_OBJECT,
    Access,
    AccessKind,
    CopyWait,
    CopyWaitKind,
    Node,
    Seq,
)
from smem_lsp.ir.paths import PathWalk

_Flight = tuple[int, int, bool]  # range, object that the copy is bound to, and whether it is in a group
_State = frozenset[_Flight]
_NONE: _State = frozenset()


def landed(access: Access) -> bool:
    """Has a copy landed here, in bytes that are not said?"""
    places = access.offset, access.index, access.span
    return access.asynchronous and access.kind is AccessKind.UPDATE and places == (None, None, None)


def landings(body: Seq, buffer: int, of: Mapping[int, int]) -> Mapping[int, frozenset[int]]:
    """Point at which copies into ``buffer`` land -> the ranges that they may be of. ``of``: issue (its point) -> its
    range."""
    walk = _LandingWalk(buffer, of)
    walk.seq(body.items, _NONE)
    return walk.found


class _LandingWalk(PathWalk[_Flight]):
    """``landing``: what the wait that was passed last has waited for."""

    def __init__(self, buffer: int, of: Mapping[int, int]) -> None:
        super().__init__()
        self.buffer = buffer
        self.of = of
        self.found: dict[int, frozenset[int]] = {}
        self.landing = _NONE

    def step(self, node: Node, states: _State) -> _State:
        if isinstance(node, CopyWait):
            return self.wait(node, states)
        if not isinstance(node, Access):
            return states
        if node.buffer == self.buffer and landed(node):
            own = frozenset(self.of[each] for each in node.issues if each in self.of)
            if not node.issues:
                own = frozenset(each for each, _, _ in self.landing)
            self.found[node.point] = self.found.get(node.point, frozenset()) | own
        elif node.asynchronous and not node.beside and node.point in self.of:
            return states | {(self.of[node.point], node.bound, False)}
        return states

    def wait(self, node: CopyWait, state: _State) -> _State:
        self.landing = state
        grouped = frozenset(each for each in state if each[1] == NO_OBJECT)
        if node.bound != NO_OBJECT:
            return state
        if node.kind is CopyWaitKind.COMMIT:
            return (state - grouped) | {(each, by, True) for each, by, _ in grouped}
        if node.kind is CopyWaitKind.GROUPS and not node.left:
            self.landing = frozenset(each for each in grouped if each[2])
        elif node.kind is CopyWaitKind.ALL:
            self.landing = grouped
        else:
            return state
        return state - self.landing
