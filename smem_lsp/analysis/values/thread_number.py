"""The number of a thread in its block and how many threads there are, in whatever form they are written:
``x + blockDim.x * (y + blockDim.y * z)`` and ``blockDim.x * blockDim.y * blockDim.z``."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.terms.language import Op, Sym, Term, Thread
from smem_lsp.terms.polynomial import names_joined
from smem_lsp.terms.sums_of_products import polynomial_of

_DEEPEST = 6  # operations inside each other

_Polynomial = Mapping[tuple[str, ...], int]


def is_thread_number(term: Term, axes: str) -> bool:
    """``axes``: those in which the block has more than one thread, at least two."""
    if not isinstance(term, Op) or term.operator != "+":
        return False
    found = _polynomial(term, axes)
    wanted: dict[tuple[str, ...], int] = {}
    for number, axis in enumerate(axes):
        wanted[tuple(sorted((f"threadIdx.{axis}", *_extents(axes[:number]))))] = 1
    return found == wanted


def is_thread_count(term: Term, axes: str) -> bool:
    """``axes``: those in which the block has more than one thread, at least two."""
    if not isinstance(term, Op) or term.operator != "*":
        return False
    return _polynomial(term, axes) == {tuple(sorted(_extents(axes))): 1}


def _extents(axes: str) -> list[str]:
    return [f"blockDim.{axis}" for axis in axes]


def _polynomial(term: Term, axes: str) -> _Polynomial | None:
    """The sum of products that a term is; None: it has other parts, or is too deep."""

    def atom(part: Term) -> _Polynomial | None:
        if isinstance(part, Thread):
            return {(f"threadIdx.{part.axis}",): 1} if part.axis in axes else {}
        if isinstance(part, Sym) and part.name.startswith("blockDim."):
            return {(part.name,): 1} if part.name[-1] in axes else {(): 1}
        return None

    return polynomial_of(term, atom, names_joined, _DEEPEST)
