"""Casts: of numbers, addresses and objects of classes."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.values import Const, Op, Value, Var
from smem_lsp.lowering.body import (
    base_classes,
    class_operators,
    declared_types,
    expression_types,
    expressions,
    temporaries,
    unknown_calls,
    unknown_types,
)
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.effects import load
from smem_lsp.lowering.state.local_scope import (
    LocalScope,
)
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import type_of
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.types import (
    Pointer,
    Record,
    is_number,
    plain_type,
)
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import Operator


def converted(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Value | Ref:
    """``T(x)`` of a type that is a name."""
    named = tree.TypeId(callee.lo, callee.hi, [callee.text], [], [], [callee])
    return cast(ctx, tree.Cast(expr.lo, expr.hi, "functional", named, expr.arguments[0]), scope)


def cast(ctx: Context, expr: tree.Cast, scope: LocalScope) -> Value | Ref:
    type_id = expr.type
    if type_id.words == ["void"] and not type_id.pointers:
        expressions.discard(ctx, expr.operand, scope)
        return ctx.out.fresh()
    made = temporaries.converted(ctx, expr, scope)
    if made is not None:
        return Var(made.index)
    if not type_id.pointers and not declared_types.is_plain(ctx, type_id, [], scope):
        arguments = expr.operand.items if isinstance(expr.operand, tree.Braces) else [expr.operand]
        unknown_calls.pass_by_reference(
            ctx, arguments, scope, type_id.words[-1] if type_id.words else "a cast"
        )
        return ctx.out.fresh()
    if "*" in type_id.pointers and "&" not in type_id.pointers:
        inner = expressions.address(ctx, expr.operand, scope)
    elif type_id.pointers:
        inner = expressions.operand(ctx, expr.operand, scope)
    else:
        wanted = type_of.type_id(type_id, scope.constant_scope())
        inner = class_operators.as_number(ctx, expr.operand, scope, kind=wanted, explicit=True)
    if isinstance(inner, Ref):
        inner_loaded = inner if "&" in type_id.pointers else load(ctx, inner, expr.operand)
        if not unknown_types.keeps_address(expr, scope):
            inner_loaded = effects.number(inner_loaded)
        if isinstance(inner_loaded, Ref):
            return _cast_address(ctx, expr, inner_loaded, scope)
        inner = inner_loaded
    if expr.style == "functional" and isinstance(expr.operand, tree.Braces):
        kind = type_of.type_id(type_id, scope.constant_scope())
        return Const(0) if not expr.operand.items and is_number(kind) else ctx.out.fresh()
    if "&" in type_id.pointers or "&&" in type_id.pointers:
        return inner if _is_of_its_type(ctx, expr, scope) else ctx.out.fresh()
    if type_id.pointers:  # the same address
        if "volatile" in type_id.words:
            ctx.outside.signal(inner)
        return inner
    kind = type_of.type_id(type_id, scope.constant_scope())
    if kind is None:
        return Op(Operator.CAST, (inner,))
    return conversions.assigned(ctx, inner, expr.operand, kind, scope)


def _is_of_its_type(ctx: Context, expr: tree.Cast, scope: LocalScope) -> bool:
    """``static_cast<int&&>(i)``: does a reference of a number have its type, and so its value?"""
    of = expr.type
    plain = tree.TypeId(
        of.lo, of.hi, of.words, [each for each in of.pointers if each not in ("&", "&&")], [], of.names
    )
    wanted = plain_type(type_of.type_id(plain, scope.constant_scope()))
    given = expression_types.of(ctx, expr.operand, scope)
    return is_number(wanted) and wanted == given


def _cast_address(ctx: Context, expr: tree.Cast, ref: Ref, scope: LocalScope) -> Value | Ref:
    """A view of the same bytes through another type."""
    type_id = expr.type
    if not type_id.pointers:
        if type_id.words == ["bool"]:
            return ctx.out.fresh()
        return ref.as_number()
    pointee = tree.TypeId(type_id.lo, type_id.hi, type_id.words, type_id.pointers[1:], [], type_id.names)
    kind = type_of.type_id(pointee, scope.constant_scope())
    if expr.style not in ("reinterpret_cast", "const_cast") and _leads_to_class(ctx, expr.operand, scope):
        ref = base_classes.converted(ctx, ref, kind, expr, down=True)
    size = size_of_type(kind)
    same = True
    for buffer in ref.bases:
        if size is None:
            if type_id.words != ["void"]:
                line = ctx.at.line(expr.lo)
                ctx.buffers.pin(
                    frozenset((buffer,)), CauseKind.UNKNOWN_TYPE, line, seen=True, within=ref.within
                )
            same = False
            continue
        ctx.buffers.require_align(frozenset((buffer,)), size[1])
        same = same and size[0] == ctx.buffers[buffer].element_bytes
    if size is None and type_id.pointers == ["*"] and not type_id.dims:
        counted = unknown_types.in_elements(ctx, type_id, ref, scope)
        if counted is not None:
            return replace(counted, kind=kind)
    shape = tuple(evaluate(dim, scope.constant_scope()) for dim in type_id.dims)
    element = None if size is None else size[0]
    pointer = "*" in type_id.pointers or ref.pointer
    record = plain_type(kind)
    if isinstance(record, Record) and isinstance(ref.offset, Const) and not shape:
        for buffer in ref.bases:
            ctx.buffers.seen_as[buffer, ref.offset.n, record] = None
    return ref.viewed(element, shape, same=same, pointer=pointer, kind=kind)


def _leads_to_class(ctx: Context, expr: tree.Expr, scope: LocalScope) -> bool:
    """May an expression be an object of a class, or point to one? No ``void*`` does."""
    kind = plain_type(overloads.argument_type(ctx, expr, scope))
    return not isinstance(kind, Pointer) or isinstance(plain_type(kind.target), Record)
