"""What an expression does to the state when its value is read or its object is handed on: loads, lost addresses,
objects that a name stands for."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Value, Var
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import (
    Address,
    BufferName,
    Closure,
    LocalScope,
    Meaning,
    This,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import type_of
from smem_lsp.semantics.types import Record, Type, is_number, plain_type
from smem_lsp.syntax import tree

_MAX_NESTED = 8  # lambdas that name lambdas


def load(
    ctx: Context, result: Value | Ref, expr: tree.Expr, *, pointer: bool = False, copied: bool = False
) -> Value | Ref:
    """Lvalue to rvalue: an element is read, an array becomes the address of its first element, an object what its class
    converts it to. ``pointer``: an address is wanted; ``copied``: an object of the same class is. Of a member whose
    type is not known its use says what it is: ``number`` where only a number can stand."""
    loaded = _loaded(ctx, result, expr, pointer, copied)
    if ctx.around.stated and ctx.at.function is ctx.at.kernel and not isinstance(loaded, Ref):
        if words(ctx, expr) in ctx.around.stated:
            ctx.agreed.add(loaded)
    return loaded


def number(loaded: Value | Ref) -> Value | Ref:
    """What is loaded where no array can stand: then a member whose type is not known is none."""
    return loaded.loaded if isinstance(loaded, Ref) and loaded.loaded is not None else loaded


def assigned(loaded: Value | Ref, kind: Type | None) -> Value | Ref:
    """What a variable of this type gets. None: any type."""
    return number(loaded) if is_number(kind) else loaded


def words(ctx: Context, expr: tree.Expr) -> str:
    """An expression without white space. Parentheses around its first or last part are no part of its tree."""
    texts, lo, hi = ctx.at.body.tokens.texts, ctx.at.base + expr.lo, ctx.at.base + expr.hi
    opened = texts[lo:hi].count("(") - texts[lo:hi].count(")")
    return "(" * -opened + "".join(texts[lo:hi]) + ")" * opened


def _loaded(ctx: Context, result: Value | Ref, expr: tree.Expr, pointer: bool, copied: bool) -> Value | Ref:
    if not isinstance(result, Ref) or result.pointer:
        return result
    if result.shape:
        return result.decayed()
    if result.loaded is not None:
        return result.loaded
    converted = None if copied else ctx.lower.converted(ctx, result, expr)
    if converted is not None:
        return converted
    ctx.access(result, AccessKind.READ, expr.lo, expr.hi)
    stored = ctx.stored_address(result)
    if stored is not None:
        return stored
    if pointer and _may_be_object(ctx, result) and not ctx.points_to.stored_in(result):
        part = None if result.part_of is None else replace(result.part_of, stand_in=None)
        # of an array or an object, which lies in the member, or it leads out of shared memory
        return Ref(result.bases, pointer=True, part_of=part, outside=True)
    whole = len(result.bases) == 1 and result.first_bit is None
    loaded = ctx.out.fresh(access=ctx.out.items[-1].point if whole else None)
    stored_in = ctx.points_to.stored_in(result)
    ctx.points_to.add_value(loaded, stored_in)
    if result.unclear and stored_in:
        ctx.escape(result, expr.lo, Cause(CauseKind.PERHAPS_ARRAY))
        return ctx.lost_address(result.bases)
    return result.perhaps(loaded) if result.unclear else loaded


def _may_be_object(ctx: Context, place: Ref) -> bool:
    """May what is at a place be converted to its own address, its type not being known?"""
    if isinstance(plain_type(place.kind), Record):
        return True
    return place.kind is None and not place.bases <= ctx.buffers.pointer_elements


def forget(ctx: Context, variable: Var) -> None:
    """The variable may change behind our back."""
    ctx.assign(variable.index, ctx.out.fresh(escaped=True))


def forget_bound(ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
    """Every variable that ``expr`` may be as a whole, and that can therefore be changed through it."""
    found = designated(ctx, expr, scope)
    if found is not None:
        if not found.constant:
            ctx.escape_members(found.index, expr.lo)
            forget(ctx, Var(found.index))
        return
    match expr:
        case tree.Ternary():
            forget_bound(ctx, expr.yes, scope)
            forget_bound(ctx, expr.no, scope)
        case tree.Binary():
            if expr.operator == ",":
                forget_bound(ctx, expr.right, scope)
        case tree.Assign():
            forget_bound(ctx, expr.target, scope)
        case tree.Unary(operator="*"):
            _forget_pointed(ctx, expr.operand, scope)
        case tree.Unary() | tree.Cast():
            forget_bound(ctx, expr.operand, scope)
        case tree.Member():
            forget_bound(ctx, expr.base, scope)


def _forget_pointed(ctx: Context, pointer: tree.Expr, scope: LocalScope) -> None:
    """What is changed through ``*pointer``: not the pointer itself."""
    while isinstance(pointer, tree.Cast):
        pointer = pointer.operand
    if isinstance(pointer, tree.Name) and isinstance(scope.lookup(pointer.text), Variable):
        return
    forget_bound(ctx, pointer, scope)


def name_buffers(ctx: Context, lo: int, hi: int, scope: LocalScope, why: Cause, depth: int = 0) -> None:
    """Fix every buffer that the body tokens ``[lo, hi)`` name or may reach: they were not understood."""
    line = ctx.at.line_at(ctx.at.body.site(lo, hi).start)
    for kind, text in zip(ctx.at.body.tokens.kinds[lo:hi], ctx.at.body.tokens.texts[lo:hi]):
        if kind != "NAME" and text != "this":
            continue
        meaning = scope.lookup(text)
        bases: frozenset[int] = frozenset()
        if isinstance(meaning, Closure) and depth < _MAX_NESTED:
            first, last = meaning.base + meaning.node.body[0], meaning.base + meaning.node.body[1]
            with ctx.at.within(meaning.function):
                name_buffers(ctx, first, last, meaning.scope, why, depth + 1)
        if isinstance(meaning, BufferName):
            bases = frozenset((meaning.buffer,))
        elif isinstance(meaning, View):
            bases = meaning.target.bases
        elif isinstance(meaning, Variable):
            bases = _given_up(ctx, meaning, line)
        elif isinstance(meaning, Address):
            bases = _given_up(ctx, meaning.variable, line)
        elif isinstance(meaning, This):
            target = meaning.target
            bases = target.bases if isinstance(target, Ref) else _given_up(ctx, target, line)
        if bases:
            ctx.buffers.pin(bases, CauseKind.NAMED_AT, line, of=why)
            ctx.limits.note(CauseKind.NAMED, line, of=why, accesses=len(bases))


def _given_up(ctx: Context, variable: Variable, line: Row) -> frozenset[int]:
    """A variable of which nothing is known any more, but that a constant one is what it was; what it leads into."""
    bases = ctx.points_to.of_name(variable)
    ctx.note_hidden(variable, line)
    if variable.index not in ctx.variables.numbers_only:
        ctx.outside.hand_out(Var(variable.index))
    if not variable.constant:
        ctx.assign(variable.index, ctx.out.fresh(escaped=True))
    return bases


def designated(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Variable | None:
    """The variable that an expression is another name for: its own, a member of an object, what an address leads to."""
    match expr:
        case tree.Name():
            meaning = scope.lookup(expr.text)
            return meaning if isinstance(meaning, Variable) else None
        case tree.Member():
            found = member(ctx, expr, scope)
            return found if isinstance(found, Variable) else None
        case tree.Unary() if expr.operator == "*":
            return pointed_to(expr.operand, scope)
        case tree.Call(callee=tree.Name(text=text), arguments=[only]) if text in SAME_OBJECT:
            return designated(ctx, only, scope)
        case tree.Cast() if expr.type.pointers in (["&"], ["&&"]):
            found = designated(ctx, expr.operand, scope)
            held = None if found is None else ctx.variables.objects.get(found.index)
            if found is not None and held is not None and found.seen_as is None:
                found = replace(found, seen_as=held.record)
            return None if found is None else _as_class(found, expr, scope)
    return None


SAME_OBJECT = frozenset(("std::move", "std::forward", "cuda::std::move", "cuda::std::forward"))
"""They return what they get ([forward])."""


def member(ctx: Context, expr: tree.Member, scope: LocalScope) -> Meaning | None:
    """The member of an object that is followed; None: something else."""
    if expr.operator == ".":
        base = designated(ctx, expr.base, scope)
    elif expr.operator == "->":
        base = pointed_to(expr.base, scope)
    else:
        return None
    known = None if base is None else ctx.variables.objects.get(base.index)
    return None if known is None else known.members.get(expr.name)


def seen_as(ctx: Context, variable: Variable) -> Record | None:
    """The class that an object is used as; None: its members are not followed. To ask makes nothing of a parameter."""
    known = ctx.variables.objects.get(variable.index)
    record = ctx.variables.parameters.get(variable.index) if known is None else known.record
    return None if record is None else variable.seen_as or record


def pointed_to(expr: tree.Expr, scope: LocalScope) -> Variable | None:
    """The variable that an expression is the address of."""
    if isinstance(expr, tree.Name):
        meaning = scope.lookup(expr.text)
        if isinstance(meaning, Address):
            return meaning.variable
        if isinstance(meaning, This) and isinstance(meaning.target, Variable):
            return replace(meaning.target, seen_as=meaning.record)
    if isinstance(expr, tree.Cast) and expr.type.pointers == ["*"]:
        found = pointed_to(expr.operand, scope)
        return None if found is None else _as_class(found, expr, scope)
    return None


def _as_class(variable: Variable, expr: tree.Cast, scope: LocalScope) -> Variable | None:
    """An object behind a ``static_cast`` to a base of its class, or to one that is made from it
    ([expr.static.cast])."""
    kind = type_of.specified(expr.type, scope.constant_scope())
    record = plain_type(kind)
    if variable.plain or not isinstance(record, Record) or expr.style not in ("static_cast", "c"):
        return None
    if expr.style == "c":  # it may be to any other class
        own = variable.seen_as
        if own is None or not (record in with_bases(own) or own in with_bases(record)):
            return None
    return replace(variable, seen_as=record)
