"""Functions in sight that surely wait for no other thread, though their bodies are not followed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from smem_lsp.lowering.callees import library_names
from smem_lsp.lowering.state.context import Context
from smem_lsp.semantics.types import vector_element
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.parse import Function
from smem_lsp.targets.dialects import Dialect

# What stands before a parenthesis and calls nothing.
_WORDS = frozenset(
    "if for while switch return sizeof alignof decltype static_assert float double int unsigned long short"
    " char bool signed half __half size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t".split()
)
_CASTS = frozenset(("static_cast", "reinterpret_cast", "const_cast"))
_MOST = 40  # functions that are looked at for one call


def is_calm(ctx: Context, functions: Sequence[Function]) -> bool:
    """Does none of some functions wait for other threads or order them, nor anything that it calls? ``volatile`` memory
    may be a flag that is waited for."""
    seen: dict[int, Function] = {}
    waiting = list(functions)
    while waiting:
        checkpoint()
        function = waiting.pop()
        if id(function.definition) in seen:
            continue
        seen[id(function.definition)] = function
        names = _called(ctx, function)
        if names is None or len(seen) > _MOST:
            return False
        for name in names:
            found = ctx.at.unit.header_definitions(name, 0)
            if not found and name in ctx.at.unit.header_functions:
                return False  # what a header declares stands elsewhere
            found = [*found, *ctx.helpers.get(name, ())]
            if not found:
                return False
            waiting += found
    return bool(seen)


def _called(ctx: Context, function: Function) -> frozenset[str] | None:
    """The functions of the file that a function may call by name; None where it does more than to compute."""
    return _CALLED.of(
        function.definition.store, ctx.dialect, partial(_found_called, function.definition, ctx.dialect)
    )


_CALLED = Query[Dialect, frozenset[str] | None]("functions that a definition calls")


def _found_called(definition: Definition, dialect: Dialect) -> frozenset[str] | None:
    texts = definition.body.texts
    names = frozenset(_names(texts, dialect))
    plain = "volatile" not in texts and library_names.telling(dialect).isdisjoint(texts) and None not in names
    return frozenset(name for name in names if name is not None) if plain else None


def _names(texts: Sequence[str], dialect: Dialect) -> Iterator[str | None]:
    """What is called, but for arithmetic; None: something that is not known by its name."""
    for opening, text in enumerate(texts[1:], 1):
        checkpoint()
        if text != "(":
            continue
        at = opening - 1
        if texts[at] in (">", ">>"):  # f<int>(...), or a comparison
            at = _templated(texts, at)
        text = texts[at]
        if at < 0 or text in _CASTS:
            continue
        if text[0].isalpha() or text[0] == "_":
            if at and (texts[at - 1] in (".", "->") or (texts[at - 1] == "::" and texts[at - 2] != "std")):
                yield None
            elif not (
                library_names.is_calm(text, dialect) or text in _WORDS or vector_element(text) is not None
            ):
                yield None if at and texts[at - 1] == "::" else text


def _templated(texts: Sequence[str], closing: int) -> int:
    """The name in front of the template arguments that end at ``closing``; -1: it is an operator."""
    depth = 0
    for at in range(closing, 0, -1):
        depth += _BRACKETS.get(texts[at], 0)
        if texts[at] in _ENDS:
            break
        if depth <= 0:
            return at - 1
    return -1


_BRACKETS = {">": 1, ">>": 2, "<": -1, ")": 1, "(": -1}
_ENDS = frozenset(("{", "}", ";", "&&", "||"))
