"""Somebody types statements of a kernel, key by key, and what is on the screen after each key."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from smem_lsp.environment import DiskReader
from smem_lsp.rules.model import Finding
from smem_lsp.server.analysis import AnalysisInput, Analyst
from smem_lsp.server.client_settings import ClientSettings
from smem_lsp.server.config_files import ConfigFiles
from smem_lsp.server.documents import Change, Documents
from smem_lsp.server.positions import PositionEncoding
from smem_lsp.server.steady import Steady

URI = "file:///typed.cu"
KEY = 0.15  # seconds between two keys
PAUSE = 3.0  # seconds at the end: all there is is shown
CLOSED_BY_EDITORS = {"(": ")", "[": "]", "{": "}"}

Seen = tuple[str, str | None, tuple[str, ...]]


@dataclass
class Screen:
    """What an editor would show of a document, over time. The clock is ours: no test waits."""

    text: str
    now: float = 0.0
    history: list[tuple[float, frozenset[Seen]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._documents = Documents(PositionEncoding.UTF16)
        self._steady, self._analyst = Steady(), Analyst()
        self._reader, self._config = DiskReader(), ConfigFiles()
        self._document = self._documents.open(URI, "cuda-cpp", 1, self.text)
        self._analyse()

    def change(self, start: int, end: int, text: str, *, after: float = KEY) -> None:
        """Replace a piece of the text, so many seconds after the last key."""
        self.wait(after)
        seen = self._document.seen(PositionEncoding.UTF16)
        change = Change(text, (seen.place(start), seen.place(end)))
        document = self._documents.change(URI, self._document.version + 1, [change])
        assert document is not None
        self._document, self.text = document, document.text
        self._steady.edited(URI, [change], self.now)
        self._analyse()

    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        while (due := self._steady.due(URI)) is not None and due <= until:
            self.now = max(self.now, due)
            self._look()
        self.now = until

    def shown(self) -> tuple[Finding, ...]:
        return self._steady.findings(self._analysis)

    def found(self) -> tuple[Finding, ...]:
        """What the analysis of the newest text says."""
        assert self._analysis.report is not None
        return self._analysis.report.findings

    def _analyse(self) -> None:
        document = self._document
        snapshot = AnalysisInput(
            URI,
            document.edition,
            document.edition,
            document.version,
            document.text,
            "cuda-cpp",
            None,
            None,
            ClientSettings(),
            self._reader,
            self._config,
        )
        self._analysis = self._analyst.analyse(snapshot, bool)
        self._look()

    def _look(self) -> None:
        self._steady.look(self._analysis, self._document, self.now)
        keys = frozenset((f.code, f.kernel, f.buffers) for f in self.shown())
        if not self.history or self.history[-1][1] != keys:
            self.history.append((self.now, keys))

    def flickers(self, within: float = 2.0) -> list[Seen]:
        """Findings that came and went, or went and came back, in so many seconds."""
        found: list[Seen] = []
        for seen in frozenset().union(*(keys for _, keys in self.history)):
            changes = [
                now
                for (_, before), (now, after) in zip(self.history, self.history[1:])
                if (seen in before) != (seen in after)
            ]
            found += [seen for a, b in itertools.pairwise(changes) if b - a < within]
        return found


def type_statement(screen: Screen, at: int, statement: str) -> None:
    """Key by key, with the brackets that an editor closes by itself; a key that is there already is stepped over."""
    closing: list[str] = []
    for key in statement:
        if closing and key == closing[-1]:
            closing.pop()
            at += 1
            screen.wait(KEY)
            continue
        pair = CLOSED_BY_EDITORS.get(key, "")
        if pair:
            closing.append(pair)
        screen.change(at, at, key + pair)
        at += 1
    screen.wait(PAUSE)


def statements_of(text: str) -> list[tuple[int, int]]:
    """Spans of the lines of a text that hold one whole statement each."""
    found: list[tuple[int, int]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        body = line.strip()
        inside = line[:1].isspace() and body.endswith(";") and not body.startswith(("//", "return", "#"))
        if inside and body.count("(") == body.count(")") and body.count("{") == body.count("}"):
            first = start + len(line) - len(line.lstrip())
            found.append((first, start + len(line.rstrip())))
        start += len(line)
    return found


def recordings(texts: Sequence[str], count: int, seed: int = 0) -> Iterator[tuple[str, int, str]]:
    """``(text without a statement, where it stood, the statement)``, so many, of kernels in turn."""
    draw = random.Random(seed)
    for number in range(count):
        text = texts[number % len(texts)]
        places = statements_of(text)
        if places:
            start, end = draw.choice(places)
            yield text[:start] + text[end:], start, text[start:end]
