"""Places that an atomic counter gives out: ``slot = atomicAdd(&count, 1); s[slot] = x;``.

As long as nothing but additions of one sign changes a counter, no two of them find the same number there: each finds
what the one before it has left, or more. Whoever else writes it in the same barrier interval races with an addition,
and that is a pair of its own, so between two additions of one interval there are only others. Of two that barriers may
separate it has to be seen that no other write stands where it may run between them.

An addition to a counter is not taken to wrap: it adds little, in loops that end by what is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from smem_lsp.analysis.decision.conditions import Position
from smem_lsp.analysis.decision.operators import COMPARISONS
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import LoopFacts, ValueFacts
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Barrier,
    BarrierKind,
    Kernel,
    Loop,
    Node,
    storages_of,
)
from smem_lsp.source import record
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Const, Op, Term

_MOST_ADDED = 1 << 16  # at once
_PLAIN_BARRIERS = (BarrierKind.BLOCK, BarrierKind.WARP)


@record
class AtomicSlot:
    """What an addition finds. ``cell``: the byte at which the counter begins; ``added``: never less than 0 if the
    counter ``rises``, else never more."""

    access: Access
    before: Term
    cell: Term
    added: Term
    rises: bool


@dataclass(slots=True)
class Counters:
    """Of one kernel. ``tickets``: by what they find."""

    tickets: Mapping[Term, AtomicSlot] = field(default_factory=dict)
    _stops: tuple[int, ...] = ()  # points of barriers and of calls that may wait
    _resets: Mapping[int, Sequence[int]] = field(default_factory=dict)  # buffer -> points of other writes
    _ranges: Mapping[int, tuple[int, int]] = field(default_factory=dict)  # loop -> its points
    _around: Mapping[int, Position] = field(default_factory=dict)

    def differ(self, one: AtomicSlot, other: AtomicSlot, common: Collection[int]) -> bool:
        """Do two threads find different numbers, if it is one counter? ``common``: loops (points) in one iteration of
        which both stand."""
        if one.access.buffer != other.access.buffer:
            return False
        points = [one.access.point, other.access.point]
        for each in (one, other):
            left = (loop for loop in self._around[each.access.point].loops if loop not in common)
            points += (point for loop in left for point in self._ranges[loop])
        first, last = min(points), max(points)
        resets = self._resets.get(one.access.buffer, ())
        return not all(any(first <= point <= last for point in each) for each in (self._stops, resets))


def counters(
    kernel: Kernel, values: ValueFacts, nodes: Iterable[Node], around: Mapping[int, Position]
) -> Counters:
    """``nodes``: of the kernel; ``around``: their positions."""
    if not values.added:
        return Counters()
    stops, ranges = list(kernel.opaque), dict[int, tuple[int, int]]()
    accesses = list[Access]()
    for node in nodes:
        if isinstance(node, Barrier):
            if node.kind not in _PLAIN_BARRIERS:
                return Counters()  # others may put threads in order that are all at one barrier interval
            stops.append(node.point)
        elif isinstance(node, Loop):
            ranges[node.point] = node.point, node.end_point
        elif isinstance(node, Access) and not node.lands:
            accesses.append(node)
    storages = storages_of(kernel.buffers)
    tickets, resets = dict[Term, AtomicSlot](), dict[int, list[int]]()
    for buffer in kernel.buffers:
        if buffer.index not in {each.buffer for each in accesses if each.point in values.added}:
            continue
        of_storage = [each for each in accesses if storages[each.buffer] == storages[buffer.index]]
        found = _tickets(kernel, values, of_storage, around)
        tickets |= {each.before: each for each in found if each.access.buffer == buffer.index}
        writes = [each for each in of_storage if each.kind.writes and each.point not in values.added]
        resets[buffer.index] = [each.point for each in writes]
    return Counters(tickets, tuple(stops), resets, ranges, around)


def _tickets(
    kernel: Kernel, values: ValueFacts, accesses: Iterable[Access], around: Mapping[int, Position]
) -> list[AtomicSlot]:
    """Of one storage; none, unless all atomic operations in it add numbers of one sign and one size."""
    limits = Bounds(values.loops)
    found = list[AtomicSlot]()
    for access in accesses:
        if access.kind is not AccessKind.UPDATE or access.plain:
            continue
        buffer = kernel.buffers[access.buffer]
        cell = values.offset(access, buffer)
        if access.point not in values.added or access.guess or access.is_unplaced or cell is None:
            return []
        if access.width not in (None, buffer.element_bytes) or not _ends(values, around[access.point]):
            return []
        before, added = values.added[access.point]
        low, high = limits.interval(added)
        if max(-low, high) > _MOST_ADDED or low < 0 < high:
            return []
        found.append(AtomicSlot(access, before, cell, added, low >= 0))
    sizes = {kernel.buffers[each.access.buffer].element_bytes for each in found}
    alike = len({each.rises for each in found}) == 1 and len(sizes) == 1 and None not in sizes
    return found if alike else []


def _ends(values: ValueFacts, position: Position) -> bool:
    """Do all loops around end by what is known, or because they count?"""
    loops = [values.loops.get(point) for point in position.loops]
    return all(
        each is not None and (each.trips is not None or each.again.known or _counts(each)) for each in loops
    )


def _counts(loop: LoopFacts) -> bool:
    """Is a number that each iteration changes by the same held against a limit? Whatever the limit is, the number comes
    to it."""
    steps = {
        each.atom
        for each in loop.recurrences
        if each.kind == "affine" and isinstance(each.by, Const) and each.by.n
    }
    return any(_is_moved(side, steps) for each in _limits(loop.again) for side in each.args)


def _limits(condition: Term) -> Iterator[Op]:
    """The comparisons that all have to hold."""
    if isinstance(condition, Op) and condition.operator == "&&":
        for each in condition.args:
            yield from _limits(each)
    elif isinstance(condition, Op) and condition.operator in COMPARISONS:
        yield condition


def _is_moved(term: Term, atoms: Collection[Term]) -> bool:
    """Is it one of ``atoms``, or that and a number?"""
    if isinstance(term, Op) and term.operator in ("+", "-"):
        moved = [each for each in term.args if not isinstance(each, Const)]
        return len(moved) == 1 and moved[0] in atoms
    return term in atoms
