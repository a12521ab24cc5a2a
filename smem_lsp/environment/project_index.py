"""Which file of a project includes which, and which one defines, declares, launches or instantiates which kernels.

What one file says is computed by a function that is passed in; here it is kept, with the links between the files. Work
comes in steps of a millisecond, so that whoever has the time decides when it is done.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from smem_lsp.environment.index_store import IndexStore
from smem_lsp.environment.project_tree import ProjectTree
from smem_lsp.source import Stamp, checkpoint, is_file
from smem_lsp.source.file_summary import EMPTY, FileSummary
from smem_lsp.source.record import dataclass
from smem_lsp.source.word_set import may_hold

MAX_SUMMARISED = 20_000  # files of one project, CUDA first
MAX_ROOTS = 32
MAX_WORDS = 2_000  # that were asked for, with the files that may name each
ROOTS_BY_NAME = ("include", "src", "csrc")

_FIRST = (".cu", ".cuh", ".hip")  # looked at first where there are too many
_NEVER = (".c",)  # cannot include a kernel

Summarise = Callable[[str], FileSummary]


@dataclass(slots=True)
class IndexedFile:
    """``stamp`` None: an editor holds it. ``includes``: the files of the project that it includes."""

    stamp: Stamp | None
    summary: FileSummary
    includes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """An include that leads to no file of the project. ``files``: how many have it; ``example``: one of them."""

    name: str  # as it is written, with its quotes
    files: int
    example: str


@dataclass(slots=True)
class ProjectIndex:
    """The index of one tree. ``ready``: every file has been looked at once. ``generation`` grows with every change of
    what files say to each other, ``worded`` with every other change of their words."""

    tree: ProjectTree
    summarise: Summarise
    read: Callable[
        [str], tuple[Stamp | None, str] | None
    ]  # the text of a file, and its stamp unless it is open
    stamp: Callable[
        [str], Stamp | None
    ]  # the same without the text; None: open in an editor, or not readable
    same: Callable[[str], str | None]  # a text, remembered
    store: IndexStore | None = None
    files: dict[str, IndexedFile] = field(default_factory=dict)
    ready: bool = False
    generation: int = 0
    worded: int = 0
    includers: dict[str, set[str]] = field(default_factory=dict)
    defining: dict[str, set[str]] = field(default_factory=dict)
    declaring: dict[str, set[str]] = field(default_factory=dict)
    using: dict[str, set[str]] = field(default_factory=dict)  # "name", or "&name"
    _wanting: dict[str, set[str]] = field(
        default_factory=dict
    )  # last part of an include -> files that have it
    _holding: dict[str, set[str]] = field(default_factory=dict)  # word that was asked for -> files
    _noted: set[str] = field(default_factory=set)  # to be looked at; any thread may add to it
    _all_noted: bool = True
    _work: Iterator[None] | None = None
    _unsaved: int = 0

    def note(self, paths: Iterable[str]) -> None:
        """These files may have changed. Any thread may say so."""
        self._noted.update(paths)

    def note_all(self, tree: ProjectTree) -> None:
        """Everything may have changed; ``tree`` is what there is now."""
        self.tree, self._all_noted, self._work = tree, True, None

    @property
    def settled(self) -> bool:
        return self._work is None and not self._all_noted and not self._noted

    def advance(self, enough: Callable[[], bool]) -> bool:
        """Work until it is ``enough``. True: the index is up to date."""
        while not self.settled:
            if self._work is None:
                if self._all_noted:
                    self._all_noted = False
                    self._work = self._look_at_all()
                else:
                    self._work = self._look_at_noted()
            try:
                next(self._work)
            except StopIteration:
                self._work = None
            except BaseException:
                self._work, self._all_noted = None, True  # half done: begin again
                raise
            if enough():
                break
        return self.settled

    # ---- looking at files --------------------------------------------------------------------------------------------

    def _look_at_all(self) -> Iterator[None]:
        paths = _chosen(self.tree)
        yield
        stored = not self.ready and self.store is not None
        kept = self.store.load(self.tree.root) if stored and self.store is not None else {}
        yield
        there = set(paths)
        for gone in self.files.keys() - there:
            self._set(gone, None)
        self._unsaved += len(kept.keys() - there)
        for path in paths:
            if path in self.tree:
                known = self.files.get(path)
                self._look_at(path, kept.pop(path, None) if known is None else (known.stamp, known.summary))
            yield
        if not self.ready:
            yield from self._link_all()
        if self._unsaved and self.store is not None:
            held = {path: (f.stamp, f.summary) for path, f in self.files.items() if f.stamp is not None}
            yield from self.store.keep(self.tree.root, held)
            self._unsaved = 0

    def _look_at_noted(self) -> Iterator[None]:
        while self._noted:
            path = self._noted.pop()
            known = self.files.get(path)
            if path in self.tree and (known is not None or len(self.files) < MAX_SUMMARISED):
                self._look_at(path, None if known is None else (known.stamp, known.summary))
            elif known is not None:
                self._set(path, None)
            yield

    def _look_at(self, path: str, before: tuple[Stamp | None, FileSummary] | None) -> None:
        if before is not None and before[0] is not None and self.stamp(path) == before[0]:
            now = before
        else:
            found = self.read(path)
            now = (
                (self.stamp(path), EMPTY) if found is None else (found[0], _shared(self.summarise(found[1])))
            )
        self._unsaved += now != before
        self._set(path, now)

    def _set(self, path: str, now: tuple[Stamp | None, FileSummary] | None) -> None:
        """What a file says is known; None: it is gone."""
        known = self.files.get(path)
        if known is not None and now is not None and known.summary[:-1] == now[1][:-1]:
            known.stamp = now[0]
            if known.summary != now[1]:
                known.summary = now[1]
                self.worded += 1
                self._hold(path)
            return
        if known is not None and self.ready:
            self._remove_names(path)
            self._unlink(path)
        if now is not None:
            self.files[path] = IndexedFile(*now)
        elif known is not None:
            del self.files[path]
        self._hold(path)
        if not self.ready:
            return
        self.generation += 1
        if now is not None:
            self._add_names(path)
            self._link(path)
        if (known is None) != (now is None):
            for other in list(self._wanting.get(os.path.basename(path), ())):  # noqa: PTH119
                checkpoint()
                self._unlink(other)
                self._link(other)

    # ---- words -------------------------------------------------------------------------------------------------------

    def holding(self, word: str) -> set[str]:
        """The files that may name a word in their code."""
        found = self._holding.get(word)
        if found is None:
            if len(self._holding) >= MAX_WORDS:
                self._holding.clear()
            found = {path for path, file in self.files.items() if may_hold(file.summary.words, word)}
            self._holding[word] = found
        return found

    def _hold(self, path: str) -> None:
        """The words of a file are other ones, or it is gone."""
        file = self.files.get(path)
        for word, files in self._holding.items():
            if file is not None and may_hold(file.summary.words, word):
                files.add(path)
            else:
                files.discard(path)

    # ---- links -------------------------------------------------------------------------------------------------------

    def _link_all(self) -> Iterator[None]:
        for table in (self.includers, self.defining, self.declaring, self.using, self._wanting):
            table.clear()
        for path, file in list(self.files.items()):
            file.includes = ()
            self._add_names(path)
            self._link(path)
            yield
        undecided: set[str] = set()
        yield from self._find_roots(undecided)
        for path in undecided:
            self._unlink(path)
            self._link(path)
            yield
        self.ready = True
        self.generation += 1

    def _add_names(self, path: str) -> None:
        for table, names in self._names(path):
            for name in names:
                table.setdefault(sys.intern(name), set()).add(path)

    def _remove_names(self, path: str) -> None:
        for table, names in self._names(path):
            for name in names:
                table[name].remove(path)
                if not table[name]:
                    del table[name]

    def _names(self, path: str) -> tuple[tuple[dict[str, set[str]], set[str]], ...]:
        summary = self.files[path].summary
        return (
            (self.defining, set(summary.defined)),
            (self.declaring, set(summary.declared)),
            (self.using, {used.partition("<")[0] for used in summary.used}),
            (self._wanting, {_last(each) for each in summary.includes}),
        )

    def _link(self, path: str) -> None:
        file = self.files[path]
        found = (self.resolve(each, path) for each in file.summary.includes)
        file.includes = tuple(dict.fromkeys(each for each in found if each is not None and each != path))
        for each in file.includes:
            self.includers.setdefault(each, set()).add(path)

    def _unlink(self, path: str) -> None:
        for each in self.files[path].includes:
            self.includers[each].remove(path)
            if not self.includers[each]:
                del self.includers[each]
        self.files[path].includes = ()

    def resolve(self, include: str, path: str) -> str | None:
        """The file of the project that an include of ``path`` means, as the preprocessor would find it."""
        kind, name = include[0], include[1:]
        if kind != "<":
            beside = _join(os.path.dirname(path), name)  # noqa: PTH120
            if beside in self.files:
                return sys.intern(beside)
            real = (
                os.path.realpath(beside) if is_file(beside) else beside
            )  # a link, or in a folder that is one
            if real in self.files:
                return sys.intern(real)
        if kind == "'":
            return None
        found = self.tree.find(name, path, self.same)
        return sys.intern(found) if found in self.files else None

    def _find_roots(self, undecided: set[str]) -> Iterator[None]:
        """The folders that make the most includes resolve. ``undecided`` gets the files with an include that may lead
        to several files."""
        votes: Counter[str] = Counter()
        for path, file in list(self.files.items()):
            folder = os.path.dirname(path)  # noqa: PTH120
            for include in file.summary.includes:
                name = include[1:]
                if ".." in name or include[0] == "'" or _join(folder, name) in self.files:
                    continue
                near, end = self.tree.nearest(name, path)
                if len(near) == 1:
                    votes[near[0][: -len(end)]] += 1
                elif near:
                    undecided.add(path)
            yield
        named = {folder: votes[folder] for folder in self._folders_by_name()}
        self.tree.roots = {**named, **dict(votes.most_common(MAX_ROOTS))}

    def _folders_by_name(self) -> Iterator[str]:
        for name in ROOTS_BY_NAME:
            folder = _join(self.tree.root, name)
            if folder in self.tree.folders:
                yield folder

    def missing(self) -> list[Missing]:
        """Includes that lead to no file of the project, those of most files first."""
        where: dict[str, list[str]] = {}
        for path, file in self.files.items():
            for include in file.summary.includes:
                checkpoint()
                if _is_standard(include):
                    continue
                if self.resolve(include, path) is None:
                    where.setdefault(include, []).append(path)
        found = (
            Missing(f'"{name[1:]}"' if name[0] == '"' else f"{name}>", len(files), min(files))
            for name, files in where.items()
        )
        return sorted(found, key=lambda each: (-each.files, each.name))

    # ---- walks -------------------------------------------------------------------------------------------------------

    def above(self, path: str) -> dict[str, str]:
        """The files through which ``path`` is read -> the file that each of them includes on the way; nearest first."""
        return _reached(path, lambda each: sorted(self.includers.get(each, ())))

    def below(self, path: str) -> dict[str, str]:
        """The files of the project that ``path`` includes, directly or not."""
        return _reached(path, lambda each: self.files[each].includes if each in self.files else ())


def _reached(path: str, beyond: Callable[[str], Iterable[str]]) -> dict[str, str]:
    found = {path: path}
    pending = deque([path])
    while pending:
        checkpoint()
        here = pending.popleft()
        for each in beyond(here):
            if each not in found:
                found[each] = here
                pending.append(each)
    del found[path]
    return found


def _chosen(tree: ProjectTree) -> list[str]:
    """The files to look at: outer folders first, CUDA before the others where there are too many."""
    paths = [path for path in tree.paths() if not path.lower().endswith(_NEVER)]
    if len(paths) > MAX_SUMMARISED:
        paths.sort(key=lambda path: (not path.lower().endswith(_FIRST), path.count(os.sep), path))
    return paths[:MAX_SUMMARISED]


def _join(folder: str, name: str) -> str:
    return os.path.normpath(f"{folder}/{name}")


def _is_standard(include: str) -> bool:
    """A header of the compiler, or, by a name like ``<iosfwd>``, of the standard library."""
    return include[0] == "'" or (include[0] == "<" and "." not in include)


def _last(include: str) -> str:
    return include[1:].replace("\\", "/").rpartition("/")[2]


def _shared(summary: FileSummary) -> FileSummary:
    """Names that many files have are held once."""
    *lists, words = summary
    includes, defined, declared, used, macros = (tuple(map(sys.intern, names)) for names in lists)
    return FileSummary(includes, defined, declared, used, macros, words)
