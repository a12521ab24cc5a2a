"""Open documents: their text as the client edits it.

Lines end at ``\\n``, ``\\r\\n`` and ``\\r`` only (LSP 3.17, "Text Documents"): a form feed or U+2028 inside a line
moves nothing. The text is what the edits make it, whatever their version numbers say.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from smem_lsp.server.positions import ClientText, PositionEncoding
from smem_lsp.source import LineIndex
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

_LINE_END = regex(r"\r\n|\n|\r")
_REMEMBERED = 256  # edits through which a position in an older text can be traced

Place = tuple[int, int]  # the client's line and column

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """Replace what lies between two places by ``text``; without places the whole document."""

    text: str
    range: tuple[Place, Place] | None = None


@dataclass(frozen=True, slots=True)
class Splice:
    """An edit in code points: ``[start, end)`` became ``length`` others and made this edition."""

    edition: int
    start: int
    end: int
    length: int


@dataclass(frozen=True, slots=True)
class Document:
    """One state of an open document. ``edition`` counts its texts here, ``version`` is the client's number."""

    uri: str
    language: str
    version: int
    text: str
    starts: list[int] = field(repr=False)
    edition: int = 0
    splices: tuple[Splice, ...] = field(default=(), repr=False)
    complete_from: int = 0  # the oldest edition from which `splices` lead here

    def seen(self, encoding: PositionEncoding) -> ClientText:
        return ClientText(self.text, self.starts, encoding)

    def back_to(self, edition: int, offset: int) -> int | None:
        """Where the character at ``offset`` stood in an earlier edition; None when it was not there."""
        if edition < self.complete_from:
            return None
        for splice in reversed(self.splices):
            if splice.edition <= edition:
                break
            if offset >= splice.start + splice.length:
                offset += splice.end - splice.start - splice.length
            elif offset >= splice.start:
                return None
        return offset

    def forward(self, edition: int, offset: int) -> int | None:
        """Where the character at ``offset`` of an earlier edition stands now; what was replaced is where its
        replacement is. None: the edits since are not known."""
        if edition < self.complete_from:
            return None
        for splice in self.splices:
            if splice.edition <= edition or offset < splice.start:
                continue
            if offset >= splice.end:
                offset += splice.length - (splice.end - splice.start)
            else:
                offset = splice.start + min(offset - splice.start, splice.length)
        return offset


class Documents:
    """The open documents by URI. Nothing that a client sends makes it raise."""

    __slots__ = ("_editions", "_encoding", "_open")

    def __init__(self, encoding: PositionEncoding) -> None:
        self._encoding = encoding
        self._open: dict[str, Document] = {}
        self._editions = 0  # never reused: a document that is closed and opened again is another one

    def __iter__(self) -> Iterator[Document]:
        return iter(tuple(self._open.values()))

    def get(self, uri: str) -> Document | None:
        return self._open.get(uri)

    def open(self, uri: str, language: str, version: int, text: str) -> Document:
        if uri in self._open:
            logger.warning("%s was open already: its text is replaced", uri)
        edition = self._next_edition()
        document = Document(uri, language, version, text, LineIndex(text).starts, edition, (), edition)
        self._open[uri] = document
        return document

    def change(self, uri: str, version: int, changes: Sequence[Change]) -> Document | None:
        """The document after ``changes``, each of which refers to the text that the one before it made.

        None when nothing can be done: the document is not open and its text is not among the changes.
        """
        document = self._open.get(uri)
        if document is None:
            whole = next((at for at, change in enumerate(changes) if change.range is None), None)
            if whole is None:
                logger.warning("an edit of %s, which is not open, is ignored", uri)
                return None
            logger.warning("%s was not open: it is now", uri)
            document = self.open(uri, "", version, changes[whole].text)
            changes = changes[whole + 1 :]
        elif version <= document.version:
            logger.warning("%s: version %d after %d; the edit counts", uri, version, document.version)
        edition = self._next_edition()
        for change in changes:
            document = _changed(document, change, edition, self._encoding)
        document = replace(document, version=version, edition=edition)
        self._open[uri] = document
        return document

    def close(self, uri: str) -> Document | None:
        document = self._open.pop(uri, None)
        if document is None:
            logger.warning("%s was closed but had not been open", uri)
        return document

    def _next_edition(self) -> int:
        self._editions += 1
        return self._editions


def _changed(document: Document, change: Change, edition: int, encoding: PositionEncoding) -> Document:
    if change.range is None:
        starts = LineIndex(change.text).starts
        return replace(document, text=change.text, starts=starts, splices=(), complete_from=edition)
    seen = document.seen(encoding)
    start, end = sorted(seen.offset(*place) for place in change.range)
    text = document.text[:start] + change.text + document.text[end:]
    starts = _moved_starts(document, start, end, change.text, text)
    splices = (*document.splices, Splice(edition, start, end, len(change.text)))
    complete_from = document.complete_from
    if len(splices) > _REMEMBERED:
        complete_from = splices[-_REMEMBERED - 1].edition
        splices = splices[-_REMEMBERED:]
    return replace(document, text=text, starts=starts, splices=splices, complete_from=complete_from)


def _moved_starts(document: Document, start: int, end: int, inserted: str, text: str) -> list[int]:
    """Line starts of ``text``. Only the lines of the edit and one on each side are searched: an edit may join or split
    a ``\\r\\n``."""
    old = document.starts
    first = bisect_right(old, max(start - 1, 0)) - 1
    last = bisect_right(old, min(end + 1, len(document.text))) - 1
    moved = len(inserted) - (end - start)
    low = old[first]
    high = (old[last + 1] if last + 1 < len(old) else len(document.text)) + moved
    between = [found.end() for found in _LINE_END.finditer(text, low, high)]
    if last + 1 < len(old) and (not between or between[-1] != high):
        between.append(high)
    return [*old[: first + 1], *between, *(offset + moved for offset in old[last + 2 :])]
