"""Spans and edits in a client's terms."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from smem_lsp.server.handshake import Features
from smem_lsp.server.positions import ClientText
from smem_lsp.source import Span, TextEdit, printable
from smem_lsp.source.record import dataclass


def to_position(seen: ClientText, offset: int) -> types.Position:
    return types.Position(*seen.place(offset))


def to_range(seen: ClientText, span: Span) -> types.Range:
    return types.Range(to_position(seen, span.start), to_position(seen, span.end))


def to_offset(seen: ClientText, position: types.Position) -> int:
    return seen.offset(position.line, position.character)


def to_span(seen: ClientText, range_: types.Range) -> Span:
    """The span of a range; start and end may be swapped."""
    start, end = sorted((to_offset(seen, range_.start), to_offset(seen, range_.end)))
    return Span(start, end)


@dataclass(frozen=True, slots=True)
class EditWords:
    """What an edit does, for the client's preview of it."""

    title: str
    detail: str


def workspace_edit(
    uri: str,
    version: int,
    seen: ClientText,
    edits: Iterable[TextEdit],
    features: Features,
    words: EditWords | None = None,
) -> types.WorkspaceEdit:
    """All edits of one document as one undo step, tied to its version if the client supports that, and with what they
    do if it shows that."""
    placed = [(to_range(seen, edit.span), edit.text) for edit in sorted(edits)]
    if not features.document_changes:
        return types.WorkspaceEdit(changes={uri: [types.TextEdit(*each) for each in placed]})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    if words is None or not words.detail or not features.change_annotations:
        plain = [types.TextEdit(*each) for each in placed]
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, plain)])
    said = types.ChangeAnnotation(printable(words.title), description=printable(words.detail))
    annotated = [types.AnnotatedTextEdit("fix", *each) for each in placed]
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(document, annotated)], change_annotations={"fix": said}
    )
