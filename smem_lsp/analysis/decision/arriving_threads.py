"""Which threads of a block come to a barrier, worked out for all of them with the values of a witness."""

from __future__ import annotations

import math
from collections.abc import Mapping

from smem_lsp.analysis.decision.conditions import Condition
from smem_lsp.analysis.decision.divergence import DivergenceResult
from smem_lsp.analysis.decision.question import RaceQueries
from smem_lsp.analysis.values.evaluate import Evaluator, Vector
from smem_lsp.analysis.values.value_facts import LoopFacts
from smem_lsp.ir.nodes import Node
from smem_lsp.source import checkpoint
from smem_lsp.terms.language import LoopVar

_MOST_TURNS = 64  # of a loop that are gone through


def _values(
    asker: RaceQueries, node: Node, found: DivergenceResult, iterations: Mapping[int, int]
) -> Evaluator:
    """The values of all threads of the block in those ``iterations`` of the loops around."""
    assert found.witness is not None
    witness, everyone = found.witness, range(math.prod(found.witness.dims))
    agreed = {
        term: dict.fromkeys(everyone, value)
        for term, value in witness.given[0].items()
        if witness.given[1].get(term) == value and asker.of.levels.uniform(term)
    }
    values = Evaluator(witness.dims, dict(witness.sizes), exits=agreed)
    for loop in asker.of.positions[node.point].loops:
        facts = asker.of.values.loops.get(loop)
        if facts is not None:
            values = values.within(_in_iteration(facts, iterations.get(loop, 0), values))
    return values


def _in_iteration(facts: LoopFacts, iteration: int, values: Evaluator) -> dict[LoopVar, Vector]:
    """The variables of a loop in one of its iterations, as far as they are known."""
    bound: dict[LoopVar, Vector] = {}
    others = []
    for moves in facts.recurrences:
        start, step = values.values(moves.init), None if moves.by is None else values.values(moves.by)
        if start is None:
            continue
        if moves.kind == "affine" and step is not None:
            bound[moves.atom] = [first + iteration * by for first, by in zip(start, step)]
        elif iteration <= _MOST_TURNS:
            bound[moves.atom] = start
            others.append(moves)
    for _ in range(iteration if others else 0):
        checkpoint()
        now = values.within({each.atom: bound[each.atom] for each in others if each.atom in bound})
        for moves in others:
            following = now.values(moves.next)
            if following is None:
                bound.pop(moves.atom, None)
            elif moves.atom in bound:
                bound[moves.atom] = following
    return bound


def come(asker: RaceQueries, node: Node, found: DivergenceResult) -> tuple[int, ...] | None:
    """The threads that come to the barrier ``node`` with the values of the witness; None: it is not known which."""
    fork, values = found.fork, _values(asker, node, found, found.iterations)
    assert fork is not None
    there, hold = (_hold(asker, each, values) for each in (fork.holds, (*fork.holds, *fork.parts)))
    if there is None or hold is None:
        return None
    come = set(hold) if fork.stays else set(there).difference(hold)
    if not fork.is_behind(node):
        through = _hold(asker, asker.of.positions[node.point].conditions, values)
        if through is None:
            return None
        come.intersection_update(through)
    return tuple(sorted(come))


def _hold(asker: RaceQueries, conditions: tuple[Condition, ...], values: Evaluator) -> tuple[int, ...] | None:
    mask = [True] * len(values.threads)
    for each in conditions:
        found = values.values(each.term)
        if found is None:
            if asker.of.levels.uniform(each.term):
                continue  # somebody comes there
            return None
        mask = [held and bool(value) == each.truth for held, value in zip(mask, found)]
    return tuple(thread for thread, held in zip(values.threads, mask) if held)


def come_later(asker: RaceQueries, node: Node, found: DivergenceResult, loop: int) -> tuple[int, ...]:
    """The threads that leave with the values of the witness, and come to ``node`` in the next iteration of ``loop`` in
    which any of them does; none where that is not known. Nobody leaves the loop by a jump."""
    fork, facts = found.fork, asker.of.values.loops.get(loop)
    assert fork is not None
    values = _values(asker, node, found, found.iterations)
    there, stay = (_hold(asker, each, values) for each in (fork.holds, (*fork.holds, *fork.parts)))
    if facts is None or not facts.tested or there is None or stay is None:
        return ()
    left = set(there).difference(stay) if fork.stays else set(stay)
    conditions, first = asker.of.positions[node.point].conditions, found.iterations.get(loop, 0) + 1
    heads = tuple(each for each in conditions if each.branch == loop)
    for iteration in range(first, first + _MOST_TURNS):
        checkpoint()
        values = _values(asker, node, found, {**found.iterations, loop: iteration})
        if any(values.values(each.term) is None for each in conditions):
            return ()
        left.intersection_update(_hold(asker, heads, values) or ())
        later = left.intersection(_hold(asker, conditions, values) or ())
        if later or not left:
            return tuple(sorted(later))
    return ()
