"""How ptxas rounds the static shared memory of a file's kernels, and why a file's totals may be inexact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.semantics.cub_storage import classes
from smem_lsp.semantics.declarations import ClassDecl, Declared, FunctionDecl, VariableDecl
from smem_lsp.semantics.function_scope import Identity, identify
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import SourceText, checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.targets.dialects import CUDA
from smem_lsp.unit.shared_declarations import MIN_ROUNDING, _shared_declarations, shared_buffer

MOST_ROUNDING = 1024  # bytes: the largest alignment that ptxas takes


class Rounding(NamedTuple):
    """Every static total is a multiple of ``certain`` bytes. ``possible``: the multiple if functions that may not be
    compiled are."""

    certain: int = 1
    possible: int = 1


def rounding(unit: TranslationUnit, top: Scope) -> Rounding:
    """How static totals of the file are rounded: if a compiled function uses an ``extern __shared__`` array, to 16
    bytes or to the alignment of that array, whichever is more. A header that is missing may use one."""
    certain = 1
    possible = MIN_ROUNDING if unit.preprocessed.missing_quoted else 1
    outside = [each for each in unit.shared_outside if each.extern]
    if not outside and not any(placed.block.extends_shared for placed in unit.all_blocks):
        return Rounding(certain, possible)
    for file in unit.files:
        for function in file.functions:
            checkpoint()
            asked = 1
            words = function.definition.body_words
            if {"extern", CUDA.shared} <= words:
                key = identify(unit, top, function), top.state.packed
                store = function.definition.content.store
                asked = _ASKED.of(store, key, partial(_asked, file.source, function, top))
            used = [each for each in outside if each.names & words]
            if used:
                asked = max(asked, MIN_ROUNDING)
                possible = max(possible, MIN_ROUNDING if all(each.plain for each in used) else MOST_ROUNDING)
            if asked > certain and _surely_compiled(function):
                certain = asked
            elif asked > max(certain, possible) and is_compiled(unit, function) is not False:
                possible = asked
    return Rounding(certain, max(certain, possible))


_ASKED = Query[tuple[Identity, bool], int]("what the arrays of a function round totals to", most=4)


def _asked(source: SourceText, function: Function, top: Scope) -> int:
    """What the ``extern __shared__`` arrays of a function round totals to."""
    asked = 1
    texts = function.body.tokens.texts
    for declaration, base, scope in _shared_declarations(function, top):
        if "extern" not in declaration.words:
            continue
        for position, declarator in enumerate(declaration.declarators):
            if texts.count(declarator.name) > 1:
                buffer = shared_buffer(
                    function.body, base, source.text, declaration, position, scope, function.name
                )
                asked = max(asked, MIN_ROUNDING, buffer.align or MIN_ROUNDING)
    return asked


def is_compiled(unit: TranslationUnit, function: Function) -> bool | None:
    """Does the compiler generate code for a function? Yes for a kernel that is no template, no for a function that
    nothing names. None: uncertain."""
    if _surely_compiled(function):
        return True
    name = function.name
    if any(name in other.definition.body_words for other in unit.all_functions if other.name != name):
        return None
    spelled = sum(placed.block.tokens.texts.count(name) for placed in unit.all_blocks)
    definitions = sum(other.name == name for other in unit.all_functions)
    return None if spelled > definitions else False


def _surely_compiled(function: Function) -> bool:
    return function.is_kernel and not function.definition.island.template


def header_names(unit: TranslationUnit, top: Scope) -> frozenset[str] | None:
    """Names of the functions and classes of headers that declare shared memory, name an array that is declared outside
    functions, or reach one that does; None when not every `__shared__` of the headers is known to be in one of those,
    or outside functions."""
    if CUDA.shared not in unit.header_words and not unit.shared_outside:
        return frozenset()
    return _HEADER_NAMES.of(top.state.store, (), partial(_header_names, unit, top))


_HEADER_NAMES = Query[tuple[()], frozenset[str] | None]("names in headers that reach shared memory")


def _header_names(unit: TranslationUnit, top: Scope) -> frozenset[str] | None:
    header = unit.preprocessed.header
    bodies: list[tuple[str, frozenset[str]]] = []
    places: set[int] = set()
    for decl in top.declarations.walk():
        if decl_source_kinds(decl) is not header.kinds:
            continue
        lo, hi = (decl.range if isinstance(decl, VariableDecl) else _body_of(decl)) or (0, 0)
        texts = header.texts[lo:hi]
        places.update(lo + at for at, text in enumerate(texts) if text == CUDA.shared)
        if not isinstance(decl, VariableDecl):
            bodies.append((decl.name.removeprefix("::"), frozenset(texts)))
    if len(places) != header.texts.count(CUDA.shared):
        return None
    telling = unit.shared_names | {CUDA.shared}
    reached = {name for name, words in bodies if not telling.isdisjoint(words)}
    grown = True
    while grown:
        checkpoint()
        more = {name for name, words in bodies if name not in reached and reached & words}
        reached |= more
        grown = bool(more)
    return frozenset(reached - _collectives(top, {name for name in reached if name in classes()}))


def _collectives(top: Scope, names: set[str]) -> set[str]:
    """The ``names`` that are CUB's alone: what its collectives keep is known."""
    cub = top.declarations.namespaces.get("cub")
    inside = set() if cub is None or not names else {id(decl) for decl in cub.walk()}
    return names - {decl.name for decl in top.declarations.walk() if id(decl) not in inside}


def decl_source_kinds(decl: Declared) -> Sequence[str] | None:
    return decl.source.kinds if isinstance(decl, (FunctionDecl, ClassDecl, VariableDecl)) else None


def _body_of(decl: Declared) -> tuple[int, int] | None:
    return decl.body if isinstance(decl, (FunctionDecl, ClassDecl)) else None


def outside_unexact(unit: TranslationUnit, reached: Iterable[Function]) -> Cause | None:
    """Why arrays that are declared outside functions may be missing in the total of a kernel; None: it has them all.
    ``reached``: the kernel and all that it may call."""
    names = static_outside(unit)
    for function in reached:
        named = names & function.definition.words
        if named:
            return Cause(CauseKind.OUTSIDE_FUNCTIONS, names=(min(named),))
    return None


def static_outside(unit: TranslationUnit) -> frozenset[str]:
    """The names in declarations of static arrays outside functions."""
    return frozenset[str]().union(*(each.names for each in unit.shared_outside if not each.extern))


def file_unexact(unit: TranslationUnit) -> Cause | None:
    """Why no total of this file is exact; None: no reason."""
    if unit.preprocessed.exhausted:
        return Cause(CauseKind.MACRO_SIZE)
    return None
