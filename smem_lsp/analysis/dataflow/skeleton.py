"""The region tree reduced to the nodes that matter to the walks of shared memory.

Most nodes of a kernel assign local variables, and many loops and branches contain nothing else.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.ir.nodes import (
    Access,
    Assignment,
    Barrier,
    BarrierSite,
    Branch,
    CopyWait,
    GlobalAccess,
    Jump,
    Loop,
    Node,
    Proxy,
    Remote,
    Seq,
    WarpCollective,
)
from smem_lsp.ir.places import Row
from smem_lsp.source import record

_Seen = Access | Barrier | Branch | Loop | Jump | BarrierSite
_SILENT = frozenset(
    (Assignment, CopyWait, WarpCollective, GlobalAccess, Proxy, Remote)
)  # no walk of shared memory sees them


@record
class Stretch(BarrierSite):
    """Replaces adjacent omitted nodes, at the ``point`` of the last one. ``places``: where among them a barrier may be
    added."""

    places: tuple[int, ...] = ()


def outline(body: Seq, facts: Facts) -> Seq:
    """``body`` with its accesses, jumps and proved barriers, and the loops and branches around one of these.

    What is left out between two nodes is a ``Stretch``, wanted where a barrier may be added, and at the end of a
    block and before a jump, where a buffer can cease to hold a value. It can begin to at the start of a block: a place
    stands there. Lines are those of the last node so far that has one.
    """
    made = _Outline(facts)
    return made.seq(body) or made.idle.seq()


class _Idle(NamedTuple):
    """A block in which nothing matters: its lowest and its last point with their lines, places in between."""

    low: int
    low_line: Row
    last: int
    last_line: Row
    places: tuple[int, ...]

    def seq(self) -> Seq:
        if not self.low:
            return Seq()
        ends = (
            BarrierSite(self.low, None, self.low_line),
            Stretch(self.last, None, self.last_line, places=self.places),
        )
        return Seq(ends)


class _Outline:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.point = 0  # of the last node so far
        self.line = Row(0)
        self.idle = _Idle(0, self.line, 0, self.line, ())  # the last block in which nothing mattered

    def seq(self, seq: Seq) -> Seq | None:
        """What is kept of ``seq``; None, and ``idle``, without an access, a jump or a proved barrier in it."""
        out: list[Node] = []
        places: list[int] = []
        allowed = self.facts.places
        point, line = self.point, self.line
        low, low_line = 0, line
        left_out = False
        for node in seq.items:
            before, before_line = point, line
            start = point = node.point
            start_line = line
            if type(node) not in _SILENT:
                node = cast("_Seen", node)
                start_line = line = node.line
                if isinstance(node, BarrierSite):
                    if point in allowed:
                        places.append(point)
                else:
                    self.point, self.line = point, line
                    kept = self.kept(node)
                    point, line = self.point, self.line
                    if kept is not None:
                        if not out and left_out:
                            out.append(BarrierSite(low, None, low_line))
                        if left_out and (places or isinstance(kept, Jump)):
                            out.append(Stretch(before, None, before_line, places=tuple(places)))
                            places.clear()
                        left_out = False
                        out.append(kept)
                        continue
            # A loop may begin with a node that is numbered late.
            if not out and (not low or start < low):
                low, low_line = start, start_line
            left_out = True
        self.point, self.line = point, line
        if not out:
            self.idle = _Idle(low, low_line, point, line, tuple(places))
            return None
        if left_out:
            out.append(Stretch(point, None, line, places=tuple(places)))
        return Seq(tuple(out))

    def kept(self, node: Access | Jump | Barrier | Branch | Loop) -> Node | None:
        if isinstance(node, (Access, Jump)):
            return node
        if isinstance(node, Barrier):
            return node if node.point in self.facts.barriers else None
        if isinstance(node, Branch):
            then, idle = self.seq(node.then), self.idle
            otherwise = self.seq(node.otherwise)
            if then is None and otherwise is None:
                return None
            arms = (then or idle.seq(), otherwise or self.idle.seq())
            return Branch(node.point, node.condition, *arms, node.span, node.line)
        body = self.seq(node.body)
        self.point = node.end_point
        if body is None:
            return None
        iterations, words = (node.min_trip, node.trips), (node.condition, None)
        return Loop(node.point, node.end_point, *iterations, *words, body, node.span, node.line)
