"""The type of every expression, as a C++ compiler gives it ([expr.type], [expr.arith.conv])."""

from __future__ import annotations

from functools import partial

from smem_lsp.semantics.arithmetic import common_type, operate, promoted
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.record_layout import bit_field
from smem_lsp.semantics.scope import Meanings, Scope
from smem_lsp.semantics.types import BOOL, Array, Pointer, Record, Type
from smem_lsp.source.budget import pause
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree

_MOST_KEPT = 8192
_MOST_NESTED = 200  # operators in each other
_MADE = (tree.Binary, tree.Ternary, tree.Unary)


def expression_type(expr: tree.Expr, scope: Scope) -> Type | None:
    """The type of an expression, without references and qualifiers; None: not known. ``scope``: what the names in it
    mean, with the template arguments of this instance. Each operator is asked about once, however deep it stands."""
    return _of(expr, scope, 0)


def _of(expr: tree.Expr, scope: Scope, depth: int) -> Type | None:
    if depth > _MOST_NESTED:
        return None
    if isinstance(expr, (tree.Number, tree.Name)):
        return evaluate_value(expr, scope).type
    ask = _TYPES.of if depth else _TYPES.once
    return ask(scope.state.store, (expr, scope.meanings), partial(_found, expr, scope, depth))


def _found(expr: tree.Expr, scope: Scope, depth: int) -> Type | None:
    if isinstance(expr, (tree.Assign, tree.PostfixStep)):
        return _of(expr.target if isinstance(expr, tree.Assign) else expr.operand, scope, depth + 1)
    if isinstance(expr, _MADE):
        return _combined(expr, scope, depth)
    if isinstance(expr, tree.Member):
        of = _of(expr.base, scope, depth + 1)
        record = of.target if isinstance(of, Pointer) and expr.operator == "->" else of
        bits = bit_field(record, expr.name) if isinstance(record, Record) else None
        if bits is not None:
            return bits.type
    return evaluate_value(expr, scope).type


# statements that are spelled alike are one tree, and what it means decides the type
_TYPES = Query[tuple[tree.Expr, Scope | Meanings], Type | None]("types of expressions", most=_MOST_KEPT)


def _combined(expr: tree.Binary | tree.Ternary | tree.Unary, scope: Scope, depth: int) -> Type | None:
    pause()
    if isinstance(expr, tree.Ternary):
        return common_type(_of(expr.yes, scope, depth + 1), _of(expr.no, scope, depth + 1))
    if isinstance(expr, tree.Unary):
        return _unary(expr.operator, _of(expr.operand, scope, depth + 1))
    right = _of(expr.right, scope, depth + 1)
    if expr.operator in ("&&", "||"):
        return BOOL
    if expr.operator == ",":
        return right
    return operate(expr.operator, TypedConstant(_of(expr.left, scope, depth + 1)), TypedConstant(right)).type


def _unary(operator: str, kind: Type | None) -> Type | None:
    match operator:
        case "!":
            return BOOL
        case "*":
            if isinstance(kind, Array):
                return kind.element
            return kind.target if isinstance(kind, Pointer) else None
        case "&":
            return Pointer(kind)
        case "++" | "--":
            return kind
        case "+" | "-" | "~":
            return promoted(kind)
    return None
