"""Which nodes of a region tree change what is open, or meet it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from smem_lsp.analysis.decision.path_classes import Ordering
from smem_lsp.ir.nodes import (
    Access,
    Barrier,
    BarrierSite,
    Branch,
    CopyWait,
    Jump,
    Loop,
    Node,
    Seq,
    WarpCollective,
    bodies,
)
from smem_lsp.source import record
from smem_lsp.source.record import dataclass


@dataclass(slots=True)
class Regions:
    """What of a kernel matters to a walk over it. ``interfering``: see ``ways_between``."""

    ordering: Ordering
    index_of: Mapping[int, int]
    interfering: Sequence[int]
    copying: bool = False
    covering: dict[int, int] = field(init=False)
    halves: dict[int, int] = field(init=False)
    of_arms: dict[int, tuple[int, int]] = field(init=False)
    delivering: dict[int, int] = field(
        default_factory=dict
    )  # by exchange (point): loads that are over, as bits
    _summaries: dict[int, _Summary] = field(default_factory=dict)  # by the nodes (id)

    def __post_init__(self) -> None:
        self.covering = dict(self.ordering.covering)
        self.halves = dict(self.ordering.halves)
        self.of_arms = {point: (first, last) for point, first, last in self.ordering.of_arms}
        for point, load in self.ordering.delivered:
            if load in self.index_of:
                self.delivering[point] = self.delivering.get(point, 0) | 1 << self.index_of[load]

    def bit(self, access: Access) -> int:
        index = self.index_of.get(access.point)
        return 0 if index is None else 1 << index

    def summary(self, seq: Seq) -> _Summary:
        """What is in it, worked out once."""
        found = self._summaries.get(id(seq))
        if found is None:
            accesses, orders, jumps, waits, delivers, last = 0, False, False, False, False, -1
            for node in seq.items:
                last = max(last, node.point)
                if isinstance(node, Access):
                    accesses |= self.bit(node)
                elif isinstance(node, Barrier | BarrierSite):
                    orders = orders or self.clears(node)
                    waits = waits or (self.copying and node.point in self.covering)
                elif isinstance(node, CopyWait):
                    waits = waits or self.copying
                elif isinstance(node, WarpCollective):
                    delivers = delivers or node.point in self.delivering
                elif isinstance(node, Jump):
                    jumps = True
                elif isinstance(node, Branch | Loop):
                    for inner in map(self.summary, bodies(node)):
                        accesses |= inner.accesses
                        orders = orders or inner.orders
                        jumps = jumps or inner.jumps
                        waits = waits or inner.waits
                        delivers = delivers or inner.delivers
                        last = max(last, inner.last)
            found = self._summaries[id(seq)] = _Summary(accesses, orders, jumps, waits, delivers, last)
        return found

    def matters(self, node: Node) -> bool:
        """May it change which accesses are open, or meet some?"""
        if isinstance(node, Access):
            return node.point in self.index_of
        if isinstance(node, Barrier | BarrierSite):
            return self.clears(node) or node.point in self.covering
        if isinstance(node, CopyWait):
            return self.copying
        if isinstance(node, WarpCollective):
            return node.point in self.delivering
        if not isinstance(node, Branch | Loop):
            return isinstance(node, Jump)
        found = [self.summary(arm) for arm in bodies(node)]
        if any(each.accesses or each.orders or each.jumps or each.waits or each.delivers for each in found):
            return True
        return self.calls(node)

    def clears(self, node: Barrier | BarrierSite) -> bool:
        """Is something that was open over there?"""
        point = node.point
        return point in self.ordering.clears or point in self.halves or point in self.of_arms

    def orders(self, node: Branch | Loop) -> bool:
        """Does it hold something that orders accesses, or may, or tells when a copy has landed?"""
        return any(each.orders or each.waits for each in map(self.summary, bodies(node))) or self.calls(node)

    def calls(self, node: Branch | Loop) -> bool:
        """Does it hold one of the calls, or is it one of the loops, from which on nothing counts that was open?"""
        last = max(each.last for each in map(self.summary, bodies(node)))
        last = node.end_point if isinstance(node, Loop) else last
        return any(node.point < call <= last for call in self.ordering.calls)


@record
class _Summary:
    """Of some nodes: their accesses, as bits; whether anything orders accesses, jumps, commits copies or waits for
    them, or is an exchange of what was loaded; their last point."""

    accesses: int
    orders: bool
    jumps: bool
    waits: bool
    delivers: bool
    last: int
