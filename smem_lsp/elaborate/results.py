"""What a function returns, as its head spells it ([dcl.fct])."""

from __future__ import annotations

from smem_lsp.semantics import type_of
from smem_lsp.semantics.declarations import Source, angle_close
from smem_lsp.semantics.function_scope import qualifiers_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Type
from smem_lsp.source import record
from smem_lsp.source.queries import Query
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.parse import Function


@record
class _Spelled:
    """The tokens of a type in the head of a function; empty where it is not in front of the name."""

    first: int
    last: int


def returned_type(function: Function, scope: Scope) -> Type | None:
    """The type of what a function returns; None: it is not known, or stands behind the parameters. ``scope``: of its
    body."""
    where = _SPELLED.of(function.definition.store, (), lambda: _spelled(function))
    if where.first >= where.last:
        return None
    head = function.definition.head
    source = Source(head.kinds, head.texts, match_brackets(head.kinds), function.symbols)
    return type_of.spelled_type(source, where.first, where.last, scope)


_SPELLED = Query[tuple[()], _Spelled]("where the head of a function spells what it returns")


def _spelled(function: Function) -> _Spelled:
    head, island = function.definition.head, function.definition.island
    kinds = head.kinds
    source = Source(kinds, head.texts, match_brackets(kinds), function.symbols)
    last = kinds.index("OPERATOR") if "OPERATOR" in kinds[: island.name] else island.name
    if qualifiers_of(function):
        return _Spelled(0, 0)
    first = 0
    while list(kinds[first : first + 2]) == ["TEMPLATE", "LT"]:
        close = angle_close(source, first + 1, last)
        if close is None:
            return _Spelled(0, 0)
        first = close + 1
    while first < last and kinds[first] in ("STORAGE", "LB", "ATTRIBUTE", "EXTENSION"):
        first = source.after(first + 1) if kinds[first] == "ATTRIBUTE" else source.after(first)
    return _Spelled(first, last)
