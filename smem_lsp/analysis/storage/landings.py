"""Which ranges of an array have copies that land behind a wait, path by path of one thread.

A copy lands with the first wait for its group. What is bound to an object, or waited for in stages of a pipeline, may
land behind every wait that follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from smem_lsp.ir.nodes import (
    NO_OBJECT,
    Access,
    AccessKind,
    Branch,
    CopyWait,
    CopyWaitKind,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

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
    walk = _Walk(buffer, of)
    walk.seq(body.items, _NONE)
    return walk.found


@dataclass(slots=True)
class _Walk:
    """``landing``: what the wait that was passed last has waited for."""

    buffer: int
    of: Mapping[int, int]
    found: dict[int, frozenset[int]] = field(default_factory=dict)
    landing: _State = _NONE

    def seq(self, nodes: Iterable[Node], state: _State) -> tuple[_State, _State, _State]:
        """In flight at the end, at the breaks and at the continues."""
        breaks = continues = _NONE
        for node in nodes:
            checkpoint()
            if isinstance(node, Access):
                if node.buffer == self.buffer and landed(node):
                    own = frozenset(self.of[each] for each in node.issues if each in self.of)
                    if not node.issues:
                        own = frozenset(each for each, _, _ in self.landing)
                    self.found[node.point] = self.found.get(node.point, frozenset()) | own
                elif node.asynchronous and not node.beside and node.point in self.of:
                    state |= {(self.of[node.point], node.bound, False)}
            elif isinstance(node, CopyWait):
                state = self.wait(node, state)
            elif isinstance(node, Branch):
                then, other = self.seq(node.then.items, state), self.seq(node.otherwise.items, state)
                state = then[0] | other[0]
                breaks |= then[1] | other[1]
                continues |= then[2] | other[2]
            elif isinstance(node, Loop):
                state = self.loop(node, state)
            elif isinstance(node, Jump):
                if node.kind is JumpKind.BREAK:
                    breaks |= state
                elif node.kind is JumpKind.CONTINUE:
                    continues |= state
                state = _NONE
        return state, breaks, continues

    def loop(self, node: Loop, state: _State) -> _State:
        before = state
        while True:
            checkpoint()
            end, breaks, continues = self.seq(node.body.items, state)
            around = state | end | continues
            if around == state:
                break
            state = around
        return end | breaks | continues | (before if node.min_trip == 0 else _NONE)

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
