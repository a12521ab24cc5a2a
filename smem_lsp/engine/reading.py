"""Reads a text as far as all of its kernels need it, in the dialect that it is written in."""

from __future__ import annotations

import re
from dataclasses import replace

from smem_lsp.config import Config
from smem_lsp.source import FileReader, SourceText
from smem_lsp.syntax.parse import TranslationUnit, parse
from smem_lsp.targets.dialects import Dialect, dialect_of
from smem_lsp.unit.unit_facts import UnitFacts, survey_file


def read_unit(source: SourceText, config: Config, reader: FileReader | None) -> UnitFacts:
    """The unit and its facts. A file whose includes tell the dialect is read again with the macros of its compiler."""
    dialect = dialect_of(source.path)
    unit = _parsed(source, config, reader, dialect)
    preprocessed = unit.preprocessed
    included = dialect_of(source.path, (*preprocessed.missing, *preprocessed.entered))
    if included is not dialect:
        dialect, unit = included, _parsed(source, config, reader, included)
    return survey_file(unit, dialect)


def _parsed(
    source: SourceText, config: Config, reader: FileReader | None, dialect: Dialect
) -> TranslationUnit:
    given = config.compile_flags
    flags = replace(
        given,
        defines=(*dialect.defines, *given.defines),
        undefines=(*dialect.undefines, *given.undefines),
    )
    return parse(
        source,
        reader=reader,
        include_dirs=config.include_dirs,
        defines=config.defines,
        flags=flags,
        arch=newest_target(config),
    )


def newest_target(config: Config) -> str | None:
    """The target whose code is read: the newest that is configured or that the file is compiled for."""
    if not config.arch_configured:
        return config.compile_flags.arch
    return max(config.arch, key=lambda name: (int(re.sub(r"\D", "", name) or 0), name), default=None)
