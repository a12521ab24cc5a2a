"""The last check of every plan, by another method than the one that made it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import islice

from smem_lsp.allocation.flow import Flow, flow, mask, reach, reaches
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.dataflow.facts import Facts, Footprint
from smem_lsp.analysis.dataflow.liveness import bits
from smem_lsp.ir.nodes import AccessKind, Seq
from smem_lsp.source import checkpoint, record

PAIRS = 5000  # that share bytes; a plan with more is not checked and not used


@record
class Violation:
    """Why a plan must not be used. ``buffers``: one index for a bad place, two for a wrong pair."""

    buffers: tuple[int, ...]
    why: str


def validate(
    items: Sequence[Item], plan: Plan, body: Seq, facts: Facts, fixed: frozenset[int]
) -> list[Violation]:
    """Everything wrong with ``plan``: alignment, size, and each pair of buffers that overlaps but may not.

    Independent of the allocators and of the conflicts: the kernel becomes a graph of events, and each overlapping
    pair is judged by what can be reached in that graph.
    """
    return Validator(body, facts, fixed).violations(items, plan)


@record
class Validator:
    """``validate`` for several plans of one kernel."""

    body: Seq
    facts: Facts
    fixed: frozenset[int]
    kernels: dict[tuple[int, ...], _Kernel] = field(default_factory=dict)  # by the barriers that are added

    def violations(self, items: Sequence[Item], plan: Plan) -> list[Violation]:
        out = list(_places(items, plan))
        if any(item.index not in plan.offsets for item in items):
            return out
        shared = list(islice(_overlapping(items, plan), PAIRS + 1))
        if not shared:
            return out
        if len(shared) > PAIRS:
            return [*out, Violation((), f"more than {PAIRS:,} pairs of buffers share bytes: not checked")]
        kernel = self.kernels.get(plan.barriers)
        if kernel is None:
            graph = flow(self.body, self.facts, frozenset(plan.barriers))
            kernel = self.kernels[plan.barriers] = _kernel(graph, self.facts)
        # Bytes that nobody touches may lie anywhere.
        used = self.fixed | {access.buffer for access in kernel.flow.accesses.values()}
        shared = [(a, b) for a, b in shared if a.index in used and b.index in used]
        at_odds = self.fixed | _at_odds(kernel, shared)
        for a, b in shared:
            checkpoint()
            if a.index in at_odds or b.index in at_odds:
                reasons = [f"{item.name} never shares" for item in (a, b) if item.index in self.fixed]
                reasons += _lost_values(kernel, a, b) + _lost_values(kernel, b, a)
                reasons += _no_barrier(kernel, a, b, plan.offsets[a.index] == plan.offsets[b.index])
                out += [Violation((a.index, b.index), why) for why in reasons]
        return out


def _overlapping(items: Sequence[Item], plan: Plan) -> Iterable[tuple[Item, Item]]:
    """Pairs that have a byte in common, in the order of ``items``."""
    for at, a in enumerate(items):
        checkpoint()
        low = plan.offsets[a.index]
        end = low + a.size
        for b in items[at + 1 :]:
            other = plan.offsets[b.index]
            if low < other + b.size and other < end:
                yield a, b


def _places(items: Sequence[Item], plan: Plan) -> Iterable[Violation]:
    end = 0
    for item in items:
        if item.index not in plan.offsets:
            yield Violation((item.index,), f"{item.name} has no offset")
            continue
        offset = plan.offsets[item.index]
        end = max(end, offset + item.size)
        if offset < 0 or offset % item.align:
            yield Violation((item.index,), f"{item.name} at {offset} is not aligned to {item.align} bytes")
    if end != plan.bytes:
        yield Violation((), f"the plan says {plan.bytes} bytes, its buffers end at {end}")


def _kernel(graph: Flow, facts: Facts) -> _Kernel:
    back: list[list[int]] = [[] for _ in graph.onward]
    for node, onward in enumerate(graph.onward):
        checkpoint()
        for target in onward:
            back[target].append(node)
    fenced = graph.onward
    if graph.past:
        fenced = [[*onward, *graph.past.get(at, ())] for at, onward in enumerate(fenced)]
    reads: dict[int, int] = {}
    writes: dict[int, int] = {}
    for node, access in graph.accesses.items():
        for kind, of in ((access.kind.reads, reads), (access.kind.writes, writes)):
            if kind:
                of[access.buffer] = of.get(access.buffer, 0) | 1 << node
    onward = reaches(graph.onward, 0)
    return _Kernel(
        graph,
        facts,
        back,
        onward,
        onward if not graph.past and not graph.walls else reaches(fenced, mask(graph.walls)),
        [(mask(one), mask(two)) for one, two in graph.beside],
        reads,
        writes,
    )


@record
class _Kernel:
    """The graph, and what is known of it. Sets of nodes are bits. ``back``: its edges the other way round; ``onward``:
    node -> those that control may reach from it, ``opened``: without a proved barrier; ``beside``: as in the graph;
    ``reads``, ``writes``: buffer -> its nodes."""

    flow: Flow
    facts: Facts
    back: list[list[int]]
    onward: list[int]
    opened: list[int]
    beside: list[tuple[int, int]]
    reads: dict[int, int]
    writes: dict[int, int]
    after: dict[int, int] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)
    needed: dict[int, int] = field(default_factory=dict)

    def accesses(self, buffer: int) -> int:
        return self.reads.get(buffer, 0) | self.writes.get(buffer, 0)

    def open_after(self, buffer: int) -> int:
        """What can be reached from some access to ``buffer`` without a proved barrier."""
        if buffer not in self.after:
            self.after[buffer] = _union(self.opened[node] for node in bits(self.accesses(buffer)))
        return self.after[buffer]

    def after_writes(self, buffer: int) -> int:
        """Where some write of ``buffer`` may have run before."""
        if buffer not in self.written:
            starts = [*bits(self.writes.get(buffer, 0))]
            starts += [node for node, buffers in self.flow.written.items() if buffer in buffers]
            self.written[buffer] = _union(self.onward[node] for node in starts)
        return self.written[buffer]

    def before_reads(self, buffer: int) -> int:
        """From where some read of ``buffer`` may follow with no full write before it."""
        if buffer not in self.needed:
            accesses = self.flow.accesses
            kills = mask(
                node
                for node in bits(self.writes.get(buffer, 0))
                if accesses[node].point in self.facts.full and accesses[node].kind is AccessKind.WRITE
            )
            kills |= mask(node for node, buffers in self.flow.covers.items() if buffer in buffers)
            starts = self.reads.get(buffer, 0)
            starts |= mask(node for node, buffers in self.flow.read.items() if buffer in buffers)
            self.needed[buffer] = reach(self.back, starts, kills)
        return self.needed[buffer]


def _at_odds(kernel: _Kernel, shared: Iterable[tuple[Item, Item]]) -> frozenset[int]:
    """The buffers that may have something against one of those that they share bytes with: all of these are asked about
    at once."""
    partners: dict[int, set[int]] = {}
    for a, b in shared:
        partners.setdefault(a.index, set()).add(b.index)
        partners.setdefault(b.index, set()).add(a.index)
    found = set()
    for buffer, others in partners.items():
        checkpoint()
        ours, theirs = kernel.accesses(buffer), _union(map(kernel.accesses, others))
        written = kernel.after_writes(buffer)
        if (
            _union(kernel.writes.get(other, 0) for other in others) & written & kernel.before_reads(buffer)
            or kernel.reads.get(buffer, 0) & kernel.onward[0] & ~written
            or theirs & kernel.open_after(buffer)
            or any(
                (one & ours and two & theirs) or (two & ours and one & theirs) for one, two in kernel.beside
            )
        ):
            found.add(buffer)
    return frozenset(found)


def _lost_values(kernel: _Kernel, holder: Item, writer: Item) -> list[str]:
    """Writes of ``writer`` where ``holder`` has been written and will be read; reads of nothing at all."""
    checkpoint()
    accesses = kernel.flow.accesses
    written, needed = kernel.after_writes(holder.index), kernel.before_reads(holder.index)
    lost = kernel.writes.get(writer.index, 0) & written & needed
    early = kernel.reads.get(holder.index, 0) & kernel.onward[0] & ~written
    if not (lost or early):
        return []
    out = [
        f"{writer.name} is written at line {accesses[node].line} while {holder.name} holds a value"
        for node in bits(lost)
    ]
    out += [
        f"{holder.name} is read at line {accesses[node].line} before anything is written to it"
        for node in bits(early)
        if accesses[node].kind is AccessKind.READ
    ]
    return out


def _no_barrier(kernel: _Kernel, a: Item, b: Item, same_offset: bool) -> list[str]:
    checkpoint()
    accesses = kernel.flow.accesses
    ours, theirs = kernel.accesses(a.index), kernel.accesses(b.index)
    meet: set[tuple[int, int]] = set()
    if theirs & kernel.open_after(a.index):
        meet |= {(x, y) for x in bits(ours) for y in bits(theirs & kernel.opened[x])}
    if ours & kernel.open_after(b.index):
        meet |= {(x, y) for y in bits(theirs) for x in bits(ours & kernel.opened[y])}
    for arms in kernel.beside:
        for one, two in (arms, arms[::-1]):
            meet |= {(x, y) for x in bits(one & ours) for y in bits(two & theirs)}
    out = []
    for x, y in sorted(meet):
        first, second = accesses[x], accesses[y]
        if first.kind is AccessKind.READ and second.kind is AccessKind.READ:
            continue
        slots = kernel.facts.slots
        if same_offset and _private(slots.get(first.point), slots.get(second.point)):
            continue
        places = f"{a.name} at line {first.line} and {b.name} at line {second.line}"
        out.append(f"no barrier between {places} on some path")
    return out


def _union(sets: Iterable[int]) -> int:
    found = 0
    for each in sets:
        found |= each
    return found


def _private(a: Footprint | None, b: Footprint | None) -> bool:
    """True when every element that both slots name belongs to one thread alone."""
    if a is None or b is None or a.element_bytes != b.element_bytes or len(a.starts) != len(b.starts):
        return False
    one, two = abs(a.stride), abs(b.stride)
    while two:
        one, two = two, one % two
    threads: list[dict[int, set[int]]] = [{}, {}]
    for side, slot in zip(threads, (a, b), strict=True):
        checkpoint()
        for thread, start in enumerate(slot.starts):
            side.setdefault(start % one if one else start, set()).add(thread)
    left, right = threads
    return all(len(left[element] | right[element]) == 1 for element in left.keys() & right.keys())
