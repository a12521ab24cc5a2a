"""The type of every expression, as a C++ compiler gives it ([expr.type], [expr.arith.conv])."""

from __future__ import annotations

from functools import partial

from smem_lsp.semantics.arithmetic import common_type, is_overloadable, operate, promoted
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.record_layout import bit_field
from smem_lsp.semantics.scope import Meanings, Scope
from smem_lsp.semantics.types import BOOL, Array, Enum, Pointer, Record, Type, plain_type
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
        kind = _of(expr.target if isinstance(expr, tree.Assign) else expr.operand, scope, depth + 1)
        return None if is_overloadable(kind) else kind
    if isinstance(expr, _MADE):
        return _combined(expr, scope, depth)
    if isinstance(expr, tree.Member):
        of = _of(expr.base, scope, depth + 1)
        record = plain_type(of.target) if isinstance(of, Pointer) and expr.operator == "->" else of
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
        kind = _of(expr.operand, scope, depth + 1)
        asked = isinstance(kind, Enum) or expr.operator == "&"  # with the qualifiers of what it leads to
        return evaluate_value(expr, scope).type if asked else _unary(expr.operator, kind)
    right = _of(expr.right, scope, depth + 1)
    left = _of(expr.left, scope, depth + 1)
    if is_overloadable(left) or is_overloadable(right):
        return None
    if isinstance(left, Enum) or isinstance(right, Enum):
        return evaluate_value(expr, scope).type  # a function may take it as it is ([over.match.oper]/3.2)
    if expr.operator in ("&&", "||"):
        return BOOL
    if expr.operator == ",":
        return right
    return operate(expr.operator, TypedConstant(left), TypedConstant(right)).type


def _unary(operator: str, kind: Type | None) -> Type | None:
    if operator != "&" and is_overloadable(kind):
        return None
    match operator:
        case "!":
            return BOOL
        case "*":
            if isinstance(kind, Array):
                return plain_type(kind.element)
            return plain_type(kind.target) if isinstance(kind, Pointer) else None
        case "&":
            return Pointer(kind)
        case "++" | "--":
            return kind
        case "+" | "-" | "~":
            return promoted(kind)
    return None
