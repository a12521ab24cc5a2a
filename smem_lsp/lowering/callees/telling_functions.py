"""Functions in sight that name certain words, or call what does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax.parse import Function, TranslationUnit


def reaches(
    unit: TranslationUnit,
    helpers: Mapping[str, Sequence[Function]],
    file_scope: Scope,
    functions: Sequence[Function],
    spelled: frozenset[str],
) -> bool:
    """Does one of some functions, or what it calls, name any of these words? ``helpers``: those of the file, by
    name."""
    telling = telling_functions(unit, helpers, file_scope, spelled)
    return any(
        not (spelled.isdisjoint(words) and telling.isdisjoint(words))
        for words in (function.definition.body_words for function in functions)
    )


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
    for name in names:
        checkpoint()
        for function in functions_named(unit, helpers, name):
            words = function.definition.body_words
            if not spelled.isdisjoint(words):
                telling.add(name)
            for called in names & words:
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
