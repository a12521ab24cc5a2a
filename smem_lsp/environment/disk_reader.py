"""Reads the files that the front end asks for while it follows ``#include``."""

from __future__ import annotations

import math
import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from threading import Thread

from smem_lsp.environment.compile_commands import CompileCommands
from smem_lsp.environment.contexts import includers, naming
from smem_lsp.environment.encoding import decode
from smem_lsp.environment.index_store import IndexStore
from smem_lsp.environment.project import MAX_PROJECTS, Projects
from smem_lsp.environment.project_index import ProjectIndex, Summarise
from smem_lsp.environment.project_tree import ProjectTree
from smem_lsp.source import MAX_BYTES, CompileFlags, FileReader, Stamp, read_regular, stamp_of
from smem_lsp.source.queries import Query, Store
from smem_lsp.source.record import dataclass

_MOST_TRUSTED = 20_000
_MOST_ANSWERS = 2_000


@dataclass(frozen=True, slots=True)
class Indexing:
    """How a reader comes to know which files of a project belong together.

    ``isolated``: compile commands count only where a setting names them.
    ``summarise``: what one text says to other files. ``store``: where that is kept for later sessions. ``background``:
    nobody waits for an index, it is worked on in ``advance``. ``folders``: see ``name_folders``.
    """

    summarise: Summarise
    store: IndexStore | None = None
    background: bool = False
    folders: tuple[str, ...] = ()
    isolated: bool = False


_TEXT = Query[str, tuple[Stamp, str | None]]("text of a file", each=1)


class DiskReader(FileReader):
    """Reads regular files of at most 8 MB, once per version. Open buffers of an editor hide the disk.

    ``fresh_for``: seconds before a file is looked at again; 0 looks every time. Without ``indexing`` no file lends its
    context to another.
    """

    __slots__ = (
        "_answers",
        "_commands",
        "_fresh_for",
        "_indexing",
        "_overlay",
        "_projects",
        "_texts",
        "_trusted",
    )

    def __init__(self, *, fresh_for: float = 0.0, indexing: Indexing | None = None) -> None:
        self._texts = Store(shared=True)
        self._overlay: dict[str, str] = {}
        self._indexing = indexing
        self._projects = Projects(None if indexing is None else self._make_index)
        if indexing is not None:
            self.name_folders(indexing.folders)
        self._commands = CompileCommands()
        self._answers: dict[_Question, tuple[tuple[int, int], tuple[str, ...]]] = {}
        self._fresh_for = fresh_for
        self._trusted: dict[str, tuple[float, bool]] = {}  # path as given -> since when; is there a text?

    def read(self, path: str) -> str | None:
        """Text of a regular file, or None when it is missing, too large or not text."""
        if self._fresh_for:
            key, now = _key(path), time.monotonic()
            since, there = self._trusted.get(path, (-math.inf, False))
            if 0 <= now - since < self._fresh_for and key not in self._overlay:
                known = _TEXT.find(self._texts, key)
                if known is not None or not there:
                    return None if known is None else known[1]
            text = self._read(path)
            if len(self._trusted) >= _MOST_TRUSTED:
                self._trusted.clear()
            self._trusted[path] = now, text is not None
            return text
        return self._read(path)

    def search(self, name: str, including: str) -> str | None:
        """The file in the project around ``including`` whose path ends in ``name``; None if there is none or several
        fit. It is relative to the working folder where ``including`` is."""
        found = self._projects.search(name, including, self.read)
        if found is None or os.path.isabs(including):  # noqa: PTH117
            return found
        return os.path.relpath(found)

    def real(self, path: str) -> str:
        """The one absolute path of a file, whatever links lead to it."""
        return os.path.realpath(path)

    def in_project(self, path: str, *, around: str) -> bool:
        """Does ``path`` belong to the project of the file ``around``, or, if that has none, stand below its folder?"""
        folder = os.path.dirname(os.path.abspath(around))  # noqa: PTH100, PTH120
        root = self._projects.root(folder) or folder
        return Path(os.path.abspath(path)).is_relative_to(root)  # noqa: PTH100

    def includers(self, path: str) -> Sequence[str]:
        """The main files through whose units ``path`` is read, the best contexts first."""

        def answer(index: ProjectIndex, path: str) -> tuple[str, ...]:
            return includers(index, path, self.read(path) or "", self._commands.compiled)

        return self._ask(path, (), answer)

    def naming(self, path: str, names: Collection[str]) -> Sequence[str]:
        """The files that launch, instantiate or declare one of these kernels and do not include ``path``."""
        wanted = tuple(names)
        return self._ask(path, wanted, lambda index, path: naming(index, path, wanted)) if wanted else ()

    def calling(self, path: str, name: str) -> Sequence[str] | None:
        """The other files of the project whose code may name this function; None: not known yet."""
        index = self.index(path)
        if index is None:
            return None
        return sorted(index.holding(name) - {os.path.abspath(path), os.path.realpath(path)})  # noqa: PTH100

    def read_projects(self, paths: Iterable[str]) -> None:
        """Make the indexes of the projects around these files, as many as are held."""
        indexes: set[int] = set()
        for path in paths:
            index = self.index(path)
            indexes.add(id(index))
            if len(indexes) >= MAX_PROJECTS:
                break

    def flags(self, path: str, compile_commands: str | None) -> CompileFlags | None:
        """The options of a file's compile command, or of one near it; None if there is none."""
        if self._indexing is None or (self._indexing.isolated and compile_commands is None):
            return None
        command = self._commands.command(path, compile_commands)
        return None if command.database is None or command.problem is not None else command.flags

    def index(self, path: str) -> ProjectIndex | None:
        """The index of the project around a file; None while it is not known yet. Waits for it unless it is made in
        the background."""
        if self._indexing is None:
            return None
        index = self._projects.index(os.path.abspath(path))  # noqa: PTH100
        if index is not None and not self._indexing.background and not index.settled:
            # A budget counts the time of one thread: that of the index is not the file's.
            builder = Thread(target=self.advance, daemon=True, name="index")
            builder.start()
            builder.join()
        return index if index is not None and index.ready else None

    def advance(self, enough: Callable[[], bool] = bool) -> bool:
        """Work on the indexes until it is ``enough``. True: there is nothing left to do."""
        for index in self._projects.indexes():
            ready = index.ready
            done = index.advance(enough)
            if index.ready and not ready:
                self._projects.decided()
            if not done:
                return False
        return True

    def show(self, path: str, text: str) -> None:
        """An editor has opened ``path``: from now on it reads as ``text``."""
        self._overlay[_key(path)] = text
        self._projects.edited(path)
        self._trusted.clear()

    def hide(self, path: str) -> None:
        """The editor has closed ``path``: it reads as on disk again."""
        self._overlay.pop(_key(path), None)
        self._projects.edited(path)
        self._trusted.clear()

    def name_folders(self, folders: Iterable[str]) -> None:
        """These folders count as projects where nothing else says where a project begins; absolute paths."""
        self._projects.name(_key(folder) for folder in folders)

    def forget(self, paths: Iterable[str] | None = None) -> None:
        """Files on the disk were made, changed or removed: look at them again. None: any of them."""
        self._projects.forget(paths)
        self._answers = {}
        self._trusted.clear()

    def _ask(
        self, path: str, names: tuple[str, ...], answer: Callable[[ProjectIndex, str], tuple[str, ...]]
    ) -> tuple[str, ...]:
        index = self.index(path)
        if index is None:
            return ()
        place = os.path.abspath(path)  # noqa: PTH100
        if place not in index.files and os.path.realpath(place) in index.files:
            place = os.path.realpath(place)
        version = id(index), index.generation
        known = self._answers.get((place, names))
        if known is None or known[0] != version:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers = {}
            known = self._answers[place, names] = version, answer(index, place)
        gone = [each for each in known[1] if self._version(each) is None and _key(each) not in self._overlay]
        if gone:  # and nobody has said so
            self.forget(gone)
            return tuple(each for each in known[1] if each not in gone)
        return known[1]

    def _make_index(self, tree: ProjectTree) -> ProjectIndex:
        assert self._indexing is not None
        return ProjectIndex(
            tree, self._indexing.summarise, self._versioned, self._version, self.read, self._indexing.store
        )

    def _versioned(self, path: str) -> tuple[Stamp | None, str] | None:
        """The text of a file and its stamp, which is None when an editor holds it."""
        key = _key(path)
        if key in self._overlay:
            return None, self._overlay[key]
        stamp = self._version(path)
        text = None if stamp is None else _text(key)  # not kept: the index reads every file once
        return None if text is None else (stamp, text)

    def _version(self, path: str) -> Stamp | None:
        key = _key(path)
        return None if key in self._overlay else _stamp(key)

    def _read(self, path: str) -> str | None:
        key = _key(path)
        if key in self._overlay:
            return self._overlay[key]
        stamp = _stamp(key)
        if stamp is None:
            return None
        known = _TEXT.find(self._texts, key)
        if known is not None and known[0] == stamp:
            return known[1]
        text = _text(key)
        _TEXT.keep(self._texts, key, (stamp, text), len(text or "") + 200)
        return text


_Question = tuple[str, tuple[str, ...]]  # a path, and the names of kernels


def _key(path: str) -> str:
    return os.path.normcase(os.path.abspath(path))  # noqa: PTH100


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):  # ValueError: a NUL in the name of an include
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
        return None
    return stamp_of(status)


def _text(path: str) -> str | None:
    try:
        text, _ = decode(read_regular(path))
    except (OSError, OverflowError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text
