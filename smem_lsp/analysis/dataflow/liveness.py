"""Where every buffer holds a value that will still be read.

Two data-flow walks over the region tree. Backward: a buffer is *live* where some path leads to a read of it
with no full write before. Forward: it is *defined* where some path from the start writes it. It holds a
value where both hold. The scope of a declaration plays no part: shared arrays are static storage.

Sets of buffers are bit masks (bit i is the buffer with index i).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from smem_lsp.analysis.dataflow.conflicts import Pairs, pair
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.masks import bits
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Assignment,
    Branch,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
    bodies,
    walk,
)
from smem_lsp.ir.places import Row
from smem_lsp.ir.walks import Backward, Flow, Ways
from smem_lsp.source import checkpoint, record


@record
class Life:
    """First and last point at which a buffer is accessed or holds a value, with their lines; None: there is
    none before it."""

    first: int
    last: int
    first_line: Row | None
    last_line: Row | None


@record
class Overwrite:
    """Why buffers conflict whatever barriers there are: a write of one while ``holds`` keep their values."""

    point: int
    line: Row
    writes: int  # the buffer written
    holds: int  # the mask of the buffers whose values would be lost


@record
class Liveness:
    """``overwrites``: in the order of the program; ``apart``: the pairs that may never share bytes for it.

    ``reads_before_write``: buffers read where nothing can have written them yet. Their contents are
    garbage, and other garbage once they share bytes, so they never do. A read that some path defines (a
    loop that runs, a branch that is taken) is not meant, nor is the update of an atomic or of a library's
    scratch storage.
    """

    overwrites: tuple[Overwrite, ...]
    apart: Pairs
    reads_before_write: frozenset[int]
    lives: Mapping[int, Life]

    def witnesses(self) -> dict[frozenset[int], Overwrite]:
        """The first overwrite of each pair."""
        found: dict[frozenset[int], Overwrite] = {}
        for each in self.overwrites:
            for other in bits(each.holds):
                found.setdefault(pair(each.writes, other), each)
        return found


def liveness(body: Seq, facts: Facts) -> Liveness:
    """Lives of all buffers of ``body``."""
    nodes = tuple(walk(body))
    record = LivenessRecord(facts)
    LiveBefore(record).seq(body.items, 0, 0, 0)
    reached = 1 << 1 + max((node.buffer for node in nodes if isinstance(node, Access)), default=0)
    DefinedBehind(record).seq(body, reached)
    overwrites: list[Overwrite] = []
    rows: dict[int, int] = {}
    unwritten = _first_reads(body, 0, False, True, record)[1]
    for node in nodes:
        checkpoint()
        if not isinstance(node, Access):
            continue
        defined = record.defined.get(node.point, 0)
        own = 1 << node.buffer
        if node.kind is AccessKind.READ and defined & reached and not defined & own:
            unwritten |= own
        if node.kind.writes:
            holds = record.live[node.point] & defined & ~own & ~reached
            if holds:
                overwrites.append(Overwrite(node.point, node.line, node.buffer, holds))
                rows[node.buffer] = rows.get(node.buffer, 0) | holds
    return Liveness(tuple(overwrites), Pairs.of_rows(rows), frozenset(bits(unwritten)), _lives(nodes, record))


@record
class LivenessRecord:
    """What the walks found at each point. ``live`` is taken after the node, ``defined`` before it."""

    facts: Facts
    live: dict[int, int] = field(default_factory=dict)
    defined: dict[int, int] = field(default_factory=dict)
    touched: dict[int, tuple[int, int]] = field(default_factory=dict)  # id(Seq) -> buffers read, written
    # Loop and what is live after it -> live before it; loop and what is defined before it -> defined after it.
    heads: dict[tuple[int, int], int] = field(default_factory=dict)
    ends: dict[tuple[int, int], int] = field(default_factory=dict)

    def covered(self, point: int) -> int:
        """The buffers that this branch or loop overwrites as a whole."""
        mask = 0
        if point in self.facts.covering:
            for buffer in self.facts.covering[point]:
                mask |= 1 << buffer
        return mask


def _touched(seq: Seq, record: LivenessRecord) -> tuple[int, int]:
    found = record.touched.get(id(seq))
    if found is None:
        read = written = 0
        for node in seq.items:
            checkpoint()
            if isinstance(node, Access):
                read |= node.kind.reads << node.buffer
                written |= node.kind.writes << node.buffer
            for inner in bodies(node):
                reads, writes = _touched(inner, record)
                read |= reads
                written |= writes
        found = record.touched[id(seq)] = (read, written)
    return found


class LiveBefore(Backward[int]):
    """``record.live``: what is live behind each node."""

    def __init__(self, record: LivenessRecord) -> None:
        self.record = record

    def note(self, point: int, live: int) -> None:
        seen = self.record.live
        seen[point] = seen.get(point, 0) | live

    def step(self, node: Node, live: int) -> int:
        self.note(node.point, live)
        if isinstance(node, Access):
            if node.kind is not AccessKind.WRITE:
                return live | 1 << node.buffer
            if node.point in self.record.facts.full:
                return live & ~(1 << node.buffer)
        return live

    def jump(self, node: Jump, live: int, at_break: int, at_continue: int) -> int:
        self.note(node.point, live)
        target = 0
        if node.kind is not JumpKind.RETURN:
            target = at_break if node.kind is JumpKind.BREAK else at_continue
        # A jump that only some threads take: the others go on.
        return target if node.point in self.record.facts.uniform else target | live

    def branch(self, node: Branch, live: int, at_break: int, at_continue: int) -> int:
        beside, skipped = (0, 0), 0
        if node.point not in self.record.facts.uniform:
            # Both arms run at once, and a thread may skip either: what one arm reads is live throughout the other.
            beside = _touched(node.otherwise, self.record)[0], _touched(node.then, self.record)[0]
            skipped = live
        then = self.seq(node.then.items, live | beside[0], at_break, at_continue)
        other = self.seq(node.otherwise.items, live | beside[1], at_break, at_continue)
        before = (skipped | then | other) & ~self.record.covered(node.point)
        self.note(node.point, live | before)
        return before

    def loop(self, node: Loop, live: int) -> int:
        record = self.record
        before = record.heads.get((node.point, live))
        if before is None:
            head = 0
            while True:
                start = head | self.seq(node.body.items, live | head, live, live | head)
                if start == head:
                    break
                head = start
            self.note(node.end_point, live | head)
            before = record.heads[node.point, live] = head if node.min_trip >= 1 else head | live
        before &= ~record.covered(node.point)
        self.note(node.point, live | before)
        return before


class DefinedBehind(Flow[int]):
    """``record.defined``: what is defined in front of each node; 0: it is not reached at all."""

    none = 0

    def __init__(self, record: LivenessRecord) -> None:
        self.record = record

    def join(self, one: int, other: int) -> int:
        return one | other

    def note(self, point: int, defined: int) -> None:
        seen = self.record.defined
        seen[point] = seen.get(point, 0) | defined

    def step(self, node: Node, defined: int) -> int:
        self.note(node.point, defined)
        if defined and isinstance(node, Access) and node.kind is not AccessKind.READ:
            return defined | 1 << node.buffer
        return defined

    def jump(self, node: Jump, defined: int) -> int:
        self.note(node.point, defined)
        return 0 if node.point in self.record.facts.uniform else defined

    def branch(self, node: Branch, defined: int) -> Ways[int]:
        self.note(node.point, defined)
        if node.point in self.record.facts.uniform:
            return super().branch(node, defined)
        then = self.seq(node.then.items, defined | _touched(node.otherwise, self.record)[1])
        other = self.seq(node.otherwise.items, defined | _touched(node.then, self.record)[1])
        return self.joined(Ways(defined, 0, 0), self.joined(then, other))

    def loop(self, node: Loop, defined: int) -> int:
        self.note(node.point, defined)
        given, record = defined, self.record
        if (node.point, given) in record.ends:
            return record.ends[node.point, given]
        leaves = 0 if node.min_trip >= 1 and node.point in record.facts.uniform else defined
        while True:
            found = self.seq(node.body.items, defined)
            around = defined | found.end | found.continues
            if around == defined:
                break
            defined = around
        self.note(node.end_point, found.end | found.continues)
        after = record.ends[node.point, given] = leaves | found.end | found.continues | found.breaks
        return after


def _first_reads(
    seq: Seq, written: int, looped: bool, certain: bool, record: LivenessRecord
) -> tuple[int, int, bool]:
    """Reads in the first iteration of a loop that only an earlier iteration could have defined.

    ``certain``: this code is sure to run in the first iteration of the outermost loop around it, if that loop
    runs. A read under a condition may well be meant for later iterations only, so it is left alone. Returns the
    buffers written without any back edge, the buffers read too early, and whether a jump may skip what
    follows.
    """
    early = 0
    jumped = False
    for node in seq.items:
        if isinstance(node, Access):
            own = 1 << node.buffer
            if looped and certain and not jumped and node.kind is AccessKind.READ and not written & own:
                early |= own
            if node.kind.writes:
                written |= own
        elif isinstance(node, Branch):
            inside = certain and not looped
            then = _first_reads(node.then, written, looped, inside, record)
            other = _first_reads(node.otherwise, written, looped, inside, record)
            written |= then[0] | other[0]
            early |= then[1] | other[1]
            jumped = jumped or then[2] or other[2]
        elif isinstance(node, Loop):
            inside = certain and (not looped or (node.min_trip >= 1 and not jumped))
            body = _first_reads(node.body, written, True, inside, record)
            written |= body[0]
            early |= body[1]
            jumped = jumped or body[2]
        elif isinstance(node, Jump):
            jumped = True
    return written, early, jumped


_Held = tuple[int, Row | None, int]  # point, line, buffers


def _lives(nodes: tuple[Node, ...], record: LivenessRecord) -> dict[int, Life]:
    held: list[_Held] = []
    every = 0
    for node in nodes:
        point = node.point
        mask = record.live[point] & record.defined[point]
        if isinstance(node, Access):
            mask |= 1 << node.buffer
            every |= mask
        held.append((point, None if isinstance(node, Assignment) else node.line, mask))
        if isinstance(node, Loop):
            held.append((node.end_point, None, record.live[node.end_point] & record.defined[node.end_point]))
    held.sort(key=lambda each: each[0])
    first = _first_held(held, range(len(held)), every)
    last = _first_held(held, reversed(range(len(held))), every)
    return {
        buffer: Life(start, last[buffer][0], line, last[buffer][1]) for buffer, (start, line) in first.items()
    }


def _first_held(held: list[_Held], order: Iterable[int], wanted: int) -> dict[int, tuple[int, Row | None]]:
    """Per buffer of the mask ``wanted``, point and line of the first entry that holds it."""
    found: dict[int, tuple[int, Row | None]] = {}
    for at in order:
        checkpoint()
        if not wanted:
            break
        point, line, mask = held[at]
        if mask & wanted:
            while (
                line is None and at
            ):  # loop ends and assignments have no line: the one before them is near enough
                at -= 1
                line = held[at][1]
            found.update(dict.fromkeys(bits(mask & wanted), (point, line)))
            wanted &= ~mask
    return found
