"""The witness that a solution of a question about two threads stands for, once nothing in it is made up.

What is computed of parameters, of the place in the grid and of loop variables, and is not followed (``n ^ m``), is any
number to the solver. So what a solution says of it is compared with what its sizes compute to; and for which sizes
something is possible is not known then, since for each of them one number is meant, not any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import Expression, Formula, either
from smem_lsp.analysis.decision.model import Witness
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.terms.language import LoopVar, Op, Sym, Term, parts_of

_MOST = 6  # solutions that make up what is computed
# by operator: a right operand that leaves the left one what it is; None: any number does so with itself
_NEUTRAL = {"&": None, "|": 0, "^": 0, "<<": 0, ">>": 0, "*": 1, "/": 1}

Solve = Callable[[Sequence[Formula], Sequence[Expression]], solver.Solution]


def witness_of(
    encoder: Encoder, asked: Sequence[Formula], solve: Solve
) -> tuple[Witness, Mapping[str, int]] | None:
    """Values under which the formulas hold, and under which all that is computed and not followed is what it is
    computed to; and the solution itself, by the names of its variables."""
    turning = {key: encoder.variable(f"value{number}") for number, key in enumerate(encoder.turning)}
    asked = [*asked, *(value.equals(encoder.turning[key]) for key, value in turning.items())]
    chosen = dict[str, list[Formula]]()
    for _ in range(_MOST):
        wanted = dict(encoder.variables)
        more = (each for operands in chosen.values() for each in operands)
        found = solve([*asked, *encoder.side, *more], tuple(wanted.values()))
        if found.outcome is not solver.Satisfiability.SOME:
            return None
        named = {name: found.values[each.text] for name, each in wanted.items()}
        witness = _read(encoder, named, {key: found.values[value.text] for key, value in turning.items()})
        wrong = _miscomputed(encoder, witness)
        if wrong is None:
            return None
        operands = _operands(encoder, witness)
        if not wrong and operands.keys() <= chosen.keys():
            return witness, named
        encoder.side += wrong
        chosen |= operands
    return None


def evaluator(witness: Witness, who: int, sizes: Mapping[str, int]) -> Evaluator:
    """Of what one of the two threads computes, where loaded values are those of the witness."""
    given = {**witness.given[0], **witness.given[who]} if who else witness.given[0]
    thread = witness.threads[who]
    return Evaluator(
        witness.dims,
        sizes,
        bound={term: value for term, value in given.items() if isinstance(term, LoopVar)},
        threads=[thread],
        exits={term: {thread: value} for term, value in given.items() if not isinstance(term, LoopVar)},
    )


def _read(encoder: Encoder, named: Mapping[str, int], loops: Mapping[tuple[Term, int], int]) -> Witness:
    """``loops``: what loop variables are, by thread."""
    x, y, z = encoder.dims or [named.get(f"blockDim.{axis}", 1) for axis in "xyz"]
    one, other = (
        named.get(f"x{who}", 0) + x * (named.get(f"y{who}", 0) + y * named.get(f"z{who}", 0))
        for who in (0, 1)
    )
    given: tuple[dict[Term, int], ...] = ({}, {})
    for name, (term, who) in encoder.opaque.items():
        if _is_of_other(name):
            continue
        for each in (0, 1) if "." not in name else (who,):
            given[each][term] = named[name]
    for (term, who), value in loops.items():
        given[who][term] = value
    sizes = {**encoder.launches.bound, **{name: named[name] for name in encoder.sizes}}
    return Witness((x, y, z), (one, other), sizes, given=given)


def _is_of_other(name: str) -> bool:
    """Is the variable with this name a value in another iteration than that of its thread?"""
    return "." in name and not name.endswith(".0")


def is_any_number(encoder: Encoder) -> bool:
    """Is something that is computed any number to the solver?"""
    return any(not isinstance(term, LoopVar) for _, term, _ in _computed(encoder))


def _computed(encoder: Encoder) -> Iterator[tuple[str, Term, int]]:
    """It, by the name of its variable, and whose it is."""
    for name, (term, who) in encoder.opaque.items():
        if term.known and encoder.levels.uniform(term):
            yield name, term, who


def _operands(encoder: Encoder, witness: Witness) -> dict[str, list[Formula]]:
    """For what is computed of loaded values, by the name of its variable, where a solution made up another number than
    what they compute to: operands of which one is neutral, so that the other one is that number."""
    found = dict[str, list[Formula]]()
    for name, (term, who) in list(encoder.opaque.items()):
        if term.known or not isinstance(term, Op) or term.operator not in _NEUTRAL or _is_of_other(name):
            continue
        value = evaluator(witness, who, witness.sizes).uniform_value(term)
        if value is not None and value != witness.given[who][term]:
            own, (left, right) = encoder.variables[name], term.args
            neutral = _NEUTRAL[term.operator]
            other = encoder.value(right, who)
            found[name] = [
                encoder.value(left, who).equals(own),
                other.equals(own if neutral is None else neutral),
            ]
    return found


def _miscomputed(encoder: Encoder, witness: Witness) -> list[Formula] | None:
    """What is true of the values that a solution made up; none: they are so. None: it is not known what one of them
    is."""
    found = list[Formula]()
    for name, term, who in _computed(encoder):
        given = {**witness.given[0], **witness.given[who]}
        bound = {atom: given[atom] for atom in term.carried if isinstance(atom, LoopVar) and atom in given}
        threads = (witness.threads[who],)
        value = Evaluator(witness.dims, witness.sizes, bound=bound, threads=threads).uniform_value(term)
        if value is None or _is_of_other(name):
            return None
        if value != given[term]:
            sizes = {part.name for part in parts_of(term) if isinstance(part, Sym)} & witness.sizes.keys()
            other = [encoder.value(atom, who).differs(number) for atom, number in bound.items()]
            other += [encoder.sizes[each].differs(witness.sizes[each]) for each in sorted(sizes)]
            other += [encoder.extent(axis).differs(most) for axis, most in zip("xyz", witness.dims)]
            found.append(either(*other, encoder.variables[name].equals(value)))
    return found
