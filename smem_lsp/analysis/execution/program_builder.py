"""Builds the program of a kernel: which nodes matter to a run of a block, and what branches and loops depend on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

from smem_lsp.analysis.execution.data_dependent_addresses import DataAddresses
from smem_lsp.analysis.execution.program import (
    NONE_RACE_FREE,
    NOTHING_ADDED,
    AccessInstruction,
    Added,
    AddedCopyWait,
    AddedProxyFence,
    BlockBarrierInstruction,
    BranchInstruction,
    ComputingLoop,
    CopyInstruction,
    Effects,
    ExchangeInstruction,
    Instruction,
    JumpInstruction,
    LoopInstruction,
    OtherBarrierInstruction,
    Program,
    ProxyInstruction,
    RaceFree,
    WarpBarrierInstruction,
    all_effects,
    matters,
    only_compute,
)
from smem_lsp.analysis.execution.slice import Slice, UnknownTerms, slice_of
from smem_lsp.analysis.threads.divergence import Verdicts
from smem_lsp.analysis.threads.ordering_calls import ordering_calls
from smem_lsp.analysis.threads.spin_loops import may_wait, only_waits
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.delivered_loads import delivered_loads
from smem_lsp.analysis.values.free_symbols import Dependence, Rests
from smem_lsp.analysis.values.pointer_ranges import parts
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    NO_OBJECT,
    Access,
    Barrier,
    BarrierKind,
    BarrierSite,
    Branch,
    CopyWait,
    Jump,
    JumpKind,
    Kernel,
    Loop,
    Proxy,
    ProxyKind,
    Seq,
    WarpCollective,
    storages_of,
    walk,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Term


def build_program(
    kernel: Kernel,
    values: ValueFacts,
    control: Control,
    verdicts: Verdicts,
    added: Added = NOTHING_ADDED,
    race_free: RaceFree = NONE_RACE_FREE,
) -> Program:
    """The program of ``kernel``. ``added``: what it is taken to have besides; ``race_free``: accesses that a run need
    not look at."""
    storages = storages_of(kernel.buffers)
    data = DataAddresses(kernel, values)
    addresses = _addresses(kernel, values, storages, data)
    depends = Rests(values)
    builder = _ProgramBuilder(
        values,
        control,
        verdicts,
        depends,
        added,
        left_out=race_free.in_bounds | addresses.unknown,
        no_conflict=race_free.no_conflict,
    )
    instructions = tuple(builder.instructions(kernel.body, must_run=True))
    return Program(
        instructions,
        storages,
        addresses.units,
        addresses.widths,
        _deciding_terms(values, addresses),
        added,
        depends.bits,
        depends.places,
        race_free.no_conflict,
        control.alike,
        addresses.offsets,
        frozenset(_in_both_arms(instructions, addresses)),
        data,
        _slice(instructions, values, addresses),
        Dependence(values),
        parts(kernel),
        ordering_calls(kernel, control),
        delivered_loads(values),
    )


def _deciding_terms(values: ValueFacts, addresses: _Addresses) -> tuple[Term, ...]:
    return (
        *values.conditions.values(),
        *(t for loop in values.loops.values() for t in (loop.first, loop.again)),
        *(term for index in values.indices.values() for term in index),
        *values.offsets.values(),
        *(term for term in addresses.offsets.values() if term is not None),
    )


@dataclass(frozen=True, slots=True)
class _Addresses:
    """``units``: storage -> bytes that are told apart; ``widths``, ``offsets``: of accesses; ``unknown``: accesses of
    which nothing can be shown, because it is not known what they touch."""

    units: dict[int, int]
    widths: dict[int, int | None]
    offsets: dict[int, Term | None]
    unknown: frozenset[int]

    def same_bytes(self, one: Access, other: Access) -> bool:
        """Do two accesses of one kind touch the same bytes?"""
        offset = self.offsets[one.point]
        return (
            offset is not None
            and offset is self.offsets[other.point]
            and one.buffer == other.buffer
            and one.kind is other.kind
            and self.widths[one.point] == self.widths[other.point]
        )


def _addresses(
    kernel: Kernel, values: ValueFacts, storages: Mapping[int, int], data: DataAddresses
) -> _Addresses:
    units: dict[int, int] = {}
    widths: dict[int, int | None] = {}
    offsets: dict[int, Term | None] = {}
    nowhere: set[int] = set()
    unknown = UnknownTerms(values)
    whole = _in_elements(kernel, values, storages)
    for node in walk(kernel.body):
        if not isinstance(node, Access):
            continue
        buffer, storage = kernel.buffers[node.buffer], storages[node.buffer]
        size = 1 if node.buffer in whole else buffer.element_bytes
        offset = values.only_element(node, buffer) if node.buffer in whole else values.offset(node, buffer)
        width = node.width if node.width is not None else size
        widths[node.point], offsets[node.point] = width, offset
        units[storage] = math.gcd(units.get(storage, 0), width or 0)
        if node.guess or node.is_unplaced:
            nowhere.add(node.point)
        elif node.serves or node.start is not None:
            continue  # they begin at a byte that is told apart
        elif width is None or offset is None or (offset in unknown and offset not in data):
            nowhere.add(node.point)
    return _Addresses(units, widths, offsets, frozenset(nowhere))


def _in_elements(kernel: Kernel, values: ValueFacts, storages: Mapping[int, int]) -> set[int]:
    """Buffers whose elements have no known size and are accessed one at a time, and that share their bytes with none
    of another type: each element counts as one byte."""
    sharing = Counter(storages[each.index] for each in kernel.buffers)
    found = {
        each.index
        for each in kernel.buffers
        if each.element_bytes is None and sharing[storages[each.index]] == 1
    }
    if found:
        for node in walk(kernel.body):
            if isinstance(node, Access) and node.buffer in found:
                if values.only_element(node, kernel.buffers[node.buffer]) is None:
                    found.discard(node.buffer)
    return found


def _in_both_arms(instructions: Sequence[Instruction], addresses: _Addresses) -> Iterator[int]:
    """The accesses of an arm that the other arm makes to the same bytes."""
    for branch in _all(instructions):
        checkpoint()
        if not isinstance(branch, BranchInstruction) or branch.effects.any_order:
            continue
        others = [each.node for each in branch.otherwise if isinstance(each, AccessInstruction)]
        for each in branch.then if others else ():
            if isinstance(each, AccessInstruction):
                if any(addresses.same_bytes(each.node, other) for other in others):
                    yield each.node.point


def _slice(instructions: Sequence[Instruction], values: ValueFacts, addresses: _Addresses) -> Slice:
    loops: list[int] = []
    asked: list[Term | None] = []
    for each in _all(instructions):
        point = each.node.point
        match each:
            case AccessInstruction():
                asked += (addresses.offsets[point], values.stored.get(point), values.copied.get(point))
                asked += values.indices.get(point, ())
                asked += (term for term, _ in values.subscripts.get(point, ()))
            case BranchInstruction():
                asked.append(values.conditions[point])
            case LoopInstruction() | ComputingLoop():
                loops.append(point)
            case _:
                asked += (values.masks.get(point), values.offsets.get(point))
                asked += values.named.get(point, ())
    return slice_of(values, loops, (term for term in asked if term is not None))


def _all(instructions: Sequence[Instruction]) -> Iterator[Instruction]:
    for each in instructions:
        yield each
        if isinstance(each, BranchInstruction):
            yield from _all(each.then)
            yield from _all(each.otherwise)
        elif isinstance(each, LoopInstruction):
            yield from _all(each.body)


@dataclass(frozen=True, slots=True)
class _Deciding:
    """What decides how a branch or loop goes. ``input_dependent``: one of the ``terms`` depends on more than the block
    and constants; ``symbols``: as bits, on what."""

    terms: Sequence[Term]
    input_dependent: bool
    symbols: int


@dataclass(frozen=True, slots=True)
class _ProgramBuilder:
    """``left_out``: accesses of which nothing is to be shown; ``no_conflict``: accesses of which a run shows at most
    that they leave their buffer."""

    values: ValueFacts
    control: Control
    verdicts: Verdicts
    depends: Rests
    added: Added
    left_out: frozenset[int]
    no_conflict: frozenset[int]

    def instructions(self, seq: Seq, *, must_run: bool) -> Iterator[Instruction]:
        """``must_run``: every launch comes to ``seq``."""
        for node in seq.items:
            checkpoint()
            match node:
                case Access():
                    if node.point not in self.left_out and (must_run or node.point not in self.no_conflict):
                        yield AccessInstruction(node)
                case WarpCollective():
                    yield ExchangeInstruction(node)
                case Proxy():
                    fences = node.kind not in (ProxyKind.COPY, ProxyKind.READ)
                    yield ProxyInstruction(node, Effects(proxy_fences=fences))
                case CopyWait(bound=bound) if bound == NO_OBJECT:  # no run follows the others
                    yield CopyInstruction(node, self.added.left.get(node.point, node.left))
                case Barrier():
                    yield self._barrier(node)
                case BarrierSite():
                    yield from self._added(node)
                case Jump():
                    yield JumpInstruction(node, Effects(leaves=True, returns=node.kind is JumpKind.RETURN))
                case Branch():
                    yield from self._branch(node, must_run=must_run)
                case Loop():
                    yield from self._loop(node, must_run=must_run)

    def _barrier(self, node: Barrier) -> Instruction:
        if node.kind is BarrierKind.WARP:
            return WarpBarrierInstruction(node)
        if not node.of_block:
            return OtherBarrierInstruction(node)
        point, control = node.point, self.control
        paired, alike = point in self.verdicts.paired, point in control.alike
        return BlockBarrierInstruction(
            node,
            Effects(
                block_barriers=True,
                must_run=paired or alike or point in control.barriers,
                paired_barriers=paired,
                assumes_race_free=alike,
            ),
        )

    def _added(self, node: BarrierSite) -> Iterator[Instruction]:
        added, point = self.added, node.point
        if point in added.waits:
            yield AddedCopyWait(node, added.waits[point])
        if point in added.fences:
            yield AddedProxyFence(node)
        if point in added.barriers:
            yield BlockBarrierInstruction(node, Effects(block_barriers=True))
        elif point in added.in_warps:
            yield WarpBarrierInstruction(node)

    def _branch(self, node: Branch, *, must_run: bool) -> Iterator[Instruction]:
        deciding = self._deciding((self.values.conditions[node.point],))
        surely = must_run and not deciding.input_dependent
        then = tuple(self.instructions(node.then, must_run=surely))
        otherwise = tuple(self.instructions(node.otherwise, must_run=surely))
        inside = (*then, *otherwise)
        if only_compute(inside):
            return
        effects = self._around(node, all_effects(inside))
        if effects.other_barriers and any(not term.known or term.carried for term in deciding.terms):
            effects = replace(effects, not_every_iteration=True)
        yield BranchInstruction(
            node,
            max(map(_end, inside)),
            then,
            otherwise,
            effects,
            self._is_uniform(node),
            deciding.input_dependent,
            deciding.symbols,
            self.depends.turning(deciding.terms),
        )

    def _loop(self, node: Loop, *, must_run: bool) -> Iterator[Instruction]:
        facts = self.values.loops[node.point]
        moves = [term for each in facts.recurrences for term in (each.init, each.next)]
        deciding = self._deciding((facts.first, facts.again, *facts.exits, *moves))
        body = tuple(self.instructions(node.body, must_run=must_run and not deciding.input_dependent))
        waits = may_wait(node, self.values) or only_waits(node, self.values)
        if any(map(matters, body)) or waits:
            inside = all_effects(body)
            # threads that meet at a barrier in each iteration do not spin
            in_step = inside.block_barriers and inside.must_run
            waits = inside.may_wait or (not in_step and waits)
            effects = replace(self._around(node, inside), leaves=inside.returns, may_wait=waits)
            yield LoopInstruction(
                node, body, effects, self._is_uniform(node), deciding.input_dependent, deciding.symbols
            )
        elif node.point in self.values.exits:
            yield ComputingLoop(node)

    def _deciding(self, terms: Sequence[Term]) -> _Deciding:
        on = [self.depends.on(term) for term in terms]
        symbols = reduce(or_, (bits for bits, _ in on), 0)
        return _Deciding(terms, any(depends for _, depends in on), symbols)

    def _around(self, node: Branch | Loop, inside: Effects) -> Effects:
        alike = node.point in self.control.alike
        return replace(inside, assumes_race_free=True) if alike else inside

    def _is_uniform(self, node: Branch | Loop) -> bool:
        return node.point in self.control.uniform or node.point in self.control.alike


def _end(instruction: Instruction) -> int:
    """The last point in it."""
    match instruction:
        case BranchInstruction() | LoopInstruction():
            return instruction.end
        case ComputingLoop():
            return instruction.node.end_point
        case _:
            return instruction.node.point
