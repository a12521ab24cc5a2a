"""Accesses of one run of a block: which bytes each thread touches in one iteration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from smem_lsp.analysis.execution.async_proxy import Proxies
from smem_lsp.analysis.execution.conflicting_accesses import ConflictingAccesses
from smem_lsp.analysis.execution.events import ANY, Decision, Event, Guard
from smem_lsp.analysis.execution.program import Program
from smem_lsp.analysis.execution.warp_traces import Traces
from smem_lsp.analysis.values.evaluate import Evaluator, Vector, asks
from smem_lsp.analysis.values.extents import Extent
from smem_lsp.analysis.values.terms import is_free
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    AddressSpace,
    Buffer,
    Kernel,
    Proxy,
    ProxyKind,
    walk,
)
from smem_lsp.source import checkpoint

_MAX_NOTED = 20_000  # accesses of one run, iterations and threads counted
_ENDLESS = 1 << 40


@dataclass(frozen=True, slots=True)
class Outside:
    """``thread`` accesses bytes from ``byte`` on, which its buffer does not have."""

    byte: int
    thread: int


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Why an access happens. ``decisions``: branches and loops around it whose way rests on what the kernel is given;
    ``supposed``: it is not known that it runs in this run; ``sure``: it runs whatever the kernel is given;
    ``unsure``: it rests on data whether it runs, in all threads or in none unless they race; ``guard``: in which
    threads it runs rests on their data; ``either``: each thread makes it or another one like it."""

    decisions: frozenset[Decision]
    supposed: bool
    sure: bool
    unsure: bool
    guard: Guard | None = None
    either: bool = False


@dataclass(frozen=True, slots=True)
class _Touched:
    """Units that ``threads`` touch which access bytes from ``starts`` on, each with its lowest, and highest, thread.
    None lies in front of ``first`` or behind ``last``."""

    starts: Vector
    threads: Sequence[int]
    low: Mapping[int, int]
    high: Mapping[int, int]
    first: int
    last: int


_NONE: Mapping[int, range] = {}
_NOWHERE = _Touched(0, (), {}, {}, 0, ANY)


def _end(buffer: Buffer) -> int:
    """Behind its last byte, or its last element where the size of one is not known."""
    if buffer.space is not AddressSpace.STATIC:
        return _ENDLESS
    dims = [dim for dim in buffer.dims if dim is not None]
    known = math.prod(dims) if buffer.element_bytes is None and len(dims) == len(buffer.dims) else None
    return next((end for end in (buffer.bytes, known) if end is not None), _ENDLESS)


def _cells(
    here: Evaluator, starts: Vector, width: int, unit: int, end: int, inside: Sequence[bool] | None
) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Unit -> lowest, and highest, thread that touches it, of those that stay inside of the buffer, which ``end``s
    there, and of their row."""
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
    """The same by thread."""
    numbers = [starts] * len(here.threads) if isinstance(starts, int) else starts
    for number, (thread, start) in enumerate(zip(here.threads, numbers)):
        if start >= 0 and start + width <= end and (inside is None or inside[number]):
            yield thread, range(start // unit, (start + width - 1) // unit + 1)


@dataclass(slots=True)
class Accesses:
    """``met``: accesses that meet; ``outside``: access -> who leaves its buffer, whatever values the kernel gets;
    ``left``: so many more are noted."""

    kernel: Kernel
    values: ValueFacts
    script: Program
    met: ConflictingAccesses
    traces: Traces | None = None  # of a kernel whose warps go different ways between barriers
    proxies: Proxies | None = None  # of one that has the asynchronous proxy read
    outside: dict[int, Outside] = field(default_factory=dict)
    shaped: bool = False  # the block is known
    left: int = _MAX_NOTED
    left_guarded: int = _MAX_NOTED  # and of those in threads that data decide
    strays: bool = False  # has some thread left a buffer?
    _touched: dict[int, _Touched] = field(default_factory=dict)  # by access: last time

    def make(self, access: Access, here: Evaluator, why: Circumstances) -> None:
        """All threads ``here`` make an access."""
        buffer = self.kernel.buffers[access.buffer]
        storage = self.script.storages[access.buffer]
        width, offset = self.script.widths[access.point], self.script.offsets[access.point]
        moving = asks(access, here)
        if access.guess or access.part is not None or moving is None:
            return
        guarded = why.guard is not None
        if (self.left_guarded if guarded else self.left) <= 0:
            return
        if guarded and (access.serves or access.start is not None or access.rows or access.asynchronous):
            return
        here = moving
        if access.serves:
            self._serves(access, storage, here, why)
            return
        if access.start is not None:
            self._together(access, storage, here, why)
            return
        starts = None if width is None or offset is None else here.value(offset)
        unit = self.script.units[storage]
        if width is None or offset is None or (starts is None and offset not in self.script.data):
            return
        apart = access.point in self.script.apart
        if starts is None:
            if not (apart or guarded):
                self.left -= len(here.threads)
                self._note(access, storage, unit, here, why, _NOWHERE, data=True)
            return
        first, last = (starts, starts) if isinstance(starts, int) else (min(starts), max(starts))
        end = _end(buffer)
        stays = first >= 0 and last + width <= end
        self.strays = self.strays or not stays
        if apart and stays:
            return
        if guarded:
            self.left_guarded -= len(here.threads)
        else:
            self.left -= len(here.threads)
        given = not why.sure or is_free(offset)  # it rests on what the kernel is given
        if not stays and buffer.bytes is not None and not given:
            numbers = here.values(offset) or ()
            outside = next(n for n, start in enumerate(numbers) if start < 0 or start + width > end)
            self.outside.setdefault(access.point, Outside(numbers[outside], here.threads[outside]))
        if apart:
            return
        known = self._touched.get(access.point)
        again = known is not None and known.starts is starts and known.threads is here.threads
        ranges = _NONE
        if known is None or guarded or not again or isinstance(starts, int):  # equal ones may be one object
            inside = self._inside(access, here)
            low, high = _cells(here, starts, width, unit, end, inside)
            ends = first // unit, (last + width - 1) // unit
            known = self._touched[access.point] = _Touched(starts, here.threads, low, high, *ends)
            if guarded:
                ranges = dict(_ranges(here, starts, width, unit, end, inside))
        part = self.script.parts.get(access.point)
        leaves = part is not None and (first < part[0] or last + width > part[1])
        if (
            part is not None and leaves and not given
        ):  # only a block that is smaller than this one may not do so
            begun = zip(here.threads, here.values(offset) or ())
            of_warp = [byte for thread, byte in begun if thread < self.met.warp]
            leaves = not self.shaped and all(part[0] <= byte <= part[1] - width for byte in of_warp)
        self._note(access, storage, unit, here, why, known, ranges=ranges, part=part, leaves=leaves)

    def staying(self, accesses: Sequence[Access], here: Evaluator) -> list[bool]:
        """Which of the threads ``here`` stay in the arrays of all ``accesses``, as far as these are known?"""
        found = [True] * len(here.threads)
        for access in accesses:
            checkpoint()
            buffer, offset = self.kernel.buffers[access.buffer], self.script.offsets[access.point]
            starts = None if offset is None else here.values(offset)
            if starts is not None and buffer.bytes is not None and buffer.space is AddressSpace.STATIC:
                end = buffer.bytes - (self.script.widths[access.point] or 0)
                found = [stays and 0 <= start <= end for stays, start in zip(found, starts)]
        return found

    def _is_one_thing(self, number: int) -> bool:
        """Is a buffer surely read where threads write it: no store of several things, and no copy goes into it?"""
        buffer = self.kernel.buffers[number]
        filled = any(
            isinstance(node, Access)
            and node.buffer == number
            and node.kind is AccessKind.UPDATE
            and node.index is None
            and node.offset is None
            and not (node.strayed or node.asynchronous)
            for node in walk(self.kernel.body)
        )
        bytes_only = (buffer.element_bytes or 1) == 1
        return buffer.space is AddressSpace.STATIC and not (buffer.record or bytes_only or filled)

    def _serves(self, access: Access, storage: int, here: Evaluator, why: Circumstances) -> None:
        """The storage of a collective that all threads of the block call: its first byte stands for it."""
        start = here.constant(self.values.copied[access.point])
        if start is not None and len(here.threads) == math.prod(here.dims) > self.met.warp:
            cell, threads = start // (self.script.units[storage] or 1), here.threads
            touched = _Touched(start, threads, {cell: threads[0]}, {cell: threads[-1]}, cell, cell)
            self._note(access, storage, 1, here, why, touched)

    def _together(self, access: Access, storage: int, here: Evaluator, why: Circumstances) -> None:
        """A copy by several threads, taken to be dealt out among them byte by byte."""
        unit = self.script.units[storage]
        start = here.constant(self.values.copied[access.point])
        if start is None or not unit or start % unit or access.size % unit:
            return
        self.left -= len(here.threads)
        cells = range(start // unit, (start + access.size) // unit)
        dealt = {cell: here.threads[number % len(here.threads)] for number, cell in enumerate(cells)}
        touched = _Touched(start, here.threads, dealt, dealt, cells.start, cells.stop)
        self._note(access, storage, unit, here, why, touched)

    def proxy(self, node: Proxy, here: Evaluator) -> None:
        """Threads ``here`` have the asynchronous proxy do something, or wait for it."""
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
            storage = self.script.storages[node.buffer]
            unit = self.script.units.get(storage, 0)
            offset = self.values.offsets.get(node.point)
            starts = None if offset is None else here.values(offset)
            copies = node.kind is ProxyKind.COPY
            if not unit:
                return
            if starts is None and self._is_one_thing(node.buffer):
                proxies.read(node.point, storage, unit, here.threads[0], None, copies=copies)
            for thread, start in zip(here.threads, starts or ()):
                cells = range(start // unit, (start + node.width - 1) // unit + 1)
                proxies.read(node.point, storage, unit, thread, cells, copies=copies)

    def _note(
        self,
        access: Access,
        storage: int,
        unit: int,
        here: Evaluator,
        why: Circumstances,
        touched: _Touched,
        *,
        data: bool = False,
        ranges: Mapping[int, range] = _NONE,
        part: Extent | None = None,
        leaves: bool = False,
    ) -> None:
        buffer = self.kernel.buffers[access.buffer]
        event = Event(
            access,
            touched.low,
            touched.high,
            self.met.synced,
            self.met.exchanged,
            None if why.either else self.values.stored.get(access.point),
            here,
            lanes="volatile" in buffer.qualifiers and not buffer.dims,  # a flag, perhaps
            decisions=why.decisions,
            supposed=why.supposed,
            data=data,
            unsure=why.unsure,
            first=touched.first,
            last=touched.last,
            guard=why.guard,
            touched=ranges,
            begin=None if part is None else part[0],
            leaves=leaves,
        )
        self.met.add(storage, unit, event)
        if why.guard is not None:
            return
        if leaves:
            return
        if self.traces is not None and not (why.supposed or data or access.asynchronous):
            self.traces.access(storage, unit, event)
        if (
            self.proxies is not None
            and access.kind.writes
            and not (why.supposed or data or access.asynchronous)
        ):
            self.proxies.write(access.point, storage, unit, touched.low)

    def _inside(self, access: Access, here: Evaluator) -> list[bool] | None:
        """For each thread: does every index stay in its dimension? One that leaves its row says that the block is not
        meant to be so. None: all do."""
        dims = self.kernel.buffers[access.buffer].dims
        found: list[bool] | None = None
        for index, dim in list(zip(self.values.indices.get(access.point, ()), dims))[1:]:
            checkpoint()
            numbers = here.values(index)
            if numbers is None or dim is None:
                return [False] * len(here.threads)
            if min(numbers) < 0 or max(numbers) >= dim:
                found = found or [True] * len(here.threads)
                found = [ok and 0 <= number < dim for ok, number in zip(found, numbers)]
        return found
