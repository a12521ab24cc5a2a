"""The units through which a file is read: its own, and those of the files that include it."""

from __future__ import annotations

import os.path
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.config import Config
from smem_lsp.engine.callers import ProjectCallers
from smem_lsp.engine.dialects import read_in_dialect
from smem_lsp.ir.nodes import LaunchSite
from smem_lsp.source import CompileFlags, FileReader, SourceText, checkpoint
from smem_lsp.source.budget import look, used_up
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.parse import TranslationUnit, parse, parse_within
from smem_lsp.unit.file_index import around_includes
from smem_lsp.unit.unit_facts import UnitFacts, internally_linked, launched_elsewhere

_MOST_CONTEXTS = 8  # of one header, which differ, at normal effort
_MOST_TRIED = (
    32  # files that may include it, at normal effort, without those that are known to make nothing else of it
)
_MOST_MAINS = 1_000  # files that may include it: a reader names no more
_MOST_NAMING = 8  # files that launch a kernel without including it
_MOST_TOKENS = 1_000_000  # of the headers of the units of one file; the last unit may exceed it
_KERNEL = "__global__"
_WORD = regex(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Within:
    """Through which units a header is read. ``mains``: their main files, None: those that the project has; ``first``:
    the first of them alone; ``chosen``: through this one only, if it reads the header."""

    mains: tuple[str, ...] | None = None
    first: bool = False
    chosen: str | None = None


WHOLE_PROJECT = Within()


@dataclass(frozen=True, slots=True)
class Units:
    """The units through which a file is read, at least one. ``left_out``: there are too many others, which may make
    something else of its kernels; ``more``: there are others, which were not wanted this time; ``named``: there are
    others, and these ones were asked for."""

    read: tuple[UnitFacts, ...]
    left_out: bool = False
    more: bool = False
    named: bool = False


def read_units(
    source: SourceText, reader: FileReader | None, config: Config, arch: str | None, within: Within
) -> Units:
    """The units through which a file is read. A file that no other file reads stands alone, and so does one without
    kernels; one that is compiled by itself, too, is read alone as well."""
    found: list[UnitFacts] = []
    left_out = named = False
    asked = reader is not None and _KERNEL in source.text
    if reader is not None and (asked or within.mains is not None):
        if within.chosen is not None:
            found += _through(source, within.chosen, reader, config, arch, config.scaled(_MOST_CONTEXTS))
        if found and within.chosen is not None:
            named = _others(source, [within.chosen], reader)
        else:
            mains = reader.includers(source.path) if within.mains is None else within.mains
            found, left_out = _read_through(source, mains, reader, config, arch, first=within.first)
            named = within.mains is not None and _others(source, mains, reader)
    if not found:
        named = False
        found.append(read_alone(source, reader, config, arch))
    if asked and reader is not None:
        callers = ProjectCallers(reader, partial(_read_other, source, reader, config, arch))
        found = [callers.known(each) for each in found]
        found = _with_foreign(found, reader, config, arch)
    more = within.first and left_out
    return Units(tuple(found), left_out and not more, more, named)


def _others(source: SourceText, mains: Sequence[str], reader: FileReader) -> bool:
    """Are there main files of a header beside these?"""
    known = {reader.real(each) for each in mains}
    return any(reader.real(each) not in known for each in reader.includers(source.path))


def _read_through(
    source: SourceText,
    mains: Sequence[str],
    reader: FileReader,
    config: Config,
    arch: str | None,
    *,
    first: bool,
) -> tuple[list[UnitFacts], bool]:
    """(the file as these main files read it, are there others that may make something else of it?). As many that differ
    as the effort allows, or the ``first`` one; those that make nothing else of its kernels are no more than their
    launches."""
    most, most_tried = 1 if first else config.scaled(_MOST_CONTEXTS), config.scaled(_MOST_TRIED)
    found: list[UnitFacts] = []
    known: set[object] = set()  # what was made of its kernels
    alike: dict[Hashable, frozenset[str]] = {}  # by what they read before it: names that lead to its kernels
    differing = tried = read_tokens = 0
    for main in mains:
        look()
        if first and differing:  # the others are asked for later
            return found, True
        shown = shown_like(main, source.path)
        head, rest = around_includes(reader.read(shown) or "")
        place, suffix = os.path.dirname(shown), os.path.splitext(shown)[1]  # noqa: PTH120, PTH122
        before = place, suffix, reader.flags(shown, config.compile_commands), head
        if before in alike and "##" not in rest and alike[before].isdisjoint(_WORD.findall(rest)):
            continue
        if differing >= most or tried >= most_tried or read_tokens > _MOST_TOKENS:
            return found, True
        tried += 1
        own = reader.real(shown) == reader.real(source.path)
        read = [read_alone(source, reader, config, arch)] if own else []
        read = read or _through(source, shown, reader, config, arch, most - differing + 1)
        for around in read:
            made = {(function.start, key.text) for function, each in around.keyed for _, key in each}
            new = not found or not made <= known
            if new and differing == most:
                return found, True
            differing += new
            known |= made
            found.append(around)
        if read and not own:
            read_tokens += len(read[0].unit.preprocessed.header)
            alike[before] = alike.get(before, frozenset()).union(*map(_leading, read))
    return found, len(mains) >= _MOST_MAINS


def _leading(around: UnitFacts) -> frozenset[str]:
    """The names of a file's kernels, and of what its unit reads before the main file that may lead to them: a main file
    without any of them in its text launches none of the kernels, and makes no instance."""
    unit = around.unit
    names = {function.name for function in unit.functions if function.is_kernel}
    said = [
        ({function.name, *function.island.enclosing}, function.definition.words)
        for file in unit.files
        if file.source.path != unit.main
        for function in file.functions
    ]
    macros = unit.preprocessed.macros.items()
    said += [({name}, frozenset(macro.texts)) for name, macro in macros if not macro.weak]
    names.update(name for own, words in said if "##" in words for name in own)
    grew = True
    while grew:
        checkpoint()
        more = {name for own, words in said if not names.isdisjoint(words) for name in own} - names - {""}
        names |= more
        grew = bool(more)
    return frozenset(names)


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


def _read_other(
    source: SourceText, reader: FileReader, config: Config, arch: str | None, main: str
) -> UnitFacts | None:
    """Another main file as its own unit; None: it cannot be read."""
    shown = shown_like(main, source.path)
    text = reader.read(shown)
    if text is None:
        return None
    return read_alone(
        SourceText(text, shown), _Instead(reader, source), compiled_as(shown, reader, config), arch
    )


def _through(
    source: SourceText, main: str, reader: FileReader, config: Config, arch: str | None, most: int
) -> list[UnitFacts]:
    """The file as the unit of ``main`` reads it, up to ``most`` times; empty where it does not."""
    text = reader.read(main)
    if text is None:
        return []
    config = compiled_as(main, reader, config)
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


def compiled_as(main: str, reader: FileReader, config: Config) -> Config:
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
        compiled = compiled_as(shown, reader, config)
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
        self._path = reader.real(source.path)

    def read(self, path: str) -> str | None:
        found = self._reader.read(path)
        if found is None or found is self._source.text:
            return found
        return self._source.text if self.real(path) == self._path else found

    def search(self, name: str, including: str) -> str | None:
        return self._reader.search(name, including)

    def real(self, path: str) -> str:
        return self._reader.real(path)

    def includers(self, path: str) -> Sequence[str]:
        return self._reader.includers(path)

    def naming(self, path: str, names: Collection[str]) -> Sequence[str]:
        return self._reader.naming(path, names)

    def calling(self, path: str, name: str) -> Sequence[str] | None:
        return self._reader.calling(path, name)

    def flags(self, path: str, compile_commands: str | None) -> CompileFlags | None:
        return self._reader.flags(path, compile_commands)
