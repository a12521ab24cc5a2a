"""``condition ? yes : no`` ([expr.cond])."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.elaborate import conversion_functions, special_members
from smem_lsp.elaborate.special_members import class_name
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import Branch, Seq
from smem_lsp.ir.values import Const, Value, Var, operation
from smem_lsp.lowering.body import (
    base_classes,
    constructors,
    expression_types,
    expressions,
    implicit_calls,
    inlining,
    lifetimes,
    objects,
    value_categories,
)
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref, choose, join
from smem_lsp.semantics.types import Record
from smem_lsp.semantics.value_categories import Category
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import Operator


def ternary(ctx: Context, expr: tree.Ternary, scope: LocalScope) -> Value | Ref:
    """The value that is chosen, the object that is made, or the place or address that is meant."""
    condition = expressions.truth(ctx, expr.condition, scope)
    if isinstance(condition, Const):  # only the live arm exists
        return expressions.operand(ctx, expr.yes if condition.n else expr.no, scope)
    record = _made(ctx, expr, scope)
    if record is not None:
        return _object(ctx, expr, condition, record, scope)
    before, point = ctx.out.next_point(), ctx.out.next_point()
    with ctx.out.collect() as then, lifetimes.arm(ctx):
        yes = expressions.operand(ctx, expr.yes, scope)
    with ctx.out.collect() as otherwise, lifetimes.arm(ctx):
        no = expressions.operand(ctx, expr.no, scope)
    _note_converted_arm(ctx, expr, yes, no)
    condition = ctx.kept_value(condition, before, [*then, *otherwise])
    places = [arm for arm in (yes, no) if isinstance(arm, Ref) and not arm.pointer and not arm.shape]
    if len(places) == 2:  # an element of one or the other, to be read or written
        for item in (*then, *otherwise):
            ctx.out.emit(item)
        return choose(condition, *_in_common(ctx, places[0], places[1], expr))
    with ctx.out.collect() as late:
        yes = effects.load(ctx, yes, expr.yes)
    then += late
    with ctx.out.collect() as late:
        no = effects.load(ctx, no, expr.no)
    otherwise += late
    if then or otherwise:
        where = ctx.at.span(expr.lo, expr.hi), ctx.at.line(expr.lo)
        branch = Branch(point, condition, Seq(tuple(then)), Seq(tuple(otherwise)), *where)
        ctx.out.emit(branch)
    refs = [arm for arm in (yes, no) if isinstance(arm, Ref)]
    one, other = effects.number(yes), effects.number(no)
    if isinstance(one, Ref) and isinstance(other, Ref):  # to their composite type ([expr.type])
        refs = _in_common(ctx, one, other, expr)
    if isinstance(one, Ref) or isinstance(other, Ref):
        return choose(condition, *refs) if len(refs) == 2 else refs[0].moved(None)
    one, other = conversions.in_common(ctx, one, other, (expr.yes, expr.no), scope)
    found = operation(Operator.CONDITIONAL, condition, one, other)
    return replace(join(refs).moved(None), loaded=found) if refs else found


def note_place(ctx: Context, result: Value | Ref, expr: tree.Expr, scope: LocalScope) -> None:
    """What an expression has come to where a place is wanted. Of a place in shared memory and one outside, which of
    them it is is not followed: it is not read here, and nobody knows who reads or writes it through the reference."""
    if (
        isinstance(expr, tree.Ternary)
        and not isinstance(result, Ref)
        and inlining.is_shared(ctx, expr, scope)
    ):
        implicit_calls.note(ctx, Cause(CauseKind.CHOSEN_PLACE), expr)
        span = ctx.at.span(expr.lo, expr.hi)
        for at, item in enumerate(ctx.out.items):
            if isinstance(item, Branch) and item.span == span:  # its arms
                ctx.out.items[at : at + 1] = inlining.doubtful([item]).items


def _in_common(ctx: Context, one: Ref, other: Ref, expr: tree.Expr) -> list[Ref]:
    """Both arms as the class of which the one is the base of the other."""
    return [
        base_classes.converted(ctx, one, other.kind, expr),
        base_classes.converted(ctx, other, one.kind, expr),
    ]


def _note_converted_arm(ctx: Context, expr: tree.Ternary, yes: Value | Ref, no: Value | Ref) -> None:
    """One arm is an object and the other is none: either is converted ([expr.cond]/4)."""
    held = [ctx.variables.objects.get(each.index) if isinstance(each, Var) else None for each in (yes, no)]
    known = held[0] or held[1]
    if known is not None and None in held:
        record = known.record
        written = [*special_members.constructors(record), *conversion_functions.to_numbers(record)]
        what = Cause(CauseKind.CHOSEN_OBJECT, names=(record.decl.name,))
        implicit_calls.not_followed(ctx, written, what, expr)


def _made(ctx: Context, expr: tree.Ternary, scope: LocalScope) -> Record | None:
    """The class of the object that both arms make; None: they make none, or it is not followed."""
    if not (isinstance(expr.yes, _MAKING) and isinstance(expr.no, _MAKING)):
        return None
    record = objects.followed(expression_types.of(ctx, expr, scope))
    if record is None or value_categories.given(ctx, expr, scope).category is not Category.PRVALUE:
        return None
    return record


_MAKING = (tree.Binary, tree.Call, tree.Cast, tree.Index, tree.Ternary, tree.Unary)


def _object(ctx: Context, expr: tree.Ternary, condition: Value, record: Record, scope: LocalScope) -> Value:
    """Either arm makes the object that the whole makes ([expr.cond]/7)."""
    made = constructors.new(ctx, "", record, [class_name(record)])
    point = ctx.out.next_point()
    with ctx.out.collect() as then, lifetimes.arm(ctx):
        constructors.give(ctx, made, record, expr.yes, scope)
    with ctx.out.collect() as otherwise, lifetimes.arm(ctx):
        constructors.give(ctx, made, record, expr.no, scope)
    where = ctx.at.span(expr.lo, expr.hi), ctx.at.line(expr.lo)
    ctx.out.emit(Branch(point, condition, Seq(tuple(then)), Seq(tuple(otherwise)), *where))
    lifetimes.begin_temporary(ctx, made, record, expr)
    return Var(made.index)
