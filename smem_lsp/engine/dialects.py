"""Reads a text in the dialect that it is written in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from smem_lsp.config import Config
from smem_lsp.source import CompileFlags
from smem_lsp.syntax.parse import TranslationUnit
from smem_lsp.syntax.preprocess import Preprocessed
from smem_lsp.targets.dialects import DIALECTS, Dialect, dialect_of
from smem_lsp.unit.instances import MOST_INSTANCES
from smem_lsp.unit.unit_facts import UnitFacts, survey_file

Read = Callable[[CompileFlags], Sequence[TranslationUnit]]

_MOST_FLAGS = 4  # macros that are defined so that no `#error` is reached


def read_in_dialect(main: str, config: Config, read: Read, also: Collection[str] = ()) -> list[UnitFacts]:
    """What ``read`` reads through the file ``main``, with the launches of kernels with the names ``also``. Where its
    includes tell another dialect than its suffix, it is read again with the macros of that one's compiler."""
    dialect = dialect_of(main)
    units = read(_flags(config, dialect))
    if units:
        preprocessed = units[0].preprocessed
        told = dialect_of(main, (*preprocessed.missing, *preprocessed.entered))
        if told is not dialect:
            dialect, units = told, read(_flags(config, told))
        units = _without_errors(units, config, dialect, read)
    return [survey_file(unit, dialect, also, config.scaled(MOST_INSTANCES)) for unit in units]


def _without_errors(
    units: Sequence[TranslationUnit], config: Config, dialect: Dialect, read: Read
) -> Sequence[TranslationUnit]:
    """The units with macros that their build must define: nobody compiles them where they reach ``#error``. Only macros
    that choose a platform, or the only one that is asked for, and only such as have no other use."""
    chosen: tuple[str, ...] = ()
    while units and len(chosen) < _MOST_FLAGS:
        preprocessed = units[0].preprocessed
        flag = _wanted(preprocessed, dialect)
        if flag is None:
            break
        chosen += (f"{flag}=1",)
        others = read(_flags(config, dialect, chosen))
        if not others or len(others[0].preprocessed.errors) >= len(preprocessed.errors):
            break
        units = others
    return units


def _wanted(preprocessed: Preprocessed, dialect: Dialect) -> str | None:
    foreign = [each.platform for each in DIALECTS if each is not dialect]
    for flags in preprocessed.errors:
        own = [flag for flag in flags if not any(platform.search(flag) for platform in foreign)]
        named = [flag for flag in own if dialect.platform.search(flag)]
        if named or len(own) == len(flags) == 1:
            return (named or own)[0]
    return None


def _flags(config: Config, dialect: Dialect, chosen: tuple[str, ...] = ()) -> CompileFlags:
    given = config.compile_flags
    defines = (*dialect.defines, *chosen, *given.defines)
    undefines = (*dialect.undefines, *given.undefines)
    return replace(given, defines=defines, undefines=undefines, includes=(*config.stubs, *given.includes))
