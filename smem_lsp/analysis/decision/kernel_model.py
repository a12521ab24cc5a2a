"""What is known of a kernel whatever its block, worked out once for all questions about it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import accumulate
from operator import itemgetter, or_

from smem_lsp.analysis.dataflow.interfering import interfering_accesses
from smem_lsp.analysis.decision.atomic_slots import Counters, counters
from smem_lsp.analysis.decision.axis_strides import steps_along
from smem_lsp.analysis.decision.conditions import Position, positions
from smem_lsp.analysis.decision.exit_conditions import Exits, Leaving, loop_exits, not_taken, passed_loops
from smem_lsp.analysis.decision.interval_paths import meetings_between, ways_between
from smem_lsp.analysis.decision.load_numbering import Earlier, rereads
from smem_lsp.analysis.decision.loaded_values import MadeOf, made_of
from smem_lsp.analysis.decision.operators import ARITHMETIC
from smem_lsp.analysis.decision.path_classes import Ordering, Pair, PathClass
from smem_lsp.analysis.decision.query_fingerprints import QueryFingerprints
from smem_lsp.analysis.decision.start_values import start_values
from smem_lsp.analysis.threads.uniformity import Control, Levels, control_where, undisturbed_loads
from smem_lsp.analysis.values.delivered_loads import delivered_loads
from smem_lsp.analysis.values.extents import Extent
from smem_lsp.analysis.values.pointer_ranges import parts
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Barrier,
    BarrierSite,
    Branch,
    CopyWait,
    Dims,
    Jump,
    Kernel,
    Loop,
    Node,
    Seq,
    WarpCollective,
    bodies,
    changed,
    storages_of,
    walk,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.intervals import Interval
from smem_lsp.terms.language import Const, Op, OpaqueTerm, Sym, Term, Thread, parts_of

Ways = Mapping[Pair, frozenset[PathClass]]
Where = tuple[int, Term, int]
"""A buffer, the first byte that a thread touches there, and how many it touches."""
_MANY = 400  # accesses of a kernel; of more those are told apart at once whose places say so
_NO_PLACES = frozenset[Where]()


@dataclass
class KernelModel:
    """A kernel that was followed. What it holds besides is found when it is first asked for, and kept. ``factor``: how
    many times the usual effort what is decided of it may take."""

    kernel: Kernel
    values: ValueFacts
    control: Control
    levels: Levels
    factor: float = 1.0
    _ways: dict[tuple[Ordering, frozenset[Where]], Ways] = field(default_factory=dict)
    _meetings: dict[frozenset[Where], int] = field(default_factory=dict)
    _controls: dict[frozenset[int], Control] = field(default_factory=dict)
    _begun: dict[Dims | None, Mapping[Term, Interval]] = field(default_factory=dict)
    _steps: dict[str, Mapping[int, int]] = field(default_factory=dict)

    def effort(self, usual: int) -> int:
        """What may be spent where that is ``usual``, in the solver's units."""
        return int(self.factor * usual)

    @cached_property
    def nodes(self) -> Sequence[Node]:
        return tuple(walk(self.kernel.body))

    @cached_property
    def accesses(self) -> Sequence[Access]:
        """Those of the text; where a copy lands, it is the same access still."""
        return tuple(node for node in self.nodes if isinstance(node, Access) and not node.lands)

    @cached_property
    def barriers(self) -> Sequence[Barrier]:
        return tuple(node for node in self.nodes if isinstance(node, Barrier))

    @cached_property
    def body(self) -> Seq:
        """The nodes of the kernel that a walk over its accesses and barriers comes to."""
        return changed(self.kernel.body, _shortened)

    @cached_property
    def positions(self) -> Mapping[int, Position]:
        """Of all accesses and barriers, by point."""
        return positions(self.kernel.body, self.values)

    @cached_property
    def exits(self) -> Mapping[int, Exits]:
        """The jumps out of each loop, by point."""
        return loop_exits(self.kernel.body, self.values, self.positions)

    def passed(self, first: Access, second: Access, way: PathClass) -> tuple[int, ...]:
        """The loops whose iterations that the thread of ``first`` is in that of ``second`` has gone through."""
        if way.crossed is None and first.point >= second.point:
            return ()
        around, theirs = (self.positions[each.point].loops for each in (first, second))
        common = sum(one == other for one, other in zip(around, theirs))
        return passed_loops(self.exits, self.control.uniform, around, common, way.crossed)

    def not_taken(self, first: Access, second: Access, way: PathClass) -> Sequence[Leaving]:
        """In these iterations: what does not hold, all of it, for the thread of ``second``."""
        return tuple(not_taken(self.exits, self.passed(first, second, way), way.crossed))

    @cached_property
    def of_block(self) -> frozenset[tuple[Term, bool]]:
        """Conditions under which a barrier of the block stands, so that they are meant for all of its threads."""
        stands = (self.positions[point] for point in self.control.barriers if point in self.positions)
        return frozenset((each.term, each.truth) for position in stands for each in position.conditions)

    @cached_property
    def meant(self) -> frozenset[tuple[Term, bool]]:
        """Conditions of which nothing is known, with a barrier of the block behind them: it would be wrong if threads
        did not agree on them."""
        stands = (
            self.positions[each.point]
            for each in self.barriers
            if each.of_block and not each.guess and each.point in self.positions
        )
        every = (each for position in stands for each in position.conditions)
        of_all = ((each.term, each.truth) for each in every if self.made_of(each.term) is MadeOf.UNKNOWN)
        return frozenset(of_all) - self.of_block

    def made_of(self, term: Term) -> MadeOf:
        """What a term is made of that differs between threads, as far as nothing is loaded."""
        return made_of(term, self.values, self.levels, self.updates)

    @cached_property
    def agreed(self) -> frozenset[tuple[Term, bool]]:
        """Conditions that ask for what all threads read from one place: where they do not agree on one, a write that
        nothing orders has changed the place between two reads, and that is a race already."""
        every = (each for position in self.positions.values() for each in position.conditions)
        return frozenset((each.term, each.truth) for each in every if each.branch in self.control.alike)

    @cached_property
    def slices(self) -> QueryFingerprints:
        """Names of what questions about it depend on."""
        return QueryFingerprints(self)

    @cached_property
    def parts(self) -> Mapping[int, Extent]:
        """By point: the part of its buffer that an access is meant for."""
        return parts(self.kernel)

    @cached_property
    def updates(self) -> frozenset[int]:
        """Accesses (points) that read and write at once."""
        return frozenset(each.point for each in self.accesses if each.kind is AccessKind.UPDATE)

    @cached_property
    def rereads(self) -> Mapping[int, Earlier]:
        """By load (point): those that get the same value."""
        return rereads(self.kernel, self.levels)

    @cached_property
    def undisturbed(self) -> frozenset[int]:
        """Loads (points) that are stored again, and near which nobody writes; none beside copies that no barrier holds
        up."""
        if any(each.asynchronous or each.beside for each in self.accesses):
            return frozenset()
        read = parts_of(*self.values.stored.values(), inside=self.values.sources)
        stored = {each.access for each in read if isinstance(each, OpaqueTerm) and each.access is not None}
        return undisturbed_loads(self.body, self.values, self.kernel.buffers, stored, self.control)

    @cached_property
    def kept(self) -> frozenset[int]:
        """Atomic operations (points) that take a place of an array if nobody has it, where nobody gives one back before
        all threads have met: as keys are put into a hash table, and unlike a lock."""
        taking = [each for each in self.accesses if each.atomic is not None and each.atomic.compares]
        if not taking:
            return frozenset()
        storages, limits = storages_of(self.kernel.buffers), Bounds(self.values.loops)
        given = {storages[each.buffer] for each in self.accesses if self._may_give_back(each, limits)}
        ordering = Ordering(self.control.barriers, self.control.uniform)
        meeting = set(self.ways(self.accesses, ordering))
        written = {each.point for each in self.accesses if each.kind is AccessKind.WRITE}
        beside = {one for pair in meeting for one, other in (pair, pair[::-1]) if other in written}
        return frozenset(
            each.point for each in taking if storages[each.buffer] not in given and each.point not in beside
        )

    def _may_give_back(self, access: Access, limits: Bounds) -> bool:
        """Is it an atomic operation that may make a place free?"""
        if access.kind is not AccessKind.UPDATE or access.lands:
            return False
        if access.atomic is None or access.atomic.compares:
            return access.atomic is None
        found = self.values.added.get(access.point)
        return found is None or limits.interval(found[1])[0] < 0

    @cached_property
    def delivered(self) -> frozenset[tuple[int, int]]:
        """Exchanges of a warp (points), each with a read (point) that is over there for all lanes."""
        reads = {each.point for each in self.accesses if each.kind is AccessKind.READ and not each.guess}
        every = delivered_loads(self.values).items()
        return frozenset((point, load) for point, loads in every for load in loads & reads)

    @cached_property
    def counters(self) -> Counters:
        """Those that give out places."""
        return counters(self.kernel, self.values, self.nodes, self.positions)

    def begun(self, dims: Dims | None) -> Mapping[Term, Interval]:
        """Bounds of what additions to them find, in a block of ``dims``; None: in every block."""
        if not self.counters.tickets:
            return {}
        found = self._begun.get(dims)
        if found is None:
            found = self._begun[dims] = start_values(self, dims)
        return found

    def steps_along(self, axis: str) -> Mapping[int, int]:
        """By the point of an access that threads come to together which differ in ``axis`` alone: bytes between one of
        them and the next."""
        found = self._steps.get(axis)
        if found is None:
            found = self._steps[axis] = steps_along(self, axis)
        return found

    def control_where(self, taken: frozenset[int]) -> Control:
        """The control flow, where all threads decide alike at the branches and loops ``taken`` (points)."""
        found = self._controls.get(taken)
        if found is None:
            found = self._controls[taken] = control_where(self.kernel.body, self.levels, taken)
        return found

    def left_behind(self, common: frozenset[int], around: Collection[int]) -> frozenset[Term]:
        """What loops that are over leave, one value for all that stand in one iteration of the loops ``common``
        (points). ``around``: the loops around them, which are not over."""
        over = (
            exits
            for point, exits in self.values.exits.items()
            if point not in around and common.issuperset(self.positions[point].loops)
        )
        return frozenset(each.value for exits in over for each in exits)

    def ways(
        self, accesses: Sequence[Access], ordering: Ordering, own: frozenset[Where] = _NO_PLACES
    ) -> Ways:
        """Along which ways two of ``accesses`` fall into one barrier interval. ``own``: places that each thread has for
        itself."""
        if len(accesses) < len(self.accesses):
            return self._found(accesses, ordering, own)
        found = self._ways.get((ordering, own))
        if found is None:
            found = self._ways[ordering, own] = self._found(accesses, ordering, own)
        return found

    def meetings(self, own: frozenset[Where], most: int) -> int:
        """At most how many others each access may meet in one barrier interval, of all of them; of more than ``most``
        pairs only that it is more."""
        found = self._meetings.get(own)
        if found is None:
            interfering = self._interfering(self.accesses, own)
            found = sum(map(int.bit_count, interfering))  # whatever stands between them
            if found > most:
                ordering = Ordering(self.control.barriers, self.control.uniform)
                found = meetings_between(self.body, self.accesses, interfering, ordering, most)
            self._meetings[own] = found
        return found

    @cached_property
    def places(self) -> Mapping[int, Where]:
        """By point: what an access touches, if that is one place, whoever makes it, or one for each thread, whenever it
        comes there."""
        found = ((each.point, self._place(each)) for each in self.accesses)
        return {point: place for point, place in found if place is not None}

    @cached_property
    def shared_places(self) -> Mapping[Where, Access]:
        """Of a kernel with many accesses, the places that several of them touch, each with one of these."""
        if len(self.accesses) <= _MANY:
            return {}
        first, several = dict[Where, Access](), dict[Where, Access]()
        for access in self.accesses:
            place = self.places.get(access.point)
            if place is not None and first.setdefault(place, access) is not access:
                several[place] = first[place]
        return several

    def _interfering(self, accesses: Sequence[Access], own: frozenset[Where]) -> list[int]:
        """Per access those that it may conflict with. Of many accesses only those that are not known to touch other
        bytes, whoever makes them, nor each thread bytes of its own: else nearly all pairs of a kernel with its state in
        shared memory are of no matter, and nearly all of one that stores to one place under many conditions.
        """
        found = interfering_accesses(accesses, storages_of(self.kernel.buffers))
        if len(accesses) <= _MANY:
            return found
        touching = dict[Where, int]()
        places = [self.places.get(each.point) for each in accesses]
        for index, place in enumerate(places):
            if place is not None:
                touching[place] = touching.get(place, 0) | 1 << index
        apart = _elsewhere(touching) | {place: touching[place] for place in own & touching.keys()}
        return [each if place is None else each & ~apart.get(place, 0) for each, place in zip(found, places)]

    def _place(self, access: Access) -> Where | None:
        offset = self.values.offset(access, self.kernel.buffers[access.buffer])
        told = (access.part, access.start, access.tile) == (None, None, None) and not access.rows
        if not told or offset is None or access.width is None or access.asynchronous:
            return None
        if isinstance(offset, Const) or (not (access.guess or access.is_unplaced) and _is_of_numbers(offset)):
            return access.buffer, offset, access.width
        return None

    def _found(self, accesses: Sequence[Access], ordering: Ordering, own: frozenset[Where]) -> Ways:
        interfering = self._interfering(accesses, own)
        body = self.kernel.body if ordering.calls else self.body  # a call stands between any two nodes
        return ways_between(body, accesses, interfering, ordering)


def _is_of_numbers(term: Term) -> bool:
    """Is it computed from nothing but the thread's number and sizes, so that a thread finds the same each time?"""
    return all(
        each.operator in ARITHMETIC if isinstance(each, Op) else isinstance(each, Const | Sym | Thread)
        for each in parts_of(term)
    )


def _elsewhere(touching: Mapping[Where, int]) -> dict[Where, int]:
    """By a place that is the same for all threads, the accesses (bits) to others of its buffer that lie beside it.
    ``touching``: the accesses to each."""
    buffers = defaultdict[int, list[tuple[int, int, Where]]](list)
    for place in touching:
        buffer, offset, width = place
        if isinstance(offset, Const):
            buffers[buffer].append((offset.n, offset.n + width, place))
    found = dict[Where, int]()
    for places in buffers.values():
        checkpoint()
        by_end = sorted((end, touching[place]) for _, end, place in places)
        by_start = sorted(((start, touching[place]) for start, _, place in places), reverse=True)
        before = [0, *accumulate((mask for _, mask in by_end), or_)]
        behind = [0, *accumulate((mask for _, mask in by_start), or_)]
        for start, end, place in places:
            left = before[bisect_right(by_end, start, key=itemgetter(0))]
            right = behind[bisect_right(by_start, -end, key=lambda each: -each[0])]
            found[place] = left | right
    return found


def _shortened(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Branch | Loop):
        return (node,) if any(arm.items for arm in bodies(node)) else ()
    return (
        (node,) if isinstance(node, Access | Barrier | CopyWait | WarpCollective | BarrierSite | Jump) else ()
    )
