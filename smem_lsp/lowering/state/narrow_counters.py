"""Counters of loops in types of less than 32 bits: ``for (unsigned char i = 0; i < 8; ++i)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lsp.ir.nodes import Assignment, Jump, JumpKind, Node, Seq, walk
from smem_lsp.ir.values import Const, Op, Value, Var
from smem_lsp.terms.operators import Operator

_BELOW = {Operator.LESS: 1, Operator.LESS_EQUAL: 0}


def without_wrap(condition: Value, step: list[Node], body: Sequence[Node]) -> list[Node]:
    """The step of a loop without the conversion to the narrow type of its counter, where that changes nothing: the
    condition ends the loop before, or nothing does ([intro.progress]), for what wraps is below its bound again."""
    update = step[0] if len(step) == 1 else None
    if not isinstance(update, Assignment) or not isinstance(condition, Op):
        return step
    counter = Var(update.variable)
    if condition.operator not in _BELOW or condition.args[0] != counter:
        return step
    found = _narrowed(update.value)
    if found is None:
        return step
    counted, largest = found
    if not (isinstance(counted, Op) and counted.operator is Operator.ADD and counted.args[0] == counter):
        return step
    by, bound = counted.args[1], condition.args[1]
    if not isinstance(by, Const) or not 0 < by.n <= largest:
        return step
    if isinstance(bound, Const):
        kept = bound.n - _BELOW[condition.operator] + by.n <= largest
    else:
        left = (item for item in walk(Seq(tuple(body))) if isinstance(item, Jump))
        kept = all(item.kind is JumpKind.CONTINUE for item in left)
    return [replace(update, value=counted)] if kept else step


def _narrowed(value: Value) -> tuple[Value, int] | None:
    """(what is converted, the largest number of the type) of a conversion to a narrow type; None: it is none."""
    half = 0
    if isinstance(value, Op) and value.operator is Operator.SUBTRACT and isinstance(value.args[1], Const):
        half, value = value.args[1].n, value.args[0]
    if not isinstance(value, Op) or value.operator is not Operator.BIT_AND:
        return None
    inner, mask = value.args
    if not isinstance(mask, Const) or mask.n not in (0xFF, 0xFFFF) or half not in (0, mask.n // 2 + 1):
        return None
    if not half:
        return inner, mask.n
    if not (isinstance(inner, Op) and inner.operator is Operator.ADD and inner.args[1] == Const(half)):
        return None
    return inner.args[0], half - 1
