"""Includes: finds the file, replays its cached effect or reads it, and holds the state of a whole run."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from typing import Protocol, TypeVar

from smem_lsp.source import FileReader, Span
from smem_lsp.source.budget import look
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.expand import Expander
from smem_lsp.syntax.headers import (
    HeaderEffect,
    IncludedFile,
    Look,
    Piece,
    Reads,
    directives_of,
    find_effect,
    guarded,
    keep_effect,
    used_macros,
    words_of,
)
from smem_lsp.syntax.known_names import known
from smem_lsp.syntax.macros import Macro

T = TypeVar("T")

MAX_INCLUDE_DEPTH = 64
MAX_FOLDERS = 1_000  # searched for one include
MAX_HEADERS = 4_000  # read for one file, repeats counted
MAX_HEADER_TEXT = 48_000_000  # code points
# Tokens of headers, in the order of inclusion. After MAX_CODE_TOKENS the code of headers without device functions
# is skipped, after MAX_DEVICE_TOKENS all code: then only directives are read.
MAX_CODE_TOKENS = 150_000
MAX_DEVICE_TOKENS = 400_000


def stage(tokens: int) -> int:
    """Which headers are still read for their code: 0 all, 1 those with device functions, 2 none."""
    return (tokens >= MAX_CODE_TOKENS) + (tokens >= MAX_DEVICE_TOKENS)


# gcc and nvcc have the tests of includes, attributes and builtins; only clang has those of features.
_DEFINED_TESTS = frozenset(
    ("__has_include", "__has_include_next", "__has_attribute", "__has_cpp_attribute", "__has_builtin")
)


class ProcessHeader(Protocol):
    """Carries out a header's directives and adds its declarations to the run. ``bare``: its directives only."""

    def __call__(self, run: Preprocessing, path: str, text: str, depth: int, bare: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class PreprocessorProblem:
    """A construct that the preprocessor gave up on. ``span``: in the file itself."""

    span: Span
    message: str


class Preprocessing:
    """The state that a file and its headers share. Its lists only grow, so a header's effect is what it appended."""

    __slots__ = (
        "changes",
        "directive",
        "entered",
        "expander",
        "files",
        "headers",
        "include_dirs",
        "limited",
        "macros",
        "missing",
        "once",
        "once_added",
        "opened",
        "own",
        "pieces",
        "problems",
        "process",
        "quote_dirs",
        "reader",
        "site",
        "skipped",
        "text",
        "tokens",
        "words",
    )

    def __init__(
        self,
        macros: dict[str, Macro],
        reader: FileReader | None,
        include_dirs: tuple[str, ...],
        quote_dirs: tuple[str, ...],
        process: ProcessHeader,
    ) -> None:
        self.macros = macros
        self.expander = Expander(macros)
        self.reader = None if reader is None else Look(reader)
        self.include_dirs = include_dirs
        self.quote_dirs = quote_dirs
        self.process = process
        self.once: set[str] = set()  # paths under `#pragma once`
        self.opened: list[str] = []  # stack of open headers
        self.pieces: list[Piece] = []
        self.files: list[IncludedFile] = []  # those of the unit, in the order in which they end
        self.changes: list[tuple[str, Macro | None, Macro | None]] = []  # name, before, after
        self.own = Reads()  # what the innermost header looked up
        self.words: list[frozenset[str]] = []
        self.entered: list[str] = []
        self.skipped: list[str] = []
        self.once_added: list[str] = []
        self.missing: list[tuple[str, bool]] = []
        self.headers = 0
        self.tokens = 0  # of the code of headers
        self.text = 0  # code points of headers
        self.limited = 0  # how often a bound was hit
        self.problems: list[PreprocessorProblem] = []
        self.site = Span(0, 0)  # of the file's own directive now carried out
        self.directive = 0  # its offset in its region

    # ---- macros --------------------------------------------------------------------------------------------------

    def define(self, name: str, macro: Macro | None) -> None:
        self.changes.append((name, self.macros.get(name), macro))
        if macro is None:
            self.macros.pop(name, None)
        else:
            self.macros[name] = macro

    def defined(self, name: str) -> bool:
        macro = self.macros.get(name)
        return (macro is not None and not macro.weak) or name in _DEFINED_TESTS

    # ---- headers -------------------------------------------------------------------------------------------------

    def include(self, wanted: str, path: str, quoted: bool, depth: int) -> None:
        """``#include`` of ``wanted`` in the file ``path``."""
        if self.reader is None:
            self.missing.append((wanted, quoted))
            return
        found = self.find(wanted, path, quoted)
        if found is None:
            self.missing.append((wanted, quoted))
            return
        candidate, text = found
        if candidate in self.once:
            self.skipped.append(candidate)
            return
        if candidate in self.opened and not (guarded(text) and self.opened.count(candidate) < 3):
            self._refuse(f'"{wanted}" includes itself without end and is not read again')
            return
        if depth >= MAX_INCLUDE_DEPTH or self.headers >= MAX_HEADERS or self.text > MAX_HEADER_TEXT:
            self._refuse("too many headers are included and the rest is not read")
            return
        self.entered.append(candidate)
        known = find_effect(candidate, text, self.macros, self.once, self.reader, self._same_stage)
        if known is not None:
            self._replay(known)
        else:
            self._read(candidate, text, depth)

    def _same_stage(self, effect: HeaderEffect) -> bool:
        """Would as much of a header and its nested headers be read as when it had this effect?"""
        return effect.stage == stage(self.tokens) == stage(self.tokens + effect.tokens)

    def _refuse(self, message: str) -> None:
        self.limited += 1
        if not self.problems:
            self.problems.append(PreprocessorProblem(self.site, message))

    def _read(self, path: str, text: str, depth: int) -> None:
        """Process a header and cache its effect."""
        expander = self.expander
        changes, words, pieces = _since(self.changes), _since(self.words), _since(self.pieces)
        files, invocations = _since(self.files), len(expander.invocations)
        entered, skipped, missing = _since(self.entered), _since(self.skipped), _since(self.missing)
        once, pasted = _since(self.once_added), _since(expander.pasted)
        counts = self.headers, self.tokens, self.text, self.limited, len(expander.refused)
        before_it = stage(self.tokens)
        bare = before_it > ("__device__" in text)
        self.headers += 1
        self.text += len(text)
        self.words.append(words_of("\n".join(directives_of(text)) if bare else text))
        self.opened.append(path)
        outer, expander.path = expander.path, path
        line_of = expander.line_of
        around, own = self.own, Reads()
        self.own = own
        self.process(self, path, text, depth + 1, bare)
        self.own = around
        expander.path, expander.line_of = outer, line_of
        del expander.invocations[invocations:]  # they are the header's
        self.opened.pop()
        for name in list(expander.refused)[counts[4] :]:
            expander.refused[name] = -1 - self.directive  # report at the file's own include
        if (self.limited, len(expander.refused)) != counts[3:] or stage(self.tokens) != before_it:
            around.add(own)
            return  # the effect depends on more than the header
        before: dict[str, Macro | None] = {}
        after: dict[str, Macro | None] = {}
        for name, old, new in changes():
            before.setdefault(name, old)
            after[name] = new
        uses, asked = used_macros(frozenset().union(*words(), pasted()), self.macros, before)
        added = frozenset(once())
        effect = HeaderEffect(
            text=text,
            uses=uses,
            words=asked,
            entered=frozenset(entered()),
            skipped=frozenset(skipped()) - added,
            own=own,
            changes=after,
            once=added,
            pieces=tuple(pieces()),
            files=tuple(files()),
            missing=tuple(dict.fromkeys(missing())),
            headers=self.headers - counts[0],
            tokens=self.tokens - counts[1],
            length=self.text - counts[2],
            stage=before_it,
        )
        keep_effect(path, effect)
        around.inner.append(effect)

    def _replay(self, effect: HeaderEffect) -> None:
        macros = self.macros
        for name, macro in effect.changes.items():
            self.changes.append((name, macros.get(name), macro))
            if macro is None:
                macros.pop(name, None)
            else:
                macros[name] = macro
        self.own.inner.append(effect)
        self.words.append(effect.words)
        self.entered += effect.entered
        self.skipped += effect.skipped
        self.once |= effect.once
        self.once_added += effect.once
        self.missing += effect.missing
        self.pieces += effect.pieces
        self.files += effect.files
        self.headers += effect.headers
        self.tokens += effect.tokens
        self.text += effect.length

    def find(self, wanted: str, path: str, quoted: bool) -> tuple[str, str] | None:
        """(path, text) of an include; looks beside the file, in the folders in order, then in the whole project."""
        reader = self.reader
        if reader is None:
            return None
        folders: tuple[str, ...] = self.include_dirs
        if quoted:
            folders = (os.path.dirname(path) or ".", *self.quote_dirs, *folders)  # noqa: PTH120
        if os.path.isabs(wanted):  # noqa: PTH117
            folders = ("",)
        folders = folders[:MAX_FOLDERS]
        for folder in folders:
            look()
            candidate = os.path.normpath(f"{folder}/{wanted}" if folder else wanted)
            text = reader.read(candidate)
            self.own.reads[candidate] = text
            if text is not None:
                return candidate, text
        if wanted in known().headers:
            return None
        found = reader.search(wanted, path)
        self.own.searches[wanted, path] = found
        if found is None:
            return None
        text = reader.read(found)
        self.own.reads[found] = text
        return None if text is None else (found, text)


def _since(items: list[T]) -> Callable[[], list[T]]:
    """Asks what has been appended from now on."""
    start = len(items)
    return lambda: items[start:]
