"""Launch sites of a file: ``kernel<<<grid, block, dynamic>>>(...)`` in its host code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from smem_lsp.ir.nodes import Configuration, LaunchSite
from smem_lsp.semantics.function_scope import Identity, function_scope, identify, value_names
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import SourceText, Span, checkpoint
from smem_lsp.source.queries import PROCESS, Query
from smem_lsp.syntax.blocks import Placed
from smem_lsp.syntax.lexer import Tokens
from smem_lsp.syntax.parse import Function, TranslationUnit, UnitFile
from smem_lsp.targets.dialects import CUDA
from smem_lsp.unit.launch_walk import LaunchFinder
from smem_lsp.unit.size_functions import counting_functions

Said = tuple[tuple[str, Configuration], ...]  # the kernel that is named, and how it is launched


@dataclass(frozen=True, slots=True, eq=False)
class Launches:
    """The launches of one block in order, at offsets in the block, without lines. ``said``: their configurations
    without places; one object for equal ones."""

    sites: tuple[LaunchSite, ...]
    said: Said


class FoundLaunches(NamedTuple):
    """The launches in one block of a file of the unit."""

    file: UnitFile
    placed: Placed
    launches: Launches


def find_launches(unit: TranslationUnit, constants: Scope) -> list[FoundLaunches]:
    """All launches of the unit, block by block. Thread block dimensions that may not be constant are None."""
    if not any(placed.block.launches or placed.block.extended_launches for placed in unit.all_blocks):
        return []
    found: list[FoundLaunches] = []
    hidden = _declared_twice(unit, constants)
    counting = counting_functions(unit)
    for file in unit.files:
        first = 0
        for placed in file.blocks:
            checkpoint()
            block = placed.block
            if block.launches or block.extended_launches:
                functions = file.functions[first : first + len(block.functions)]
                called = tuple(each for f in functions for each in _called(unit, constants, f, counting))
                key = constants.declarations, placed.scopes, hidden, called
                work = partial(_in_block, unit, file.source, placed, functions, constants, hidden, counting)
                found.append(FoundLaunches(file, placed, _OF_BLOCK.of(block.store, key, work)))
            first += len(block.functions)
    return found


def _launching(function: Function) -> bool:
    return "<<<" in function.definition.words or CUDA.configured_launch in function.definition.words


def _called(
    unit: TranslationUnit, constants: Scope, function: Function, counting: Mapping[str, Function]
) -> tuple[Identity, ...]:
    """The functions that may compute the dynamic bytes of its launches."""
    if not counting or not _launching(function):
        return ()
    names = sorted(function.definition.words & counting.keys())
    return tuple(identify(unit, constants, counting[name]) for name in names)


def _in_block(
    unit: TranslationUnit,
    source: SourceText,
    placed: Placed,
    functions: Sequence[Function],
    constants: Scope,
    hidden: frozenset[str],
    counting: Mapping[str, Function],
) -> Launches:
    found: list[LaunchSite] = []
    for function in functions:
        checkpoint()
        words = function.definition.words
        if not _launching(function):
            continue
        key = (
            identify(unit, constants, function),
            words & hidden if hidden else hidden,
            _called(unit, constants, function, counting),
        )
        work = partial(_launches_of, source, function, constants, hidden, counting)
        sites = _OF_FUNCTION.of(PROCESS, key, work)
        by = function.start - placed.start
        found += [site.at(site.span.moved(by), 0) for site in sites]
    read = Counter([site.kernel for site in found if not site.extended])
    for name, start in placed.block.launches:
        checkpoint()
        if read[name]:
            read[name] -= 1
        else:  # in an initializer, a lambda, a macro ...: a launch with unknown configuration
            found.append(LaunchSite(name, None, None, None, Span(start, start + 3), 0))
    found.sort(key=lambda site: site.span.start)
    said = tuple((site.kernel, site.configuration) for site in found)
    return Launches(tuple(found), _SAID.of(PROCESS, said, lambda: said))


_OF_BLOCK = Query[tuple[object, ...], Launches]("launches in a block", most=1)
_OF_FUNCTION = Query[tuple[object, ...], tuple[LaunchSite, ...]](
    "launches in a function, spans relative to it", most=10_000
)
_SAID = Query[Said, Said]("the one object for equal launches", most=10_000)


def _launches_of(
    source: SourceText,
    function: Function,
    constants: Scope,
    hidden: Iterable[str],
    counting: Mapping[str, Function],
) -> tuple[LaunchSite, ...]:
    """Launches in one function, at offsets from its start. ``hidden``: names that may mean something else in it;
    ``counting``: functions that return one expression, by name."""
    local = function_scope(constants, function).child()
    local.values.update(dict.fromkeys(hidden))
    local.values.update(dict.fromkeys(_names(function.head)))  # parameters hide constants of the file
    found: list[LaunchSite] = []
    LaunchFinder(source, function, local, found, constants, counting).block(function.body.statements)
    return tuple(replace(site, span=site.span.moved(-function.start)) for site in found)


def _names(tokens: Tokens) -> set[str]:
    return {text for kind, text in zip(tokens.kinds, tokens.texts) if kind == "NAME"}


def _declared_twice(unit: TranslationUnit, constants: Scope) -> frozenset[str]:
    """Names of constants that the file declares more than once: a member, parameter or variable may hide the
    constant."""
    names = value_names(constants)
    declared: Counter[str] = Counter()
    if names:
        for placed in unit.all_blocks:
            checkpoint()
            here = placed.block.declared
            for name in here.keys() & names:
                declared[name] += here[name]
    return frozenset(name for name, count in declared.items() if count > 1)
