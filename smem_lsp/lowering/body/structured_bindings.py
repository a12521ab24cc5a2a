"""Structured bindings: ``auto [x, y] = object;`` ([dcl.struct.bind])."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.elaborate import special_members
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.lowering.body import (
    constructors,
    declarations,
    expression_types,
    implicit_calls,
    lifetimes,
    objects,
    value_categories,
)
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import type_of
from smem_lsp.semantics.entities import UNKNOWN, TypedConstant
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.record_layout import designated_member
from smem_lsp.semantics.tuples import may_be_tuple
from smem_lsp.semantics.types import Array, Record, plain_type, qualified
from smem_lsp.syntax import tree


def declare(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> None:
    """Names for the members of an object, where these are known."""
    initializer = declarations.given_to(declarator)
    if initializer is not None and _bind_members(ctx, declaration, declarator, initializer, scope):
        return
    result = None
    if initializer is not None:
        result = declarations.initial(ctx, declaration, declarator, initializer, scope)
    bound = None
    if isinstance(result, Ref):
        ctx.buffers.pin(result.bases, CauseKind.BOUND_NAMES, ctx.at.line(declarator.lo))
    elif result is not None and value_categories.declares_reference(declaration, declarator, scope):
        bound = declarations.bound_to(ctx, ctx.out.fresh())
    _declare_bindings(ctx, declarator, scope, bound)


def _bind_members(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    initializer: tree.Expr,
    scope: LocalScope,
) -> bool:
    """``auto [x, y] = object;``: names for the members of a copy, or of the object itself ([dcl.struct.bind]); False:
    nothing is known of them."""
    by_reference = not {"&", "&&"}.isdisjoint(declarator.pointers)
    if not by_reference:
        _note_copied_array(ctx, initializer, scope)
    record = _bound_class(ctx, initializer, scope)
    fields = () if record is None else objects.fields(record) or ()
    names = list(_bound_names(ctx, declarator))
    if record is None or not names or len(fields) != len(names):
        return False
    bound: Variable | None
    if by_reference:
        bound = effects.designated(ctx, initializer, scope)
    else:
        bound = _copied(ctx, declarator, record, initializer, scope)
    if bound is None or bound.index not in ctx.variables.objects:
        return False
    constants = scope.declare_constants()
    constant = by_reference and value_categories.given(ctx, initializer, scope).constant is True
    kind = qualified(type_of.qualified_by(declaration.words, record), constant=constant)
    for name, field in zip(names, fields):
        scope.names[name] = ctx.variables.objects[bound.index].members[field.name]
        constants.declare(name, TypedConstant(designated_member(kind, field.name)))
    return True


def _note_copied_array(ctx: Context, initializer: tree.Expr, scope: LocalScope) -> None:
    """``auto [x, y] = array;`` copies each element."""
    of = effects.designated(ctx, initializer, scope)
    reached = of is None or bool(ctx.points_to.of_name(of))
    kind = evaluate_value(initializer, scope.constant_scope()).type
    if isinstance(plain_type(kind), Array):
        implicit_calls.array_copied(ctx, kind, initializer, reached=reached)


def _bound_class(ctx: Context, initializer: tree.Expr, scope: LocalScope) -> Record | None:
    """The class whose members get names; None: not known, as where somebody has made it a tuple, whose parts its
    ``get<0>()`` may bind ([dcl.struct.bind]/4)."""
    record = objects.followed(expression_types.of(ctx, initializer, scope))
    if record is None or not may_be_tuple(record, scope.constant_scope()):
        return record
    what = Cause(CauseKind.BOUND_PARTS, names=(special_members.class_name(record),))
    implicit_calls.note(ctx, what, initializer)
    return None


def _copied(
    ctx: Context, declarator: tree.Declarator, record: Record, initializer: tree.Expr, scope: LocalScope
) -> Variable:
    """The object without a name whose members get names: a copy that ends with the block."""
    copy = constructors.given(ctx, "", record, ["auto"], initializer, scope, implicit=True)
    lifetimes.begin(ctx, copy, record, tree.Name(max(declarator.lo, 0), declarator.hi, ""), scope)
    return copy


def _bound_names(ctx: Context, declarator: tree.Declarator) -> Iterator[str]:
    lo, hi = ctx.at.base + max(declarator.lo, 0), ctx.at.base + declarator.hi
    for kind, name in zip(ctx.at.body.tokens.kinds[lo:hi], ctx.at.body.tokens.texts[lo:hi]):
        if kind == "NAME":
            yield name


def _declare_bindings(
    ctx: Context, declarator: tree.Declarator, scope: LocalScope, bound: int | None
) -> None:
    """``auto [x, y] = ...``: names of which nothing is known, but where references are bound to."""
    for name in _bound_names(ctx, declarator):
        variable = ctx.variables.declare(name)
        scope.names[name] = Variable(variable, plain=False, bound=bound)
        scope.declare_constants().declare(name, UNKNOWN)
        ctx.assign(variable, ctx.out.fresh())
