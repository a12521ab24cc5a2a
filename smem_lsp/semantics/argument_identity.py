"""Which types and values a template is given, in words that hold in every version of a file."""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.semantics.declarations import ClassDecl, EnumDecl, record_start
from smem_lsp.semantics.entities import Argument, Template, TypedConstant
from smem_lsp.semantics.function_scope import meaning_of_names, spelling_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import (
    Array,
    Enum,
    Listed,
    Named,
    Pointer,
    Qualified,
    Record,
    Reference,
    Sequence,
)
from smem_lsp.syntax.parse import TranslationUnit


def identify_arguments(
    unit: TranslationUnit, top: Scope, arguments: Iterable[Argument]
) -> tuple[object, ...]:
    """A key of template arguments in a file: equal keys mean equal arguments, in another version of the file, too, or
    in another file that reads the same header. ``top``: the global scope of the file."""
    names: set[str] = set()
    found = tuple(_identity(each, top, names) for each in arguments)
    return (found, meaning_of_names(unit, top, frozenset(names))) if names else (found,)


def _identity(argument: Argument, top: Scope, names: set[str]) -> object:
    """Classes and enumerations at namespace scope, and what is inside of them, by how they are declared; ``names`` gets
    theirs. Those of a function's body are themselves: no other version has the same."""
    match argument:
        case TypedConstant(kind, n, real, members):
            parts = tuple((name, _identity(each, top, names)) for name, each in members or ())
            return TypedConstant, _identity(kind, top, names), n, real, parts
        case Pointer(target, size):
            return Pointer, _identity(target, top, names), size
        case Reference(target, rvalue):
            return Reference, _identity(target, top, names), rvalue
        case Qualified(target, constant, volatile):
            return Qualified, _identity(target, top, names), constant, volatile
        case Array(element, count) | Sequence(element, count):
            return type(argument), _identity(element, top, names), count
        case Listed(element, values):
            return Listed, _identity(element, top, names), values
        case Named(name, arguments):
            return Named, name, tuple(_identity(each, top, names) for each in arguments)
        case Enum(decl, scope):
            return _declared(decl, scope, argument, top, names)
        case Record(decl, scope):
            home, given = scope.parent, None
            if decl.parameters:
                if home is None or not all(each.name for each in decl.parameters):
                    return argument
                given = tuple(_identity(home.bound.get(p.name), top, names) for p in decl.parameters)
                home = home.parent
            return _declared(decl, home, argument, top, names), given
        case Template(((decl, _),)) if isinstance(decl, ClassDecl):
            return Template, _declared(decl, None, argument, top, names)
    return argument


def _declared(
    decl: ClassDecl | EnumDecl, home: Scope | None, argument: Argument, top: Scope, names: set[str]
) -> object:
    spelled = spelling_of(decl, top)
    if spelled is not None:
        names.add(spelled[0])
        return spelled
    outer = None if home is None else home.record
    if outer is None or outer.decl.source is not decl.source:
        return argument
    names.add(decl.name)
    return _identity(outer, top, names), decl.name, record_start(decl) - outer.decl.start
