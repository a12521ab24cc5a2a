"""The types that functions and lambdas return, to which each ``return`` converts its value ([stmt.return])."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from smem_lsp.semantics import type_of
from smem_lsp.semantics.declarations import Source
from smem_lsp.semantics.scope import Meanings, Scope
from smem_lsp.semantics.types import Reference, Type
from smem_lsp.source.queries import Query
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.lookahead import Symbols
from smem_lsp.syntax.parse import Body, Function


def returned_by_function(function: Function, scope: Scope) -> Type | None:
    """The type that a function is declared to return; None: a deduced or an unknown one. ``scope``: of its body, with
    its template arguments."""
    source, head, behind = declaration_of(function)
    work = partial(type_of.returned, source, head, behind, scope)
    return _RETURNED.once(scope.state.store, (function.definition, scope.meanings), work)


_RETURNED = Query[tuple[Definition, Scope | Meanings], Type | None]("types that functions return", most=4096)


def is_deduced(function: Function) -> bool:
    """Is the type that a function returns that of its ``return`` statements ([dcl.spec.auto.general]/3)?"""
    return "auto" in spelled_result(function)


def has_trailing_type(function: Function) -> bool:
    """Does the type of its result stand behind its parameters, which it may name ([dcl.fct]/2)?"""
    return _trailing(function) is not None


def returns_reference(function: Function, scope: Scope) -> bool | None:
    """Does a function return a reference, by its type after aliases and template arguments? None: what it returns
    decides, as for ``decltype(auto)`` ([dcl.type.decltype]). ``scope``: as in ``returned_by_function``."""
    kind = returned_by_function(function, scope)
    if kind is not None:
        return isinstance(kind, Reference)
    if result_mark(function) in ("AMP", "AND_AND"):
        return True
    return None if "decltype" in spelled_result(function) else False


def result_mark(function: Function) -> str:
    """The kind of the last token of the type of the result: ``T& f(...)``, ``operator T*()``, ``auto f() -> T&``."""
    source, head, _ = declaration_of(function)
    lo, hi = _trailing(function) or head
    return source.kinds[hi - 1] if hi > lo else ""


def spelled_result(function: Function) -> Sequence[str]:
    """The words of the type of the result."""
    source, head, _ = declaration_of(function)
    return source.texts[slice(*(_trailing(function) or head))]


def _trailing(function: Function) -> tuple[int, int] | None:
    """The tokens of the type behind ``->``; None: there is none."""
    source, _, (lo, hi) = declaration_of(function)
    return next(((at + 1, hi) for at in range(lo, hi) if source.texts[at] == "->"), None)


def declaration_of(function: Function) -> Declaration:
    """The declaration of a function without its body: its tokens; those before its name, without the template header;
    those between parameters and body."""
    return _HEAD.of(function.definition.store, function.symbols, lambda: _declaration(function))


def returned_by_lambda(
    body: Body, parameters: tuple[int, int] | None, braces: int, scope: Scope
) -> Type | None:
    """The type behind ``->`` of a lambda in a body. ``parameters``: tokens between its parentheses; ``braces``: where
    its own body begins. None: the type is deduced, or not known."""
    if parameters is None:
        return None
    source = Source(body.tokens.kinds, body.tokens.texts, body.ahead.partner, body.symbols)
    return type_of.trailing(source, parameters[1] + 1, braces - 1, scope)


Declaration = tuple[Source, tuple[int, int], tuple[int, int]]
_HEAD = Query[Symbols, Declaration]("declaration of a function without its body", most=2)


def _declaration(function: Function) -> Declaration:
    """Its tokens; those before its name, without the template header; those between parameters and body."""
    definition = function.definition
    island = definition.island
    tokens = definition.part(0, island.body[0])
    source = Source(tokens.kinds, tokens.texts, match_brackets(tokens.kinds), function.symbols)
    operator = "OPERATOR" in source.kinds[: island.name + 1]
    name = source.kinds.index("OPERATOR") if operator else island.name
    head = _behind_header(source, name), _name_begins(source, name)
    if operator and source.kinds[name + 1] in ("TYPE", "NAME", "QUALIFIER", "TYPENAME", "SCOPE"):
        head = name + 1, island.parameters[0] - 1  # the type that a conversion function is named after
    return source, head, (island.parameters[1] + 1, island.body[0] - 1)


def _behind_header(source: Source, name: int) -> int:
    """Where a declaration begins behind ``template <...>``, however many of them, and a ``requires`` is none."""
    at = 0
    while at < name and source.kinds[at] == "TEMPLATE":
        depth, at = 0, at + 1
        while at < name:
            text = source.texts[at]
            if source.kinds[at] in ("LP", "LB", "LC"):
                at = source.after(at)
                continue
            depth += text == "<"
            depth -= len(text) if set(text) == {">"} else 0
            at += 1
            if depth <= 0:
                break
    return at


def _name_begins(source: Source, name: int) -> int:
    """Where the name of a function begins with the classes in front of it: ``A<T>::f``."""
    at = name
    while at >= 2 and source.kinds[at - 1] == "SCOPE":
        at -= 2
        depth = 0
        while at > 0 and (depth or set(source.texts[at]) == {">"}):
            text = source.texts[at]
            depth += len(text) if set(text) == {">"} else -int(text == "<")
            at -= 1
            if depth <= 0:
                break
    return at
