"""Values of parameters to run a kernel with: ordinary ones, that what the launches in sight say is true of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from smem_lsp.analysis.values.bit_parameters import bit_parameters, ordinary_bits
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.free_symbols import names_in
from smem_lsp.ir.nodes import Dims
from smem_lsp.source import checkpoint
from smem_lsp.terms.language import Op, Sym, Term, parts_of

_ASSIGNMENTS = 2
_MOST = 1024  # of a parameter that a condition is solved for
_MOST_SOLVED = 2  # parameters at a time
# of the first of two: sides of a tile before those that leave nothing of the other one, one way and the other
_TRIED = (
    (16, 32, 8, 64, 4, 128, 2, 256, 512, 1024, 1),
    (4, 8, 2, 16, 32, 64, 128, 256, 512, 1024, 1),
)
_WORD = 1 << 31  # what wraps is no size


def assignments(
    terms: Sequence[Term],
    dims: Dims,
    grid: Dims | None = None,
    *,
    given: Sequence[Term] = (),
    fixed: Mapping[str, int] | None = None,
) -> Iterator[dict[str, int]]:
    """Different values for the free symbols: large multiples of the block for parameters, one of the first blocks for a
    place in the grid. ``grid``: its size in blocks, if known; ``given``: what is true of every launch, so that there
    are none for a block that no launch has; ``fixed``: the values of some."""
    names = sorted(names_in(terms))
    threads = dims[0] * dims[1] * dims[2]
    bits = bit_parameters(terms)
    for iteration in range(_ASSIGNMENTS if names else 1):
        ordinary = {
            name: threads * (37 + 11 * iteration + (5 + 2 * iteration) * place)
            for place, name in enumerate(names)
        }
        ordinary |= {name: ordinary_bits(bits[name], iteration, threads) for name in names if name in bits}
        ordinary |= {
            name: _of_grid(name, iteration, grid)
            for name in names
            if name.startswith(("blockIdx.", "gridDim."))
        }
        known = {} if fixed is None else {name: n for name, n in fixed.items() if name in ordinary}
        found = _true_of(given, dims, ordinary | known, frozenset(known), iteration)
        if found is not None:
            yield found


def _of_grid(name: str, iteration: int, grid: Dims | None) -> int:
    axis = "xyz".find(name[-1])
    place = 3 + iteration + 2 * axis
    if grid is not None and axis >= 0:
        return min(place, grid[axis] - 1) if name.startswith("blockIdx.") else grid[axis]
    return place if name.startswith("blockIdx.") else place + 10


def _true_of(
    given: Iterable[Term], dims: Dims, symbols: dict[str, int], settled: frozenset[str], iteration: int
) -> dict[str, int] | None:
    """``symbols`` with other values of those that are not settled, so that all of ``given`` is true; None: not found.
    What says nothing of these symbols, or cannot be worked out, is left aside."""
    for fact in given:
        checkpoint()
        names = names_in((fact,))
        if names.isdisjoint(symbols) and names:
            continue
        solved = _solved(fact, dims, symbols, sorted(names - settled), iteration)
        if solved is None:
            return None
        symbols = solved
        settled |= names
    return symbols


def _solved(
    fact: Term, dims: Dims, symbols: dict[str, int], free: Sequence[str], iteration: int
) -> dict[str, int] | None:
    """The symbols with which a fact is true, or may be; None: not found. ``iteration``: of two ways to choose them."""
    holds = _holds(fact, dims, symbols)
    if holds is not False:
        return symbols
    if isinstance(fact, Op) and fact.operator == "||":
        arms = (
            _solved(each, dims, symbols, [n for n in free if n in names_in((each,))], iteration)
            for each in fact.args
        )
        return next((each for each in arms if each is not None), None)
    if isinstance(fact, Op) and fact.operator == "&&":
        return _true_of(fact.args, dims, symbols, names_in((fact,)).difference(free), iteration)
    if isinstance(fact, Op) and fact.operator == "==":
        for one, other in (fact.args, fact.args[::-1]):
            value = (
                Evaluator(dims, symbols, threads=(0,)).uniform_value(other) if isinstance(one, Sym) else None
            )
            if isinstance(one, Sym) and one.name in free and value is not None:
                found = symbols | {one.name: value}
                if _holds(fact, dims, found):
                    return found
    if not 0 < len(free) <= _MOST_SOLVED:
        return None
    first, *others = free
    for number in _TRIED[iteration] if others else range(_MOST, 0, -1):
        found = symbols | {first: number}
        if _holds(fact, dims, found):
            return found
        more = _solved(fact, dims, found, others, iteration) if others else None
        if more is not None:
            return more
    return None


def _holds(fact: Term, dims: Dims, symbols: Mapping[str, int]) -> bool | None:
    """Is a fact true with these values? None: not known."""
    if any(_wraps(part, symbols) for part in parts_of(fact)):
        return False
    value = Evaluator(dims, symbols, threads=(0,)).uniform_value(fact)
    return None if value is None else bool(value)


def _wraps(term: Term, symbols: Mapping[str, int]) -> bool:
    """Is it a product of sizes that no number has room for?"""
    if not (isinstance(term, Op) and term.operator == "*"):
        return False
    sizes = [symbols.get(each.name, 1) if isinstance(each, Sym) else 1 for each in term.args]
    return math.prod(sizes) >= _WORD
