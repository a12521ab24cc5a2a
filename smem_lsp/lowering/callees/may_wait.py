"""Functions in sight that surely wait for no other thread, though their bodies are not followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from smem_lsp.lowering.callees import library_names, ptx_text
from smem_lsp.lowering.state.context import Context
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import Record, vector_element
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query, question
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import of_function
from smem_lsp.targets.dialects import Dialect

# What stands before a parenthesis and calls nothing.
_WORDS = frozenset(
    "if for while switch return sizeof alignof decltype static_assert float double int unsigned long short"
    " char bool signed half __half size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t".split()
)
_CASTS = frozenset(("static_cast", "reinterpret_cast", "const_cast"))
_ASSEMBLER = frozenset("asm __asm__ __asm volatile __volatile__".split())
_MOST = 40  # functions that are looked at for one call


NO_CLASSES: Mapping[str, Record] = {}


def calm(
    ctx: Context, functions: Sequence[Function], classes: Mapping[str, Record] = NO_CLASSES
) -> Sequence[Function] | None:
    """Some functions and all that they may call, if none waits for other threads or orders them; None: one may.
    ``volatile`` memory may be a flag that is waited for. ``classes``: what their template parameters stand for. Found
    once, however many kernels call them."""
    key = tuple(each.definition for each in functions), tuple(classes.items()), ctx.dialect
    return _CALM.once(ctx.around.file_constants.state.store, key, partial(_calm, ctx, functions, classes))


_Reached = tuple[tuple[Definition, ...], tuple[tuple[str, Record], ...], Dialect]
_CALM = Query[_Reached, Sequence[Function] | None]("functions and all that they call, where none waits")


def _calm(
    ctx: Context, functions: Sequence[Function], classes: Mapping[str, Record]
) -> Sequence[Function] | None:
    seen: dict[int, Function] = {}
    waiting = [(each, classes) for each in functions]
    while waiting:
        checkpoint()
        function, known = waiting.pop()
        if id(function.definition) in seen:
            continue
        seen[id(function.definition)] = function
        names = called_by(function, ctx.dialect)
        if names is None or len(seen) > _MOST:
            return None
        for name, of in names:
            found: Sequence[Function] = ctx.at.unit.header_definitions(name, 0)
            if not found and name in ctx.at.unit.header_functions:
                return None  # what a header declares stands elsewhere
            found = [*found, *ctx.helpers.get(name, ())]
            if of:
                found = _members(known[of], name, found) if of in known else ()
            if not found:
                return None
            waiting += [(each, NO_CLASSES) for each in found]
    return [*seen.values()] or None


def _members(record: Record, name: str, found: Sequence[Function]) -> Sequence[Function]:
    """Those of some functions that are the members of a class with this name; none where one is not in sight."""
    declared = [decl for decl, _ in record.scope.own(name) if isinstance(decl, FunctionDecl)]
    spelled = {
        tuple(decl.source.texts[decl.start : decl.body[1] + 1]) for decl in declared if decl.body is not None
    }
    own = {tuple(each.definition.tokens.texts): each for each in found}
    known = all(decl.body is not None for decl in declared) and spelled <= own.keys()
    return [own[each] for each in spelled] if known else ()


@question(of_function)
def touches_arguments(function: Function) -> bool:
    """Does it name nothing but its own parameters, and what it calls?"""
    tokens = function.definition.body
    own = template_parameters(function) | {
        declarator.name for each in function.parameters or () for declarator in each.declarators
    }
    return function.parameters is not None and all(
        text in own or following == "(" or before in ("::", ".", "->")
        for kind, text, following, before in zip(
            tokens.kinds, tokens.texts, [*tokens.texts[1:], ""], ["", *tokens.texts]
        )
        if kind == "NAME"
    )


_Called = frozenset[tuple[str, str]]  # functions by name, and what stands in front of their ``::``


@question(of_function)
def called_by(function: Function, dialect: Dialect) -> _Called | None:
    """The functions of the file that a function may call by name; None where it does more than to compute."""
    texts = function.definition.body.texts
    names = frozenset(_names(texts, dialect))
    plain = "volatile" not in (text for text, after in pairwise([*texts, ""]) if after != "(")
    plain = plain and library_names.ordering(dialect).isdisjoint(texts) and None not in names
    plain = plain and all(
        ptx_text.computes_only(code) and not more for code, more in ptx_text.statements(texts)
    )
    return frozenset(name for name in names if name is not None) if plain else None


def _names(texts: Sequence[str], dialect: Dialect) -> Iterator[tuple[str, str] | None]:
    """What is called, but for arithmetic; None: something that is not known by its name."""
    for opening, text in enumerate(texts[1:], 1):
        checkpoint()
        if text != "(":
            continue
        at = opening - 1
        if texts[at] in (">", ">>"):  # f<int>(...), or a comparison
            at = _templated(texts, at)
        text = texts[at]
        if at < 0 or text in _CASTS or text in _ASSEMBLER:
            continue
        if text[0].isalpha() or text[0] == "_":
            before = texts[at - 1] if at else ""
            if before in (".", "->"):
                yield None
            elif before == "::" and at > 1 and texts[at - 2] != "std":
                plain = at < 3 or texts[at - 3] != "::"
                yield (text, texts[at - 2]) if plain else None
            elif not (
                library_names.is_calm(text, dialect) or text in _WORDS or vector_element(text) is not None
            ):
                yield None if before == "::" else (text, "")


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
