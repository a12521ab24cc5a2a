"""The projects around files: where each begins, its files by name, and what they say of each other."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path

from smem_lsp.environment.project_index import ProjectIndex
from smem_lsp.environment.project_tree import ProjectTree, walk
from smem_lsp.source import is_file, is_there
from smem_lsp.source.record import dataclass

MARKERS = (".git", "pyproject.toml", "setup.py", "smem.toml", "PKG-INFO")
_BUILD_FILE = "CMakeLists.txt"  # every folder may have one: the outermost counts

MAX_ANSWERS = 100_000
MAX_PROJECTS = 8  # indexes that are held
_MOST_NOTED = 1_000  # files that changed: beyond, all of them are looked at again


@dataclass(slots=True)
class _Project:
    tree: ProjectTree
    index: ProjectIndex | None = None
    noted: set[str] = field(default_factory=set)  # files that may have come or gone; any thread may add to it
    stale: bool = False  # all files may have


class Projects:
    """The projects met so far, each walked on first use. Any thread may call ``forget``, one the rest.

    ``make_index`` makes the index of a tree; without it there are only files by name.
    """

    __slots__ = ("_answers", "_make_index", "_named", "_projects", "_roots")

    def __init__(self, make_index: Callable[[ProjectTree], ProjectIndex] | None = None) -> None:
        self._make_index = make_index
        self._projects: OrderedDict[tuple[str, bool], _Project] = OrderedDict()
        self._roots: dict[str, str | None] = {}
        self._answers: dict[tuple[str, str], str | None] = {}
        self._named: frozenset[str] = frozenset()

    def name(self, folders: Iterable[str]) -> None:
        """These folders count as projects where nothing else says where a project begins. The home folder and those
        around it never do: they are too large to be one."""
        home = Path(os.path.expanduser("~"))  # noqa: PTH111  (Path's raises an error where there is none)
        self._named = frozenset(folders) - {str(each) for each in (home, *home.parents)}
        self._roots, self._answers = {}, {}

    def forget(self, paths: Iterable[str] | None = None) -> None:
        """These files have come, gone or changed; None: any may have."""
        noted = None if paths is None else list(paths)
        for project in list(self._projects.values()):
            if noted is None or len(noted) > _MOST_NOTED:
                project.stale = True
            else:
                project.noted.update(noted)
        self._roots, self._answers = {}, {}

    def edited(self, path: str) -> None:
        """An editor shows another text of this file."""
        for project in list(self._projects.values()):
            project.noted.add(path)

    def search(self, name: str, including: str, read: Callable[[str], str | None]) -> str | None:
        """The file whose path ends in ``name``, below the root of the project that holds ``including``.

        Of several files, the one that shares the longest path with ``including``. If several share it, the one in an
        include folder; else any of them if all have the same text, else None. Links are not followed, so nothing
        outside the root is read.
        """
        key = name, including
        answers = self._answers  # `forget` replaces it
        if key not in answers:
            if len(answers) > MAX_ANSWERS:
                answers.clear()
            path = os.path.abspath(including)  # noqa: PTH100
            root = self.root(os.path.dirname(path))  # noqa: PTH120
            answers[key] = None if root is None else self._tree(root).find(name, path, read)
        return answers.get(key)

    def root(self, folder: str) -> str | None:
        """Root of the project around an absolute folder: the nearest with a marker, else the outermost with a build
        file, else the nearest that was named; None when there is none."""
        if folder not in self._roots:
            self._roots[folder] = _root(folder, self._named)
        return self._roots[folder]

    def index(self, path: str) -> ProjectIndex | None:
        """The index of the project around a file, as far as it has come; outside of a project that of its folder."""
        if self._make_index is None:
            return None
        folder = os.path.dirname(path)  # noqa: PTH120
        root = self.root(folder)
        project = self._project(folder if root is None else root, flat=root is None)
        if project.index is None:
            project.index = self._make_index(project.tree)
            self._answers = {}
        return project.index

    def indexes(self) -> list[ProjectIndex]:
        """Those that were asked for, up to date with the files that came and went."""
        projects = [
            self._project(*key) for key, known in list(self._projects.items()) if known.index is not None
        ]
        return [project.index for project in projects if project.index is not None]

    def decided(self) -> None:
        """An index knows its include folders now: some includes may lead elsewhere."""
        self._answers = {}

    def _tree(self, root: str) -> ProjectTree:
        return self._project(root, flat=False).tree

    def _project(self, root: str, flat: bool) -> _Project:
        key = root, flat
        project = self._projects.get(key)
        if project is None:
            project = self._projects[key] = _Project(_walked(root, flat))
            while len(self._projects) > MAX_PROJECTS:
                self._projects.popitem(last=False)
            return project
        self._projects.move_to_end(key)
        while project.noted:
            path = project.noted.pop()
            if path.startswith(root):
                self._look_at(project, path)
        if project.stale:
            project.stale = False
            roots = project.tree.roots
            project.tree = _walked(root, flat)
            project.tree.roots = roots
            if project.index is not None:
                project.index.note_all(project.tree)
        return project

    def _look_at(self, project: _Project, path: str) -> None:
        if project.tree.may_be_folder(path):
            project.stale = True
        elif project.tree.look_at(path):
            self._answers = {}
        if project.index is not None:
            project.index.note((path,))


def _walked(root: str, flat: bool) -> ProjectTree:
    tree = ProjectTree(root, flat)
    for found in walk(root, flat=flat):
        tree = found
    return tree


def _root(folder: str, named_folders: frozenset[str]) -> str | None:
    outermost: str | None = None
    named: str | None = None
    for parent in (Path(folder), *Path(folder).parents):
        if parent == parent.parent:
            break  # the root of the file system is no project
        if any(is_there(parent / marker) for marker in MARKERS):
            return str(parent)
        if is_file(parent / _BUILD_FILE):
            outermost = str(parent)
        if named is None and str(parent) in named_folders:
            named = str(parent)
    return outermost or named
