"""Functions as values: pointers to functions and to member functions, and what is called through them."""

from __future__ import annotations

from smem_lsp.elaborate.addressed_functions import addressed
from smem_lsp.elaborate.signatures import Signature
from smem_lsp.ir.values import Value
from smem_lsp.lowering.body import inlining, methods
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import FunctionValue, LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.entities import Functions
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body


def of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> FunctionValue | None:
    """The function that an expression is the value of: ``g``, ``&g``, ``*g``, ``&T::g``; None: no function is known."""
    address = False
    while isinstance(expr, tree.Unary) and expr.operator in ("&", "*"):
        address = address or expr.operator == "&"
        expr = expr.operand
    if not isinstance(expr, tree.Name):
        return None
    meaning = scope.lookup(expr.text)
    if meaning is not None or expr.text in ctx.at.template_parameters:
        return meaning if isinstance(meaning, FunctionValue) else None
    found = scope.constant_scope().resolve(expr)
    if not isinstance(found, Functions):
        return None
    inside = any(where.record is not None for _, where in found.overloads)
    static = all("static" in decl.source.texts[slice(*decl.head)] for decl, _ in found.overloads)
    return FunctionValue(found, address and inside and not static)


def bound(ctx: Context, expr: tree.Expr, scope: LocalScope, target: Signature | None) -> FunctionValue | None:
    """The function that a variable or parameter is a pointer to; as ``of``. ``target``: of its type; None: it is
    deduced, or not known."""
    known = of(ctx, expr, scope)
    if known is None or not known.certain:
        return known
    found = addressed(known.functions, None if known.member else target)
    return FunctionValue(known.functions if found is None else found, known.member, found is not None)


def stays(body: Body, name: str, *, assigned: int = 0) -> bool:
    """Does a variable of this name keep the function that it gets first? ``assigned``: how often ``name =`` stands in
    its declaration."""
    texts = body.tokens.texts
    places = [at for at, text in enumerate(texts) if text == name]
    places = [at for at in places if texts[max(at - 1, 0) : at] not in (["."], ["->"])]
    given = sum(texts[at + 1 : at + 2] == ["="] for at in places)
    return given <= assigned and not any(texts[max(at - 1, 0) : at] == ["&"] for at in places)


def call(
    ctx: Context, known: FunctionValue, expr: tree.Call, callee: tree.Expr, scope: LocalScope
) -> Value | Ref | None:
    """A call through a pointer to a function; None: not followed."""
    if not known.certain:
        return None
    name = tree.Name(callee.lo, callee.hi, known.functions.overloads[0][0].name)
    found = overloads.handed_over(ctx, known.functions, name, expr, scope)
    return inlining.follow(ctx, found, expr, name, scope) if found else None


def call_member(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | Ref | None:
    """``(object.*pointer)(...)``; None: another call, or not followed."""
    if callee.operator not in (".*", "->*"):
        return None
    known = scope.lookup(callee.name)
    if not isinstance(known, FunctionValue) or not known.member or not known.certain:
        return None
    name = known.functions.overloads[0][0].name
    member = tree.Member(callee.lo, callee.hi, callee.base, callee.operator[:-1], name)
    return methods.call(ctx, expr, member, scope)
