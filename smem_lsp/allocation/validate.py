"""The last check of every plan, by another method than the one that made it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import islice

from smem_lsp.allocation.flow import Flow, carried, flow
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.dataflow.facts import Facts, Footprint
from smem_lsp.analysis.dataflow.masks import bits, mask_of
from smem_lsp.ir.nodes import AccessKind, Seq
from smem_lsp.ir.places import Row
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass

PAIRS = 5000  # that share bytes; a plan with more is not checked and not used


@record
class Violation:
    """Why a plan must not be used. ``buffers``: one index for a bad place, two for a wrong pair."""

    buffers: tuple[int, ...]
    why: tuple[str | Row, ...]

    def words(self, line: Callable[[Row], int]) -> str:
        """``why`` as text. ``line``: of the file, from 1 on."""
        return "".join(each if isinstance(each, str) else str(line(each)) for each in self.why)


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
        both = sorted(islice(_overlapping(items, plan), PAIRS + 1))
        if not both:
            return out
        if len(both) > PAIRS:
            return [*out, Violation((), (f"more than {PAIRS:,} pairs of buffers share bytes: not checked",))]
        kernel = self.kernels.get(plan.barriers)
        if kernel is None:
            graph = flow(self.body, self.facts, frozenset(plan.barriers))
            kernel = self.kernels[plan.barriers] = _kernel(graph, self.facts)
        shared = [(items[a], items[b]) for a, b in both]
        # Bytes that nobody touches may lie anywhere.
        used = self.fixed | {access.buffer for access in kernel.flow.accesses.values()}
        shared = [(a, b) for a, b in shared if a.index in used and b.index in used]
        at_odds = self.fixed | _at_odds(kernel, shared)
        for a, b in shared:
            checkpoint()
            if a.index in at_odds or b.index in at_odds:
                reasons: list[tuple[str | Row, ...]] = [
                    (f"{item.name} never shares",) for item in (a, b) if item.index in self.fixed
                ]
                reasons += _lost_values(kernel, a, b) + _lost_values(kernel, b, a)
                reasons += _no_barrier(kernel, a, b, plan.offsets[a.index] == plan.offsets[b.index])
                out += [Violation((a.index, b.index), why) for why in reasons]
        return out


def _overlapping(items: Sequence[Item], plan: Plan) -> Iterable[tuple[int, int]]:
    """Positions in ``items`` of each two that have a byte in common, in no order."""
    order = sorted(range(len(items)), key=lambda at: plan.offsets[items[at].index])
    for rank, at in enumerate(order):
        checkpoint()
        low = plan.offsets[items[at].index]
        for other in order[rank + 1 :]:
            start = plan.offsets[items[other].index]
            if start >= low + items[at].size:
                break
            if low < start + items[other].size:
                yield min(at, other), max(at, other)


def _places(items: Sequence[Item], plan: Plan) -> Iterable[Violation]:
    end = 0
    for item in items:
        if item.index not in plan.offsets:
            yield Violation((item.index,), (f"{item.name} has no offset",))
            continue
        offset = plan.offsets[item.index]
        end = max(end, offset + item.size)
        if offset < 0 or offset % item.align:
            yield Violation((item.index,), (f"{item.name} at {offset} is not aligned to {item.align} bytes",))
    if end != plan.bytes:
        yield Violation((), (f"the plan says {plan.bytes} bytes, its buffers end at {end}",))


def _kernel(graph: Flow, facts: Facts) -> _Kernel:
    edges = graph.onward
    fenced = [[*onward, *graph.past.get(at, ())] for at, onward in enumerate(edges)] if graph.past else edges
    reads = {node: mask_of(buffers) for node, buffers in graph.read.items()}
    writes = {node: mask_of(buffers) for node, buffers in graph.written.items()}
    full = {node: mask_of(buffers) for node, buffers in graph.covers.items()}
    touched: dict[int, int] = {}
    for node, access in graph.accesses.items():
        touched[node] = own = 1 << access.buffer
        if access.kind.reads:
            reads[node] = own
        if access.kind.writes:
            writes[node] = own
        if access.kind is AccessKind.WRITE and access.point in facts.full:
            full[node] = own
    back = _turned(edges)
    written = carried(back, writes, {}, forward=True)
    needed = carried(edges, reads, full, forward=False)
    walls = dict.fromkeys(graph.walls, -1)
    return _Kernel(
        graph,
        facts,
        fenced,
        walls,
        carried(back, {0: 1}, {}, forward=True),
        written,
        [before & behind for before, behind in zip(written, needed)],
        carried(_turned(fenced), touched, walls, forward=True),
    )


def _turned(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """The edges the other way round."""
    back: list[list[int]] = [[] for _ in edges]
    for node, onward in enumerate(edges):
        checkpoint()
        for target in onward:
            back[target].append(node)
    return back


@dataclass
class _Kernel:
    """The graph, and what is known of its nodes. ``fenced``: its edges, and those that only matter to barriers;
    ``walls``: its barriers; ``reached``: 1 where control may come. Per node a mask of buffers: ``written``: those that
    some path has written; ``holding``: those of them that some path will read with no full write before; ``opened``:
    those accessed with no proved barrier since."""

    flow: Flow
    facts: Facts
    fenced: list[list[int]]
    walls: Mapping[int, int]
    reached: list[int]
    written: list[int]
    holding: list[int]
    opened: list[int]

    @cached_property
    def accesses(self) -> Mapping[int, list[int]]:
        """Buffer -> its nodes."""
        found: dict[int, list[int]] = {}
        for node, access in self.flow.accesses.items():
            found.setdefault(access.buffer, []).append(node)
        return found

    @cached_property
    def open_behind(self) -> list[int]:
        """Node -> the mask of those that control may come to with no proved barrier between."""
        each = {node: 1 << node for node in range(len(self.fenced))}
        return carried(self.fenced, each, self.walls, forward=False)

    def reads_early(self, node: int) -> bool:
        """Does it read what nothing can have written?"""
        access = self.flow.accesses[node]
        return access.kind.reads and self.reached[node] > 0 and not self.written[node] >> access.buffer & 1


def _at_odds(kernel: _Kernel, shared: Iterable[tuple[Item, Item]]) -> frozenset[int]:
    """The buffers that may have something against one of those that they share bytes with."""
    partners: dict[int, int] = {}
    for a, b in shared:
        partners[a.index] = partners.get(a.index, 0) | 1 << b.index
        partners[b.index] = partners.get(b.index, 0) | 1 << a.index
    found = 0
    for node, access in kernel.flow.accesses.items():
        checkpoint()
        found |= kernel.opened[node] & partners.get(access.buffer, 0)
        if access.kind.writes:
            found |= kernel.holding[node] & partners.get(access.buffer, 0)
        if kernel.reads_early(node):
            found |= 1 << access.buffer
    for arms in kernel.flow.beside:
        one, other = ({kernel.flow.accesses[node].buffer for node in arm} for arm in arms)
        for mine, theirs in ((one, mask_of(other)), (other, mask_of(one))):
            found |= mask_of(buffer for buffer in mine if partners.get(buffer, 0) & theirs)
    return frozenset(bits(found))


def _lost_values(kernel: _Kernel, holder: Item, writer: Item) -> list[tuple[str | Row, ...]]:
    """Writes of ``writer`` where ``holder`` has been written and will be read; reads of nothing at all."""
    checkpoint()
    accesses = kernel.flow.accesses
    out: list[tuple[str | Row, ...]] = [
        (f"{writer.name} is written at line ", accesses[node].line, f" while {holder.name} holds a value")
        for node in kernel.accesses.get(writer.index, ())
        if accesses[node].kind.writes and kernel.holding[node] >> holder.index & 1
    ]
    out += [
        (f"{holder.name} is read at line ", accesses[node].line, " before anything is written to it")
        for node in kernel.accesses.get(holder.index, ())
        if accesses[node].kind is AccessKind.READ and kernel.reads_early(node)
    ]
    return out


def _no_barrier(kernel: _Kernel, a: Item, b: Item, same_offset: bool) -> list[tuple[str | Row, ...]]:
    checkpoint()
    accesses = kernel.flow.accesses
    ours, theirs = (kernel.accesses.get(each.index, []) for each in (a, b))
    one_mask, other_mask = mask_of(ours), mask_of(theirs)
    meet = {(x, y) for x in ours for y in bits(kernel.open_behind[x] & other_mask)}
    meet |= {(x, y) for y in theirs for x in bits(kernel.open_behind[y] & one_mask)}
    for arms in kernel.flow.beside:
        for one, two in (arms, arms[::-1]):
            meet |= {(x, y) for x in ours if x in one for y in theirs if y in two}
    out: list[tuple[str | Row, ...]] = []
    for x, y in sorted(meet):
        first, second = accesses[x], accesses[y]
        if first.kind is AccessKind.READ and second.kind is AccessKind.READ:
            continue
        slots = kernel.facts.slots
        if same_offset and _private(slots.get(first.point), slots.get(second.point)):
            continue
        names = f"no barrier between {a.name} at line ", f" and {b.name} at line ", " on some path"
        out.append((names[0], first.line, names[1], second.line, names[2]))
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
