"""Device functions that no kernel in sight calls: those of libraries, which are judged by themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from smem_lsp.source import checkpoint
from smem_lsp.syntax.parse import Function
from smem_lsp.targets.dialects import Dialect
from smem_lsp.unit.unit_facts import UnitFacts, parts_of


def uncalled(around: UnitFacts) -> list[Function]:
    """The functions of the file that order threads and have shared memory, or get memory by pointer, and to which no
    kernel of the unit comes by the names in its text; of those that call each other the outer ones. A method works on
    an object that is not known, and is none of them."""
    found = [
        function
        for function in around.unit.functions
        if not function.is_kernel
        and _orders_threads(function, around.dialect)
        and not _is_method(function, around)
    ]
    found = [each for each in found if _gets_memory(each) or _has_shared_memory(each, around)]
    if not found:
        return []
    reached = names_reached(around, [each for each in around.unit.all_functions if each.is_kernel])
    inner = frozenset[str]().union(*(each.definition.body_words for each in found))
    return [each for each in found if each.name not in reached and each.name not in inner]


def names_reached(around: UnitFacts, functions: Collection[Function]) -> frozenset[str]:
    """Every name in the bodies of ``functions`` of a unit, and in those that they may call."""
    named: dict[str, list[Function]] = defaultdict(list)
    for function in around.unit.all_functions:
        named[function.name].append(function)
    found = set[str]()
    new = frozenset[str]().union(*(each.definition.body_words for each in functions))
    if functions:
        new = new.union(*(each.definition.body_words for each in around.unnamed))
    while new:
        checkpoint()
        found |= new
        beyond, _ = around.unit.header_reach(new)
        more = set(beyond)
        for name in new & named.keys():
            more.update(*(each.definition.body_words for each in named[name]))
        new = frozenset(more - found)
    return frozenset(found)


def waits_by_name(words: Collection[str], dialect: Dialect) -> bool:
    """May some of these words order threads?"""
    return any(word in words for word in (*dialect.block_barriers, dialect.warp_barrier, "sync"))


def _orders_threads(function: Function, dialect: Dialect) -> bool:
    return waits_by_name(function.definition.body_words, dialect)


def _gets_memory(function: Function) -> bool:
    declared = (each for part in function.parameters or () for each in part.declarators)
    return any("*" in each.pointers for each in declared)


def _has_shared_memory(function: Function, around: UnitFacts) -> bool:
    wanted = around.unit.shared_names | {around.dialect.shared}
    if not wanted.isdisjoint(function.definition.body_words):
        return True
    return any(not wanted.isdisjoint(each.definition.body_words) for each in parts_of(function, around)[1:])


def _is_method(function: Function, around: UnitFacts) -> bool:
    """Has it an object: does it stand in a class, or is it defined for one?"""
    if "static" in function.island.specifiers:
        return False
    at = function.island.name - function.island.head
    if function.head.kinds[at - 1 : at] == ["SCOPE"]:
        return True
    scope = around.constants
    for name in (each for part in function.island.enclosing if part != "extern" for each in part.split("::")):
        declared = scope.declarations
        inner = declared.namespaces.get(name) if name else declared.unnamed_namespace
        if inner is None:
            return True
        scope = scope.space(inner)
    return False
