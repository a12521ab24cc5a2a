"""Expressions that run without standing in a body, as bodies of functions of their own: member initializers of a
constructor ([class.base.init]), default member initializers ([class.mem.general]), default arguments
([dcl.fct.default])."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from smem_lsp.semantics.declarations import ClassDecl, Range, Source
from smem_lsp.source.queries import Query
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.functions import FunctionIsland
from smem_lsp.syntax.lexer import Tokens, packed
from smem_lsp.syntax.parse import Function

_BEHIND = 1 << 42  # token indices of default member initializers, apart from all others


def member_initializers(function: Function) -> Function:
    """What stands between the parameters of a constructor and its body."""
    definition = function.definition
    return _in_place_of(
        function, _INITIALIZERS.of(definition.store, (), partial(_initializers_of, definition))
    )


_INITIALIZERS = Query[tuple[()], Definition]("member initializers of a constructor, as a function body")


def _initializers_of(definition: Definition) -> Definition:
    island, kinds = definition.island, definition.tokens.kinds
    lo, hi = island.parameters[1] + 1, island.body[0] - 1
    colon = next((i for i in range(lo, hi) if kinds[i] == "COLON"), None)
    return _with_body(definition, hi if colon is None else colon + 1, hi)


def parameter_list(function: Function) -> Function:
    """The parameters of a function, whose default arguments are relative to the first token of all."""
    definition = function.definition
    return _in_place_of(
        function,
        _PARAMETERS.of(definition.store, (), lambda: _with_body(definition, *definition.island.parameters)),
    )


_PARAMETERS = Query[tuple[()], Definition]("parameters of a function, as a function body")


def _with_body(definition: Definition, lo: int, hi: int) -> Definition:
    return Definition(
        definition.text,
        definition.tokens,
        definition.line_start,
        replace(definition.island, body=(lo, hi)),
        definition.invocations,
    )


def _in_place_of(function: Function, definition: Definition) -> Function:
    return Function(
        definition,
        function.start,
        function.first_token,
        function.number,
        function.file_symbols,
        function.scopes,
    )


def declaration_of_members(decl: ClassDecl, where: Range, offset: int) -> Function:
    """The declaration ``where`` of data members in a class, which may stand in any file. ``offset``: the place in the
    text that is told of what it does."""
    definition = _MEMBERS.of(decl.store, where, partial(_declaration, decl.source, where))
    return Function(definition, offset, _BEHIND + where[0], -1, decl.source.symbols, ())


_MEMBERS = Query[Range, Definition]("declaration of data members, as a function body")


def _declaration(source: Source, where: Range) -> Definition:
    lo, hi = where
    tokens = Tokens(list(source.kinds[lo:hi]), list(source.texts[lo:hi]), packed([-1] * (hi - lo)))
    island = FunctionIsland(
        head=0,
        name=0,
        parameters=(0, 0),
        body=(0, hi - lo),
        end=hi - lo,
        specifiers=frozenset(),
        template=False,
        enclosing=(),
        repaired=False,
    )
    return Definition("", tokens, [False] * len(tokens), island, ())
