"""Loads that have come to an end where lanes of a warp exchange values: those that their operands are made of.

A shuffle or vote orders no memory. But no lane goes on from it before all lanes that its mask names have come to it,
each with its operand; and a lane that has its operand has all that it loaded for it. So no lane writes behind it what
another one has still to read for it. Of what a lane has written before, and of all other loads, it says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from smem_lsp.analysis.values.value_facts import Recurrence, ValueFacts
from smem_lsp.terms.language import Const, LoopVar, Op, OpaqueTerm, Term, parts_of

_ALL_LANES = 0xFFFFFFFF


def delivered_loads(values: ValueFacts) -> Mapping[int, frozenset[int]]:
    """By exchange (its point) of all lanes of a warp of 32: the loads of shared memory (points) that each lane has the
    values of, once it is behind it."""
    if values.table.warp_sizes != (32,):
        return {}
    moves = {each.atom: each for loop in values.loops.values() for each in loop.recurrences}
    found: dict[int, frozenset[int]] = {}
    for point, operands in values.exchanged.items():
        if _is_every_lane(values.masks.get(point)):
            loads = _loads_in(operands, values, moves)
            if loads:
                found[point] = loads
    return found


def _is_every_lane(mask: Term | None) -> bool:
    return isinstance(mask, Const) and mask.n & _ALL_LANES == _ALL_LANES


def _loads_in(
    operands: Iterable[Term], values: ValueFacts, moves: Mapping[LoopVar, Recurrence]
) -> frozenset[int]:
    """What a loop variable begins with counts if each iteration makes its value of that of the one before: none has one
    without. What the iterations before have loaded does not."""

    def inside(term: Term) -> tuple[Term, ...]:
        if isinstance(term, LoopVar) and term in moves and _is_made_of(moves[term].next, term):
            return (moves[term].init,)
        address = (
            values.address(term.access) if isinstance(term, OpaqueTerm) and term.access is not None else ()
        )
        return (*_made_from(term), *(address or ()))

    every = parts_of(*operands, inside=inside)
    return frozenset(
        each.access for each in every if isinstance(each, OpaqueTerm) and each.access is not None
    )


def _made_from(term: Term) -> tuple[Term, ...]:
    """What a value is made from, in the iterations of the loops around in which it is made; what lanes have exchanged
    before was over there."""
    if isinstance(term, Op):
        exchanged = term.operator.endswith("_sync()") and bool(term.args) and _is_every_lane(term.args[0])
        return () if exchanged else term.args
    return term.sources if isinstance(term, OpaqueTerm) and term.origin != "exit" else ()


def _is_made_of(value: Term, part: Term) -> bool:
    return any(each is part for each in parts_of(value, inside=_made_from))
