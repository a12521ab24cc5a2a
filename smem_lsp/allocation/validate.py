"""The last check of every plan, by another method than the one that made it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import islice

from smem_lsp.allocation.flow import Flow, flow, reach
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.dataflow.facts import Facts, Footprint
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
        for a, b in shared:
            checkpoint()
            if a.index in used and b.index in used:
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
    edges = graph.onward
    if graph.past:
        edges = [[*onward, *graph.past.get(at, ())] for at, onward in enumerate(edges)]
    accesses: dict[int, list[int]] = {}
    for node, access in graph.accesses.items():
        accesses.setdefault(access.buffer, []).append(node)
    return _Kernel(graph, facts, back, edges, accesses, reach(graph.onward, [0], set()))


@record
class _Kernel:
    """The graph, and per buffer or access the reachable nodes found so far. ``back``: its edges the other way round;
    ``fenced``: with those that only matter to barriers; ``running``: nodes that control may reach."""

    flow: Flow
    facts: Facts
    back: list[list[int]]
    fenced: list[list[int]]
    accesses: dict[int, list[int]]  # buffer -> its nodes
    running: set[int]
    written: dict[int, set[int]] = field(default_factory=dict)
    needed: dict[int, set[int]] = field(default_factory=dict)
    opened: dict[int, set[int]] = field(default_factory=dict)

    def nodes(self, buffer: int, reads: bool = False, writes: bool = False) -> list[int]:
        checkpoint()
        kinds = self.flow.accesses
        return [
            node
            for node in self.accesses.get(buffer, ())
            if (reads and kinds[node].kind.reads) or (writes and kinds[node].kind.writes)
        ]

    def after_writes(self, buffer: int) -> set[int]:
        """Where some write of ``buffer`` may have run before."""
        if buffer not in self.written:
            starts = self.nodes(buffer, writes=True)
            starts += [node for node, buffers in self.flow.written.items() if buffer in buffers]
            self.written[buffer] = reach(self.flow.onward, starts, set())
        return self.written[buffer]

    def before_reads(self, buffer: int) -> set[int]:
        """From where some read of ``buffer`` may follow with no full write before it."""
        if buffer not in self.needed:
            accesses = self.flow.accesses
            kills = {
                node
                for node in self.nodes(buffer, writes=True)
                if accesses[node].point in self.facts.full and accesses[node].kind is AccessKind.WRITE
            }
            kills |= {node for node, buffers in self.flow.covers.items() if buffer in buffers}
            starts = self.nodes(buffer, reads=True)
            starts += [node for node, buffers in self.flow.read.items() if buffer in buffers]
            self.needed[buffer] = reach(self.back, starts, kills)
        return self.needed[buffer]

    def open_after(self, node: int) -> set[int]:
        """What can be reached from ``node`` without a proved barrier."""
        if node not in self.opened:
            self.opened[node] = reach(self.fenced, [node], self.flow.walls)
        return self.opened[node]


def _lost_values(kernel: _Kernel, holder: Item, writer: Item) -> list[str]:
    """Writes of ``writer`` where ``holder`` has been written and will be read; reads of nothing at all."""
    checkpoint()
    accesses = kernel.flow.accesses
    written, needed = kernel.after_writes(holder.index), kernel.before_reads(holder.index)
    out = [
        f"{writer.name} is written at line {accesses[node].line} while {holder.name} holds a value"
        for node in kernel.nodes(writer.index, writes=True)
        if node in written and node in needed
    ]
    out += [
        f"{holder.name} is read at line {accesses[node].line} before anything is written to it"
        for node in kernel.nodes(holder.index, reads=True)
        if accesses[node].kind is AccessKind.READ and node not in written and node in kernel.running
    ]
    return out


def _no_barrier(kernel: _Kernel, a: Item, b: Item, same_offset: bool) -> list[str]:
    checkpoint()
    accesses = kernel.flow.accesses
    nodes = {item.index: kernel.nodes(item.index, reads=True, writes=True) for item in (a, b)}
    meet = {(x, y) for x in nodes[a.index] for y in nodes[b.index] if y in kernel.open_after(x)}
    meet |= {(x, y) for y in nodes[b.index] for x in nodes[a.index] if x in kernel.open_after(y)}
    for arms in kernel.flow.beside:
        for one, two in (arms, arms[::-1]):
            meet |= {(x, y) for x in one if x in nodes[a.index] for y in two if y in nodes[b.index]}
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
