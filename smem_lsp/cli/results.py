"""What came of a file in an earlier run: found by its text, the settings, the options and our own code, and valid while
every file that was asked for on the way says what it said, and those that did not exist still do not."""

from __future__ import annotations

import enum
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from smem_lsp.environment.result_store import Asked, ResultStore
from smem_lsp.output.version import VERSION
from smem_lsp.rules.model import Severity
from smem_lsp.source import CompileFlags, FileReader
from smem_lsp.source.queries import PROCESS, Query

_FORMAT = 1
_DIGESTS = Query[str, str]("digest of a text", each=1)  # code points: files share their headers
_CODE = Query[None, str]("digest of our code", most=1)


def digest(text: str) -> str:
    def find() -> str:
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    return _DIGESTS.of(PROCESS, text, find, weigh=len)


class NotingReader(FileReader):
    """Reads for the front end and notes what it is asked, with the answers."""

    __slots__ = ("_answers", "_reader", "changed")

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
        self._answers: dict[str, Asked] = {}
        self.changed = False  # did a question get another answer than before?

    @property
    def asked(self) -> Collection[Asked]:
        return self._answers.values()

    def _note(self, *asked: Any) -> None:
        question = repr(asked[:-1])
        before = self._answers.setdefault(question, asked)
        self.changed |= before[-1] != asked[-1]

    def read(self, path: str) -> str | None:
        found = self._reader.read(path)
        self._note("read", path, None if found is None else digest(found))
        return found

    def search(self, name: str, including: str) -> str | None:
        found = self._reader.search(name, including)
        self._note("search", name, including, found)
        return found

    def real(self, path: str) -> str:
        found = self._reader.real(path)
        self._note("real", path, found)
        return found

    def includers(self, path: str) -> Sequence[str]:
        found = self._reader.includers(path)
        self._note("includers", path, list(found))
        return found

    def naming(self, path: str, names: Collection[str]) -> Sequence[str]:
        found = self._reader.naming(path, names)
        self._note("naming", path, list(names), list(found))
        return found

    def calling(self, path: str, name: str) -> Sequence[str] | None:
        found = self._reader.calling(path, name)
        self._note("calling", path, name, None if found is None else list(found))
        return found

    def flags(self, path: str, compile_commands: str | None) -> CompileFlags | None:
        found = self._reader.flags(path, compile_commands)
        self._note("flags", path, compile_commands, plain(found))
        return found


class Results:
    """Results of this run and of earlier ones. What is asked of the disk to see whether they hold is asked once."""

    __slots__ = ("_answers", "_reader", "_store")

    def __init__(self, store: ResultStore, reader: FileReader) -> None:
        self._store = store
        self._reader = reader
        self._answers: dict[str, Any] = {}

    def find(self, key: bytes) -> Mapping[str, Any] | None:
        found = self._store.find(key, self._still)
        return found if isinstance(found, dict) else None

    def keep(self, key: bytes, reader: NotingReader, result: Mapping[str, Any]) -> None:
        if not reader.changed:
            self._store.keep(key, reader.asked, result)

    def _still(self, asked: Asked) -> bool:
        question = repr(asked[:-1])
        if question not in self._answers:
            self._answers[question] = self._answer(*asked[:-1])
        return bool(self._answers[question] == asked[-1])

    def _answer(self, kind: str, *asked: Any) -> Any:
        reader = self._reader
        match kind:
            case "read":
                found = reader.read(*asked)
                return None if found is None else digest(found)
            case "search":
                return reader.search(*asked)
            case "real":
                return reader.real(*asked)
            case "includers":
                return list(reader.includers(*asked))
            case "naming":
                return list(reader.naming(*asked))
            case "calling":
                callers = reader.calling(*asked)
                return None if callers is None else list(callers)
        return plain(reader.flags(*asked))


def result_key(*parts: object) -> bytes:
    """Equal keys are of equal ``parts``, in one folder, for one version of our code."""
    return json.dumps([_FORMAT, _CODE.of(PROCESS, None, _code), str(Path.cwd()), plain(parts)]).encode()


def plain(value: Any) -> Any:
    """A value in lists, texts and numbers, the same for equal values."""
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, *(plain(getattr(value, each.name)) for each in fields(value))]
    if isinstance(value, Mapping):
        return sorted([plain(key), plain(each)] for key, each in value.items())
    if isinstance(value, frozenset | set):
        return sorted(map(plain, value))
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, enum.Enum):
        return value.name
    return value if value is None or isinstance(value, str | int | float) else str(value)


def counted(counts: Counter[tuple[Severity, str]]) -> list[Any]:
    """Findings by severity and code, as lists."""
    return [[int(severity), code, n] for (severity, code), n in counts.items()]


def counter(value: Any) -> Counter[tuple[Severity, str]]:
    """The same again."""
    return Counter({(Severity(severity), code): n for severity, code, n in value})


def _code() -> str:
    """Changes with our code, that of the solver and of Lark, and Python."""
    found = [VERSION, sys.version]
    package = Path(__file__).parents[1]
    places = [str(package), str(package.parent / "grammar")]  # the second one in a checkout
    for name in ("z3", "lark"):
        spec = PathFinder.find_spec(name)  # what says their versions takes 17 ms to import
        places += [name] if spec is None else spec.submodule_search_locations or [str(spec.origin)]
    for place in places:
        for folder, folders, names in os.walk(place):
            folders.sort()
            for name in sorted(names):
                if not name.endswith(".pyc"):
                    status = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118  (800 files)
                    found.append(f"{folder}/{name} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(found).encode("utf-8", "surrogateescape")).hexdigest()
