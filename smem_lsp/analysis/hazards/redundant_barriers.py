"""Block barriers that order nothing that needs an order: proved, never sampled.

A barrier is redundant when no two accesses that it alone orders may touch one byte, or both store the same there. This
has to hold for shared memory and for all other memory that the kernel touches.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import Paths, ordered_interfering, paths_of
from smem_lsp.analysis.dataflow.masks import bits
from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.analysis.decision.model import PairVerdict
from smem_lsp.analysis.decision.path_classes import Open, Pair, PathClass, by_place
from smem_lsp.analysis.decision.verdict import RaceChecker, decide
from smem_lsp.analysis.hazards.outside_accesses import WithOutside, with_outside
from smem_lsp.analysis.threads.divergence import Verdicts
from smem_lsp.ir.nodes import (
    NO_OBJECT,
    Access,
    AccessKind,
    AddressSpace,
    Barrier,
    BarrierKind,
    CopyWait,
    CopyWaitKind,
    Dims,
    Proxy,
    Remote,
    storages_of,
)
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass

_MOST = 5000  # accesses of a kernel that are compared
_MOST_ASKED = 3000  # pairs of one kernel
_FOR_BARRIER = 30_000  # effort of the questions about one barrier
_EFFORT = 120_000  # about all of a kernel, shared among the instances of a template
_LEAST_EFFORT = 20_000
_TO_LOOK = 1_500  # effort of finding the pairs that a barrier orders
_SAFE = (PairVerdict.APART, PairVerdict.SAME_VALUE)


@record
class Redundant:
    """``shaped``: proved for the blocks that were asked about only, among them every one with threads in ``axes`` and
    in no others, unless that is empty; ``merging``: the barrier lets buffers share bytes; ``outside``: it stands
    between accesses to memory that is not shared; ``ranges``: ranges of dynamic shared memory may share bytes as the
    kernel stands, and nobody has asked whether they need it then."""

    barrier: Barrier
    shaped: bool
    axes: str
    merging: bool
    outside: bool
    ranges: bool = False


def redundant_barriers(
    of: KernelModel,
    verdicts: Verdicts,
    blocks: Sequence[Dims | None],
    sharing: Sequence[Collection[int]] = (),
) -> tuple[Redundant, ...]:
    """Barriers that may be removed, all of them together except those that merging needs. Of two barriers that do the
    same, the later one is redundant. ``blocks``: in each of which it has to hold; None: in every one; ``sharing``:
    groups of buffers that could share bytes."""
    if not of.barriers or not _all_is_seen(of):
        return ()
    outside = with_outside(of.kernel, of.values, of.levels)
    widened = KernelModel(outside.kernel, outside.values, of.control, of.levels, of.factor)
    accesses = tuple({access.point: access for access in widened.accesses}.values())
    if len(accesses) > _MOST:
        return ()
    paths = paths_of(widened.kernel.body, Facts(of.control.uniform, of.control.barriers), accesses)
    search = _Search(of, outside, accesses, paths, [RaceChecker(widened, verdicts, dims) for dims in blocks])
    ways = [sharing, ()] if any(len(group) > 1 for group in sharing) else [()]
    conflicts = [search.conflicts(groups) for groups in ways]
    harmful = [search.without_harmless(each) for each in conflicts]
    found: list[Redundant] = []
    for barrier in reversed(of.barriers):
        checkpoint()
        if barrier.point not in of.control.barriers or barrier.guess or barrier.votes:
            continue
        merging = False
        ordered = conflicts[-1]
        shaped = search.is_safe(barrier.point, harmful[-1])
        if shaped is not None and len(ways) > 1:  # buffers that share bytes ask for more
            with_sharing = search.is_safe(barrier.point, harmful[0])
            merging = with_sharing is None
            if with_sharing is not None:
                ordered, shaped = conflicts[0], with_sharing
        if shaped is None:
            continue
        between = any(map(search.are_outside, search.ordered(barrier.point, ordered)))
        found.append(Redundant(barrier, shaped, search.axes if shaped else "", merging, between))
        if not merging:
            search.removed |= {barrier.point}
    return tuple(reversed(found))


def _all_is_seen(of: KernelModel) -> bool:
    """Is everything known that a barrier may be needed for?"""
    kernel = of.kernel
    return (
        kernel.irregular is None
        and not kernel.unknown_accesses
        and all(barrier.kind in (BarrierKind.BLOCK, BarrierKind.WARP) for barrier in of.barriers)
        and all(buffer.seen or (buffer.placed and _all_land_at_once(of)) for buffer in kernel.buffers)
        and not any(isinstance(node, Proxy | Remote) for node in of.nodes)
    )


def _all_land_at_once(of: KernelModel) -> bool:
    """Does each wait for copies wait for all of its thread's? Only then is it known what it makes ready for others: an
    access of its own stands there."""
    every = (CopyWaitKind.COMMIT, CopyWaitKind.GROUPS, CopyWaitKind.ALL)
    return all(
        node.kind in every and node.bound == NO_OBJECT and not node.left
        for node in of.nodes
        if isinstance(node, CopyWait)
    )


@dataclass(slots=True)
class _Search:
    """``removed``: barriers found redundant by now; ``asked``: pairs that were decided."""

    of: KernelModel
    outside: WithOutside
    accesses: tuple[Access, ...]
    paths: Paths
    judges: Sequence[RaceChecker]
    removed: frozenset[int] = frozenset()
    asked: int = 0
    effort: int = 0
    nodes: dict[int, Access] = field(init=False)
    storages: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        kernel = self.outside.kernel
        self.nodes = {access.point: access for access in self.accesses}
        self.storages = storages_of(kernel.buffers)
        self.effort = self.of.effort(max(_LEAST_EFFORT, _EFFORT // (kernel.siblings + 1)))

    @property
    def axes(self) -> str:
        """Those of the blocks of which no size is known; empty: all that are asked about are known."""
        return next((judge.asker.axes for judge in self.judges if judge.dims is None), "")

    def conflicts(self, sharing: Sequence[Collection[int]]) -> list[int]:
        """Per access, those that it may have to be ordered with."""
        storages = dict(self.storages)
        for group in sharing:
            storages |= dict.fromkeys(group, min(storages[each] for each in group))
        shared: dict[int, int] = {}
        outside = calls = dynamic = 0
        for index, access in enumerate(self.accesses):
            if self.is_outside(access):
                outside |= 1 << index
                calls |= (access.point in self.outside.calls) << index
            else:
                storage = storages[access.buffer]
                shared[storage] = shared.get(storage, 0) | 1 << index
                dynamic |= self.is_dynamic(access) << index
        readers = sum(1 << i for i, each in enumerate(self.accesses) if each.kind is AccessKind.READ)
        atomics = sum(
            1 << i
            for i, each in enumerate(self.accesses)
            if each.kind is AccessKind.UPDATE and not each.plain and not outside >> i & 1
        )
        found = []
        for index, access in enumerate(self.accesses):
            checkpoint()
            if outside >> index & 1:
                found.append(outside | (dynamic if calls >> index & 1 else 0))
                continue
            alike = readers if readers >> index & 1 else atomics if atomics >> index & 1 else 0
            mask = shared[storages[access.buffer]] & ~alike
            found.append(mask | (calls if dynamic >> index & 1 else 0))
        return found

    def is_outside(self, access: Access) -> bool:
        return access.buffer >= len(self.of.kernel.buffers)

    def is_dynamic(self, access: Access) -> bool:
        return self.outside.kernel.buffers[access.buffer].space is AddressSpace.DYNAMIC

    def are_outside(self, pair: Pair) -> bool:
        return all(self.is_outside(self.nodes[point]) for point in pair)

    def ordered(self, barrier: int, conflicting: Sequence[int], *, near: bool = False) -> Iterator[Pair]:
        """The pairs of accesses that this barrier alone orders. ``near``: those that stay in the loop around it."""
        found = ordered_interfering(self.paths, conflicting, barrier, self.removed, near=near)
        for later, mask in found.items():
            for earlier in bits(mask):
                yield self.accesses[earlier].point, self.accesses[later].point

    def is_safe(self, barrier: int, harmful: Sequence[int]) -> bool | None:
        """Do the pairs that this barrier alone orders need no order? None: they may; True: they need none in the blocks
        that are asked about. Most barriers of a loop are needed in it: what comes behind is looked for only if not."""
        asked: set[Pair] = set()
        for near in (True, False):
            found = self.in_question(barrier, harmful, near=near)
            if found is None or not self.are_apart(barrier, found - asked):
                return None
            asked |= found
        return bool(asked)

    def in_question(self, barrier: int, harmful: Sequence[int], *, near: bool) -> frozenset[Pair] | None:
        """Those of the pairs that it orders of which it is to be asked whether they meet; None: some need an order, or
        may, or they are too many. ``harmful``: per access, those that it may need an order with."""
        found: set[Pair] = set()
        for pair in self.ordered(barrier, harmful, near=near):
            if self.is_needed(pair):
                return None
            found.add(pair)
            if self.asked + len(found) > _MOST_ASKED:
                self.asked += len(found)
                return None
        return frozenset(found)

    def are_apart(self, barrier: int, asked: frozenset[Pair]) -> bool:
        """Is it proved of each of these pairs, which it orders, in all blocks that are asked about?"""
        if not asked:
            return True
        self.asked += len(asked)
        self.effort -= _TO_LOOK
        if self.effort <= 0:
            return False
        points = {point for pair in asked for point in pair}
        accesses = [access for access in self.accesses if access.point in points]
        for judge in self.judges:
            judge.asker.effort = given = min(_FOR_BARRIER, self.effort)
            opened = judge.open_pairs(accesses, self.removed | {barrier}, prove=True)
            pairs = (each for each in opened if (each.first.point, each.second.point) in asked)
            apart = all(_is_apart(judge, each) for each in pairs)
            self.effort -= given - judge.asker.effort
            if not apart:
                return False
        return True

    def without_harmless(self, conflicting: Sequence[int]) -> list[int]:
        """The same without what is in any order with them, whatever the two touch."""
        members, first = dict[object, int](), dict[object, Access]()
        uses = [self.use_of(each) if self.is_outside(each) else None for each in self.accesses]
        for index, (use, access) in enumerate(zip(uses, self.accesses)):
            if use is not None:
                members[use] = members.get(use, 0) | 1 << index
                first.setdefault(use, access)
        harmless = {
            use: sum(mine for other, mine in members.items() if self.are_harmless(first[use], first[other]))
            for use in members
        }
        return [each & ~harmless.get(use, 0) for use, each in zip(uses, conflicting)]

    def use_of(self, access: Access) -> object:
        """What an access does to which memory, which says beside what others it is harmless."""
        outside, point = self.outside, access.point
        reads = access.kind is AccessKind.READ
        return outside.roots.get(point), reads, point in outside.signals

    def are_harmless(self, one: Access, other: Access) -> bool:
        """Of two accesses outside of shared memory: may they be in any order, whatever they touch?"""
        outside = self.outside
        if any(map(self.is_of_constants, (one, other))):
            return True
        if other.point in outside.signals or one.point in outside.signals:
            return False
        if one.kind is AccessKind.READ and other.kind is AccessKind.READ:
            return True
        roots = outside.roots[one.point], outside.roots[other.point]
        return (
            None not in roots
            and roots[0] != roots[1]
            and self.of.kernel.memory.restricted.issuperset({each for each in roots if each is not None})
        )

    def is_of_constants(self, access: Access) -> bool:
        """Does it read what nobody changes while the kernel runs?"""
        memory, root = self.of.kernel.memory, self.outside.roots.get(access.point)
        return access.kind is AccessKind.READ and root in memory.constant & memory.restricted

    def is_needed(self, pair: Pair) -> bool:
        """Is an order needed, or does nobody know enough to tell?"""
        one, other = (self.nodes[point] for point in pair)
        if any(each.asynchronous or each.guess for each in (one, other)):
            return True
        if not self.outside.signals.isdisjoint(pair):
            return True
        return self.storages[one.buffer] != self.storages[other.buffer]


def _is_apart(judge: RaceChecker, pair: Open) -> bool:
    one, other, lanes = pair.first, pair.second, pair.lanes
    if all(judge.asker.are_excluded(one, other, way, lanes) for way in by_place(pair.ways)):
        return True
    surely = frozenset[PathClass]()  # only a proof counts
    return decide(judge.asker, replace(pair, surely=surely)).answer in _SAFE
