"""Reads a text in the dialect that it is written in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from smem_lsp.config import Config
from smem_lsp.source import CompileFlags
from smem_lsp.syntax.parse import TranslationUnit
from smem_lsp.targets.dialects import Dialect, dialect_of
from smem_lsp.unit.unit_facts import UnitFacts, survey_file

Read = Callable[[CompileFlags], Sequence[TranslationUnit]]


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
    return [survey_file(unit, dialect, also) for unit in units]


def _flags(config: Config, dialect: Dialect) -> CompileFlags:
    given = config.compile_flags
    defines = (*dialect.defines, *given.defines)
    return replace(given, defines=defines, undefines=(*dialect.undefines, *given.undefines))
