"""Tiles that are filled again: writes behind which nothing older of a buffer is read.

A tile that each iteration of a loop fills anew is dead between its last read of one iteration and the writes of the
next one. The writes of a *refill* stand one after the other in a block of statements that all threads come to together,
with no read of the buffer between them. Asked is: is there a byte that some thread reads later, before the buffer is
filled again, and that none of these writes has written? Where the solver finds none, the refill ends every older value.

Who has written a byte is not left to the solver, which would have to try all threads: ``writers`` names one, and the
solver proves that this thread exists, comes to the write in an iteration that its loops have, and covers the byte. A
byte that another thread has written counts only where a barrier of the block stands between the write and the read.

In a block that nobody knows, ``same_writes`` answers first: what is written in every iteration alike leaves no older
value, whatever the block is. A tile that is copied in steps of 256 is filled by blocks of 256 threads; in smaller ones,
bytes are read that nothing has written in any iteration. So one block has to be found in which all that is read was
written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import gcd

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import open_interfering
from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import Formula, both, either, negated, truth
from smem_lsp.analysis.decision.invariant_writes import Guard, is_repeated, same_write
from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.analysis.decision.question import RaceQueries
from smem_lsp.analysis.decision.writers import Writer, Writers
from smem_lsp.analysis.values.enumerated import touched
from smem_lsp.analysis.values.filled import is_filled
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, AccessKind, Branch, Jump, JumpKind, Loop, Node, Seq, bodies
from smem_lsp.ir.walks import Descent
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Term

_MOST_QUESTIONS = 200  # about one kernel
_MOST_WRITES = 16  # of one refill
_TO_PROVE = 200_000  # effort of one question
_MOST_PARTS = 16  # of what a thread reads at once


@record
class Write:
    """A write of a refill. ``guards`` and ``loops`` (points) between the refill's block of statements and it."""

    access: Access
    guards: tuple[Guard, ...]
    loops: tuple[int, ...]


@record
class Refill:
    """``point``: of the node that its writes begin with; ``blocks``: the blocks of statements around it, the outermost
    first; ``loops``: points of those around."""

    point: int
    buffer: int
    blocks: tuple[OverwriteBlock, ...]
    writes: tuple[Write, ...]

    @property
    def loops(self) -> frozenset[int]:
        return frozenset(block.loop for block in self.blocks if block.loop is not None)


@record
class OverwriteBlock:
    """Statements on the way to a refill, which stands in, or is, the one at ``index``. ``loop``: the point of the loop
    whose body they are."""

    items: tuple[Node, ...]
    index: int
    loop: int | None


def possible_refills(of: KernelModel, buffers: Collection[int]) -> tuple[Refill, ...]:
    """All groups of writes that might fill one of the buffers."""
    return tuple(_OverwriteFinder(of, frozenset(buffers)).seq(of.kernel.body, ()))


def with_kills(facts: Facts, refills: Iterable[Refill], of: KernelModel) -> Facts:
    """``facts`` where each of ``refills`` ends every older value of its buffer."""
    accesses = {node.point for node in of.accesses}
    full, covering = set(facts.full), dict(facts.covering)
    for each in refills:
        if each.point in accesses:
            full.add(each.point)
        else:
            covering[each.point] = covering.get(each.point, frozenset()) | {each.buffer}
    return replace(facts, full=frozenset(full), covering=covering)


def proved_refills(
    asker: RaceQueries, refills: Sequence[Refill], facts: Facts, tried: Sequence[RaceQueries] = ()
) -> tuple[Refill, ...]:
    """Those of ``refills`` behind which no older value is read. ``tried``: where ``asker`` asks about any block, some
    that the kernel may be written for.

    Each answers for the reads up to the next one, so none may be taken back that another one relies on: what is not
    proved is left out, until all that is left is.
    """
    judge = _Judge(asker, facts, tuple(_Judge(each, facts, single=True) for each in tried))
    left = list(refills)
    while left:
        checkpoint()
        kills = frozenset((each.point, each.buffer) for each in left)
        failed = next((each for each in reversed(left) if not judge.covers(each, kills)), None)
        if failed is None:
            break
        left.remove(failed)
    return tuple(left)


@dataclass(slots=True)
class _OverwriteFinder:
    of: KernelModel
    buffers: frozenset[int]
    _touched: dict[int, tuple[frozenset[int], frozenset[int], bool]] = field(default_factory=dict)

    def seq(self, seq: Seq, around: tuple[OverwriteBlock, ...], loop: int | None = None) -> Iterator[Refill]:
        items = tuple(seq.items)
        found = list(self.of_block(items, around, loop))
        yield from sorted(found, key=lambda each: each.buffer)
        for index, node in enumerate(items):
            blocks = (*around, OverwriteBlock(items, index, loop))
            own = node.point if isinstance(node, Loop) and not self.is_once(node) else None
            for inner in bodies(node):
                yield from self.seq(inner, blocks, own)

    def of_block(
        self, items: tuple[Node, ...], around: tuple[OverwriteBlock, ...], loop: int | None
    ) -> Iterator[Refill]:
        """Those that begin with one of ``items``, for each buffer in their order."""
        begun: dict[
            int, tuple[int, list[Write]]
        ] = {}  # buffer -> index of the first item, and the writes so far

        def ended(buffers: Iterable[int]) -> Iterator[Refill]:
            for buffer in buffers:
                start, writes = begun.pop(buffer, (-1, []))
                if writes and len(writes) <= _MOST_WRITES:
                    blocks = (*around, OverwriteBlock(items, start, loop))
                    yield Refill(items[start].point, buffer, blocks, tuple(writes))

        for index, node in enumerate(items):
            read, written, jumps = self.touched(node)
            yield from ended(list(begun) if jumps else read)
            written = written & self.buffers - read
            if written and not jumps and node.point in self.of.control.steady:
                for buffer in written:
                    begun.setdefault(buffer, (index, []))
                writes = _Writes(self.of.values)
                writes.seq((node,), ((), ()))
                for write in writes.found:
                    if write.access.buffer in written:
                        begun[write.access.buffer][1].append(write)
        yield from ended(list(begun))

    def touched(self, node: Node) -> tuple[frozenset[int], frozenset[int], bool]:
        """Buffers that are read, buffers that are written, and whether there is a jump."""
        if isinstance(node, Access):
            own = frozenset((node.buffer,))
            reads = own if node.kind.reads and not node.lands else frozenset[int]()
            return reads, own if node.kind is AccessKind.WRITE else frozenset(), False
        found = self._touched.get(node.point) if bodies(node) else None
        if found is None:
            checkpoint()
            inside = [self.touched(each) for seq in bodies(node) for each in seq.items]
            found = (
                frozenset().union(*(each[0] for each in inside)),
                frozenset().union(*(each[1] for each in inside)),
                isinstance(node, Jump) or any(each[2] for each in inside),
            )
            if bodies(node):
                self._touched[node.point] = found
        return found

    def is_once(self, loop: Loop) -> bool:
        facts = self.of.values.loops.get(loop.point)
        return facts is not None and facts.once


_Here = tuple[tuple[Guard, ...], tuple[int, ...]]


class _Writes(Descent[_Here]):
    """``found``: those of which is known under which conditions they run, and in which loops."""

    def __init__(self, values: ValueFacts) -> None:
        self.values = values
        self.found: list[Write] = []

    def step(self, node: Node, here: _Here) -> _Here:
        if isinstance(node, Access) and node.kind is AccessKind.WRITE:
            self.found.append(Write(node, *here))
        return here

    def arm(self, node: Branch, here: _Here, truth: bool) -> _Here | None:
        term = self.values.conditions.get(node.point)
        return None if term is None else ((*here[0], (term, truth)), here[1])

    def iterations(self, node: Loop, here: _Here) -> Iterable[_Here]:
        facts = self.values.loops.get(node.point)
        more = () if facts is None or facts.once else (node.point,)
        return () if facts is None else ((here[0], (*here[1], *more)),)


@dataclass
class _Judge:
    """``tried``: the same for single blocks, one of which has to fill all that it reads; such a ``single`` block has to
    keep to the arrays by itself."""

    asker: RaceQueries
    facts: Facts
    tried: tuple[_Judge, ...] = ()
    single: bool = False
    _answers: dict[tuple[int, int, int, frozenset[int]], bool] = field(default_factory=dict)
    _repeats: dict[tuple[int, int], bool] = field(default_factory=dict)
    _filled: dict[tuple[int, int, frozenset[int]], bool] = field(default_factory=dict)

    @cached_property
    def open_before(self) -> Mapping[int, frozenset[int]]:
        """Read (point) -> writes and landings of its buffer from which a path without a barrier leads to it."""
        accesses = [node for node in self.asker.of.nodes if isinstance(node, Access)]
        written: dict[int, int] = {}
        for index, node in enumerate(accesses):
            if node.kind.writes:
                written[node.buffer] = written.get(node.buffer, 0) | 1 << index
        interfering = [written.get(node.buffer, 0) if node.kind.reads else 0 for node in accesses]
        hits = open_interfering(self.asker.of.kernel.body, self.facts, accesses, interfering)
        return {
            node.point: frozenset(other.point for number, other in enumerate(accesses) if met >> number & 1)
            for node, met in zip(accesses, hits)
        }

    def covers(self, refill: Refill, kills: frozenset[tuple[int, int]]) -> bool:
        """Is no older value read behind it, up to the next one of ``kills``?"""
        reads = tuple(_reads_behind(refill, kills))
        if self.tried and self.repeats(refill):
            ordered = [not any(self.is_open(each, read) for each in refill.writes) for read, _ in reads]
            for judge in self.tried:
                if all(
                    (after and judge.covers_read(refill, *read)) or self.covers_read(refill, *read)
                    for read, after in zip(reads, ordered)
                ):
                    return True
        return all(self.covers_read(refill, *read) for read in reads)

    def repeats(self, refill: Refill) -> bool:
        """Does it write again all that the kernel has ever written to the buffer before?"""
        key = refill.point, refill.buffer
        found = self._repeats.get(key)
        if found is None:
            found = self._repeats[key] = self._is_repeated(refill)
        return found

    def _is_repeated(self, refill: Refill) -> bool:
        of, crossed = self.asker.of, refill.loops
        if not of.kernel.buffers[refill.buffer].placed:
            return False
        again = [
            same_write(of.values, each.access, *_bytes(of, each.access), each.guards, each.loops, crossed)
            for each in refill.writes
        ]
        known = [each for each in again if each is not None]
        for access in of.accesses:
            if access.buffer != refill.buffer or not access.kind.writes:
                continue
            position = of.positions[access.point]
            guards = [(each.term, each.truth) for each in position.conditions]
            around = [loop for loop in position.loops if loop not in crossed]
            before = same_write(of.values, access, *_bytes(of, access), guards, around, crossed)
            if before is None or not is_repeated(before, known):
                return False
        return True

    def covers_read(self, refill: Refill, read: Access, common: frozenset[int]) -> bool:
        key = refill.point, refill.buffer, read.point, common
        found = self._answers.get(key)
        if found is None:
            found = len(self._answers) < _MOST_QUESTIONS and self._covers_read(refill, read, common)
            self._answers[key] = found
        return found

    def _covers_read(self, refill: Refill, read: Access, common: frozenset[int]) -> bool:
        checkpoint()
        of, buffer = self.asker.of, self.asker.of.kernel.buffers[read.buffer]
        if read.guess or read.part is not None or not buffer.placed:
            return False
        table = of.values.table
        start, width = _bytes(of, read)
        premises: list[tuple[Term, bool]] = []
        if start is None or not width or read.start is not None:
            low, high = read.within if read.within is not None else (0, buffer.bytes)
            if high is None:
                return False
            start, width = table.opaque("lost"), 1
            premises = [
                (table.op(">=", start, table.const(low)), True),
                (table.op("<", start, table.const(high)), True),
            ]
        writes = [each for each in refill.writes if self.counts(each, read)]
        ordered = [each for each in writes if not self.is_open(each, read)]
        if ordered and self.is_filled(refill, ordered) and (not self.single or self.stays(read)):
            return True
        part = gcd(width, *(_bytes(of, each.access)[1] or width for each in writes))
        if not writes or width // part > _MOST_PARTS:
            return False
        return all(
            self.is_written(
                refill, writes, read, table.op("+", start, table.const(place)), part, common, premises
            )
            for place in range(0, width, part)
        )

    def is_filled(self, refill: Refill, writes: Sequence[Write]) -> bool:
        """Do all threads of the block together surely write the whole buffer with these?"""
        of, dims = self.asker.of, self.asker.dims
        key = refill.point, refill.buffer, frozenset(each.access.point for each in writes)
        found = self._filled.get(key)
        if found is None:
            size, block = of.kernel.buffers[refill.buffer].bytes, refill.blocks[-1]
            found = self._filled[key] = (
                dims is not None
                and size is not None
                and not self.may_return
                and is_filled(of.kernel, of.values, dims, block.items[block.index :], key[2], size)
            )
        return found

    def stays(self, read: Access) -> bool:
        """Does a read stay in its buffer?"""
        of, dims, size = self.asker.of, self.asker.dims, self.asker.of.kernel.buffers[read.buffer].bytes
        if dims is None or size is None:
            return False
        found = touched(of.kernel, of.values, dims, frozenset((read.point,))).get(read.point)
        return found is not None and found[0] >= 0 and found[1] <= size

    @cached_property
    def may_return(self) -> bool:
        """Does a thread leave the kernel somewhere? It may not come to a refill then."""
        return any(isinstance(each, Jump) and each.kind is JumpKind.RETURN for each in self.asker.of.nodes)

    def counts(self, write: Write, read: Access) -> bool:
        """Is it known what is written, and is it there when it is read?"""
        access = write.access
        start, width = _bytes(self.asker.of, access)
        if start is None or not width or access.guess or access.part is not None or access.rows:
            return False
        return not access.asynchronous or not self.is_open(write, read)

    def is_open(self, write: Write, read: Access) -> bool:
        """May the read come before a barrier behind the write, or behind the landing of the copy?"""
        met = self.open_before.get(read.point, frozenset())
        if write.access.point in met:
            return True
        landings = (n.point for n in self.asker.of.nodes if isinstance(n, Access) and n.lands)
        return write.access.asynchronous and not met.isdisjoint(landings)

    def is_written(
        self,
        refill: Refill,
        writes: Sequence[Write],
        read: Access,
        byte: Term,
        width: int,
        common: frozenset[int],
        premises: Sequence[Guard],
    ) -> bool:
        """Are these bytes, whoever reads them? First by any thread, then by the one that reads."""
        ordered = [each for each in writes if not self.is_open(each, read)]
        writers = Writers(self.asker, common, refill.loops - common)
        position = self.asker.of.positions[read.point]
        wanted = [(each.term, each.truth) for each in position.conditions] + list(premises)
        for each in self.asker.of.positions[refill.point].conditions:
            wanted.append((writers.kept(each.term), each.truth))
        for own, those in ((False, ordered), (True, () if read.rows else writes)):
            checkpoint()
            encoder = self.asker.encoder()
            encoder.loose = False
            known = [] if self.single else self.in_rows(read, encoder)
            for term, holds in wanted:
                found = encoder.holds(term, 0)
                known.append(found if holds else negated(found))
            tried = False
            for write in those:
                start, size = _bytes(self.asker.of, write.access)
                assert start is not None and size
                by = writers.of_byte(start, byte, write.guards, write.loops, own=own)
                if by is not None:
                    tried = True
                    known.append(negated(self.does_write(by, write, start, size, byte, width, encoder)))
            if tried:
                asked = [*known, *encoder.side]
                if self.asker.solve(encoder, asked, _TO_PROVE).outcome is solver.Satisfiability.NONE:
                    return True
        return False

    def does_write(
        self, by: Writer, write: Write, start: Term, size: int, byte: Term, width: int, encoder: Encoder
    ) -> Formula:
        """Is ``by`` a thread, in iterations that its loops have, that comes to the write, and covers the bytes?"""
        parts: list[Formula] = []
        for axis, number in by.threads.items():
            value = encoder.value(number, 0)
            parts += [value >= 0, value < encoder.extent(axis)]
        for loop in write.loops:
            facts = self.asker.of.values.loops[loop]
            iteration = encoder.value(by.iterations[loop], 0)
            parts.append(iteration >= 0)
            if facts.trips is not None and not facts.exits:
                parts.append(iteration < facts.trips)
            elif by.runs_on(facts):
                head = encoder.holds(by.value(facts.head), 0)
                parts.append(head if facts.tested else either(iteration.equals(0), head))
            else:
                return truth(False)
        for term, taken in write.guards:
            found = encoder.holds(by.value(term), 0)
            parts.append(found if taken else negated(found))
        begin, wanted = encoder.value(by.value(start), 0), encoder.value(byte, 0)
        parts += [begin <= wanted, wanted + width <= begin + size]
        return both(*parts)

    def in_rows(self, read: Access, encoder: Encoder) -> list[Formula]:
        """No subscript of a read leaves its dimension: nothing else is meant by it."""
        values, buffer = self.asker.of.values, self.asker.of.kernel.buffers[read.buffer]
        found = []
        for term, dim in zip(values.indices.get(read.point, ()), buffer.dims):
            if dim is not None:
                number = encoder.value(term, 0)
                found += [number >= 0, number < dim]
        return found


def _bytes(of: KernelModel, access: Access) -> tuple[Term | None, int | None]:
    """First byte of the buffer that the thread touches, and how many; None: not known."""
    buffer = of.kernel.buffers[access.buffer]
    if access.start is not None:
        return (of.values.copied.get(access.point), access.size) if access.size else (None, None)
    if access.is_unplaced:
        return None, None
    width = access.width if access.width is not None else buffer.element_bytes
    return of.values.offset(access, buffer), width


def _reads_behind(
    refill: Refill, kills: frozenset[tuple[int, int]]
) -> Iterator[tuple[Access, frozenset[int]]]:
    """The reads that may follow with none of ``kills`` in between, each with the loops in whose same iteration it
    stands."""
    common, jumped = refill.loops, False
    for block in reversed(refill.blocks):
        for node in block.items[block.index + 1 :]:
            if not jumped and (node.point, refill.buffer) in kills:
                return
            jumped = jumped or _leaves(node)
            yield from ((read, common) for read in _reads(node, refill.buffer, kills))
        if block.loop is not None:
            common, jumped = common - {block.loop}, False
            for node in block.items:
                if (node.point, refill.buffer) in kills:
                    break
                yield from ((read, common) for read in _reads(node, refill.buffer, kills))


def _reads(node: Node, buffer: int, kills: frozenset[tuple[int, int]]) -> Iterator[Access]:
    """Those that whoever comes to the node may come to with none of ``kills`` in between."""
    checkpoint()
    if isinstance(node, Access):
        if node.buffer == buffer and node.kind.reads and not node.lands:
            yield node
    for seq in bodies(node):
        for each in seq.items:
            if (each.point, buffer) in kills:
                break  # whatever is behind it, in this iteration or the next one
            yield from _reads(each, buffer, kills)


def _leaves(node: Node) -> bool:
    """May a thread go from here to the end or the next iteration of a loop?"""
    if isinstance(node, Jump):
        return node.kind is not JumpKind.RETURN
    return any(_leaves(each) for seq in bodies(node) for each in seq.items)
