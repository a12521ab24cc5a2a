"""The region tree under construction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import field, replace

from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Assignment,
    Barrier,
    BarrierFamily,
    BarrierKind,
    Branch,
    GlobalAccess,
    Loop,
    Node,
    Remote,
    Seq,
    WarpCollective,
    walk,
)
from smem_lsp.ir.values import Unknown, Value
from smem_lsp.lowering.state.position import BodyPosition
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.operators import OperandType


@dataclass
class Emitter:
    """Appends nodes to the innermost open list, and numbers points and values that are not known.

    ``lo`` and ``hi`` of its methods are tokens of the chunk at ``at``.
    """

    at: BodyPosition
    settled: bool = True  # every template argument of the kernel is known: what is written has one value
    items: list[Node] = field(default_factory=list)
    depth: int = 0  # lists that are open around it
    point: int = 0  # the last one that was given out
    _keys: int = 0
    # branch or loop, by its id -> what ``changed_in`` found in it
    _changed: dict[int, tuple[Node, set[int]]] = field(default_factory=dict)
    _assigned: dict[int, _Assigned] = field(default_factory=dict)  # by the id of an open list

    def next_point(self) -> int:
        self.point += 1
        return self.point

    def reserve(self, count: int) -> None:
        """Keep the next ``count`` points free, for nodes that are put in later."""
        self.point += count

    def end_of_loop(self, labels: int) -> int:
        """A point for it; two are kept free behind it for each region that it may be left for the end of, a function
        that is inlined, or what stands before one of the ``labels``: to leave the next loop, too."""
        end = self.next_point()
        if labels or len(self.at.stack) > 1:
            self.reserve(2 * (labels + 1))
        return end

    def emit(self, node: Node) -> None:
        self.items.append(node)

    def only_guess(self, first: int) -> None:
        """Of the accesses among the items from ``first`` on it is not known that they happen as they are written."""
        for number in range(first, len(self.items)):
            item = self.items[number]
            if isinstance(item, Access):
                self.items[number] = replace(item, guess=True)

    def collect(self) -> _Collecting:
        """Nodes emitted inside go to the list that is handed out."""
        return _Collecting(self)

    def fresh(
        self,
        *,
        uniform: bool = False,
        drawn: bool = False,
        access: int | None = None,
        escaped: bool = False,
        own: bool = False,
        written: bool = False,
        call: str = "",
    ) -> Unknown:
        """A value that is not known and equal to no other. ``uniform``: all threads of a block have it, since the text
        says which one; ``written``: it says which one each thread has; ``drawn``: all have one that is made when the
        kernel runs, as a vote is."""
        self._keys += 1
        written = (uniform or written) and self.settled and not drawn
        return Unknown(self._keys, uniform or drawn, written, access, escaped, own, call)

    def assign(self, variable: int, value: Value, reading: OperandType = OperandType.UNKNOWN) -> None:
        self.emit(Assignment(self.next_point(), variable, value, reading))

    def barrier(
        self,
        kind: BarrierKind,
        lo: int,
        hi: int,
        spelling: str,
        mask: Value | None = None,
        *,
        votes: bool = False,
        lanes: int = WARP_SIZE,
    ) -> None:
        where = self.at.span(lo, hi), self.at.line(lo)
        self.emit(Barrier(self.next_point(), kind, *where, spelling, mask=mask, votes=votes, lanes=lanes))

    def half(self, lo: int, hi: int, spelling: str, arrived: int | None = None, *, arrives: bool) -> int:
        """A half of a barrier of the block, in which threads say that they are there (``arrives``), or wait for those
        that have been at the point ``arrived``; None: not known where. Returns its point."""
        point, line = self.next_point(), self.at.line(lo)
        half = Barrier(point, BarrierKind.HALF, None, line, spelling, arrives=arrives, arrived=arrived)
        self.emit(half)
        return point

    def named_barrier(
        self,
        lo: int,
        hi: int,
        number: Value | None,
        count: Value | None,
        *,
        arrives: bool,
        family: BarrierFamily = BarrierFamily.PTX,
    ) -> None:
        self.emit(
            Barrier(
                self.next_point(),
                BarrierKind.NAMED,
                self.at.span(lo, hi),
                self.at.line(lo),
                "",
                number=number,
                count=count,
                arrives=arrives,
                family=family,
            )
        )

    def exchange(
        self, lo: int, hi: int, spelling: str, mask: Value | None, given: tuple[Value, ...] = ()
    ) -> None:
        point, span = self.next_point(), self.at.span(lo, hi)
        self.emit(WarpCollective(point, span, self.at.line(lo), spelling, mask, given))

    def remote(self, lo: int, hi: int) -> None:
        """Shared memory of another block gets an address here."""
        self.emit(Remote(self.next_point(), self.at.span(lo, hi), self.at.line(lo)))

    def touch(
        self,
        kind: AccessKind,
        base: Value | None = None,
        index: Value | None = None,
        width: int | None = None,
        *,
        signals: bool = False,
    ) -> None:
        """Memory outside shared memory is read or written: an element of ``width`` bytes."""
        self.emit(GlobalAccess(self.next_point(), kind, base, index, self.at.line(0), width, signals))

    def forget(self, items: list[Node]) -> None:
        """The list is closed."""
        self._assigned.pop(id(items), None)

    def last_assigned(self, items: list[Node], count: int, variable: int) -> Value | None:
        """What the variable surely is behind the first ``count`` of ``items``, an open list: assigned last there, with
        nothing in between that may assign it."""
        found = self._assigned.get(id(items))
        if found is None or not found.still_knows(items):
            found = self._assigned[id(items)] = _Assigned(items)
        for at in range(found.done, count):
            item = items[at]
            if isinstance(item, Assignment):
                found.values[item.variable].append((at, item.value))
            elif isinstance(item, (Branch, Loop)):
                for each in self.changed_in(item):
                    found.values[each].append((at, None))
        found.note_done(count)
        known = found.values.get(variable, [])
        return next((value for at, value in reversed(known) if at < count), None)

    def assigned_in(self, items: Sequence[Node]) -> set[int]:
        """The variables that are assigned somewhere in some nodes."""
        found = {item.variable for item in items if isinstance(item, Assignment)}
        return found.union(*(self.changed_in(item) for item in items if isinstance(item, Branch | Loop)))

    def changed_in(self, node: Branch | Loop) -> set[int]:
        """The variables that are assigned somewhere in it."""
        known = self._changed.get(id(node))
        if known is None:
            found = {item.variable for item in walk(Seq((node,))) if isinstance(item, Assignment)}
            known = self._changed[id(node)] = node, found
        return known[1]


@dataclass
class _Assigned:
    """Where the first ``done`` of some nodes assign which variable, and what; None: perhaps, or not known what."""

    items: list[Node]
    done: int = 0
    last: Node | None = None  # of these nodes
    values: defaultdict[int, list[tuple[int, Value | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def still_knows(self, items: list[Node]) -> bool:
        """Are these the same nodes, and more?"""
        same = self.items is items and self.done <= len(items)
        return same and (not self.done or items[self.done - 1] is self.last)

    def note_done(self, count: int) -> None:
        if count > self.done:
            self.done, self.last = count, self.items[count - 1]


class _Collecting:
    __slots__ = ("_emitter", "_outer")

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def __enter__(self) -> list[Node]:
        self._outer = self._emitter.items
        found: list[Node] = []
        self._emitter.items = found
        self._emitter.depth += 1
        return found

    def __exit__(self, *error: object) -> None:
        self._emitter.forget(self._emitter.items)
        self._emitter.items = self._outer
        self._emitter.depth -= 1
