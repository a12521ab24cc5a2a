"""The functions that the name of a call finds where it stands ([basic.lookup])."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.elaborate.call_sites import Arguments, Site
from smem_lsp.elaborate.parameters import is_friend, is_template, path_of
from smem_lsp.elaborate.static_members import functions_in
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.semantics.declarations import FunctionDecl, UsingDecl
from smem_lsp.semantics.entities import Functions
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Array, Pointer, Record, Scalar, Type, is_number, plain_type
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


def looked_up(
    site: Site, found: list[Function], callee: tree.Name, arguments: Arguments, scope: Scope
) -> list[Function]:
    """Those of some functions with one name that the name may find where it stands ([basic.lookup])."""
    *qualifiers, _ = callee.text.removeprefix("::").split("::")
    named = found
    if callee.text.startswith("::") and not qualifiers:
        found = [each for each in found if not each.enclosing] or found
    else:
        found = _in_scope(site, found, qualifiers)
    if "::" in callee.text:
        return found
    found = [*found, *(each for each in _friends(named, arguments) if each not in found)]
    used = _used(site, found, callee, scope)
    if used and all(map(_is_of_no_namespace, arguments.types)):
        return used
    return _not_hidden(site, _declared_in_front(site, found, arguments), arguments)


def _friends(named: Sequence[Function], arguments: Arguments) -> list[Function]:
    """Those that the class of an argument, or a base of it, defines as friends ([basic.lookup.argdep]/4)."""
    friends = [each for each in named if is_friend(each)]
    if not friends:
        return friends
    classes = {
        part.decl.name.rpartition("::")[2]
        for each in arguments.given
        for record in (pointed_class(each.type),)
        for part in (with_bases(record) if record is not None else ())
    }
    return [each for each in friends if each.enclosing[-1] in classes]


def pointed_class(kind: Type | None) -> Record | None:
    """The class that a type is, or that its addresses and arrays lead to ([basic.lookup.argdep]/3)."""
    kind = _pointed(kind)
    return kind if isinstance(kind, Record) else None


def _pointed(kind: Type | None) -> Type | None:
    kind = plain_type(kind)
    while isinstance(kind, Pointer | Array):
        kind = plain_type(kind.target if isinstance(kind, Pointer) else kind.element)
    return kind


def _used(site: Site, found: list[Function], callee: tree.Name, scope: Scope) -> list[Function]:
    """Those that ``using A::f;`` or ``using namespace A;`` brings in where nothing is declared in front of them
    ([basic.lookup.unqual]); empty: something is."""
    innermost = next(filter(None, (each.own(callee.text) for each in scope.outwards())), ())
    meaning = scope.resolve(callee)
    if not isinstance(meaning, Functions) or not all(isinstance(each, UsingDecl) for each, _ in innermost):
        return []
    homes = [home for _, home in meaning.overloads]
    return [each for each in found if any(site.top.inside(each.enclosing) is home for home in homes)]


def _in_scope(site: Site, found: list[Function], qualifiers: list[str]) -> list[Function]:
    """Those that a name with these qualifiers may mean here."""
    if qualifiers:
        return [f for f in found if path_of(f)[-len(qualifiers) :] == tuple(qualifiers)] or found
    inside = path_of(site.function)
    classes = site.unit.symbols.types
    return [
        f
        for f in found
        if path_of(f) == inside[: len(path_of(f))]
        or not any(name in classes for name in path_of(f))  # no method of another class
    ]


def _declared_in_front(site: Site, found: list[Function], arguments: Arguments) -> list[Function]:
    """Without the functions that are declared behind the one that calls ([basic.lookup.unqual]), if others are in
    front. Those of a class are seen in all of it, and a template finds functions of the namespaces of its arguments
    where it is used ([temp.dep.candidate])."""
    here = site.function
    at = here.number, here.first_token
    late = [f for f in found if (f.number, f.first_token) > at and not _is_member(site, f)]
    if not late or len(late) == len(found):
        return found
    declared = site.top.inside(late[0].enclosing).own(late[0].name)
    if any(each.body is None for each in functions_in(declared)):
        return found  # perhaps in front
    if is_template(here) or _is_member(site, here):
        if not all(_is_of_no_namespace(each) for each in arguments.types):
            return found
    return [f for f in found if f not in late]


def _is_member(site: Site, function: Function) -> bool:
    return not site.unit.symbols.types.isdisjoint(path_of(function))


def _not_hidden(site: Site, found: list[Function], arguments: Arguments) -> list[Function]:
    """Without the functions of outer namespaces, where an inner one that is left has a function of this name in front
    of the call ([basic.lookup.unqual]), unless a class among the arguments may bring them in ([basic.lookup.argdep])
    or a ``using`` does."""
    here = site.function
    outer = {f.enclosing for f in found if f.enclosing == here.enclosing[: len(f.enclosing)]}
    if len(outer) < 2:
        return found
    at = here.number, here.first_token  # functions of headers have one number
    in_front = {f.enclosing for f in found if f.enclosing in outer and (f.number, f.first_token) < at}
    innermost = max(in_front, key=len, default=())
    declared = site.top.inside(innermost).own(found[0].name)
    if not all(isinstance(each, FunctionDecl) for each, _ in declared):
        return found
    if not all(_is_of_no_namespace(each) for each in arguments.types):
        return found
    return [f for f in found if f.enclosing not in outer or len(f.enclosing) >= len(innermost)]


def _is_of_no_namespace(kind: Type | None) -> bool:
    """Is it surely a type that stands in no namespace: a number, or an address of numbers?"""
    kind = _pointed(kind)
    return isinstance(kind, Scalar) and is_number(kind)
