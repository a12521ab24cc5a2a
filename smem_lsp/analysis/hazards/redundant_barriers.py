"""Block barriers that order nothing that needs an order: proved, never sampled.

A barrier is redundant when every pair of accesses that it alone orders is safe without it: both are to thread-private
elements, or neither writes. This has to hold for shared memory and for all other memory that the kernel touches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from smem_lsp.analysis.dataflow.facts import Facts, Footprint
from smem_lsp.analysis.dataflow.interference import ordered_interfering, own_slots
from smem_lsp.analysis.dataflow.liveness import bits
from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.affine import Forms
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.terms import Op, Opaque, Sym, Term
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Barrier,
    BarrierKind,
    Branch,
    GlobalAccess,
    Kernel,
    Loop,
    Node,
    Seq,
    storages_of,
    walk,
)
from smem_lsp.source import checkpoint
from smem_lsp.targets.every import MAX_BLOCK

_OUTSIDE = -1  # stands for a buffer of all memory that is not shared
_MOST = 400  # accesses of a kernel that are compared


@dataclass(frozen=True, slots=True)
class Redundant:
    """``shaped``: proved for the known shape of the block only; ``merging``: the barrier lets buffers share bytes."""

    barrier: Barrier
    shaped: bool
    merging: bool


def redundant_barriers(
    kernel: Kernel,
    values: ValueFacts,
    levels: Levels,
    facts: Facts,
    shape: BlockShape | None,
    sharing: Sequence[Collection[int]] = (),
) -> tuple[Redundant, ...]:
    """Barriers that may be removed, all of them together except those that merging needs. Of two barriers that do the
    same, the later one is redundant. ``facts``: with the thread-private elements for ``shape``, the block that is known
    or assumed; ``sharing``: groups of buffers that could share bytes."""
    nodes = tuple(walk(kernel.body))
    barriers = [node for node in nodes if isinstance(node, Barrier)]
    if not barriers or not _all_is_seen(kernel, barriers):
        return ()
    body = _with_outside(kernel.body)
    accesses = tuple(node for node in walk(body) if isinstance(node, Access))
    if len(accesses) > _MOST:
        return ()
    ways = [
        _Pairs(kernel, values, levels, facts.slots, shape, accesses, groups)
        for groups in ([sharing, ()] if any(len(group) > 1 for group in sharing) else [()])
    ]
    found: list[Redundant] = []
    standing = facts
    for barrier in reversed(barriers):
        checkpoint()
        if barrier.point not in facts.barriers or barrier.guess or barrier.span is None or barrier.votes:
            continue
        for pairs in ways:
            ordered = ordered_interfering(body, standing, accesses, pairs.conflicting, barrier.point)
            pairs.shaped = False
            if all(
                pairs.safe(later, earlier) for later, mask in enumerate(ordered) for earlier in bits(mask)
            ):
                merging = pairs is not ways[0]
                found.append(Redundant(barrier, pairs.shaped, merging))
                if not merging:
                    standing = replace(standing, barriers=standing.barriers - {barrier.point})
                break
    return tuple(reversed(found))


def _all_is_seen(kernel: Kernel, barriers: list[Barrier]) -> bool:
    """Is everything known that a barrier may be needed for?"""
    return (
        kernel.irregular is None
        and not kernel.opaque
        and not kernel.unknown_accesses
        and all(barrier.kind in (BarrierKind.BLOCK, BarrierKind.WARP) for barrier in barriers)
        and all(b.seen and "volatile" not in b.qualifiers for b in kernel.buffers)
        and not kernel.memory.volatile
    )


def _with_outside(seq: Seq) -> Seq:
    """The same tree, with accesses to memory that is not shared as accesses to one more buffer."""

    def node(old: Node) -> Node:
        if isinstance(old, GlobalAccess):
            return Access(old.point, _OUTSIDE, old.kind, None, None, 0)
        if isinstance(old, Branch):
            return replace(old, then=_with_outside(old.then), otherwise=_with_outside(old.otherwise))
        return replace(old, body=_with_outside(old.body)) if isinstance(old, Loop) else old

    return Seq(tuple(node(each) for each in seq.items))


class _Pairs:
    """Which pairs of accesses need an order. ``shaped``: an answer has used the shape of the block."""

    def __init__(
        self,
        kernel: Kernel,
        values: ValueFacts,
        levels: Levels,
        slots: Mapping[int, Footprint],
        shape: BlockShape | None,
        accesses: tuple[Access, ...],
        sharing: Sequence[Collection[int]],
    ) -> None:
        self.kernel = kernel
        self.values = values
        self.levels = levels
        self.slots = slots
        self.accesses = accesses
        self.threads = None if shape is None else Evaluator(shape.dims, strict=False)
        bounds = Bounds(values.loops, MAX_BLOCK if shape is None else shape.dims, shape is not None)
        self.forms = Forms(values.table, bounds)
        self.shaped = False
        self.touched: dict[int, list[range] | None] = {}
        self.storages = storages_of(kernel.buffers)
        for group in sharing:
            self.storages |= dict.fromkeys(group, min(group))
        self.storages[_OUTSIDE] = _OUTSIDE
        self.conflicting = [self._conflicting(index) for index in range(len(accesses))]

    def _conflicting(self, index: int) -> int:
        """The accesses, itself included, that may touch the same bytes when one of the two changes them."""
        mine = self.accesses[index]
        mask = 0
        for number, other in enumerate(self.accesses):
            if self.storages[other.buffer] == self.storages[mine.buffer] and _conflict(mine, other):
                mask |= 1 << number
        return mask

    def safe(self, later: int, earlier: int) -> bool:
        """Does the pair need no order, though one of the two changes what both may touch?"""
        one, other = self.accesses[earlier], self.accesses[later]
        if one.buffer == _OUTSIDE:
            return self._apart(one.point, other.point)
        if one.buffer != other.buffer:
            return False
        mine, theirs = self.slots.get(one.point), self.slots.get(other.point)
        own = mine is not None and theirs is not None and own_slots(mine, theirs)
        if own or self._own_bytes(one, other):
            self.shaped = True
            return True
        return False

    def _own_bytes(self, one: Access, other: Access) -> bool:
        """Does no thread touch a byte of another thread, by offsets and widths that are the same in every iteration?"""
        ranges = self._bytes(one), self._bytes(other)
        if ranges[0] is None or ranges[1] is None:
            return False
        owner: dict[int, int] = {}
        for thread, touched in enumerate(ranges[0]):
            checkpoint()
            for byte in touched:
                owner[byte] = -1 if byte in owner else thread
        return all(
            owner.get(byte, thread) == thread for thread, touched in enumerate(ranges[1]) for byte in touched
        )

    def _bytes(self, access: Access) -> list[range] | None:
        """The bytes that each thread touches; None: not known."""
        if access.point not in self.touched:
            self.touched[access.point] = self._touched(access)
        return self.touched[access.point]

    def _touched(self, access: Access) -> list[range] | None:
        buffer = self.kernel.buffers[access.buffer]
        width = access.width if access.width is not None else buffer.element_bytes
        offset = self.values.offset(access, buffer)
        unclear = access.part is not None or access.rows or access.asynchronous or access.guess
        if self.threads is None or width is None or offset is None or offset.carried or unclear:
            return None
        starts = self.threads.values(offset)
        return None if starts is None else [range(start, start + width) for start in starts]

    def _apart(self, one: int, other: int) -> bool:
        """Do different threads touch different memory outside of shared memory?"""
        a, b = self.values.outside.get(one), self.values.outside.get(other)
        if a is None or b is None:
            return False
        roots = self._root(a[0]), self._root(b[0])
        restricted = self.kernel.memory.restricted
        if None not in roots and roots[0] != roots[1] and set(roots) <= restricted:
            return True
        same = a[0] is b[0] and a[0].known and not a[0].carried
        return same and self.forms.equal(a[1], b[1]) and self._own(a[1])

    def _root(self, base: Term) -> str | None:
        """The parameter that an address is counted from."""
        found = {name for name in _names(base) if name in self.kernel.memory.pointers}
        return next(iter(found)) if len(found) == 1 else None

    def _own(self, index: Term) -> bool:
        """Does the index differ between all threads, and stay the same in every iteration?"""
        if self.threads is None or not index.known or index.carried:
            return False
        total = [0] * len(self.threads.threads)
        form = self.forms.linear(index)
        for atom in form.atoms:
            checkpoint()
            if self.levels.uniform(atom):
                continue
            factors = form.coefficient(atom)
            values = self.threads.values(atom)
            if list(factors) != [()] or values is None:
                return False
            total = [sum_ + factors[()] * value for sum_, value in zip(total, values)]
        self.shaped = True
        return len(set(total)) == len(total)


def _conflict(one: Access, other: Access) -> bool:
    if one.kind is AccessKind.READ and other.kind is AccessKind.READ:
        return False
    atomic = (
        one.kind is AccessKind.UPDATE and other.kind is AccessKind.UPDATE and not (one.plain or other.plain)
    )
    return not atomic or one.buffer == _OUTSIDE


def _names(term: Term) -> set[str]:
    found: set[str] = set()
    stack = [term]
    while stack:
        each = stack.pop()
        if isinstance(each, Sym):
            found.add(each.name)
        elif isinstance(each, Op):
            stack.extend(each.args)
        elif isinstance(each, Opaque):
            return set()
    return found
