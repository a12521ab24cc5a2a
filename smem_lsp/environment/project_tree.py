"""The files below the root of a project that may be included, by name: one walk, then kept up to date by path."""

from __future__ import annotations

import os
import stat
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field

from smem_lsp.source import checkpoint, is_folder, is_there
from smem_lsp.source.record import dataclass

MAX_FOLDERS = 10_000
MAX_FILES = 100_000

SUFFIXES = frozenset(
    ".h .hh .hpp .hxx .h++ .hu .cuh .cu .hip .inl .inc .ipp .tpp .txx .impl .def .c .cc .cpp .cxx .cui".split()
)
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
_ENVIRONMENT = "pyvenv.cfg"  # a folder with this file is a virtual environment
_AFTER_SEPARATOR = chr(ord(os.sep) + 1)


@dataclass(slots=True)
class ProjectTree:
    """``complete`` False: there were too many files to look at all of them. ``flat``: folders inside do not count, and
    no file is found by the end of its path. Links are not followed, so everything is below ``root``."""

    root: str
    flat: bool = False
    files: dict[str, list[str]] = field(default_factory=dict)  # name -> paths, sorted
    folders: set[str] = field(default_factory=set)
    complete: bool = True
    roots: Mapping[str, int] = field(default_factory=dict)  # include folder -> includes that it resolves
    _ends: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # name -> end of a path -> paths

    def __contains__(self, path: str) -> bool:
        paths = self.files.get(os.path.basename(path), ())  # noqa: PTH119
        at = bisect_left(paths, path)
        return at < len(paths) and paths[at] == path

    def paths(self) -> Iterator[str]:
        for same in list(self.files.values()):
            yield from list(same)

    def nearest(self, name: str, including: str) -> tuple[list[str], str]:
        """The files whose path ends in ``name``, of several those that share the longest path with ``including``; and
        that end of their paths."""
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        if not parts or self.flat:
            return [], ""
        end = os.sep + os.sep.join(parts)  # noqa: PTH118  (Path takes ten times as long)
        found = self._ending(parts[-1], end)
        folder = including
        while found and len(folder) > len(self.root):
            checkpoint()
            folder = os.path.dirname(folder)  # noqa: PTH120
            low = bisect_left(found, folder + os.sep)
            high = bisect_left(found, folder + _AFTER_SEPARATOR, low)
            near = [path for path in found[low:high] if path != including]
            if near:
                return near, end
        return [], end

    def find(self, name: str, including: str, read: Callable[[str], str | None]) -> str | None:
        """The file that an include of ``name`` means: the nearest one. Of several that are equally near, the one in an
        include folder, else any of them if all have the same text."""
        near, end = self.nearest(name, including)
        if len(near) > 1:
            at_roots = [path for path in near if path[: -len(end)] in self.roots]
            if len(at_roots) == 1:
                return at_roots[0]
            if not one_text(near, read):
                return None
        return near[0] if near else None

    def _ending(self, name: str, end: str) -> list[str]:
        ends = self._ends.setdefault(name, {})
        if end not in ends:
            ends[end] = [path for path in self.files.get(name, ()) if path.endswith(end)]
        return ends[end]

    def may_be_folder(self, path: str) -> bool:
        return path in self.folders or is_folder(path)

    def look_at(self, path: str) -> bool:
        """A file may have come or gone. True: it has."""
        name = os.path.basename(path)  # noqa: PTH119
        if self._belongs(path):
            if path not in self:
                insort(self.files.setdefault(name, []), path)
                self._ends.pop(name, None)
                return True
        elif path in self:
            self.files[name].remove(path)
            self._ends.pop(name, None)
            return True
        return False

    def _belongs(self, path: str) -> bool:
        folder = os.path.dirname(path)  # noqa: PTH120
        if os.path.splitext(path)[1].lower() not in SUFFIXES or not self._enter(folder):  # noqa: PTH122
            return False
        try:
            return stat.S_ISREG(os.lstat(path).st_mode)
        except (OSError, ValueError):
            return False

    def _enter(self, folder: str) -> bool:
        """Would the walk have come to this folder?"""
        passed: list[str] = []
        while folder not in self.folders:
            if self.flat or len(folder) <= len(self.root) or not _is_searched(os.path.basename(folder)):  # noqa: PTH119
                return False
            if os.path.islink(folder) or is_there(os.path.join(folder, _ENVIRONMENT)):  # noqa: PTH114, PTH118
                return False
            passed.append(folder)
            folder = os.path.dirname(folder)  # noqa: PTH120
        self.folders.update(passed)
        return True


def one_text(paths: Collection[str], read: Callable[[str], str | None]) -> bool:
    """Do all files have the same text?"""
    first, *others = paths
    text = read(first)
    return all(read(path) == text for path in others)


def walk(root: str, *, flat: bool = False) -> Iterator[ProjectTree]:
    """The tree below ``root``, after each folder; outer folders come first, so that the bound cuts off the deepest."""
    tree = ProjectTree(root, flat)
    pending = deque([root])
    count = 0
    while pending:
        if len(tree.folders) >= MAX_FOLDERS or count > MAX_FILES:
            tree.complete = False
            break
        folder = pending.popleft()
        tree.folders.add(folder)
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                if _is_searched(entry.name) and not flat:
                    pending.append(entry.path)
            elif os.path.splitext(entry.name)[1].lower() in SUFFIXES:  # noqa: PTH122
                if entry.is_file(follow_symlinks=False):
                    tree.files.setdefault(entry.name, []).append(entry.path)
                    count += 1
        yield tree
    for paths in tree.files.values():
        paths.sort()
    yield tree


def _is_searched(name: str) -> bool:
    return not name.startswith(".") and name not in _SKIPPED_FOLDERS


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """What is in a folder, by name; nothing when it cannot be read or is a virtual environment."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name == _ENVIRONMENT for entry in entries):
        return
    yield from entries
