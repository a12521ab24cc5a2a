"""The functions that the name of a call means together with its arguments ([basic.lookup.argdep])."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from smem_lsp.semantics import associated_entities
from smem_lsp.semantics.declarations import ClassDecl, DeclaredNames, FunctionDecl
from smem_lsp.semantics.entities import Functions, Undeclared
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Type
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax import stubs, tree


def with_those_of_arguments(
    callee: tree.Name,
    meaning: Functions | Undeclared,
    arguments: Iterable[tuple[tree.Expr, Type | None]],
    scope: Scope,
) -> Functions | None:
    """``meaning``, what the name of a call means by itself, with the functions that the arguments bring; none at all if
    neither of them declares one. None: others may take part."""
    named = meaning.overloads if isinstance(meaning, Functions) else ()
    if "::" in callee.text or any(not home.namespace for _, home in named):
        return Functions(named, meaning.arguments if isinstance(meaning, Functions) else None)
    brought = associated_entities.of_arguments(arguments, scope)
    if any(associated_entities.may_befriend(each, (callee.text, "(")) for each in brought.classes):
        return None
    overloads = dict(named)
    for space in brought.namespaces:
        for decl, home in space.own(callee.text):
            if isinstance(decl, FunctionDecl):
                overloads[decl] = home
    if brought.open and may_be_brought(callee.text, overloads.values(), brought.top):
        return None
    library = isinstance(meaning, Undeclared) and stubs.own().named(callee.text)
    if library and overloads:
        return None  # which competes
    explicit = callee.arguments[-1] if callee.arguments else None
    given = None if explicit is None else tuple(map(scope.argument, explicit))
    return Functions(tuple(overloads.items()), given)


def may_be_brought(name: str, seen: Iterable[Scope], scope: Scope) -> bool:
    """May some type bring a function of this name that is not among those seen?"""
    top = list(scope.outwards())[-1]
    levels = [each for each in top.declarations.levels() if name in each.names]
    homes = {id(each.declarations) for each in seen}
    others = (decl for each in levels if id(each) not in homes for decl in each.names[name])
    if any(isinstance(decl, FunctionDecl) for decl in others):
        return True
    return name in _FRIENDS.of(top.declarations.store, (), partial(_friends, top.declarations))


_FRIENDS = Query[tuple[()], frozenset[str]]("names of functions that classes may have for friends")


def _friends(top: DeclaredNames) -> frozenset[str]:
    found: set[str] = set()
    for decl in top.walk():
        checkpoint()
        if isinstance(decl, ClassDecl) and decl.body is not None:
            lo, hi = decl.body
            kinds, texts = decl.source.kinds[lo:hi], decl.source.texts[lo:hi]
            if "friend" in texts:
                found.update(
                    text
                    for at, text in enumerate(texts[:-1])
                    if kinds[at] == "NAME" and kinds[at + 1] == "LP"
                )
    return frozenset(found)
