"""Spans and edits in a client's terms."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from smem_lsp.server.handshake import Features
from smem_lsp.server.positions import ClientText
from smem_lsp.source import Span, TextEdit


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


def workspace_edit(
    uri: str, version: int, seen: ClientText, edits: Iterable[TextEdit], features: Features
) -> types.WorkspaceEdit:
    """All edits of one document as one undo step, tied to its version if the client supports that."""
    converted = [types.TextEdit(to_range(seen, edit.span), edit.text) for edit in sorted(edits)]
    if not features.document_changes:
        return types.WorkspaceEdit(changes={uri: converted})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, converted)])
