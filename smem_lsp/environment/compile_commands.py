"""``compile_commands.json``: how the files of a project are compiled.

Nothing in it is run. Of each command only the flags for the preprocessor are read.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from smem_lsp.environment.options_files import expanded, split
from smem_lsp.source import NO_FLAGS, CompileFlags, Stamp, is_file, is_folder, read_regular, stamp_of
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.targets.dialects import SUFFIXES

NAME = "compile_commands.json"
PLACES = (NAME, f"build/{NAME}")  # in a folder, the first that exists
MAX_BYTES = 64 * 1024 * 1024
MAX_ENTRIES = 200_000
MAX_VALUES = 10_000_000  # lists, tables and their parts in one database
MAX_COMMAND = 1_000_000  # characters of one command
MAX_FLAGS = 10_000  # definitions and folders of one command
MAX_PATH = 4_096  # characters of a name, which is joined with that of each folder of a command

# flag -> what follows it, in the same word or in the next one
_VALUED = {
    "-isystem": "system",
    "--system-include": "system",
    "-iquote": "quote",
    "--include-path": "include",
    "-I": "include",
    "-idirafter": "after",
    "--define-macro": "define",
    "-D": "define",
    "--undefine-macro": "undefine",
    "-U": "undefine",
    "-include": "forced",
    "--pre-include": "forced",
    "-imacros": "forced",
    "-std": "standard",
    "--std": "standard",
    "-arch": "arch",
    "--gpu-architecture": "arch",
    "--cuda-gpu-arch": "arch",
    "-gencode": "arch",
    "--generate-code": "arch",
    "--default-stream": "stream",
    "-default-stream": "stream",
}
_JOINED = ("-isystem", "-iquote", "-I", "-D", "-U", "-include")  # -Idir, but not -archsm_90
# Their value is the next word, which may look like one of the flags above.
_OTHERS_WITH_VALUE = frozenset(
    "-o --output-file -x -MF -MT -MQ -ccbin --compiler-bindir -Xptxas -Xlinker -Xnvlink -Xarchive -Xfatbin"
    " -odir -Xcudafe -Xassembler -target -arch_flags".split()
)
_STANDARDS = {"11": "201103L", "14": "201402L", "17": "201703L", "20": "202002L", "23": "202302L"}
_STANDARD = regex(r"(?:c|gnu)\+\+(\d\d)\Z")
_ARCH = regex(r"(?:sm|compute)_(\d{1,4})(?!\d)([af]?)")


@dataclass(frozen=True, slots=True)
class Command:
    """What is known about a file's compile command. ``problem``: why the database cannot be used, in one line."""

    flags: CompileFlags = NO_FLAGS
    database: str | None = None  # where it comes from
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    file: str  # absolute
    directory: str
    words: tuple[str, ...] | str  # the arguments, or the command as a shell reads it


@dataclass(slots=True)
class _Database:
    stamp: Stamp
    entries: dict[str, _Entry] = field(default_factory=dict)
    nearest: _Nearest | None = None
    problem: str | None = None


_NOTHING = Command()


class CompileCommands:
    """The databases met so far. Each is read once per version. To be used by one thread at a time."""

    __slots__ = ("_databases", "_flags")

    def __init__(self) -> None:
        self._databases: dict[str, _Database] = {}
        self._flags: dict[tuple[str, Stamp, str], CompileFlags | str] = {}

    def command(self, path: str, setting: str | None = None) -> Command:
        """How ``path`` is compiled. ``setting``: the database, or the folder it is in; without it the nearest one in
        the folders above ``path`` or in their ``build``. A file without an entry, such as a header, is compiled
        like one in the nearest folder."""
        absolute = os.path.abspath(path)  # noqa: PTH100
        place = _database_of(absolute) if setting is None else _named(setting)
        if place is None:
            return _NOTHING
        database = self._database(place)
        if database.problem is not None:
            return Command(database=place, problem=database.problem)
        entry = database.entries.get(_key(absolute)) or _near(absolute, database)
        if entry is None:
            return Command(database=place)
        key = place, database.stamp, entry.file
        if key not in self._flags:
            if len(self._flags) > 10_000:
                self._flags.clear()
            self._flags[key] = _read_flags(entry)
        flags = self._flags[key]
        if isinstance(flags, str):
            return Command(database=place, problem=flags)
        return Command(flags, place)

    def compiled(self, paths: Iterable[str]) -> list[str]:
        """Those of some absolute paths that have an entry in the nearest database."""
        places: dict[str, str | None] = {}
        found: list[str] = []
        for path in paths:
            folder = os.path.dirname(path)  # noqa: PTH120
            if folder not in places:
                places[folder] = _database_of(path)
            place = places[folder]
            if place is not None and _key(path) in self._database(place).entries:
                found.append(path)
        return found

    def _database(self, place: str) -> _Database:
        stamp = _stamp(place)
        known = self._databases.get(place)
        if known is None or known.stamp != stamp:
            known = self._databases[place] = _load(place, stamp)
        return known


def _database_of(path: str) -> str | None:
    for folder in Path(path).parents:
        for place in PLACES:
            candidate = folder / place
            if is_file(candidate):
                return str(candidate)
    return None


def _named(setting: str) -> str:
    return str(Path(setting) / NAME) if is_folder(setting) else setting


def _stamp(place: str) -> Stamp:
    try:
        return stamp_of(os.stat(place))  # noqa: PTH116
    except (OSError, ValueError):
        return -1, -1, -1


def _load(place: str, stamp: Stamp) -> _Database:
    database = _Database(stamp)
    try:
        data = read_regular(place, MAX_BYTES)
        if sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
            database.problem = f"holds more than {MAX_VALUES:,} values, not read"
            return database
        document = json.loads(data.decode("utf-8-sig"))
    except FileNotFoundError:
        database.problem = "no such file"
    except OverflowError:
        database.problem = f"larger than {MAX_BYTES >> 20} MB, not read"
    except UnicodeDecodeError as error:
        database.problem = f"is not UTF-8 text (byte {error.start})"
    except json.JSONDecodeError as error:
        database.problem = f"is not valid JSON: {error.msg} (line {error.lineno})"
    except RecursionError:
        database.problem = "is not valid JSON: nested too deeply"
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        database.problem = f"cannot be read: {reason}"
    else:
        if not isinstance(document, list):
            database.problem = "must be a list of compile commands"
            return database
        if len(document) > MAX_ENTRIES:
            database.problem = f"holds {len(document):,} commands; {MAX_ENTRIES:,} at most"
            return database
        for item in document:
            entry = _entry(item, str(Path(place).parent))
            if entry is not None:
                database.entries.setdefault(_key(entry.file), entry)
        if document and not database.entries:
            database.problem = 'holds no compile command with "file" and "command" or "arguments"'
        if database.entries:
            database.nearest = _Nearest(database.entries.values())
    return database


def _entry(item: Any, default: str) -> _Entry | None:
    """An item of the list; None when it is none."""
    if not isinstance(item, dict):
        return None
    file, directory = item.get("file"), item.get("directory", default)
    words = item.get("arguments")
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        words = tuple(words)
    else:
        words = item.get("command")
    if not isinstance(file, str) or not isinstance(directory, str) or not isinstance(words, str | tuple):
        return None
    if "\0" in file or "\0" in directory or max(len(file), len(directory)) > MAX_PATH:
        return None
    directory = os.path.normpath(Path(default) / directory)
    return _Entry(os.path.normpath(Path(directory) / file), directory, words)


class _Nearest:
    """Finds the entry nearest to a folder, in it or below it: CUDA files before others, then by name.

    Sorted by path, the entries below a folder form one stretch, and a tree of minima gives the nearest of a stretch.
    Memory grows with the number of entries, however deep their folders are.
    """

    __slots__ = ("_best", "_entries", "_paths")

    def __init__(self, entries: Iterable[_Entry]) -> None:
        self._entries = sorted(entries, key=lambda entry: _key(entry.file))
        self._paths = [_key(entry.file) for entry in self._entries]
        ranks = [
            (path.count(os.sep), not entry.file.lower().endswith(SUFFIXES), entry.file, at)
            for at, (path, entry) in enumerate(zip(self._paths, self._entries, strict=True))
        ]
        place_of = {rank[-1]: place for place, rank in enumerate(sorted(ranks))}
        count = len(ranks)
        # Leaves from `count` on; the smaller of 2 n and 2 n + 1 at n.
        self._best = [(count, -1)] * count + [(place_of[at], at) for at in range(count)]
        for node in range(count - 1, 0, -1):
            self._best[node] = min(self._best[2 * node], self._best[2 * node + 1])

    def of(self, folder: str) -> _Entry | None:
        start = folder if folder.endswith(os.sep) else folder + os.sep
        low = bisect_left(self._paths, start)
        high = bisect_left(self._paths, True, lo=low, key=lambda path: not path.startswith(start))
        if low == high:
            return None
        count = len(self._entries)
        low, high = low + count, high + count
        best = self._best[low]
        while low < high:
            if low & 1:
                best = min(best, self._best[low])
                low += 1
            if high & 1:
                high -= 1
                best = min(best, self._best[high])
            low, high = low // 2, high // 2
        return self._entries[best[1]]


def _near(path: str, database: _Database) -> _Entry | None:
    """The entry to use for a file without one: from the nearest folder, where a source of the same name wins."""
    stem = Path(path).stem
    if database.nearest is None:
        return None
    for folder in Path(path).parents:
        entry = database.nearest.of(_key(str(folder)))
        if entry is not None:
            for suffix in (".cu", ".hip", ".cpp", ".cc", ".cxx"):
                twin = database.entries.get(_key(str(folder / f"{stem}{suffix}")))
                if twin is not None:
                    return twin
            return entry
    return None


def _key(path: str) -> str:
    return os.path.normcase(path)


def _read_flags(entry: _Entry) -> CompileFlags | str:
    """The flags that the preprocessor needs; or a line that says why the command is not read."""
    if sum(map(len, entry.words)) > MAX_COMMAND:
        return f"the command of {entry.file} is longer than {MAX_COMMAND:,} characters"
    words = expanded(entry.words if isinstance(entry.words, tuple) else split(entry.words), entry.directory)
    if sum(map(len, words)) > MAX_COMMAND:
        return f"the command of {entry.file} is longer than {MAX_COMMAND:,} characters"
    found: dict[str, list[str]] = {kind: [] for kind in set(_VALUED.values())}
    macros: dict[str, str | None] = {}  # name -> definition; None: undefined
    for number, (kind, value) in enumerate(_values(words)):
        if number == MAX_FLAGS:
            return f"the command of {entry.file} has more than {MAX_FLAGS:,} definitions and folders"
        if kind in ("define", "undefine"):
            name = re.split(r"[=(]", value, maxsplit=1)[0]
            macros[name] = value if kind == "define" else None
        else:
            found[kind].append(value)
    for value in found["standard"]:
        standard = _STANDARD.match(value)
        if standard and standard[1] in _STANDARDS:
            macros.setdefault("__cplusplus", f"__cplusplus={_STANDARDS[standard[1]]}")
    if found["stream"][-1:] == ["per-thread"]:  # what nvcc makes of it
        macros.setdefault("CUDA_API_PER_THREAD_DEFAULT_STREAM", "CUDA_API_PER_THREAD_DEFAULT_STREAM=1")
    architectures = [match for value in found["arch"] for match in _ARCH.findall(value)]
    newest = max(architectures, key=lambda pair: (int(pair[0]), pair[1]), default=None)

    def folders(*kinds: str) -> tuple[str, ...]:
        named = (value for kind in kinds for value in found[kind])
        return tuple(dict.fromkeys(os.path.normpath(Path(entry.directory) / value) for value in named))

    return CompileFlags(
        include_dirs=folders("include", "system", "after"),
        quote_dirs=folders("quote"),
        defines=tuple(value for value in macros.values() if value is not None),
        undefines=tuple(name for name, value in macros.items() if value is None),
        includes=folders("forced"),
        arch=f"sm_{newest[0]}{newest[1]}" if newest else None,
    )


def _values(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(kind, value) of the flags that matter, in order."""
    rest = iter(words[1:])
    for word in rest:
        if word in _OTHERS_WITH_VALUE:
            next(rest, None)
            continue
        if word in _VALUED:
            value = next(rest, None)
            if value is not None:
                yield _VALUED[word], value
            continue
        name, equals, value = word.partition("=")
        if equals and name in _VALUED and name not in ("-D", "-U"):
            yield _VALUED[name], value
            continue
        joined = next((flag for flag in _JOINED if word.startswith(flag) and len(word) > len(flag)), None)
        if joined is not None:
            yield _VALUED[joined], word[len(joined) :]
