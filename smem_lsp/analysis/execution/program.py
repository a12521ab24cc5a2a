"""A kernel's region tree as the interpreter runs it: the nodes that matter, with what is known of each beforehand.

Assignments and places are left out (their effect is in the terms). So are branches and loops in which nothing happens
to shared memory, no barrier stands and no thread jumps out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import ClassVar

from smem_lsp.analysis.execution.data_dependent_addresses import DataAddresses
from smem_lsp.analysis.execution.slice import Slice
from smem_lsp.analysis.values.extents import Extent
from smem_lsp.analysis.values.free_symbols import Dependence, named
from smem_lsp.ir.nodes import (
    Access,
    Barrier,
    BarrierSite,
    Branch,
    CopyWait,
    Jump,
    Loop,
    Node,
    Proxy,
    WarpCollective,
)
from smem_lsp.source import record
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import LoopVar, Term


@record
class Effects:
    """What the instructions of a region do besides accesses.

    ``block_barriers``: the region has some; ``must_run``: each of these is run by all threads or by none;
    ``paired_barriers``: some complete together with a barrier in the other arm of a branch; ``assumes_race_free``: all
    this holds in runs without a race; ``other_barriers``: it has named barriers, cluster barriers or the like;
    ``not_every_iteration``: some iterations of a loop around them go past these; ``leaves``: a thread may jump out of
    the region; ``returns``: out of the kernel; ``may_wait``: a loop in it may wait for other threads; ``copies``: it
    commits asynchronous copies or waits for them; ``proxy_fences``: it has fences of the asynchronous proxy, or waits
    for its copies.
    """

    block_barriers: bool = False
    must_run: bool = True
    paired_barriers: bool = False
    assumes_race_free: bool = False
    other_barriers: bool = False
    not_every_iteration: bool = False
    leaves: bool = False
    returns: bool = False
    may_wait: bool = False
    copies: bool = False
    proxy_fences: bool = False

    @property
    def any_order(self) -> bool:
        """May anything inside order accesses or end a thread's way?"""
        return (
            self.leaves
            or self.may_wait
            or self.block_barriers
            or self.other_barriers
            or self.copies
            or self.proxy_fences
        )


NO_EFFECTS = Effects()


def all_effects(instructions: Sequence[Instruction]) -> Effects:
    """The effects of all of them together."""
    found = [each.effects for each in instructions if each.effects is not NO_EFFECTS]
    if not found:
        return NO_EFFECTS
    return Effects(
        block_barriers=any(each.block_barriers for each in found),
        must_run=all(each.must_run for each in found),
        paired_barriers=any(each.paired_barriers for each in found),
        assumes_race_free=any(each.assumes_race_free for each in found),
        other_barriers=any(each.other_barriers for each in found),
        not_every_iteration=any(each.not_every_iteration for each in found),
        leaves=any(each.leaves for each in found),
        returns=any(each.returns for each in found),
        may_wait=any(each.may_wait for each in found),
        copies=any(each.copies for each in found),
        proxy_fences=any(each.proxy_fences for each in found),
    )


@record
class AccessInstruction:
    node: Access
    effects: ClassVar[Effects] = NO_EFFECTS


@record
class ExchangeInstruction:
    node: WarpCollective
    effects: ClassVar[Effects] = NO_EFFECTS


@record
class BlockBarrierInstruction:
    """A block barrier of the kernel, or one that is added at a place."""

    node: Barrier | BarrierSite
    effects: Effects


@record
class WarpBarrierInstruction:
    """A barrier of a warp of the kernel, or one that is added at a place."""

    node: Barrier | BarrierSite
    effects: ClassVar[Effects] = NO_EFFECTS


@record
class OtherBarrierInstruction:
    """A named barrier, one of the cluster, or a call that synchronises in a way that is not known."""

    node: Barrier
    effects: ClassVar[Effects] = Effects(other_barriers=True)


@record
class CopyInstruction:
    """Asynchronous copies are committed, or waited for. ``left``: as many groups may stay open."""

    node: CopyWait
    left: int
    effects: ClassVar[Effects] = Effects(copies=True)


@record
class AddedCopyWait:
    """A wait for asynchronous copies that is added at a place. ``ungrouped``: for those of no group, too."""

    node: BarrierSite
    ungrouped: bool
    effects: ClassVar[Effects] = Effects(copies=True)


@record
class ProxyInstruction:
    node: Proxy
    effects: Effects


@record
class AddedProxyFence:
    """A fence of the asynchronous proxy that is added at a place."""

    node: BarrierSite
    effects: ClassVar[Effects] = Effects(proxy_fences=True)


@record
class JumpInstruction:
    node: Jump
    effects: Effects


@record
class BranchInstruction:
    """``end``: the last point in it. ``uniform``: all threads of the block decide alike, at least in a run without a
    race. ``input_dependent``: the way depends on more than the block and constants: on ``symbols`` (bits), and on
    ``loop_symbols`` (loop variable -> its bit) where a loop variable has no known value."""

    node: Branch
    end: int
    then: tuple[Instruction, ...]
    otherwise: tuple[Instruction, ...]
    effects: Effects
    uniform: bool
    input_dependent: bool
    symbols: int
    loop_symbols: Mapping[LoopVar, int]

    @property
    def arms(self) -> tuple[tuple[tuple[Instruction, ...], bool], ...]:
        """Both arms, each with what the condition is in it."""
        return (self.then, True), (self.otherwise, False)


@record
class LoopInstruction:
    """A loop. The same words as of a branch; a ``break`` stays inside, so only a ``return`` leaves a loop."""

    node: Loop
    body: tuple[Instruction, ...]
    effects: Effects
    uniform: bool
    input_dependent: bool
    symbols: int

    @property
    def end(self) -> int:
        return self.node.end_point

    @property
    def left_together(self) -> bool:
        """Do all threads of the block, or none, leave this loop in the same iteration, and not the kernel?"""
        effects = self.effects
        return (
            self.uniform
            and effects.block_barriers
            and effects.must_run
            and not (effects.returns or effects.may_wait)
        )


@record
class ComputingLoop:
    """A loop that does nothing but to compute what is used behind it."""

    node: Loop
    effects: ClassVar[Effects] = NO_EFFECTS


Region = BranchInstruction | LoopInstruction
Instruction = (
    AccessInstruction
    | ExchangeInstruction
    | BlockBarrierInstruction
    | WarpBarrierInstruction
    | OtherBarrierInstruction
    | CopyInstruction
    | AddedCopyWait
    | ProxyInstruction
    | AddedProxyFence
    | JumpInstruction
    | BranchInstruction
    | LoopInstruction
    | ComputingLoop
)


@dataclass(frozen=True, slots=True)
class Added:
    """What a kernel is taken to have besides its own text, by place (point).

    ``barriers``: barriers of the block; ``in_warps``: barriers of warps; ``waits``: waits of each thread for its
    copies, in front of a barrier at the same place (True: for those of no group, too); ``left``: existing waits
    (points) that leave another number of groups open; ``fences``: fences of the asynchronous proxy.
    """

    barriers: frozenset[int] = frozenset()
    in_warps: frozenset[int] = frozenset()
    waits: Mapping[int, bool] = field(default_factory=dict)
    left: Mapping[int, int] = field(default_factory=dict)
    fences: frozenset[int] = frozenset()


NOTHING_ADDED = Added()


@dataclass(frozen=True, slots=True)
class RaceFree:
    """Accesses (points) that need no run. ``no_conflict``: they surely conflict with no other thread's access;
    ``in_bounds``: those of them that no run can show to leave their buffer."""

    no_conflict: frozenset[int] = frozenset()
    in_bounds: frozenset[int] = frozenset()

    def but(self, asked: frozenset[int], nodes: Iterable[Node]) -> RaceFree:
        """The same, with all accesses among ``nodes`` left out of the run but those that are ``asked`` about."""
        others = (node.point for node in nodes if isinstance(node, Access))
        return RaceFree(
            self.no_conflict, self.in_bounds.union(point for point in others if point not in asked)
        )


NONE_RACE_FREE = RaceFree()


@dataclass(frozen=True, slots=True)
class Program:
    """What the interpreter runs.

    ``storages``: buffer -> the buffer whose bytes it shares; ``units``: storage -> bytes that are told apart;
    ``widths``: access -> bytes that a thread touches; ``offsets``: access -> its first byte; ``terms``: all that decide
    what happens; ``bits``: symbol -> its bit in the instructions; ``places``: the bits of the block's place in the
    grid; ``no_conflict``: accesses that surely race with none; ``alike``: branches and loops that are uniform in runs
    without a race; ``either``: accesses in one arm of a branch that the other arm makes to the same bytes; ``data``:
    addresses that data decide; ``slice``: the loop variables that matter; ``parts``: access -> the part of its buffer
    that its pointer is for; ``calls``: points, rising, of calls that may order threads;
    ``delivered``: exchange of a warp -> loads that are over there for all its lanes.
    """

    instructions: tuple[Instruction, ...]
    storages: dict[int, int]
    units: dict[int, int]
    widths: dict[int, int | None]
    terms: tuple[Term, ...]
    added: Added
    bits: Mapping[str, int]
    places: int
    no_conflict: frozenset[int]
    alike: frozenset[int]
    offsets: Mapping[int, Term | None]
    either: frozenset[int]
    data: DataAddresses
    slice: Slice
    dependence: Dependence
    parts: Mapping[int, Extent]
    calls: tuple[int, ...]
    delivered: Mapping[int, frozenset[int]]
    _named: dict[int, frozenset[str]] = field(default_factory=dict)

    def names(self, symbols: int) -> frozenset[str]:
        """The names of symbols that are given as bits."""
        found = self._named.get(symbols)
        if found is None:
            found = self._named[symbols] = named(self.bits, symbols)
        return found

    @property
    def compared(self) -> frozenset[int]:
        """The accesses that may race with one another."""
        return frozenset(self.offsets) - self.no_conflict

    def only(self, points: frozenset[int]) -> Program:
        """The same without all accesses but those at these points."""
        return replace(self, instructions=tuple(_kept(self.instructions, points, self.slice)))


def _kept(
    instructions: Sequence[Instruction], points: frozenset[int], slice_: Slice
) -> Iterator[Instruction]:
    """The instructions that matter when no accesses count but those at ``points``."""
    for each in instructions:
        match each:
            case AccessInstruction():
                if each.node.point in points:
                    yield each
            case BranchInstruction():
                then = tuple(_kept(each.then, points, slice_))
                otherwise = tuple(_kept(each.otherwise, points, slice_))
                if not only_compute((*then, *otherwise)):
                    yield replace(each, then=then, otherwise=otherwise)
            case LoopInstruction():
                body = tuple(_kept(each.body, points, slice_))
                if each.effects.may_wait or any(map(matters, body)):
                    yield replace(each, body=body)
                elif each.node.point in slice_.exits:
                    yield ComputingLoop(each.node)
            case _:
                yield each


def only_compute(instructions: Sequence[Instruction]) -> bool:
    """Is there nothing to run but loops that compute something?"""
    return all(isinstance(each, ComputingLoop) for each in instructions)


def matters(instruction: Instruction) -> bool:
    """Does an instruction of a loop's body do more than to leave the loop or an iteration of it?"""
    match instruction:
        case JumpInstruction():
            return instruction.effects.returns
        case ComputingLoop():
            return False
        case BranchInstruction():
            return any(map(matters, (*instruction.then, *instruction.otherwise)))
        case _:
            return True
