"""A kernel's region tree as a run of a block needs it: what matters at each node, worked out once.

Assignments and places are left out (their effect is in the terms), so are branches and loops in which nothing happens
to shared memory, no barrier stands and nobody jumps out of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from smem_lsp.analysis.execution.data_dependent_addresses import DataAddresses
from smem_lsp.analysis.execution.slice import Followed
from smem_lsp.analysis.values.extents import Extent
from smem_lsp.analysis.values.free_symbols import Dependence, named, narrows
from smem_lsp.analysis.values.terms import LoopVar, Term
from smem_lsp.ir.nodes import Access, Branch, Jump, JumpKind, Loop, Node


@dataclass(frozen=True, slots=True)
class Instruction:
    """One node. ``end``: the last point in it; ``first``, ``second``: arms of a branch, or the body of a loop.

    ``syncs``: block barriers inside; ``sure``: all of them are run by all threads or by none; ``paired``: some are run
    by other threads in the other arm; ``warps``: it is a barrier of warps; ``leaves``: somebody may jump out of it;
    ``returns``: or leave the kernel; ``waits``: a loop that may wait for other threads; ``orders``: named barriers and
    the like inside; ``free``: how it goes depends on more than the block and constants: on ``symbols``, and on the loop
    variables ``turning`` where they are not known; ``uniform``: it is decided alike by all threads, or would be in a
    run without a race: ``trusting``, also of what is inside;
    ``copies``: asynchronous ones are committed or waited for inside; ``lands``: an added wait for all of them;
    ``unsteady``: not every iteration of a loop around it comes to its named barriers;
    ``fences``: of the asynchronous proxy inside, or waits for its copies.
    """

    node: Node
    end: int
    first: tuple[Instruction, ...] = ()
    second: tuple[Instruction, ...] = ()
    syncs: bool = False
    sure: bool = True
    paired: bool = False
    warps: bool = False
    leaves: bool = False
    returns: bool = False
    waits: bool = False
    orders: bool = False
    free: bool = False
    symbols: int = 0
    turning: Mapping[LoopVar, int] = field(default_factory=dict)
    uniform: bool = False
    trusting: bool = False
    copies: bool = False
    lands: bool = False
    unsteady: bool = False
    fences: bool = False

    @property
    def acts(self) -> bool:
        """May anything inside end somebody's way or order anything?"""
        return self.leaves or self.waits or self.syncs or self.orders or self.copies or self.fences

    @property
    def left_together(self) -> bool:
        """Do all threads of the block, or none, leave this loop in the same iteration, and not the kernel?"""
        return self.uniform and self.syncs and self.sure and not (self.returns or self.waits)


@dataclass(frozen=True, slots=True)
class Added:
    """What a kernel is taken to have besides its own text, by place (point): barriers of the block, barriers of warps,
    waits for the copies of the thread, in front of a barrier at the same place (True: for those of no group too).
    ``left``: existing waits (points) that leave another number of groups open; ``fences``: for the asynchronous proxy.
    """

    barriers: frozenset[int] = frozenset()
    in_warps: frozenset[int] = frozenset()
    waits: Mapping[int, bool] = field(default_factory=dict)
    left: Mapping[int, int] = field(default_factory=dict)
    fences: frozenset[int] = frozenset()


NOTHING = Added()


@dataclass(frozen=True, slots=True)
class Calm:
    """``apart``: accesses (points) that surely meet none of another thread; ``idle``: those of them that no run can
    show to leave their buffer."""

    apart: frozenset[int] = frozenset()
    idle: frozenset[int] = frozenset()

    def but(self, asked: frozenset[int], nodes: Iterable[Node]) -> Calm:
        """Nothing is to be shown of other accesses among ``nodes`` than ``asked``."""
        others = (node.point for node in nodes if isinstance(node, Access))
        return Calm(self.apart, self.idle.union(point for point in others if point not in asked))


RESTLESS = Calm()


@dataclass(frozen=True, slots=True)
class Program:
    """``storages``: buffer -> the buffer whose bytes it shares; ``units``: storage -> bytes that are told apart;
    ``widths``: access -> bytes that a thread touches."""

    steps: tuple[Instruction, ...]
    storages: dict[int, int]
    units: dict[int, int]
    widths: dict[int, int | None]
    terms: tuple[Term, ...]  # that decide what happens
    sizes: frozenset[str]  # symbols that addresses, numbers of iterations or what single threads do rest on
    added: Added
    bits: Mapping[str, int]  # of the symbols in steps, by name
    places: int  # those of the block's place
    apart: frozenset[int]  # accesses that surely race with none
    alike: frozenset[int]  # branches and loops that are uniform in runs without a race
    offsets: Mapping[int, Term | None]  # access -> first byte
    either: frozenset[int]  # accesses in one arm of a branch that the other makes to the same bytes
    data: DataAddresses
    followed: Followed
    resting: Dependence
    parts: Mapping[int, Extent]  # access -> the part of its buffer that its pointer is for
    _narrowing: dict[tuple[Term, bool], bool] = field(default_factory=dict)
    _named: dict[int, frozenset[str]] = field(default_factory=dict)

    def names(self, symbols: int) -> frozenset[str]:
        """Of symbols that are given as bits."""
        found = self._named.get(symbols)
        if found is None:
            found = self._named[symbols] = named(self.bits, symbols)
        return found

    def narrows(self, condition: Term, truth: bool) -> bool:
        """May the condition be so only for small sizes, such as those of a single warp? Then the block is small too,
        perhaps, where the kernel's text does not say so: ``n <= 32``, ``warps == 1``."""
        found = self._narrowing.get((condition, truth))
        if found is None:
            found = self._narrowing[condition, truth] = narrows(condition, truth, self.sizes)
        return found

    def only(self, points: frozenset[int]) -> Program:
        """What a run comes to that looks at no other accesses than these."""
        return replace(self, steps=tuple(_kept(self.steps, points, self.followed)))


def _kept(steps: Sequence[Instruction], points: frozenset[int], followed: Followed) -> Iterator[Instruction]:
    """Those in which something happens when no other accesses count than these ``points``."""
    for step in steps:
        node = step.node
        if isinstance(node, Access):
            if node.point in points:
                yield step
        elif isinstance(node, Branch | Loop):
            first = tuple(_kept(step.first, points, followed))
            second = tuple(_kept(step.second, points, followed))
            if isinstance(node, Branch):
                happens = not all(map(computes, (*first, *second)))
            else:
                happens = step.waits or any(map(acts, first))
            if happens:
                yield replace(step, first=first, second=second)
            elif isinstance(node, Loop) and node.point in followed.exits:
                yield Instruction(node, node.end_point)
        else:
            yield step


def computes(step: Instruction) -> bool:
    """Is it a loop that does nothing but to compute what is read behind it?"""
    return isinstance(step.node, Loop) and not (step.first or step.waits)


def acts(step: Instruction) -> bool:
    """Does a step of a loop's body do more than to leave the loop or an iteration of it?"""
    if isinstance(step.node, Jump):
        return step.node.kind is JumpKind.RETURN
    if computes(step):
        return False
    return not isinstance(step.node, Branch) or any(map(acts, (*step.first, *step.second)))
