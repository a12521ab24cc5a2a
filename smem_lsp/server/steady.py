"""What stays on the screen while somebody types.

A half-typed statement makes findings vanish that come back with its last character, and others appear that go with it.
So what an edit changes is shown when the statement is complete and the text parses as well as it did; what is new waits
until nobody has typed for a second. Whatever comes in one piece, a fix, a paste, an undone word, is shown at once if it
parses. Until then the old findings stay and move with the text. The same holds for the documents that read the one that
is typed, as a header's kernels read the file that launches them; what is no finding, as a lens, follows every key.

Nothing here waits: every method is told the time, in seconds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import field, replace

from smem_lsp.engine.report import FileReport
from smem_lsp.rules.model import Finding, Note
from smem_lsp.rules.words import Words
from smem_lsp.server.analysis import Analysis
from smem_lsp.server.documents import Change, Document
from smem_lsp.source import Span
from smem_lsp.source.record import dataclass

QUIET = 1.0  # seconds without a key: what there is is shown, whether it parses or not
SHORTEST = 2.0  # seconds that a finding stays, unless a statement or a fix takes it away
_STROKE = 2  # characters that one key makes or takes: an editor closes brackets by itself
_ENDS = (";", "}")  # of a statement


@dataclass(frozen=True, slots=True)
class _Whole:
    """How much of a text is understood: statements that do not parse, and kernels, in whatever contexts and
    instances."""

    unparsed: int
    kernels: int

    @classmethod
    def of(cls, report: FileReport) -> _Whole:
        kernels = {facts.kernel.name_span for facts in report.facts}
        return cls(report.statistics.unparsed_statements or 0, len(kernels))

    def parses_as_well_as(self, earlier: _Whole) -> bool:
        return self.unparsed <= earlier.unparsed and self.kernels >= earlier.kernels


@dataclass(slots=True)
class _Screen:
    """What is shown of one document. ``lines``: 0-based, of the findings in the text of ``edition``."""

    findings: tuple[Finding, ...]
    lines: tuple[int, ...]
    edition: int
    revision: int  # of the analysis that it was decided for
    whole: _Whole  # when it was last shown whole
    parses: bool  # the newest text, as well as the one that was last shown whole
    since: dict[tuple[object, ...], float] = field(default_factory=dict)  # when each finding came
    half_typed: bool = False
    due: float | None = None  # when to look again; None: all there is is shown


@dataclass(slots=True)
class _Typing:
    """The last edit of a document."""

    at: float
    whole: bool  # it may have completed a statement
    in_one_piece: bool  # and was no key


class Steady:
    """The screens of one client."""

    __slots__ = ("_screens", "_typing")

    def __init__(self) -> None:
        self._screens: dict[str, _Screen] = {}
        self._typing: dict[str, _Typing] = {}

    def edited(self, uri: str, changes: Sequence[Change], now: float) -> None:
        pieces = [_in_one_piece(change) for change in changes]
        ends = [_may_end_statement(change) for change in changes]
        piece = any(pieces)
        self._typing[uri] = _Typing(now, piece or any(ends), piece)

    def closed(self, uri: str) -> None:
        self._screens.pop(uri, None)
        self._typing.pop(uri, None)

    def half_typed(self, uri: str) -> bool:
        """Is something older shown than what was found?"""
        screen = self._screens.get(uri)
        return screen is not None and screen.half_typed

    def due(self, uri: str) -> float | None:
        """When ``look`` would show more; None: all that was found is shown."""
        screen = self._screens.get(uri)
        return None if screen is None else screen.due

    def findings(self, analysis: Analysis) -> tuple[Finding, ...]:
        """What is shown for an analysis; all of it where it was not looked at."""
        screen = self._screens.get(analysis.snapshot.uri)
        if analysis.report is None:
            return ()
        if screen is None or screen.revision != analysis.snapshot.revision:
            return analysis.report.findings
        return screen.findings

    def look(self, analysis: Analysis, document: Document, now: float) -> None:
        """Decide what is shown of the analysis of the newest text."""
        uri, report = analysis.snapshot.uri, analysis.report
        before = self._screens.get(uri)
        if report is None:
            self._screens.pop(uri, None)
            return
        whole = _Whole.of(report)
        new, old = report.findings, None if before is None else _moved(before, document)
        if before is None or old is None:
            self._show(analysis, document, new, now, whole=whole)
            return
        typed = self._typed_last(uri, now)
        if typed is None or now >= self._typing[typed].at + QUIET:
            # Where nothing was held back, no key but settings or a compiler have changed what is found.
            young = _young(_missing(old, new), before, now) if before.due is not None else []
            due = min((before.since[_key(f)] + SHORTEST for f in young), default=None)
            self._show(analysis, document, (*new, *young), now, whole=whole, due=due)
            return
        typing = self._typing[typed]
        parses = whole.parses_as_well_as(before.whole)
        complete = parses and (typed == uri or self._parses(typed))
        if not (typing.whole and complete):
            self._show(
                analysis,
                document,
                old,
                now,
                whole=before.whole,
                due=typing.at + QUIET,
                half_typed=typed == uri or not complete,
                parses=parses,
            )
        elif typing.in_one_piece:
            self._show(analysis, document, new, now, whole=whole)
        else:
            shown = _as_before(new, old)
            young = _young(_missing(old, new), before, now)
            due = None if not young and len(shown) == len(new) else typing.at + QUIET
            self._show(analysis, document, (*shown, *young), now, whole=whole, due=due)

    def _typed_last(self, uri: str, now: float) -> str | None:
        """The document whose edits decide what is shown of ``uri``: itself while it is typed, else the one of the last
        edit. A header that is half typed makes its includers flicker, too."""
        own = self._typing.get(uri)
        if own is not None and now < own.at + QUIET:
            return uri
        return max(self._typing, key=lambda each: self._typing[each].at, default=None)

    def _parses(self, uri: str) -> bool:
        screen = self._screens.get(uri)
        return screen is None or screen.parses

    def _show(
        self,
        analysis: Analysis,
        document: Document,
        findings: Sequence[Finding],
        now: float,
        *,
        whole: _Whole,
        due: float | None = None,
        half_typed: bool = False,
        parses: bool = True,
    ) -> None:
        uri = analysis.snapshot.uri
        before = self._screens.get(uri)
        since = {} if before is None else before.since
        shown = tuple(sorted(findings, key=lambda finding: finding.span.start))
        lines = tuple(bisect_right(document.starts, finding.span.start) - 1 for finding in shown)
        self._screens[uri] = _Screen(
            shown,
            lines,
            document.edition,
            analysis.snapshot.revision,
            whole,
            parses,
            {key: since.get(key, now) for key in map(_key, shown)},
            half_typed,
            due,
        )


def _in_one_piece(change: Change) -> bool:
    """Is it more than a key? Not a new line, which comes with its indentation."""
    if change.range is None:
        return True
    (line, start), (last, end) = change.range
    removed_much = last != line or end - start > _STROKE
    return removed_much or len(change.text.strip()) > _STROKE


def _may_end_statement(change: Change) -> bool:
    return change.text.rstrip(" \t").endswith((*_ENDS, "\n", "\r"))


def _key(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.kernel, finding.buffers


def _missing(old: Sequence[Finding], new: Sequence[Finding]) -> list[Finding]:
    """The old findings that are no longer found."""
    found = set(map(_key, new))
    return [finding for finding in old if _key(finding) not in found]


def _young(findings: Sequence[Finding], screen: _Screen, now: float) -> list[Finding]:
    """Those that came too recently to go already."""
    return [finding for finding in findings if now < screen.since[_key(finding)] + SHORTEST]


def _as_before(new: Sequence[Finding], old: Sequence[Finding]) -> list[Finding]:
    """The new findings that were there before, or take the place of one that is gone: the same, of other buffers."""
    known = set(map(_key, old))
    left = {_key(finding)[:2] for finding in _missing(old, new)}
    return [finding for finding in new if _key(finding) in known or _key(finding)[:2] in left]


def _moved(screen: _Screen, document: Document) -> list[Finding] | None:
    """What is shown, where its text is now; None: that cannot be told."""
    if screen.edition == document.edition:
        return list(screen.findings)
    found: list[Finding] = []
    for finding, line in zip(screen.findings, screen.lines):
        span = _forward(document, screen.edition, finding.span)
        if span is None:
            return None
        lines = bisect_right(document.starts, span.start) - 1 - line
        words = finding.words.moved(lines) if isinstance(finding.words, Words) else finding.words
        related = (_moved_note(document, screen.edition, note) for note in finding.related)
        found.append(replace(finding, words=words, span=span, related=tuple(filter(None, related))))
    return found


def _moved_note(document: Document, edition: int, note: Note) -> Note | None:
    if note.source is not None:
        return note
    span = _forward(document, edition, note.span)
    return None if span is None else Note(span, note.message)


def _forward(document: Document, edition: int, span: Span) -> Span | None:
    start, end = document.forward(edition, span.start), document.forward(edition, span.end)
    return None if start is None or end is None else Span(start, max(start, end))
