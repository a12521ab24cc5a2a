"""A term as a sum of products, in the normal form of ``polynomial``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from smem_lsp.terms.language import Const, Op, Term
from smem_lsp.terms.polynomial import of_operation

A = TypeVar("A")
_DEEPEST = 12  # operations inside each other
_OPERATORS = frozenset(("+", "-", "*", "<<", "neg"))


def polynomial_of(
    term: Term,
    atom: Callable[[Term], Mapping[tuple[A, ...], int] | None],
    joined: Callable[[tuple[A, ...], tuple[A, ...]], tuple[A, ...]],
    depth: int = _DEEPEST,
) -> Mapping[tuple[A, ...], int] | None:
    """``atom``: what a part is that is not added or multiplied out. None: it has no such part, is too deep, or too
    long."""
    if isinstance(term, Const):
        return {(): term.n} if term.n else {}
    if not isinstance(term, Op) or term.operator not in _OPERATORS:
        return atom(term)
    if not depth:
        return None
    args = [polynomial_of(each, atom, joined, depth - 1) for each in term.args]
    known = [each for each in args if each is not None]
    if len(known) < len(args):
        return None
    found = of_operation(term.operator, known, (), joined)
    return atom(term) if found is None and term.operator == "<<" else found
