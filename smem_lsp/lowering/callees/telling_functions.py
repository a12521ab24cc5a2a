"""Functions in sight that name certain words, or call what does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.regex import regex
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.targets.dialects import Dialect


def reaches(
    unit: TranslationUnit,
    helpers: Mapping[str, Sequence[Function]],
    file_scope: Scope,
    functions: Sequence[Function],
    spelled: frozenset[str],
) -> bool:
    """Does one of some functions, or what it calls, name any of these words? ``helpers``: those of the file, by
    name."""
    for function in functions:
        words = function.definition.body_words
        work = partial(name_telling, unit, helpers, file_scope, words, spelled)
        if _REACHES.once(file_scope.state.store, (function.definition, spelled), work):
            return True
    return False


_REACHES = Query[tuple[Definition, frozenset[str]], bool](
    "does a function, or what it calls, name some words"
)


def touch_outer_memory(
    unit: TranslationUnit,
    helpers: Mapping[str, Sequence[Function]],
    file_scope: Scope,
    functions: Sequence[Function],
    dialect: Dialect,
) -> bool:
    """May one of some functions touch shared memory that others reach, too: an array of the file, dynamic memory, or
    what a function declares that both call?"""
    if unit.shared_names and reaches(unit, helpers, file_scope, functions, frozenset(unit.shared_names)):
        return True
    if not any(_declares(each, dialect) for each in unit.all_functions):
        return False
    return reaches(unit, helpers, file_scope, functions, frozenset((dialect.shared,)))


def _declares(function: Function, dialect: Dialect) -> bool:
    """Does it declare shared memory that others may reach: dynamic memory, or, where it may be called, its own, whose
    address it may return?"""
    words = function.definition.body_words
    return dialect.shared in words and ("extern" in words or not function.is_kernel)


def name_telling(
    unit: TranslationUnit,
    helpers: Mapping[str, Sequence[Function]],
    file_scope: Scope,
    words: Iterable[str],
    spelled: frozenset[str],
) -> bool:
    """Are there any of these words, or names of functions that reach them, among some words of the text?"""
    telling = telling_functions(unit, helpers, file_scope, spelled)
    called = _calling(words)
    return not (spelled.isdisjoint(called) and telling.isdisjoint(called))


OF_OBJECTS = "operator"
"""The name of ``operator()`` and ``operator[]``, which whatever is called or indexed may mean."""

_SUFFIX = regex(r"_[A-Za-z_]\w*$")
_BEGINS_NUMBER = frozenset("0123456789.")


def _calling(words: Iterable[str]) -> frozenset[str]:
    """Some words of the text, and the suffixes of numbers and characters, which call functions, too ([lex.ext])."""
    said = frozenset(words)
    numbers = [each for each in said if "_" in each and (each[0] in _BEGINS_NUMBER or "'" in each)]
    suffixes = [found[0] for found in map(_SUFFIX.search, numbers) if found is not None]
    return said.union(suffixes) if suffixes else said


def telling_functions(
    unit: TranslationUnit,
    helpers: Mapping[str, Sequence[Function]],
    file_scope: Scope,
    spelled: frozenset[str],
) -> frozenset[str]:
    """The names of the functions in sight that name any of these, or call what does; found once for a file."""
    return _TELLING.of(file_scope.state.store, spelled, partial(_found, unit, helpers, spelled))


_TELLING = Query[frozenset[str], frozenset[str]]("functions that name some words, or call what does")


def _found(
    unit: TranslationUnit, helpers: Mapping[str, Sequence[Function]], spelled: frozenset[str]
) -> frozenset[str]:
    names = unit.header_functions | helpers.keys()
    callers: dict[str, list[str]] = {}
    telling: set[str] = set()
    outside = unit.said_outside
    names |= outside.keys()
    for name in names:
        checkpoint()
        functions = functions_named(unit, helpers, name)
        for words in (*(each.definition.words for each in functions), outside.get(name, frozenset())):
            if not spelled.isdisjoint(words):
                telling.add(name)
            for called in names & _calling(words):
                callers.setdefault(called, []).append(name)
    waiting = list(telling)
    while waiting:
        for caller in callers.get(waiting.pop(), ()):
            if caller not in telling:
                telling.add(caller)
                waiting.append(caller)
    return frozenset(telling)


def functions_named(
    unit: TranslationUnit, helpers: Mapping[str, Sequence[Function]], name: str
) -> Iterator[Function]:
    """Those of the file, and those that headers define."""
    yield from helpers.get(name, ())
    yield from unit.header_definitions(name, 0)
