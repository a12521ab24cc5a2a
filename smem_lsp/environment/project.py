"""Headers of the project around a file, found by the end of their path if no include folder has them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from smem_lsp.source import checkpoint, is_file, is_there

MARKERS = (".git", "pyproject.toml", "setup.py", "smem.toml", "PKG-INFO")
_BUILD_FILE = "CMakeLists.txt"  # every folder may have one: the outermost counts

MAX_FOLDERS = 10_000
MAX_FILES = 100_000
MAX_ANSWERS = 100_000

_SUFFIXES = frozenset(
    ".h .hh .hpp .hxx .h++ .hu .cuh .cu .hip .inl .inc .ipp .tpp .txx .impl .def .c .cc .cpp .cxx .cui".split()
)
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


@dataclass(slots=True)
class _FileIndex:
    """Files below a root by name. ``complete`` False: there were too many to look at all of them."""

    files: dict[str, list[str]] = field(default_factory=dict)
    complete: bool = True


class Projects:
    """Indexes of the projects met so far, made on first use. Any thread may call ``forget``."""

    __slots__ = ("_answers", "_indexes", "_roots")

    def __init__(self) -> None:
        self._indexes: dict[str, _FileIndex] = {}
        self._roots: dict[str, str | None] = {}
        self._answers: dict[tuple[str, str], str | None] = {}

    def forget(self) -> None:
        """Files have come or gone: look again."""
        self._indexes, self._roots, self._answers = {}, {}, {}

    def search(self, name: str, including: str, read: Callable[[str], str | None]) -> str | None:
        """The file whose path ends in ``name``, below the root of the project that holds ``including``.

        Of several files, the one that shares the longest path with ``including``. If several share it, any of them if
        all have the same text, else None. Links are not followed, so nothing outside the root is read.
        """
        key = name, including
        answers = self._answers  # `forget` replaces it
        if key not in answers:
            if len(answers) > MAX_ANSWERS:
                answers.clear()
            answers[key] = self._search(name, os.path.abspath(including), read)  # noqa: PTH100
        return answers.get(key)

    def _search(self, name: str, including: str, read: Callable[[str], str | None]) -> str | None:
        folder = os.path.dirname(including)  # noqa: PTH120
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        root = self.root(folder)
        if not parts or root is None:
            return None
        end = "/" + "/".join(parts)
        found: list[str] = []
        for path in self._index(root).files.get(parts[-1], ()):
            checkpoint()
            if path.replace(os.sep, "/").endswith(end) and path != including:
                found.append(path)
        if len(found) > 1:
            shared = {path: _shared(path, including) for path in found}
            most = max(shared.values())
            found = [path for path in found if shared[path] == most]
        if len(found) > 1 and len({read(path) for path in found}) > 1:
            return None
        return found[0] if found else None

    def root(self, folder: str) -> str | None:
        """Root of the project around an absolute folder: the nearest with a marker, else the outermost with a build
        file; None when there is neither."""
        if folder not in self._roots:
            self._roots[folder] = _root(folder)
        return self._roots[folder]

    def _index(self, root: str) -> _FileIndex:
        indexes = self._indexes
        if root not in indexes:
            indexes[root] = _index(root)
        return indexes[root]


def _root(folder: str) -> str | None:
    outermost: str | None = None
    for parent in (Path(folder), *Path(folder).parents):
        if parent == parent.parent:
            break  # the root of the file system is no project
        if any(is_there(parent / marker) for marker in MARKERS):
            return str(parent)
        if is_file(parent / _BUILD_FILE):
            outermost = str(parent)
    return outermost


def _shared(path: str, other: str) -> int:
    """How many leading folders two paths share."""
    count = 0
    for a, b in zip(PurePath(path).parent.parts, PurePath(other).parent.parts):
        if a != b:
            break
        count += 1
    return count


def _index(root: str) -> _FileIndex:
    """All files below ``root`` that may be included; outer folders first, so that the bound cuts off the deepest."""
    index = _FileIndex()
    pending = deque([root])
    folders = files = 0
    while pending:
        folders += 1
        if folders > MAX_FOLDERS or files > MAX_FILES:
            index.complete = False
            break
        for entry in _entries(pending.popleft()):
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _SKIPPED_FOLDERS:
                    pending.append(entry.path)
            elif os.path.splitext(entry.name)[1].lower() in _SUFFIXES:  # noqa: PTH122
                if entry.is_file(follow_symlinks=False):
                    index.files.setdefault(entry.name, []).append(entry.path)
                    files += 1
    return index


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """What is in a folder, by name; nothing when it cannot be read or is a virtual environment."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return
    yield from entries
