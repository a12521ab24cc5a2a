"""The number of a thread in its block and how many threads there are, in whatever form they are written:
``x + blockDim.x * (y + blockDim.y * z)`` and ``blockDim.x * blockDim.y * blockDim.z``."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.terms.language import Const, Op, Sym, Term, Thread
from smem_lsp.terms.polynomial import names_joined, of_operation

_DEEPEST = 6  # operations inside each other

_Polynomial = Mapping[tuple[str, ...], int]


def is_thread_number(term: Term, axes: str) -> bool:
    """``axes``: those in which the block has more than one thread, at least two."""
    if not isinstance(term, Op) or term.operator != "+":
        return False
    found = _polynomial(term, axes, _DEEPEST)
    wanted: dict[tuple[str, ...], int] = {}
    for number, axis in enumerate(axes):
        wanted[tuple(sorted((f"threadIdx.{axis}", *_extents(axes[:number]))))] = 1
    return found == wanted


def is_thread_count(term: Term, axes: str) -> bool:
    """``axes``: those in which the block has more than one thread, at least two."""
    if not isinstance(term, Op) or term.operator != "*":
        return False
    return _polynomial(term, axes, _DEEPEST) == {tuple(sorted(_extents(axes))): 1}


def _extents(axes: str) -> list[str]:
    return [f"blockDim.{axis}" for axis in axes]


def _polynomial(term: Term, axes: str, depth: int) -> _Polynomial | None:
    """The sum of products that a term is; None: it has other parts, or is too deep."""
    if isinstance(term, Const):
        return {(): term.n} if term.n else {}
    if isinstance(term, Thread):
        return {(f"threadIdx.{term.axis}",): 1} if term.axis in axes else {}
    if isinstance(term, Sym) and term.name.startswith("blockDim."):
        return {(term.name,): 1} if term.name[-1] in axes else {(): 1}
    if not isinstance(term, Op) or not depth:
        return None
    args = [_polynomial(each, axes, depth - 1) for each in term.args]
    known = [each for each in args if each is not None]
    return of_operation(term.operator, known, (), names_joined) if len(known) == len(args) else None
