"""How large the numbers get that a value is made of, as ``terms.extents`` has it."""

from __future__ import annotations

from smem_lsp.ir.values import Const, Op, Sym, Thread, Value
from smem_lsp.source.integers import OPERATORS
from smem_lsp.terms.extents import FREE, THREAD, Extent, of_operation, of_symbol
from smem_lsp.terms.operators import Operator

_MOST_PARTS = 1_000


def of_value(value: Value) -> Extent:
    """The extent of a value; of one with too many parts no more is known than of what is free."""
    return _of_value(value, [_MOST_PARTS])


def _of_value(value: Value, left: list[int]) -> Extent:
    """``left``: how many parts may still be looked at, of a value in which some may stand many times."""
    left[0] -= 1
    match value:
        case Const(n=n):
            return Extent(n, n)
        case Thread():
            return THREAD
        case Op(operator=operator, args=args) if operator.spelling in OPERATORS and left[0] > 0:
            return of_operation(
                operator.spelling, tuple([_of_value(each, left) for each in args]), value.reading
            )
        case Op(operator=Operator.CALL, name=name, args=(of,)) if left[0] > 0:
            return of_operation(f"{name}()", (_of_value(of, left),))
        case Sym(name=name):
            return of_symbol(name)
    return FREE
