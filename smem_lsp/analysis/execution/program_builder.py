"""Writes the script of a kernel: which of its nodes matter to a run of a block, and how branches and loops go."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from smem_lsp.analysis.execution.data_dependent_addresses import DataAddresses
from smem_lsp.analysis.execution.program import (
    NOTHING,
    RESTLESS,
    Added,
    Calm,
    Instruction,
    Program,
    acts,
    computes,
)
from smem_lsp.analysis.execution.slice import Followed, Unknown, followed
from smem_lsp.analysis.threads.divergence import Verdicts
from smem_lsp.analysis.threads.spin_loops import may_wait
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.free_symbols import Dependence, Rests, named
from smem_lsp.analysis.values.pointer_ranges import parts
from smem_lsp.analysis.values.terms import Term
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    Access,
    AddressSpace,
    Barrier,
    BarrierKind,
    Branch,
    CopyWait,
    Exchange,
    Jump,
    JumpKind,
    Kernel,
    Loop,
    Place,
    Proxy,
    ProxyKind,
    Seq,
    storages_of,
    walk,
)
from smem_lsp.source import checkpoint


def write_script(
    kernel: Kernel,
    values: ValueFacts,
    control: Control,
    verdicts: Verdicts,
    added: Added = NOTHING,
    calm: Calm = RESTLESS,
) -> Program:
    """What a run of ``kernel`` comes to. ``calm``: what a run needs not look at."""
    storages = storages_of(kernel.buffers)
    units: dict[int, int] = {}
    widths: dict[int, int | None] = {}
    offsets: dict[int, Term | None] = {}
    nowhere: set[int] = set()
    unknown = Unknown(values)
    data = DataAddresses(kernel, values)
    whole = _in_elements(kernel, values)
    size: int | None
    for node in walk(kernel.body):
        if isinstance(node, Access):
            buffer, storage = kernel.buffers[node.buffer], storages[node.buffer]
            if node.buffer in whole:
                size, offset = 1, values.element(node, buffer)
            else:
                size, offset = buffer.element_bytes, values.offset(node, buffer)
            width = node.width if node.width is not None else size
            widths[node.point], offsets[node.point] = width, offset
            units[storage] = math.gcd(units.get(storage, 0), width or 0)
            if node.guess or node.part is not None:
                nowhere.add(node.point)
            elif node.serves or node.start is not None:
                continue  # of a byte of their own
            elif width is None or offset is None or (offset in unknown and offset not in data):
                nowhere.add(node.point)
    terms = [
        *values.conditions.values(),
        *(t for loop in values.loops.values() for t in (loop.first, loop.again)),
        *(term for index in values.indices.values() for term in index),
        *values.offsets.values(),
    ]
    rests = Rests()
    writer = _Writer(values, control, verdicts, rests, added, calm.idle | nowhere, calm.apart)
    steps = tuple(_steps(kernel.body, writer, sure=True))
    return Program(
        steps,
        storages,
        units,
        widths,
        tuple(terms),
        _sizes(values, control, rests),
        added,
        rests.bits,
        rests.places,
        calm.apart,
        control.alike,
        offsets,
        frozenset(_in_both(steps, offsets, widths)),
        data,
        _followed(steps, values, offsets),
        Dependence(values),
        parts(kernel),
    )


def _in_elements(kernel: Kernel, values: ValueFacts) -> set[int]:
    """Buffers of elements whose size is not known, each access to which is to one of them: they count as bytes."""
    found = {b.index for b in kernel.buffers if b.element_bytes is None and b.space is AddressSpace.STATIC}
    if found:
        for node in walk(kernel.body):
            if isinstance(node, Access) and node.buffer in found:
                plain = node.width is None and node.part is None and not (node.serves or node.rows)
                if not plain or values.element(node, kernel.buffers[node.buffer]) is None:
                    found.discard(node.buffer)
    return found


def _in_both(
    steps: Sequence[Instruction], offsets: Mapping[int, Term | None], widths: Mapping[int, int | None]
) -> Iterator[int]:
    for step in _all(steps):
        checkpoint()
        others = [each.node for each in step.second if isinstance(each.node, Access)]
        for each in step.first if others and not step.acts else ():
            node = each.node
            if isinstance(node, Access) and any(
                _same_bytes(node, other, offsets, widths) for other in others
            ):
                yield node.point


def _same_bytes(
    one: Access, other: Access, offsets: Mapping[int, Term | None], widths: Mapping[int, int | None]
) -> bool:
    offset = offsets[one.point]
    return (
        offset is not None
        and offset is offsets[other.point]
        and one.buffer == other.buffer
        and one.kind is other.kind
        and widths[one.point] == widths[other.point]
    )


def _followed(
    steps: Sequence[Instruction], values: ValueFacts, offsets: Mapping[int, Term | None]
) -> Followed:
    loops: list[int] = []
    asked: list[Term | None] = []
    for step in _all(steps):
        node = step.node
        if isinstance(node, Access):
            asked += (offsets[node.point], values.stored.get(node.point), values.copied.get(node.point))
            asked += values.indices.get(node.point, ())
        elif isinstance(node, Branch):
            asked.append(values.conditions[node.point])
        elif isinstance(node, Loop):
            loops.append(node.point)
        else:
            asked += (values.masks.get(node.point), values.offsets.get(node.point))
            asked += values.named.get(node.point, ())
    return followed(values, loops, (term for term in asked if term is not None))


def _all(steps: Sequence[Instruction]) -> Iterator[Instruction]:
    for step in steps:
        yield step
        yield from _all(step.first)
        yield from _all(step.second)


def _sizes(values: ValueFacts, control: Control, rests: Rests) -> frozenset[str]:
    found = [term for index in values.indices.values() for term in index] + list(values.offsets.values())
    for loop in values.loops.values():
        checkpoint()
        found += [loop.first, loop.again, *(each.init for each in loop.recurrences)]
    found += [term for point, term in values.conditions.items() if point not in control.uniform]
    return named(rests.bits, reduce(or_, (rests.on(term)[0] for term in found), 0))


@dataclass(frozen=True, slots=True)
class _Writer:
    values: ValueFacts
    control: Control
    verdicts: Verdicts
    rests: Rests
    added: Added
    idle: frozenset[int]  # accesses of which nothing is to be shown
    apart: frozenset[int]  # of which only that they surely leave their buffer


def _steps(seq: Seq, writer: _Writer, *, sure: bool) -> Iterator[Instruction]:
    """``sure``: does it come here whatever the kernel is given?"""
    for node in seq.items:
        checkpoint()
        if isinstance(node, Access | Exchange):
            if node.point not in writer.idle and (sure or node.point not in writer.apart):
                yield Instruction(node, node.point)
        elif isinstance(node, Proxy):
            yield Instruction(node, node.point, fences=node.kind not in (ProxyKind.COPY, ProxyKind.READ))
        elif isinstance(node, CopyWait):
            yield Instruction(node, node.point, copies=True)
        elif isinstance(node, Barrier):
            if node.kind is BarrierKind.BLOCK:
                point, control = node.point, writer.control
                paired, trusting = point in writer.verdicts.paired, point in control.alike
                sure = paired or trusting or point in control.barriers
                yield Instruction(node, point, syncs=True, sure=sure, paired=paired, trusting=trusting)
            else:
                warps = node.kind is BarrierKind.WARP
                yield Instruction(node, node.point, warps=warps, orders=not warps)
        elif isinstance(node, Place):
            added, point = writer.added, node.point
            if point in added.waits:
                yield Instruction(node, point, lands=True, copies=True)
            if point in added.fences:
                yield Instruction(node, point, fences=True)
            if point in added.barriers:
                yield Instruction(node, point, syncs=True)
            elif point in added.in_warps:
                yield Instruction(node, point, warps=True)
        elif isinstance(node, Jump):
            yield Instruction(node, node.point, leaves=True, returns=node.kind is JumpKind.RETURN)
        elif isinstance(node, Branch):
            deciding = _Deciding(writer.rests, (writer.values.conditions[node.point],))
            arms = [
                tuple(_steps(arm, writer, sure=sure and not deciding.free))
                for arm in (node.then, node.otherwise)
            ]
            if not all(map(computes, (*arms[0], *arms[1]))):
                yield _around(node, arms[0], arms[1], writer, deciding)
        elif isinstance(node, Loop):
            facts = writer.values.loops[node.point]
            moves = [term for each in facts.recurrences for term in (each.init, each.next)]
            deciding = _Deciding(writer.rests, (facts.first, facts.again, *facts.exits, *moves))
            body = tuple(_steps(node.body, writer, sure=sure and not deciding.free))
            if any(map(acts, body)) or may_wait(node, writer.values):
                yield _around(node, body, (), writer, deciding)
            elif node.point in writer.values.exits:
                yield Instruction(node, node.end_point)


class _Deciding:
    """How a branch or loop goes."""

    def __init__(self, rests: Rests, terms: Sequence[Term]) -> None:
        on = [rests.on(term) for term in terms]
        self.terms = terms
        self.free = any(each[1] for each in on)
        self.symbols = reduce(or_, (each[0] for each in on), 0)
        self.turning = rests.turning(terms)


def _around(
    node: Branch | Loop,
    first: tuple[Instruction, ...],
    second: tuple[Instruction, ...],
    writer: _Writer,
    deciding: _Deciding,
) -> Instruction:
    inside = (*first, *second)
    returns = any(step.returns for step in inside)
    if isinstance(node, Loop):
        in_step = any(step.syncs for step in first) and all(step.sure for step in inside)
        waits = not in_step and may_wait(
            node, writer.values
        )  # threads that meet in each iteration do not spin
        waits = waits or any(step.waits for step in first)
        leaves, end = returns, node.end_point
    else:
        leaves, waits = any(step.leaves for step in inside), any(step.waits for step in inside)
        end = max(step.end for step in inside)
    return Instruction(
        node,
        end,
        first,
        second,
        syncs=any(step.syncs for step in inside),
        sure=all(step.sure for step in inside),
        paired=any(step.paired for step in inside),
        leaves=leaves,
        returns=returns,
        waits=waits,
        orders=any(step.orders for step in inside),
        free=deciding.free,
        symbols=deciding.symbols,
        turning=deciding.turning if isinstance(node, Branch) else {},
        uniform=node.point in writer.control.uniform or node.point in writer.control.alike,
        trusting=node.point in writer.control.alike or any(step.trusting for step in inside),
        copies=any(step.copies for step in inside),
        fences=any(step.fences for step in inside),
        unsteady=any(step.unsteady for step in inside)
        or (isinstance(node, Branch) and any(step.orders for step in inside) and _changes(deciding.terms)),
    )


def _changes(deciding: Sequence[Term]) -> bool:
    """May it go another way in another iteration of a loop around it?"""
    return any(not term.known or term.carried for term in deciding)
