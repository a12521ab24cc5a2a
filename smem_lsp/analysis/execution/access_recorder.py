"""Accesses of one run of a block: which bytes each thread touches in one iteration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field

from smem_lsp.analysis.execution.async_proxy import Proxies
from smem_lsp.analysis.execution.conflicting_accesses import ConflictingAccesses
from smem_lsp.analysis.execution.events import ANY, Event
from smem_lsp.analysis.execution.frame import RegionFrame
from smem_lsp.analysis.execution.program import Program
from smem_lsp.analysis.execution.shared_contents import SharedContents
from smem_lsp.analysis.execution.warp_traces import Traces
from smem_lsp.analysis.values.evaluate import Evaluator, Vector, asks
from smem_lsp.analysis.values.extents import Extent
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, AddressSpace, Buffer, Kernel, Proxy, ProxyKind, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Term, is_free

_MAX_RECORDED = 20_000  # accesses of one run, each counted once for every iteration and thread
_ENDLESS = 1 << 40


@dataclass(frozen=True, slots=True)
class Outside:
    """``thread`` accesses memory outside of its buffer, from ``byte`` of the buffer on."""

    byte: int
    thread: int


@dataclass(frozen=True, slots=True)
class _Touched:
    """The units that ``threads`` touch whose accesses begin at the bytes ``starts``: unit -> lowest, and highest,
    thread. No unit in front of ``first`` or behind ``last`` is touched. ``ranges``: thread -> units, for accesses under
    a guard."""

    starts: Vector
    threads: Sequence[int]
    low: Mapping[int, int]
    high: Mapping[int, int]
    first: int
    last: int
    ranges: Mapping[int, range] = field(default_factory=dict)


_NOWHERE = _Touched(0, (), {}, {}, 0, ANY)


def _end(buffer: Buffer, access: Access) -> int:
    """The number of its bytes, or of its elements where the size of an element is not known."""
    if buffer.space is not AddressSpace.STATIC or access.part is not None:
        return _ENDLESS
    dims = [dim for dim in buffer.dims if dim is not None]
    known = math.prod(dims) if buffer.element_bytes is None and len(dims) == len(buffer.dims) else None
    return next((end for end in (buffer.bytes, known) if end is not None), _ENDLESS)


def _lies_in(extent: Extent, part: Extent) -> bool:
    """Do all these bytes belong to that part of the buffer?"""
    return part[0] <= extent[0] and extent[1] <= part[1]


def _cells(
    here: Evaluator, starts: Vector, width: int, unit: int, end: int, inside: Sequence[bool] | None
) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Unit -> lowest, and highest, thread that touches it. Threads that leave the buffer, which ends at byte ``end``,
    or their row are left out."""
    threads = here.threads
    low: dict[int, int]
    high: dict[int, int]
    if inside is None and isinstance(starts, int):
        touched = range(starts // unit, (starts + width - 1) // unit + 1)
        if starts < 0 or starts + width > end:
            return {}, {}
        low = dict.fromkeys(touched, threads[0])
        return low, low if len(threads) == 1 else dict.fromkeys(touched, threads[-1])
    low, high = {}, {}
    numbers = [starts] * len(threads) if isinstance(starts, int) else starts
    if inside is None and width % unit == 0 and min(numbers) >= 0 and max(numbers) + width <= end:
        cells = [start // unit for start in numbers]
        if width == unit:  # threads come in rising order
            high = dict(zip(cells, threads))
            low = high if len(high) == len(cells) else dict(zip(reversed(cells), reversed(threads)))
            return low, high
        if not any(start % unit for start in numbers):
            each = range(width // unit)
            low = {cell + number: thread for cell, thread in zip(cells, threads) for number in each}
            if len(low) == len(cells) * len(each):  # no two threads touch the same
                return low, low
            low = {}
    for thread, cells_of in _ranges(here, starts, width, unit, end, inside):
        checkpoint()
        for cell in cells_of:
            low.setdefault(cell, thread)
            high[cell] = thread
    return (high, high) if low == high else (low, high)


def _ranges(
    here: Evaluator, starts: Vector, width: int, unit: int, end: int, inside: Sequence[bool] | None
) -> Iterator[tuple[int, range]]:
    """The same by thread: the units that each touches."""
    numbers = [starts] * len(here.threads) if isinstance(starts, int) else starts
    for number, (thread, start) in enumerate(zip(here.threads, numbers)):
        if start >= 0 and start + width <= end and (inside is None or inside[number]):
            yield thread, range(start // unit, (start + width - 1) // unit + 1)


@dataclass(slots=True)
class AccessRecorder:
    """Iterations accesses into events and compares them. ``outside``: access -> who leaves its buffer, whatever the
    kernel's inputs are; ``left``: how many more accesses may be recorded, each counted once for every thread."""

    kernel: Kernel
    values: ValueFacts
    program: Program
    conflicts: ConflictingAccesses
    traces: Traces | None = None  # of a kernel whose warps go different ways between barriers
    proxies: Proxies | None = None  # of one in which the asynchronous proxy reads shared memory
    outside: dict[int, Outside] = field(default_factory=dict)
    block_known: bool = False
    left: int = _MAX_RECORDED
    left_guarded: int = _MAX_RECORDED  # the same for accesses under a guard
    strays: bool = False  # has any thread left a buffer?
    outgrows: bool = False  # has one, by an address that is made of its number alone?
    _touched: dict[tuple[int, bool], _Touched] = field(default_factory=dict)  # by access: last time
    _seen: set[int] = field(default_factory=set)  # accesses that a thread has come to
    _contents: SharedContents = field(init=False)

    def __post_init__(self) -> None:
        self._contents = SharedContents(self.kernel, self.values)

    def has_seen(self, point: int) -> bool:
        """Has a thread come to the access?"""
        return point in self._seen

    @property
    def unseen(self) -> frozenset[int]:
        """The accesses to which no thread has come; none where not all were recorded."""
        return self.program.compared - self._seen if self.left > 0 else frozenset()

    @contextmanager
    def at_most(self, accesses: int) -> Iterator[None]:
        """Inside, no more than so many accesses are recorded."""
        before = self.left
        self.left = allowed = min(before, accesses)
        try:
            yield
        finally:
            self.left = before - (allowed - self.left)

    def record(self, access: Access, threads: Evaluator, frame: RegionFrame, *, either: bool = False) -> None:
        """All ``threads`` make an access. ``either``: or another access to the same bytes, in the other arm."""
        here = asks(access, threads)
        self._seen.add(access.point)
        if access.guess or access.is_unplaced or here is None:
            return
        guarded = frame.guard is not None
        if (self.left_guarded if guarded else self.left) <= 0:
            return
        together = access.serves or access.start is not None
        if guarded and (together or access.rows or access.asynchronous):
            return
        if access.serves:
            self._record_collective(access, here, frame)
        elif together:
            self._record_shared_copy(access, here, frame)
        else:
            self._record_by_address(access, here, frame, either=either)

    def _record_by_address(
        self, access: Access, here: Evaluator, frame: RegionFrame, *, either: bool
    ) -> None:
        """Each thread makes the access at an address of its own."""
        program = self.program
        width, offset = program.widths[access.point], program.offsets[access.point]
        if width is None or offset is None:
            return
        starts = here.value(offset)
        if starts is None:
            self._record_data_address(access, here, frame, offset, either=either)
            return
        extent = (starts, starts + width) if isinstance(starts, int) else (min(starts), max(starts) + width)
        end = _end(self.kernel.buffers[access.buffer], access)
        in_bounds = extent[0] >= 0 and extent[1] <= end
        self.strays = self.strays or not in_bounds
        no_conflict = access.point in program.no_conflict
        if no_conflict and in_bounds:
            return
        self._count(here, frame)
        by_inputs = either or not frame.must_run or is_free(offset)
        by_number = not either and self._is_by_number(access, frame, offset)
        if not in_bounds:
            self.outgrows = self.outgrows or by_number
            if not by_inputs:
                self._note_outside(access, here, offset, end - width)
        if no_conflict:
            return
        launched = self.block_known and frame.must_run and not either
        guarded = frame.guard is not None
        touched = self._touched_by(access, here, starts, extent, guarded=guarded, launched=launched)
        part = program.parts.get(access.point)
        leaves = part is not None and not _lies_in(extent, part)
        if part is not None and leaves and not by_inputs:
            leaves = not self.block_known and self._first_warp_stays(part, here, offset, width)
        self._note(access, here, frame, touched, either=either, part=part, leaves_part=leaves)

    def _record_data_address(
        self, access: Access, here: Evaluator, frame: RegionFrame, offset: Term, *, either: bool
    ) -> None:
        """Each thread makes the access at an address of its own that is not known, as data may decide it."""
        compared = access.point not in self.program.no_conflict and frame.guard is None
        if compared and offset in self.program.data:
            self._count(here, frame)
            self._note(access, here, frame, _NOWHERE, either=either, data_address=True)

    def _count(self, here: Evaluator, frame: RegionFrame) -> None:
        """An access of all these threads is recorded: fewer are left."""
        if frame.guard is not None:
            self.left_guarded -= len(here.threads)
        else:
            self.left -= len(here.threads)

    def _is_by_number(self, access: Access, frame: RegionFrame, offset: Term) -> bool:
        """Is the address in a buffer of known size made of the thread's number alone, wherever this run comes?"""
        sized = self.kernel.buffers[access.buffer].bytes is not None
        return sized and not (frame.guard is not None or frame.assumed or is_free(offset))

    def _note_outside(self, access: Access, here: Evaluator, offset: Term, most: int) -> None:
        """Some thread's access begins in front of byte 0 or behind byte ``most``, where the buffer has a known size."""
        if self.kernel.buffers[access.buffer].bytes is None:
            return
        numbers = here.values(offset) or ()
        position = next(n for n, start in enumerate(numbers) if not 0 <= start <= most)
        self.outside.setdefault(access.point, Outside(numbers[position], here.threads[position]))

    def _touched_by(
        self,
        access: Access,
        here: Evaluator,
        starts: Vector,
        extent: Extent,
        *,
        guarded: bool,
        launched: bool,
    ) -> _Touched:
        """The units that the threads touch, whose accesses lie in the bytes ``extent``."""
        known = self._touched.get((access.point, launched))
        if (
            known is not None
            and not (guarded or isinstance(starts, int))  # equal numbers may be one object
            and known.starts is starts
            and known.threads is here.threads
        ):
            return known
        unit, width = (
            self.program.units[self.program.storages[access.buffer]],
            self.program.widths[access.point],
        )
        assert width is not None
        end, inside = (
            _end(self.kernel.buffers[access.buffer], access),
            self._inside(access, here, launched=launched),
        )
        low, high = _cells(here, starts, width, unit, end, inside)
        ranges = dict(_ranges(here, starts, width, unit, end, inside)) if guarded else {}
        first, last = extent[0] // unit, (extent[1] - 1) // unit
        found = _Touched(starts, here.threads, low, high, first, last, ranges)
        self._touched[access.point, launched] = found
        return found

    def _first_warp_stays(self, part: Extent, here: Evaluator, offset: Term, width: int) -> bool:
        """Does the first warp stay in this part of the buffer, so that a smaller block may do so as a whole?"""
        begun = zip(here.threads, here.values(offset) or ())
        of_warp = [byte for thread, byte in begun if thread < self.conflicts.warp]
        return all(_lies_in((byte, byte + width), part) for byte in of_warp)

    def staying(self, accesses: Sequence[Access], here: Evaluator) -> list[bool]:
        """Which of the threads ``here`` stay inside the arrays in all ``accesses`` whose addresses are known?"""
        found = [True] * len(here.threads)
        for access in accesses:
            checkpoint()
            buffer, offset = self.kernel.buffers[access.buffer], self.program.offsets[access.point]
            starts = None if offset is None else here.values(offset)
            if starts is not None and buffer.bytes is not None and buffer.space is AddressSpace.STATIC:
                end = buffer.bytes - (self.program.widths[access.point] or 0)
                found = [stays and 0 <= start <= end for stays, start in zip(found, starts)]
        return found

    def _record_collective(self, access: Access, here: Evaluator, frame: RegionFrame) -> None:
        """The storage of a collective that all threads of the block call: its first byte stands for all of it."""
        start = here.uniform_value(self.values.copied[access.point])
        if start is not None and len(here.threads) == math.prod(here.dims) > self.conflicts.warp:
            unit = self.program.units[self.program.storages[access.buffer]] or 1
            cell, threads = start // unit, here.threads
            touched = _Touched(start, threads, {cell: threads[0]}, {cell: threads[-1]}, cell, cell)
            self._note(access, here, frame, touched, unit=1)

    def _record_shared_copy(self, access: Access, here: Evaluator, frame: RegionFrame) -> None:
        """A copy that several threads make together: its bytes are taken to be dealt out among them in turn."""
        unit = self.program.units[self.program.storages[access.buffer]]
        start = here.uniform_value(self.values.copied[access.point])
        if start is None or not unit or start % unit or access.size % unit:
            return
        self.left -= len(here.threads)
        cells = range(start // unit, (start + access.size) // unit)
        dealt = {cell: here.threads[number % len(here.threads)] for number, cell in enumerate(cells)}
        self._note(access, here, frame, _Touched(start, here.threads, dealt, dealt, cells.start, cells.stop))

    def record_proxy(self, node: Proxy, here: Evaluator) -> None:
        """Threads ``here`` start, order or await something of the asynchronous proxy."""
        proxies = self.proxies
        if proxies is None:
            return
        if node.kind is ProxyKind.FENCE:
            proxies.fence(here.threads)
        elif node.kind is ProxyKind.COMMIT:
            proxies.commit(here.threads)
        elif node.kind is ProxyKind.WAIT:
            proxies.wait(here.threads, node.left)
        else:
            self._record_proxy_read(proxies, node, here)

    def _record_proxy_read(self, proxies: Proxies, node: Proxy, here: Evaluator) -> None:
        storage = self.program.storages[node.buffer]
        unit = self.program.units.get(storage, 0)
        if not unit:
            return
        offset = self.values.offsets.get(node.point)
        starts = None if offset is None else here.values(offset)
        copies = node.kind is ProxyKind.COPY
        if starts is None and self._is_read_where_written(node.buffer):
            proxies.read(node.point, storage, unit, here.threads[0], None, copies=copies)
        for thread, start in zip(here.threads, starts or ()):
            cells = range(start // unit, (start + node.width - 1) // unit + 1)
            proxies.read(node.point, storage, unit, thread, cells, copies=copies)

    def _is_read_where_written(self, number: int) -> bool:
        """Is a buffer surely read where threads write it: it holds one kind of thing, and no copy fills it?"""
        buffer = self.kernel.buffers[number]
        filled = any(
            isinstance(node, Access)
            and node.buffer == number
            and node.kind.writes
            and (node.beside or (node.kind.reads and node.index is None and node.offset is None))
            and not (node.strayed or node.asynchronous)
            for node in walk(self.kernel.body)
        )
        bytes_only = (buffer.element_bytes or 1) == 1
        return buffer.space is AddressSpace.STATIC and not (buffer.record or bytes_only or filled)

    def _note(
        self,
        access: Access,
        here: Evaluator,
        frame: RegionFrame,
        touched: _Touched,
        *,
        unit: int | None = None,
        either: bool = False,
        data_address: bool = False,
        part: Extent | None = None,
        leaves_part: bool = False,
    ) -> None:
        """Make the event, and hand it to all that compare events. ``unit``: in bytes; None: that of the storage."""
        buffer, storage = self.kernel.buffers[access.buffer], self.program.storages[access.buffer]
        unit = self.program.units[storage] if unit is None else unit
        interval = frame.interval
        event = Event(
            access,
            touched.low,
            touched.high,
            interval.synced,
            interval.exchanged,
            None if either else self.values.stored.get(access.point),
            here,
            self._contents,
            may_be_flag="volatile" in buffer.written.qualifiers and not buffer.dims,
            decisions=frame.decisions,
            assumed=frame.assumed,
            data_address=data_address,
            assumes_race_free=frame.path.assumes_race_free,
            first=touched.first,
            last=touched.last,
            guard=frame.guard,
            touched=touched.ranges,
            begin=None if part is None else part[0],
            leaves_part=leaves_part,
        )
        self.conflicts.add(interval, storage, unit, event)
        certain = not (frame.guard or leaves_part or frame.assumed or data_address or access.asynchronous)
        if self.traces is not None and certain:
            self.traces.access(storage, unit, event)
        if self.proxies is not None and access.kind.writes and certain:
            self.proxies.write(access.point, storage, unit, touched.low)

    def _inside(self, access: Access, here: Evaluator, *, launched: bool) -> list[bool] | None:
        """For each thread: does every index stay in its dimension, and in the array of a class that it is for? A thread
        that leaves it shows that the kernel is not meant for such a block, or such sizes; in a block that somebody
        names (``launched``: every launch comes here), an index of nothing but the thread always leaves it, and touches
        what comes behind. None: all stay."""
        buffer = self.kernel.buffers[access.buffer]
        found: list[bool] | None = None
        rows = [
            (index, self._extent(here, buffer, position))
            for position, index in enumerate(self.values.indices.get(access.point, ()))
        ]
        for index, dim in (*rows[1:], *self.values.subscripts.get(access.point, ())):
            checkpoint()
            numbers = here.values(index)
            if numbers is None or dim is None:
                return [False] * len(here.threads)
            if launched and not is_free(index):
                continue
            if min(numbers) < 0 or max(numbers) >= dim:
                found = found or [True] * len(here.threads)
                found = [ok and 0 <= number < dim for ok, number in zip(found, numbers)]
        return found

    def _extent(self, here: Evaluator, buffer: Buffer, position: int) -> int | None:
        extent = self.values.extent(buffer, position) if position < len(buffer.dims) else None
        return None if extent is None else here.uniform_value(extent)
