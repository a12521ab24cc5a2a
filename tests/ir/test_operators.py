"""Operators of the IR's values: every binary operator of C++ has one, and constants fold."""

from __future__ import annotations

import pytest

from smem_lsp.ir.values import Const, Op, Sym, Value, operation
from smem_lsp.terms.operators import Operator, operator_of

N = Sym("n")


@pytest.mark.parametrize("spelling", "+ - * / % & | ^ << >> < <= > >= <=> == != && ||".split())
def test_c_spells_it(spelling: str) -> None:
    assert operator_of(spelling).spelling == spelling


@pytest.mark.parametrize(
    ("operator", "args", "folded"),
    [
        (Operator.ADD, (Const(2), Const(3)), Const(5)),
        (Operator.ADD, (N, Const(0)), N),
        (Operator.ADD, (Const(0), N), N),
        (Operator.SUBTRACT, (Const(0), N), None),
        (Operator.MULTIPLY, (N, Const(0)), Const(0)),
        (Operator.MULTIPLY, (Const(1), N), N),
        (Operator.DIVIDE, (N, Const(1)), N),
        (Operator.DIVIDE, (Const(-7), Const(2)), None),  # of an unsigned type it is another number
        (Operator.DIVIDE, (Const(7), Const(0)), None),
        (Operator.AND, (N, Const(0)), Const(0)),
        (Operator.OR, (Const(2), N), Const(1)),
        (Operator.OR, (Const(0), N), None),
        (Operator.NOT, (Const(3),), Const(0)),
        (Operator.NEGATE, (Const(3),), Const(-3)),
        (Operator.BIT_NOT, (Const(0),), Const(-1)),
        (Operator.CAST, (Const(3),), None),
        (Operator.CONDITIONAL, (Const(0), N, Const(4)), Const(4)),
        (Operator.CONDITIONAL, (N, Const(3), Const(4)), None),
    ],
)
def test_constants_fold(operator: Operator, args: tuple[Value, ...], folded: Value | None) -> None:
    assert operation(operator, *args) == (Op(operator, args) if folded is None else folded)


def test_a_name_is_a_part_of_the_spelling() -> None:
    spelled = [
        Op(Operator.MEMBER, (N,), "x").spelling,
        Op(Operator.SET_MEMBER, (N, N), "x").spelling,
        Op(Operator.CALL, (N,), "f").spelling,
        Op(Operator.ADD, (N, N)).spelling,
    ]
    assert spelled == [".x", "set .x", "f()", "+"]
