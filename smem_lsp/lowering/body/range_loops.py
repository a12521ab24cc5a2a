"""Lowers range-based ``for``: the plain loop that it stands for, with the functions that it calls."""

from __future__ import annotations

from smem_lsp.elaborate import range_for
from smem_lsp.elaborate.special_members import class_name, constructors
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.lowering.body import expression_types, expressions, implicit_calls, objects, statements
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import BufferName, LocalScope, Variable, View
from smem_lsp.semantics import type_of
from smem_lsp.semantics.entities import UNKNOWN
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.types import Array, Record, plain_type
from smem_lsp.syntax import tree


def lower(ctx: Context, node: tree.For, head: tree.RangeFor, scope: LocalScope) -> None:
    """``scope``: of the loop."""
    with ctx.at.chunk(node.head[0]):
        if head.init is not None:
            statements.run_in_head(ctx, head.init, scope)
        written = _written_out(ctx, head, scope)
        if written is not None and written.before is not None:
            statements.declare_in_head(ctx, written.before, scope)
    if written is not None:
        statements.loop(ctx, node, written.head, scope, written.element)
    else:
        _unknown(ctx, node, head, scope)


def _written_out(ctx: Context, head: tree.RangeFor, scope: LocalScope) -> range_for.WrittenOut | None:
    """The plain loop; None: how often it runs is not known, or the functions that it calls are not in sight."""
    if isinstance(head.range, tree.Braces):
        items = head.range.items
        known = 0 < len(items) <= _MOST_LISTED and all(_is_constant(each, scope) for each in items)
        return range_for.over_list(head, items) if known else None
    count = _count(ctx, head.range, scope)
    if count is not None:
        return range_for.over_array(head, count)
    record = expression_types.of(ctx, head.range, scope)
    if not isinstance(record, Record) or objects.followed(record) is None:
        return None
    known = all(objects.methods(ctx, record, name, head.range) for name in ("begin", "end"))
    return range_for.over_object(head) if known else None


_MOST_LISTED = 32


def _is_constant(expr: tree.Expr, scope: LocalScope) -> bool:
    """Is it a number that nothing changes while the loop runs?"""
    value = evaluate_value(expr, scope.constant_scope())
    return value.n is not None or value.real is not None


def _count(ctx: Context, expr: tree.Expr, scope: LocalScope) -> int | None:
    """How many elements the array has that an expression is."""
    meaning = scope.lookup(expr.text) if isinstance(expr, tree.Name) else None
    if isinstance(meaning, BufferName):
        dims = ctx.buffers[meaning.buffer].dims
        return dims[0] if dims else None
    if isinstance(meaning, View):
        return meaning.target.shape[0] if meaning.target.shape else None
    if isinstance(meaning, Variable) and not meaning.array:
        return None
    kind = plain_type(evaluate_value(expr, scope.constant_scope()).type)
    return kind.count if isinstance(kind, Array) and isinstance(expr, tree.Name) else None


def _unknown(ctx: Context, node: tree.For, head: tree.RangeFor, scope: LocalScope) -> None:
    """The functions of the class of the range, and of what it gives, are called in a loop."""
    with ctx.at.chunk(node.head[0]):
        value = expressions.value(ctx, head.range, scope)
        held = ctx.clobber(value, head.range.lo, head.range.hi)
        record = expression_types.of(ctx, head.range, scope)
        functions = [
            each
            for name in ("begin", "end")
            for each in overloads.functions_named(ctx, name, tree.Name(head.range.lo, head.range.hi, name))
        ]
        if functions and (held or isinstance(record, Record) or record is None):
            what = Cause(CauseKind.BEGIN)
            if isinstance(record, Record):
                what = Cause(CauseKind.BEGIN_OF, names=(class_name(record),))
            implicit_calls.note(ctx, what, head.range)
        for declarator in head.declaration.declarators:
            made = type_of.variable_type(head.declaration, declarator, scope.constant_scope())
            if isinstance(made, Record) and constructors(made):
                implicit_calls.note(ctx, Cause(CauseKind.CONSTRUCTOR, names=(class_name(made),)), head.range)
            variable = ctx.variables.declare(declarator.name)
            scope.names[declarator.name] = Variable(variable)
            scope.declare_constants().declare(declarator.name, UNKNOWN)
            ctx.assign(variable, ctx.lost_address(held))
    statements.loop_of_unknown(ctx, node, scope)
