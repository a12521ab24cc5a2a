"""The units through which a file is read: its own, and those of the files that include it."""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from smem_lsp.config import Config
from smem_lsp.engine.dialects import read_in_dialect
from smem_lsp.ir.nodes import LaunchSite
from smem_lsp.source import CompileFlags, FileReader, SourceText
from smem_lsp.source.budget import look, processor_time, used_up
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import TranslationUnit, parse, parse_within
from smem_lsp.unit.unit_facts import UnitFacts, internally_linked, launched_elsewhere

MOST_CONTEXTS = 8  # of one header
_MOST_TRIED = 16  # files that may include it
_MOST_NAMING = 8  # files that launch a kernel without including it
_MOST_TOKENS = 500_000  # of the headers of the units of one file; the last unit may exceed it
_MOST_SECONDS = 1.5  # of processor time, after which no further unit is read
_HOLDS_KERNELS = re.compile(r"__global__(?s:.*)(?i:shared|smem)|(?i:shared|smem)(?s:.*)__global__").search
_MAIN_SUFFIXES = frozenset((".cu", ".hip", ".cpp", ".cc", ".cxx", ".c"))


@dataclass(frozen=True, slots=True)
class Within:
    """Through which units a header is read. ``mains``: their main files, None: those that the project has; ``most``: of
    them, the first ones; ``chosen``: through this one only, if it reads the header."""

    mains: tuple[str, ...] | None = None
    most: int = MOST_CONTEXTS
    chosen: str | None = None


WHOLE_PROJECT = Within()


def read_units(
    source: SourceText, reader: FileReader | None, config: Config, arch: str | None, within: Within
) -> tuple[tuple[UnitFacts, ...], bool]:
    """(the units through which a file is read, at least one; are there more than were wanted?)

    A header that no main file reads stands alone, and so does a file without kernels. A source file has its own unit,
    too, which comes first.
    """
    found: list[UnitFacts] = []
    more, read_tokens, started = False, 0, processor_time()
    asked = reader is not None and _HOLDS_KERNELS(source.text) is not None
    if reader is not None and (asked or within.mains is not None):
        mains = reader.includers(source.path) if within.mains is None else within.mains
        if within.chosen is not None:
            found += _through(source, within.chosen, reader, config, arch, MOST_CONTEXTS)
        for main in () if found else mains[:_MOST_TRIED]:
            look()
            late = processor_time() - started > _MOST_SECONDS
            if len(found) >= within.most or read_tokens > _MOST_TOKENS or (found and late):
                more = len(found) < MOST_CONTEXTS
                break
            shown = shown_like(main, source.path)
            read = _through(source, shown, reader, config, arch, within.most - len(found))
            found += read
            read_tokens += sum(len(around.unit.preprocessed.header) for around in read[:1])
    own = within.mains is None and within.chosen is None and is_main(source.path)
    if not found or own:
        found.insert(0, read_alone(source, reader, config, arch))
    if asked and reader is not None:
        found = _with_foreign(found, reader, config, arch)
    return tuple(found), more


def is_main(path: str) -> bool:
    """Is a file compiled by itself, by its suffix?"""
    return os.path.splitext(path)[1].lower() in _MAIN_SUFFIXES  # noqa: PTH122


def shown_like(path: str, like: str) -> str:
    """A path as messages name it: relative to the working folder where ``like`` is."""
    if os.path.isabs(like) or not os.path.isabs(path):  # noqa: PTH117
        return path
    return os.path.relpath(path)


def read_alone(
    source: SourceText,
    reader: FileReader | None,
    config: Config,
    arch: str | None,
    also: Collection[str] = (),
) -> UnitFacts:
    """The file as its own unit, with the launches of kernels with the names ``also``."""

    def read(flags: CompileFlags) -> list[TranslationUnit]:
        unit = parse(
            source,
            reader=reader,
            include_dirs=config.include_dirs,
            defines=config.defines,
            flags=flags,
            arch=arch,
        )
        return [unit]

    return read_in_dialect(source.path, config, read, also)[0]


def _through(
    source: SourceText, main: str, reader: FileReader, config: Config, arch: str | None, most: int
) -> list[UnitFacts]:
    """The file as the unit of ``main`` reads it, up to ``most`` times; empty where it does not."""
    text = reader.read(main)
    if text is None:
        return []
    config = _compiled_as(main, reader, config)
    return read_in_dialect(
        main,
        config,
        lambda flags: parse_within(
            source,
            SourceText(text, main),
            most=most,
            reader=_Instead(reader, source),
            include_dirs=config.include_dirs,
            defines=config.defines,
            flags=flags,
            arch=arch,
        ),
    )


def _compiled_as(main: str, reader: FileReader, config: Config) -> Config:
    """The settings with the compile command of a main file in the place of that of its header."""
    flags = reader.flags(main, config.compile_commands)
    return config if flags is None else replace(config, compile_flags=flags)


def _with_foreign(
    units: Sequence[UnitFacts], reader: FileReader, config: Config, arch: str | None
) -> list[UnitFacts]:
    """``units`` with the launches of their kernels in files that do not include them."""
    path = units[0].unit.source.path
    taken: dict[str, set[int]] = {}  # by kernel that other units can name: how many parameters it has
    for function in (each for around in units for each in around.unit.functions):
        if function.is_kernel and not internally_linked(function) and function.parameters is not None:
            taken.setdefault(function.name, set()).add(len(function.parameters))
    names = taken.keys()
    foreign: dict[str, list[LaunchSite]] = {}
    for other in reader.naming(path, names)[:_MOST_NAMING] if names else ():
        look()
        shown = shown_like(other, path)
        text = reader.read(shown)
        if text is None or used_up():
            continue
        compiled = _compiled_as(shown, reader, config)
        around = read_alone(SourceText(text, shown), reader, compiled, arch, names)
        for name, sites in launched_elsewhere(around, names).items():
            foreign.setdefault(name, []).extend(
                site for site in sites if len(site.terms.arguments) in taken[name]
            )
    if not foreign:
        return list(units)
    kept = {name: tuple(sites) for name, sites in foreign.items()}
    return [replace(around, foreign=kept) for around in units]


class _Instead(FileReader):
    """Reads one file as ``source``, which may be an unsaved text of it."""

    __slots__ = ("_path", "_reader", "_source")

    def __init__(self, reader: FileReader, source: SourceText) -> None:
        self._reader = reader
        self._source = source
        self._path = os.path.abspath(source.path)  # noqa: PTH100

    def read(self, path: str) -> str | None:
        found = self._reader.read(path)
        if found is None or found is self._source.text:
            return found
        return self._source.text if os.path.abspath(path) == self._path else found  # noqa: PTH100

    def search(self, name: str, including: str) -> str | None:
        return self._reader.search(name, including)

    def includers(self, path: str) -> Sequence[str]:
        return self._reader.includers(path)

    def naming(self, path: str, names: Collection[str]) -> Sequence[str]:
        return self._reader.naming(path, names)

    def flags(self, path: str, compile_commands: str | None) -> CompileFlags | None:
        return self._reader.flags(path, compile_commands)
