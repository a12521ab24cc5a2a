"""Which functions may touch shared memory or order threads, by their words alone: the others need not be lowered for
what they do to either."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from smem_lsp.lowering.callees import library_names
from smem_lsp.lowering.callees.telling_functions import functions_named, telling_functions
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.regex import regex
from smem_lsp.syntax.parse import Function
from smem_lsp.targets.dialects import Dialect
from smem_lsp.unit.instances import InstanceArguments
from smem_lsp.unit.unit_facts import UnitFacts, is_unnamed

_WORD = regex(r"[A-Za-z_]\w*")


def may_share_or_wait(around: UnitFacts, function: Function, binding: InstanceArguments | None) -> bool:
    """May the function, or what it calls, have or name shared arrays, have lanes exchange values, or hold barriers or
    assembler? Its template arguments may be functions. Constructors and operators are called without their name."""
    wanted = _WANTED.of(around.constants.state.store, around.dialect, partial(_found, around))
    if wanted is None:
        return True
    arguments = () if binding is None else _WORD.findall(binding.text)
    return not (wanted.isdisjoint(function.definition.words) and wanted.isdisjoint(arguments))


_WANTED = Query[Dialect, frozenset[str] | None]("words of functions that may share memory or wait")


def _found(around: UnitFacts) -> frozenset[str] | None:
    """Words that make the function that says them one of these; None: any may be one."""
    unit, helpers = around.unit, around.helpers
    names = unit.header_functions | helpers.keys()
    kernels = [each for each in unit.functions if each.is_kernel]
    functions = [*kernels, *(each for name in names for each in functions_named(unit, helpers, name))]
    spelled = library_names.sharing_or_waiting(around.dialect) | unit.shared_names
    spelled |= _exchanges(functions, around.dialect)
    telling = telling_functions(unit, helpers, around.constants, spelled)
    if any(is_unnamed(each) for name in telling for each in functions_named(unit, helpers, name)):
        return None
    return spelled | telling


def _exchanges(functions: Iterable[Function], dialect: Dialect) -> frozenset[str]:
    found = set[str]()
    for each in functions:
        checkpoint()
        words = (word for word in each.definition.body_words if word.startswith("__"))
        found.update(word for word in words if dialect.exchanges.fullmatch(word) is not None)
    return frozenset(found)
