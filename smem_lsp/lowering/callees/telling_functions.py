"""Functions in sight that name certain words, or call what does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from smem_lsp.elaborate.parameters import path_of
from smem_lsp.elaborate.range_for import OF_RANGES
from smem_lsp.semantics.function_scope import symbol_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.regex import regex
from smem_lsp.syntax.blocks import OF_PARAMETERS, Definition
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.targets.dialects import Dialect


def reaches(
    unit: TranslationUnit,
    helpers: Mapping[str, Sequence[Function]],
    file_scope: Scope,
    functions: Sequence[Function],
    spelled: frozenset[str],
    *,
    unsaid: bool = False,
) -> bool:
    """Does one of some functions, or what it calls, name any of these words? ``helpers``: those of the file, by name;
    ``unsaid``: also by what runs without a word in its body."""
    for function in functions:
        words = function.definition.running_words if unsaid else function.definition.body_words
        work = partial(name_telling, unit, helpers, file_scope, words, spelled, unsaid=unsaid)
        if _REACHES.once(file_scope.state.store, (function.definition, spelled, unsaid), work):
            return True
    return False


_REACHES = Query[tuple[Definition, frozenset[str], bool], bool](
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
    *,
    unsaid: bool = False,
) -> bool:
    """Are there any of these words, or names of functions that reach them, among some words of the text? ``unsaid``:
    also of functions that are called without their name."""
    telling = telling_functions(unit, helpers, file_scope, spelled, unsaid=unsaid)
    called = _calling(words, unsaid)
    return not (spelled.isdisjoint(called) and telling.isdisjoint(called))


_OF_OBJECTS = "operator"  # the name of ``operator()`` and ``operator[]``
_SUFFIX = regex(r"_[A-Za-z_]\w*$")
_BEGINS_NUMBER = frozenset("0123456789.")


def _calling(words: Iterable[str], unsaid: bool) -> frozenset[str]:
    """The names of what some words of the text call: these words, and the suffixes of numbers and characters
    ([lex.ext]). ``unsaid``: also what they may call, the operators of objects that are called or indexed, and what a
    range-based loop calls ([stmt.ranged])."""
    said = frozenset(words)
    numbers = [each for each in said if "_" in each and (each[0] in _BEGINS_NUMBER or "'" in each)]
    found = {suffix[0] for suffix in map(_SUFFIX.search, numbers) if suffix is not None}
    if unsaid and not said.isdisjoint(OF_PARAMETERS):
        found.add(_OF_OBJECTS)
    if unsaid and "for" in said:
        found.update(OF_RANGES)
    return said | found


def telling_functions(
    unit: TranslationUnit,
    helpers: Mapping[str, Sequence[Function]],
    file_scope: Scope,
    spelled: frozenset[str],
    *,
    unsaid: bool = False,
) -> frozenset[str]:
    """The names of the functions in sight that name any of these, or call what does; found once for a file.
    ``unsaid``: also those that may call it without its name."""
    work = partial(_found, unit, helpers, spelled, unsaid)
    return _TELLING.of(file_scope.state.store, (spelled, unsaid), work)


_TELLING = Query[tuple[frozenset[str], bool], frozenset[str]](
    "functions that name some words, or call what does"
)


def _found(
    unit: TranslationUnit, helpers: Mapping[str, Sequence[Function]], spelled: frozenset[str], unsaid: bool
) -> frozenset[str]:
    said: dict[str, list[frozenset[str]]] = {name: [words] for name, words in unit.said_outside.items()}
    for name in unit.header_functions | helpers.keys():
        for each in functions_named(unit, helpers, name):
            words = each.definition.running_words
            said.setdefault(name, []).append(words)
            if unsaid and symbol_of(each)[:1].isidentifier():  # what is converted says its class, most likely
                said.setdefault("".join(path_of(each)[-1:]), []).append(words)
    callers: dict[str, list[str]] = {}
    telling: set[str] = set()
    for name, texts in said.items():
        for words in texts:
            checkpoint()
            if not spelled.isdisjoint(words):
                telling.add(name)
            for called in said.keys() & _calling(words, unsaid):
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
