"""Numbers with a point that are known exactly: integers of a thread, halved and scaled, as long as all bits fit.

Sums, differences and products of multiples of a power of two are exact while the result has at most 24 bits (IEEE 754,
``float``); so is a division by a power of two. What such a number is compared with, or cut to, is then a question about
integers.
"""

from __future__ import annotations

from smem_lsp.source import checkpoint
from smem_lsp.source.integers import COMPARISONS
from smem_lsp.terms.language import POINTS, Const, Op, Term, TermTable, Thread
from smem_lsp.terms.operators import OperandType

_EXACT = 1 << 24
_LARGEST = 1 << 40  # of these that are multiples of a power of two
_MOST_DIVIDED = 1 << 20
_CUT = "int()"
_AS_POINT = ("float()", "rounded()")
_QUOTIENT = "float/()"

_Ratio = tuple[Term, int]  # an integer, and a power of two that divides it


def exact(table: TermTable, operator: str, args: tuple[Term, ...]) -> Term | None:
    """A comparison of such numbers, or one cut to an integer, as a term of integers; None: it is none, or not known
    exactly."""
    if operator == _CUT and len(args) == 1:
        found = _ratio(table, args[0])
        if found is None:
            return None
        over, by = found
        return over if by == 1 else table.op("/", over, table.const(by), reading=OperandType.INT)
    if operator not in COMPARISONS or not any(map(_has_point, args)):
        return None
    one, other = (_ratio(table, each) for each in args)
    if one is None or other is None:
        return None
    (a, by), (b, n) = one, other
    return table.op(
        operator,
        table.op("*", a, table.const(n)),
        table.op("*", b, table.const(by)),
        reading=OperandType.LONG,
    )


def _has_point(term: Term) -> bool:
    """Is it computed of numbers with a point?"""
    if not isinstance(term, Op) or term.known:
        return False
    return term.operator in POINTS or any(map(_has_point, term.args))


def _ratio(table: TermTable, term: Term) -> _Ratio | None:
    checkpoint()
    found = _found(table, term)
    if found is None:
        return None
    over, by = found
    return found if by <= _MOST_DIVIDED and _is_held(table, over) else None


def _is_held(table: TermTable, integer: Term) -> bool:
    """Are all bits of it held?"""
    if isinstance(integer, Const):
        odd = integer.n // (integer.n & -integer.n or 1)
        return abs(odd) <= _EXACT and abs(integer.n) <= _LARGEST
    low, high, certain = table.extent(integer)
    return certain and low >= -_EXACT and high <= _EXACT


def _found(table: TermTable, term: Term) -> _Ratio | None:
    if isinstance(term, Const | Thread) or (isinstance(term, Op) and term.known):
        return term, 1
    if not isinstance(term, Op) or not 0 < len(term.args) <= 2:
        return None
    parts = [_ratio(table, each) for each in term.args]
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    if len(known) == 1:
        return _of_one(table, term.operator, known[0])
    return _of_two(table, term.operator, known[0], known[1])


def _of_one(table: TermTable, operator: str, one: _Ratio) -> _Ratio | None:
    if operator in _AS_POINT:
        return one
    return (table.op("neg", one[0]), one[1]) if operator == "neg" else None


def _of_two(table: TermTable, operator: str, one: _Ratio, other: _Ratio) -> _Ratio | None:
    (a, by), (b, n) = one, other
    if operator == "*":
        return table.op("*", a, b), by * n
    if operator in ("+", "-"):
        common = max(by, n)
        left, right = (table.op("*", each, table.const(common // of)) for each, of in (one, other))
        return table.op(operator, left, right), common
    if operator == _QUOTIENT and isinstance(b, Const) and b.n > 0 and b.n & (b.n - 1) == 0:
        return table.op("*", a, table.const(n)), by * b.n
    return None
