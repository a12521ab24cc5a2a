"""Objects without a name that live as long as a reference that is bound to them or to a part of them
([class.temporary]/6).

Compilers disagree about some of them. ``nvcc`` 13 ends at once what a reference to a number inside of it should keep
(``const int& r = V{1}.v;``), and what a member of another object without a name is bound to (``H h = H{V{1}};``): what
becomes of a kernel that such a destructor tells in is left open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from smem_lsp.elaborate import special_members
from smem_lsp.elaborate.special_members import Special, class_name
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.lowering.body import (
    expression_types,
    implicit_calls,
    initialized_members,
    lifetimes,
    temporaries,
    value_categories,
)
from smem_lsp.lowering.body.class_parts import Field
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Array, Pointer, Record, Reference, Type, plain_type
from smem_lsp.source import checkpoint, record
from smem_lsp.syntax import tree


@record
class _KeptTemporary:
    """What makes an object that is kept. ``agreed``: do compilers agree that it is?"""

    expr: tree.Expr
    agreed: bool = True


def by_reference(ctx: Context, kind: Type | None, expr: tree.Expr, scope: LocalScope, first: int) -> None:
    """A reference is declared in ``scope``. ``kind``: its type; ``expr``: what it is bound to; ``first``: how many
    objects ended with the block before it."""
    target = plain_type(kind.target) if isinstance(kind, Reference) else None
    _keep(ctx, list(_by_reference(ctx, target, expr, scope)), scope, first)


def by_members(ctx: Context, kind: Type | None, expr: tree.Expr, scope: LocalScope, first: int) -> None:
    """An object of type ``kind`` is declared: what members of it that are references are bound to is kept."""
    _keep(ctx, list(_inside(ctx, kind, expr, scope, agreed=True)), scope, first)


def _keep(ctx: Context, found: Sequence[_KeptTemporary], scope: LocalScope, first: int) -> None:
    endings = [(each, lifetimes.made_by(ctx, each.expr)) for each in found]
    order = {each.variable.index: at for at, each in enumerate(ctx.temporaries)}
    for kept in found:
        if not kept.agreed:
            _note(ctx, kept.expr, scope)
    made = [ending for kept, ending in endings if ending is not None and kept.agreed]
    for ending in sorted(made, key=lambda each: -order[each.variable.index]):
        checkpoint()
        lifetimes.keep(ctx, ending, scope, first)


def _note(ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
    """Whether an object is kept is open."""
    made = lifetimes.made_by(ctx, expr)
    kind = expression_types.of(ctx, expr, scope) if made is None else made.record
    if not isinstance(kind, Record) or not special_members.runs_code(kind, Special.DESTROY):
        return
    if made is not None or value_categories.is_prvalue(ctx, expr, kind, scope):
        implicit_calls.note(ctx, Cause(CauseKind.TEMPORARY_LIFETIME, names=(class_name(kind),)), expr)


def _by_reference(
    ctx: Context, target: Type | None, expr: tree.Expr, scope: LocalScope
) -> Iterator[_KeptTemporary]:
    """What is kept by a reference to type ``target``."""
    yield from _bound(ctx, expr, scope)
    yield from _parts(ctx, target, expr, scope)
    if not isinstance(expr, tree.Braces):
        return
    if isinstance(target, Array):
        yield from map(_KeptTemporary, expr.items)  # what makes an element is the element
        if len(expr.items) != target.count or not all(lifetimes.made_by(ctx, each) for each in expr.items):
            _note_array(ctx, target, expr)
    elif len(expr.items) == 1:  # `T& r{x}`, `T& r(x)`
        yield from _bound(ctx, expr.items[0], scope)
        yield from _parts(ctx, target, expr.items[0], scope)


def _note_array(ctx: Context, kind: Array, at: tree.Expr) -> None:
    """Elements of an array without a name are made that are not followed."""
    element = special_members.element_of(kind)
    if isinstance(element, Record) and special_members.runs_code(element, Special.DESTROY):
        implicit_calls.note(ctx, Cause(CauseKind.TEMPORARY_ARRAY, names=(class_name(element),)), at)


# ---- what a reference is bound to ------------------------------------------------------------------------------------


def _bound(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Iterator[_KeptTemporary]:
    """What makes the object, or the one around the part, that a reference is bound to."""
    checkpoint()
    yield _KeptTemporary(expr)
    match expr:
        case tree.Member(operator="."):
            record = expression_types.of(ctx, expr.base, scope)
            if isinstance(record, Record) and expression_types.is_reference_member(record, expr.name):
                return
            kind = expression_types.of(ctx, expr, scope)
            yield from _around(ctx, expr.base, scope, agreed=isinstance(kind, Record | Array))
        case tree.Index():
            base = expression_types.of(ctx, expr.base, scope)
            if not isinstance(base, Record | Pointer):
                yield from _around(ctx, expr.base, scope, agreed=False)
        case tree.Binary(operator=".*"):
            yield from _around(ctx, expr.left, scope, agreed=False)
        case tree.Binary(operator=","):
            yield from _bound(ctx, expr.right, scope)
        case tree.Cast() if expr.type.pointers in (["&"], ["&&"]):
            yield from _bound(ctx, expr.operand, scope)
        case tree.Ternary():
            for arm in (expr.yes, expr.no):
                part = next((kept for kept in _bound(ctx, arm, scope) if kept.expr is not arm), None)
                yield _KeptTemporary(arm)
                if part is not None:
                    yield _KeptTemporary(part.expr, agreed=False)


def _around(ctx: Context, expr: tree.Expr, scope: LocalScope, *, agreed: bool) -> Iterator[_KeptTemporary]:
    """What makes the object whose part a reference is bound to."""
    for kept in _bound(ctx, expr, scope):
        yield _KeptTemporary(kept.expr, agreed and kept.agreed)


def _parts(ctx: Context, target: Type | None, expr: tree.Expr, scope: LocalScope) -> Iterator[_KeptTemporary]:
    """What members of an object that a reference keeps are bound to."""
    if isinstance(expr, tree.Braces):
        yield from _inside(ctx, target, expr, scope, agreed=False)
    else:
        for kept in _bound(ctx, expr, scope):
            yield from _inside(ctx, None, kept.expr, scope, agreed=False)


# ---- members that are references -------------------------------------------------------------------------------------


def _inside(
    ctx: Context, kind: Type | None, expr: tree.Expr, scope: LocalScope, *, agreed: bool
) -> Iterator[_KeptTemporary]:
    """What members are bound to of an object of type ``kind`` that an expression makes: a list in braces, ``T{...}``;
    other constructors and functions keep nothing."""
    checkpoint()
    if isinstance(expr, tree.Braces):
        yield from _elements(ctx, kind, expr, deque(expr.items), scope, agreed=agreed)
    elif isinstance(expr, tree.Cast) and expr.listed is not None:
        made = temporaries.made(expr, scope)
        if made is not None:
            yield from _inside(ctx, made, expr.listed, scope, agreed=False)


def _elements(
    ctx: Context,
    kind: Type | None,
    braces: tree.Braces,
    items: deque[tree.Expr],
    scope: LocalScope,
    *,
    agreed: bool,
) -> Iterator[_KeptTemporary]:
    """The same of an aggregate, whose elements take what they need of the items that are left ([dcl.init.aggr])."""
    kind = plain_type(kind)
    if isinstance(kind, Array):
        while items:
            checkpoint()
            yield from _element(ctx, kind.element, False, braces, items, scope, agreed=agreed)
    if not isinstance(kind, Record) or special_members.constructors(kind):
        items.clear()
        return
    for base in bases_of(kind):
        if items:
            yield from _element(ctx, base, False, braces, items, scope, agreed=agreed)
    for field in initialized_members.own_fields(kind):
        checkpoint()
        own = _named(field.name, braces) if braces.names else items
        if own:
            yield from _element(ctx, field.type, field.reference, braces, own, scope, agreed=agreed)
        elif field.reference and field.declarator.initializer is not None:
            _note_default(ctx, field, braces)


def _named(name: str, braces: tree.Braces) -> deque[tree.Expr]:
    return deque(item for item, each in zip(braces.items, braces.names) if each == name)


def _note_default(ctx: Context, field: Field, at: tree.Expr) -> None:
    """What a member that is a reference gets where nothing is given for it: compilers disagree about that, too."""
    kind = plain_type(field.type.target if isinstance(field.type, Reference) else field.type)
    if isinstance(kind, Record) and special_members.runs_code(kind, Special.DESTROY):
        implicit_calls.note(ctx, Cause(CauseKind.BOUND_LIFETIME, names=(field.name,)), at)


def _element(
    ctx: Context,
    kind: Type | None,
    reference: bool,
    braces: tree.Braces,
    items: deque[tree.Expr],
    scope: LocalScope,
    *,
    agreed: bool,
) -> Iterator[_KeptTemporary]:
    first = items[0]
    kind = plain_type(kind)
    if reference:
        for kept in _by_reference(ctx, kind, first, scope):
            yield _KeptTemporary(kept.expr, agreed and kept.agreed)
    elif not isinstance(first, tree.Braces) and _takes_parts(ctx, kind, first, scope):
        yield from _elements(ctx, kind, tree.Braces(braces.lo, braces.hi, []), items, scope, agreed=agreed)
        return
    else:
        yield from _inside(ctx, kind, first, scope, agreed=agreed)
    items.popleft()


def _takes_parts(ctx: Context, kind: Type | None, item: tree.Expr, scope: LocalScope) -> bool:
    """Are the braces around the parts of an element left out ([dcl.init.aggr]/16)?"""
    if not isinstance(kind, Record):
        return isinstance(kind, Array)
    if special_members.constructors(kind):
        return False
    given = expression_types.of(ctx, item, scope)
    return not (isinstance(given, Record) and kind in with_bases(given))
