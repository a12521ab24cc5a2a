"""What a class makes of an expression: the address that an object is converted to, and the operators that it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.elaborate import conversion_functions
from smem_lsp.elaborate.conversion_functions import Wanted
from smem_lsp.elaborate.special_members import class_name
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Const, Value, Var
from smem_lsp.lowering.body import (
    constructors,
    expression_types,
    expressions,
    implicit_calls,
    methods,
    objects,
    open_instances,
    operator_calls,
    value_categories,
)
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import collect
from smem_lsp.semantics.declarations import ClassDecl, FunctionDecl, Range, Source
from smem_lsp.semantics.entities import Template
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Record, Type, is_number, plain_type
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree

_MAY_BE_PLACES = (tree.Index, tree.Member, tree.Unary, tree.Call)


def as_pointer(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
    """An expression where an address is wanted: an object is converted by an ``operator T*`` of its class."""
    found = effects.designated(ctx, expr, scope)
    if found is not None:
        known = None if found.plain or found.array else effects.seen_as(ctx, found)
        converted = None
        if known is not None:
            converted = _to_pointer(ctx, known, found, expr, scope)
        elif not (found.plain or found.array):
            converted = open_instances.converted(ctx, expr, scope)
        return expressions.operand(ctx, expr, scope) if converted is None else converted
    if isinstance(expr, tree.Call | tree.Cast):
        start = open_instances.converted(ctx, expr, scope)
        if start is not None:
            return start
    result = expressions.operand(ctx, expr, scope)
    held = _object(ctx, result)
    converted = None if held is None else _to_pointer(ctx, *held, expr, scope)
    return result if converted is None else converted


def _to_pointer(
    ctx: Context, record: Record, target: methods.Target, expr: tree.Expr, scope: LocalScope
) -> Value | Ref | None:
    name = _named_pointer(conversions(record) or ())
    return None if name is None else _call(ctx, record, target, name, expr, scope)


def as_number(
    ctx: Context,
    expr: tree.Expr,
    scope: LocalScope,
    *,
    kind: Type | None = None,
    truth: bool = False,
    explicit: bool = False,
    place: bool = False,
) -> Value | Ref:
    """An expression where a number is wanted: an object is converted by its class ([class.conv.fct]). ``kind``: which
    number, if it is known; ``truth``: it is asked whether it is 0; ``explicit``: a cast asks; ``place``: a reference is
    bound to it."""
    wanted = Wanted(kind, truth, explicit, place=place)
    found = effects.designated(ctx, expr, scope)
    if found is not None:
        record = None if found.array else effects.seen_as(ctx, found)
        known = () if record is None else conversion_functions.to_numbers(record)
        if record is None or not known:
            if truth and record is not None and _named_pointer(conversions(record) or ()) is not None:
                return as_pointer(ctx, expr, scope)
            result = expressions.operand(ctx, expr, scope)
            return result if record is not None else _of_unknown_type(ctx, result, expr, scope)
        return _to_number(ctx, record, found, expr, scope, wanted)
    return of_result(ctx, expressions.operand(ctx, expr, scope), expr, scope, wanted)


def as_bound(ctx: Context, kind: Type | None, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
    """What a reference to type ``kind`` is bound to: an object becomes a number first if that is one."""
    given = expression_types.of(ctx, expr, scope) if is_number(plain_type(kind)) else None
    converted = isinstance(given, Record) and bool(conversion_functions.to_numbers(given))
    number = plain_type(kind)
    if not converted:
        return expressions.operand(ctx, expr, scope)
    return as_number(ctx, expr, scope, kind=number, place=True)


def of_result(
    ctx: Context, result: Value | Ref, expr: tree.Expr, scope: LocalScope, wanted: Wanted
) -> Value | Ref:
    """What an expression has come to, where a number is wanted: itself, unless it is an object."""
    held = _object(ctx, result)
    if held is None and not isinstance(result, Ref | Const) and isinstance(expr, _MAY_BE_PLACES):
        if isinstance(expr, tree.Unary) and expr.operator != "*":
            return result
        kind = expression_types.of(ctx, expr, scope)
        if isinstance(kind, Record) and conversion_functions.to_numbers(kind):
            held = kind, operator_calls.not_placed(ctx, kind, result, expr, scope)
    if held is None:
        return _of_unknown_type(ctx, result, expr, scope)
    if not conversion_functions.to_numbers(held[0]):
        return result
    return _to_number(ctx, *held, expr, scope, wanted)


def _of_unknown_type(ctx: Context, result: Value | Ref, expr: tree.Expr, scope: LocalScope) -> Value | Ref:
    """The number of what may be an object that leads to shared memory: its class may read there to make one. What a
    call that is not followed does is told with the call."""
    reached = ctx.points_to.may_point_to(result) if isinstance(result, Var) else frozenset()
    if reached - ctx.points_to.escaped and expression_types.of(ctx, expr, scope) is None:
        implicit_calls.note(ctx, Cause(CauseKind.CONVERTED, names=(effects.words(ctx, expr),)), expr)
    return result


def _object(ctx: Context, result: Value | Ref) -> tuple[Record, methods.Target] | None:
    """The object that an expression has come to, and its class; None: it is none, or not known to be one."""
    if isinstance(result, Var):
        held = ctx.variables.objects.get(result.index)
        return None if held is None else (held.record, constructors.unnamed(result.index))
    if isinstance(result, Ref) and not (result.pointer or result.shape or result.loaded is not None):
        record = objects.placed(result.kind)
        return None if record is None else (record, result)
    return None


def _to_number(
    ctx: Context,
    record: Record,
    target: methods.Target,
    expr: tree.Expr,
    scope: LocalScope,
    wanted: Wanted,
) -> Value | Ref:
    known = conversion_functions.to_numbers(record)
    constant = value_categories.given(ctx, expr, scope).constant
    decl = conversion_functions.wanted(known, record, replace(wanted, constant=constant))
    result = None if decl is None else _call(ctx, record, target, decl.name, expr, scope)
    if result is not None:
        return result if wanted.place else effects.load(ctx, result, expr)
    if isinstance(target, Ref):
        ctx.access(target, AccessKind.UPDATE, expr.lo, expr.hi)  # it may only read
    reached = isinstance(target, Ref) or bool(ctx.points_to.of_name(target))
    what = Cause(CauseKind.CONVERSION, names=(class_name(record),))
    implicit_calls.not_followed(ctx, known, what, expr, reached=reached)
    return ctx.out.fresh()


def of_shared(ctx: Context, place: Ref, expr: tree.Expr) -> Value | Ref | None:
    """What an object in shared memory is converted to where it is no copy that is wanted; None: it is read as it is."""
    record = plain_type(place.kind)
    if not isinstance(record, Record):
        return None
    around = LocalScope(constants=ctx.around.file_constants)
    known = conversions(record)
    numbers = conversion_functions.to_numbers(record)
    if not known:
        return _to_number(ctx, record, place, expr, around, Wanted()) if numbers else None
    name = known[0] if len(known) == 1 else _named_pointer(known)
    if name is not None and objects.placed(record) is not None:
        found = _call(ctx, record, place, name, expr, around)
        if found is not None:
            return found
    ctx.escape(place, expr.lo, Cause(CauseKind.CONVERTED_AWAY))
    return ctx.lost_address(place.bases)


def hides(ctx: Context, record: Record) -> bool:
    """Do operators of a class or its bases name shared arrays? Who uses an object as a value may reach them."""
    return _HIDES.of(record.scope.state.store, record, partial(_found_hiding, ctx, record))


_HIDES = Query[Record, bool]("classes whose operators name shared arrays", cycle=False)


def _found_hiding(ctx: Context, record: Record) -> bool:
    for name, functions in collect.inside(record.decl).names.items():
        for function in functions if name.startswith("operator") else ():
            if isinstance(function, FunctionDecl) and _names_shared(ctx, function.source, function.body):
                return True
    return any(base is not None and hides(ctx, base) for base in bases_of(record))


def _names_shared(ctx: Context, source: Source, body: Range | None) -> bool:
    shared = ctx.at.unit.shared_names | {ctx.dialect.shared}
    return body is not None and not shared.isdisjoint(source.texts[slice(*body)])


def note_hidden(ctx: Context, name: str, at: int, scope: LocalScope) -> None:
    """An object is made whose class is not known: shared arrays in the text of a class of that name stay unseen."""
    if any(_names_shared(ctx, decl.source, decl.body) for decl in _classes(name, scope)):
        ctx.limits.note(CauseKind.REACHES, ctx.at.line(at), name, accesses=1)


def note_made(ctx: Context, made: Variable, at: int, scope: LocalScope) -> None:
    """A variable of a class that is not known. Where no constructor runs, shared arrays in the text of a class of that
    name stay unseen as soon as it is used."""
    name = made.of_class
    if made.array or any(collect.inside(decl).constructors for decl in _classes(name, scope)):
        note_hidden(ctx, name, at, scope)
    elif any(_names_shared(ctx, decl.source, decl.body) for decl in _classes(name, scope)):
        ctx.variables.hiding[made.index] = name


def _classes(name: str, scope: LocalScope) -> Iterator[ClassDecl]:
    """All specialisations of a class, by its name without arguments."""
    constants = scope.constant_scope()
    path = tuple(part for part in name.split("::") if part)
    meaning = constants.meaning(path, (None,) * len(path), absolute=name.startswith("::"))
    if isinstance(meaning, Template):
        yield from (decl for decl, _ in meaning.found if isinstance(decl, ClassDecl))
    if isinstance(meaning, Record):
        yield meaning.decl
    for outer in constants.outwards():
        for decl in outer.declarations.names.get(path[-1] if path else "", ()):
            if isinstance(decl, ClassDecl):
                yield decl


def conversions(record: Record) -> tuple[str, ...] | None:
    """The names of the conversions of a class and its bases to what may be, or hold, an address; None: not all of them
    are in sight."""
    if record.decl.body is None:
        return None
    names = [name for name in collect.inside(record.decl).names if _gives_address(record, name)]
    for base in bases_of(record):
        inherited = None if base is None else conversions(base)
        if inherited is None:
            return None
        names += inherited
    return tuple(dict.fromkeys(names))


def _gives_address(record: Record, name: str) -> bool:
    """Is a function of a class a conversion to a pointer, a reference or an object?"""
    target = name.removeprefix("operator").removeprefix("const")
    if target == name or not target[:1].isidentifier() or target in ("new", "delete"):
        return False
    if objects.is_conversion(name) or "<" in target:
        return True
    return isinstance(record.scope.resolve(tree.Name(0, 0, target)), Record)


def _call(
    ctx: Context, record: Record, target: methods.Target, name: str, expr: tree.Expr, scope: LocalScope
) -> Value | Ref | None:
    called = tree.Name(expr.lo, expr.hi, name)
    call = tree.Call(expr.lo, expr.hi, called, [])
    implied = replace(value_categories.given(ctx, expr, scope), type=record)
    return methods.on(ctx, record, target, called, call, scope, implied)


def _named_pointer(names: Sequence[str]) -> str | None:
    """The one conversion to a pointer, of a const one and its twin the other."""
    pointers = [name for name in names if name.endswith("*")]
    found = [name for name in pointers if not name.startswith("operatorconst")] or pointers
    return found[0] if len(found) == 1 else None
