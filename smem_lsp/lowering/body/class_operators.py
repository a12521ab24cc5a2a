"""What a class makes of an expression: the address that an object is converted to, and the operators that it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from smem_lsp.elaborate import conversion_functions
from smem_lsp.elaborate.special_members import class_name
from smem_lsp.ir.values import Value
from smem_lsp.lowering.body import (
    expression_types,
    implicit_calls,
    methods,
    objects,
    open_instances,
    temporaries,
)
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import collect
from smem_lsp.semantics.declarations import ClassDecl, FunctionDecl, Range, Source
from smem_lsp.semantics.entities import Template
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Record, plain_type
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree

_IN_MEMORY = (tree.Index, tree.Unary, tree.Member)
_OBJECTS = (tree.Name, tree.Member, tree.Unary, tree.Call, tree.Cast)  # all that may be an object of a thread


def as_pointer(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Value | Ref | None:
    """The address that an object of a thread is converted to by an ``operator T*`` of its class; None: not known."""
    if not isinstance(expr, _OBJECTS):
        return None
    designated = effects.designated(ctx, expr, scope)
    if designated is not None:
        known = objects.of_variable(ctx, designated)
        record = None if known is None else known.record
        if record is None and (designated.plain or designated.array):
            return None
    else:
        record = temporaries.made(expr, scope) if temporaries.is_quiet(expr) else None
    if record is None:
        return open_instances.converted(ctx, expr, scope)
    name = _to_pointer(conversions(record) or ())
    if name is None:
        return None
    variable = temporaries.temporary(ctx, expr, scope) if designated is None else designated
    return None if variable is None else _call(ctx, record, variable, name, (), expr, scope)


def as_number(ctx: Context, expr: tree.Expr, scope: LocalScope, *, truth: bool = False) -> Value | Ref | None:
    """What an object of a thread is converted to where a number is wanted ([class.conv.fct]); None: it is none, or its
    class has no such conversion. ``truth``: it is asked whether it is 0."""
    record = _class_of(ctx, expr, scope) if isinstance(expr, _OBJECTS) else None
    if record is None and isinstance(expr, _IN_MEMORY):
        _note_unseen_conversion(ctx, expr, scope)
        return None
    known = () if record is None else conversion_functions.to_numbers(record)
    if record is None or not known:
        return None
    wanted = conversion_functions.wanted(known, record, truth=truth)
    found = effects.designated(ctx, expr, scope)
    target = temporaries.temporary(ctx, expr, scope) if found is None else found
    result = None
    if wanted is not None and target is not None:
        result = _call(ctx, record, target, wanted.name, (), expr, scope)
    if result is None:
        what = f"the conversion of {class_name(record)}"
        reached = target is not None and bool(ctx.points_to.of_name(target))
        implicit_calls.not_followed(ctx, known, what, expr, reached=reached)
        return ctx.out.fresh()
    return effects.load(ctx, result, expr)


def _note_unseen_conversion(ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
    """Objects in memory are converted by functions that are not followed."""
    if isinstance(expr, tree.Unary) and expr.operator != "*":
        return
    kind = expression_types.of(ctx, expr, scope)
    known = conversion_functions.to_numbers(kind) if isinstance(kind, Record) else ()
    if isinstance(kind, Record) and known:
        implicit_calls.not_followed(ctx, known, f"the conversion of {class_name(kind)}", expr)


def _class_of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Record | None:
    found = effects.designated(ctx, expr, scope)
    if found is not None:
        return None if found.array else objects.seen_as(ctx, found)
    return temporaries.made(expr, scope)


def of_shared(ctx: Context, place: Ref, expr: tree.Expr) -> Value | Ref | None:
    """What an object in shared memory is converted to where it is no copy that is wanted; None: it is read as it is."""
    record = plain_type(place.kind)
    known = conversions(record) if isinstance(record, Record) else ()
    if not isinstance(record, Record) or not known:
        return None
    name = known[0] if len(known) == 1 else _to_pointer(known)
    if name is not None and objects.placed(record) is not None:
        around = LocalScope(constants=ctx.around.file_constants)
        found = _call(ctx, record, place, name, (), expr, around)
        if found is not None:
            return found
    ctx.escape(place, expr.lo, "converted to what is not followed")
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
        ctx.limits.note_hidden(name, ctx.at.line(at))


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


def applied(
    ctx: Context,
    place: Ref,
    operator: str,
    arguments: Sequence[tree.Expr],
    expr: tree.Expr,
    scope: LocalScope,
) -> Value | Ref | None:
    """What an operator of its class makes of an object in shared memory; None: it has none that is followed."""
    record = objects.placed(place.kind)
    if record is None or place.shape or place.pointer:
        return None
    return _call(ctx, record, place, f"operator{operator}", arguments, expr, scope)


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
    ctx: Context,
    record: Record,
    target: methods.Target,
    name: str,
    arguments: Sequence[tree.Expr],
    expr: tree.Expr,
    scope: LocalScope,
) -> Value | Ref | None:
    called = tree.Name(expr.lo, expr.hi, name)
    call = tree.Call(expr.lo, expr.hi, called, list(arguments))
    return methods.on(ctx, record, target, called, call, scope)


def _to_pointer(names: Sequence[str]) -> str | None:
    """The one conversion to a pointer, of a const one and its twin the other."""
    pointers = [name for name in names if name.endswith("*")]
    found = [name for name in pointers if not name.startswith("operatorconst")] or pointers
    return found[0] if len(found) == 1 else None
