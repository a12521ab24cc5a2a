"""What a counter that gives out places begins with: a number that some thread surely stores before.

A store gives a start value only if it is surely made wherever a thread comes to the addition. Either who adds has made
it himself, or the number of a thread picks one that exists and comes to the store: from a statement that all threads of
the block come to together, or from the beginning of the kernel, by conditions that this thread is known to meet, with
no ``return`` in a loop on the way, of which conditions say nothing. Other writes to the array have to miss the counter,
if only because the places that it gives out lie behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from smem_lsp.analysis.decision.atomic_slots import AtomicSlot
from smem_lsp.analysis.decision.conditions import Position
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Dims,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
    bodies,
    storages_of,
    walk,
)
from smem_lsp.source import checkpoint, record
from smem_lsp.terms.intervals import ANY, INFINITE, Interval
from smem_lsp.terms.language import Op, Sym, Term

if TYPE_CHECKING:
    from smem_lsp.analysis.decision.kernel_model import KernelModel

_FAR = 1 << 30  # from where a number wraps
_MOST_CELLS = 1 << 10  # that one addition may change
_ALONE: Dims = (1, 1, 1)  # the first thread is in every block


@record
class _StatementStep:
    """A node, and its ``place`` among the statements ``seq``."""

    seq: Seq
    place: int
    node: Node


def start_values(of: KernelModel, dims: Dims | None) -> Mapping[Term, Interval]:
    """Bounds of what additions find, by that term, in a block of ``dims``; None: in every block."""
    found: dict[Term, Interval] = {}
    storages = storages_of(of.kernel.buffers)
    by_buffer: dict[int, list[AtomicSlot]] = {}
    for each in of.counters.tickets.values():
        by_buffer.setdefault(each.access.buffer, []).append(each)
    for buffer, tickets in by_buffer.items():
        writes = [
            each
            for each in of.accesses
            if storages[each.buffer] == storages[buffer]
            and each.kind.writes
            and each.point not in of.values.added
        ]
        least = _least(of, dims, tickets, writes) if tickets[0].rises else None
        if least is not None:
            found |= {each.before: (least, INFINITE) for each in tickets}
    return found


def _least(
    of: KernelModel, dims: Dims | None, tickets: Sequence[AtomicSlot], writes: Sequence[Access]
) -> int | None:
    """What each of the additions to one buffer finds at least; None: not known."""
    values, buffer = of.values, of.kernel.buffers[tickets[0].access.buffer]
    limits, size = Bounds(values.loops), buffer.element_bytes or 0
    begins, others = dict[int, int](), list[Access]()
    for write in writes:
        if write.buffer != buffer.index or not all(write.same_layout(each.access) for each in tickets):
            return None
        stored = values.stored.get(write.point)
        low, high = ANY if stored is None else limits.interval(stored)
        if write.kind is AccessKind.WRITE and write.width in (None, size) and -_FAR <= low <= high <= _FAR:
            begins[write.point] = low
        else:
            others.append(write)
    starts = [each for each in writes if each.point in begins]
    if not all(_is_begun(of, dims, each, starts) for each in tickets):
        return None
    least = min(begins.values())
    given = Bounds(values.loops, given={each.before: (least, INFINITE) for each in tickets})
    cells = [given.interval(each.cell) for each in tickets]
    for write in others:
        offset = values.offset(write, buffer)
        if offset is None or write.is_unplaced or write.start is not None:
            return None
        width = size if write.width is None else write.width
        first, last = given.interval(offset)
        if not all(last + width <= low or first >= high + size for low, high in cells):
            return None
    return least


def _is_begun(of: KernelModel, dims: Dims | None, ticket: AtomicSlot, starts: Iterable[Access]) -> bool:
    """Is every counter that the addition may change surely stored before?"""
    buffer = of.kernel.buffers[ticket.access.buffer]
    limits, size = Bounds(of.values.loops), buffer.element_bytes or 1
    low, high = limits.interval(ticket.cell)
    known = low == high or of.values.element(ticket.access, buffer) is not None
    left = set(range(low, high + 1, size)) if known and high - low < _MOST_CELLS * size else None
    to_addition = _way(of.kernel.body, ticket.access.point)
    for store in starts:
        checkpoint()
        offset = of.values.offset(store, buffer)
        nodes = _to_fork(_way(of.kernel.body, store.point), to_addition)
        if offset is None or store.guess or store.is_unplaced or store.start is not None or not nodes:
            continue
        own = _is_passed(of, nodes[-1], store)
        picked = None if own else _picked(of, dims, nodes, store, ticket.access)
        if offset is ticket.cell and (own or (picked is not None and of.levels.uniform(offset))):
            return True
        if left is None:
            continue
        first, last = limits.interval(offset)
        if own and first == last:
            left.discard(first)
        elif picked is not None and (dims is not None or _is_of_any_block(offset, picked)):
            left.difference_update(picked.values(offset) or ())
        if not left:
            return True
    return False


def _way(seq: Seq, point: int) -> tuple[_StatementStep, ...]:
    """The nodes around a node, the outermost first, and that node."""
    for place, node in enumerate(seq.items):
        checkpoint()
        if node.point == point:
            return (_StatementStep(seq, place, node),)
        for inner in bodies(node):
            if way := _way(inner, point):
                return (_StatementStep(seq, place, node), *way)
    return ()


def _to_fork(way: Sequence[_StatementStep], other: Sequence[_StatementStep]) -> tuple[Node, ...]:
    """The nodes of ``way`` that ``other`` has, too, and the next one, if ``other`` goes on behind it; none: it does not
    go on from there."""
    for count, (one, beside) in enumerate(zip(way, other), 1):
        if one.node is not beside.node:
            behind = one.seq is beside.seq and one.place < beside.place
            return tuple(each.node for each in way[:count]) if behind else ()
    return ()


def _is_passed(of: KernelModel, node: Node, store: Access) -> bool:
    """Does whoever has come by ``node`` come to ``store``, which it is or which is inside?"""
    around, at = of.positions[node.point], of.positions[store.point]
    return around.loops == at.loops and around.conditions == at.conditions


def _picked(
    of: KernelModel, dims: Dims | None, nodes: Sequence[Node], store: Access, addition: Access
) -> Evaluator | None:
    """Those threads of the block that surely come to ``store`` where one comes to ``addition``; None: none is known.
    ``nodes``: on the way to both, the outermost first, the last one only to ``store``."""
    at = of.positions[store.point]
    begin = next((each for each in reversed(nodes) if each.point in of.control.steady), None)
    before = Position((), ()) if begin is None else of.positions[begin.point]
    if at.loops != before.loops or _may_return(of, begin, store):
        return None
    agreed = of.positions[addition.point].conditions
    threads: Evaluator | None = Evaluator(_ALONE if dims is None else dims)
    for each in at.conditions[len(before.conditions) :]:
        if each in agreed and of.levels.uniform(each.term):
            continue  # as it holds for who adds
        assert threads is not None
        if dims is None and not _is_of_any_block(each.term, threads):
            return None
        found = threads.values(each.term)
        threads = None if found is None else threads.of([bool(value) is each.truth for value in found])
        if threads is None:
            return None
    return threads


def _may_return(of: KernelModel, begin: Node | None, store: Access) -> bool:
    """May a thread return in a loop that is over, on the way from ``begin``, or from the beginning of the kernel, to
    ``store``?"""
    started = begin is None
    for node in of.nodes:
        if node is store:
            return False
        started = started or node is begin
        if started and isinstance(node, Loop) and all(each is not store for each in walk(node.body)):
            if any(isinstance(each, Jump) and each.kind is JumpKind.RETURN for each in walk(node.body)):
                return True
    return True


def _is_of_any_block(term: Term, first: Evaluator) -> bool:
    """Is the value that ``first``, the first thread of the block, has whatever the block is?"""
    if isinstance(term, Sym):
        return not term.name.startswith("blockDim.")
    if not isinstance(term, Op):
        return True
    known = [_is_of_any_block(each, first) for each in term.args]
    none = term.operator == "*" and any(
        of_any and first.value(each) == 0 for of_any, each in zip(known, term.args)
    )
    return none or all(known)
