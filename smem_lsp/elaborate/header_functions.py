"""Constant functions of headers, which device code may call, too."""

from __future__ import annotations

from functools import partial

from smem_lsp.elaborate.call_sites import Callee, Site
from smem_lsp.elaborate.parameters import takes
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.entities import Functions
from smem_lsp.semantics.scope import Scope
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.functions import FunctionIsland
from smem_lsp.syntax.lexer import Tokens, packed
from smem_lsp.syntax.parse import Function

_BEHIND = 1 << 41  # token indices of constant functions of headers, apart from all others


def constant_functions(site: Site, callee: tree.Name, count: int, scope: Scope) -> list[Callee]:
    """``constexpr`` functions that headers define, called with ``count`` arguments: device code may call them too."""
    path = tuple(part for part in callee.text.split("::") if part)
    arguments = tuple(callee.arguments) if callee.arguments else (None,) * len(path)
    if len(arguments) != len(path):
        return []
    meaning = scope.meaning(path, arguments, absolute=callee.text.startswith("::"))
    if not isinstance(meaning, Functions):
        return []
    found: list[Callee] = []
    for decl, where in meaning.overloads:
        if not decl.constexpr or decl.body is None:
            return []
        function = _of_header(site, decl)
        if function is None:
            return []
        if takes(function, count):
            found.append(Callee(function, where))
    return found if len(found) == 1 else []


def _of_header(site: Site, decl: FunctionDecl) -> Function | None:
    """The function that a header's declaration defines, as if it stood where it is called."""
    assert decl.body is not None
    source = decl.source
    header = site.unit.preprocessed.header
    lo, hi = decl.start, decl.body[1] + 1
    while decl.parameters is not None and lo > 0 and source.kinds[lo] != "TEMPLATE":
        lo -= 1
    if list(header.texts[lo:hi]) != list(source.texts[lo:hi]):
        return None  # of the file itself
    definition = _CONSTANT_FUNCTION.of(site.top.state.store, decl, partial(_definition_of, decl, lo, hi))
    return Function(definition, site.offset, _BEHIND + lo, -1, site.unit.symbols, ())


_CONSTANT_FUNCTION = Query[FunctionDecl, Definition]("definition of a constant function of a header")


def _definition_of(decl: FunctionDecl, lo: int, hi: int) -> Definition:
    assert decl.body is not None
    source = decl.source
    tokens = Tokens(list(source.kinds[lo:hi]), list(source.texts[lo:hi]), packed([-1] * (hi - lo)))
    island = FunctionIsland(
        head=0,
        name=decl.list[0] - 2 - lo,
        parameters=(decl.list[0] - lo, decl.list[1] - lo),
        body=(decl.body[0] - lo, decl.body[1] - lo),
        end=hi - lo,
        specifiers=frozenset(t for k, t in zip(tokens.kinds, tokens.texts) if k == "STORAGE"),
        template=decl.parameters is not None,
        enclosing=(),
        repaired=False,
    )
    return Definition("", tokens, [False] * len(tokens), island, ())
