"""Requests that show something: diagnostics, hovers, lenses, inlay hints."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from lsprotocol import types

from smem_lsp.server.answering import TOO_LARGE, Handler, or_nothing
from smem_lsp.server.code_lens import lenses
from smem_lsp.server.diagnostics import result_id
from smem_lsp.server.hover import hover_at
from smem_lsp.server.inlay_hints import inlay_hints
from smem_lsp.server.positions import client_text
from smem_lsp.server.protocol import server_cancelled
from smem_lsp.server.to_lsp import to_offset, to_range, to_span
from smem_lsp.server.workspace import Workspace
from smem_lsp.source import OutOfBudget, Superseded


async def _diagnostic(
    workspace: Workspace, params: types.DocumentDiagnosticParams
) -> types.DocumentDiagnosticReport:
    try:
        analysis = await workspace.analyses.fresh(params.text_document.uri, this_text=True)
    except Superseded:
        raise server_cancelled() from None
    found = [] if analysis is None else workspace.diagnostics(analysis)
    identity = result_id(found)
    if params.previous_result_id == identity:
        return types.RelatedUnchangedDocumentDiagnosticReport(identity)
    return types.RelatedFullDocumentDiagnosticReport(found, result_id=identity)


async def _hover(workspace: Workspace, params: types.HoverParams) -> types.Hover | None:
    """Answers from the last analysis. A hover waits only for a document's first analysis, never for a newer one."""
    uri = params.text_document.uri
    document = workspace.documents.get(uri)
    if document is None:
        return None
    workspace.analyses.touched(uri)
    seen = document.seen(workspace.features.encoding)
    now = to_offset(seen, params.position)
    analysis = workspace.analyses.latest(uri) or await workspace.analyses.fresh(uri)
    offset = None if analysis is None else document.back_to(analysis.snapshot.edition, now)
    if analysis is None or offset is None or analysis.snapshot.edition > document.edition:
        return None
    shown, at = analysis, offset
    markdown = workspace.features.markdown
    kind = types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText
    try:
        found = await workspace.ask(uri, lambda: hover_at(shown, at))
    except OutOfBudget:
        return types.Hover(types.MarkupContent(kind, TOO_LARGE))
    except Superseded:
        return None
    if found is None:
        return None
    return types.Hover(
        types.MarkupContent(kind, found.markdown() if markdown else found.plain()),
        to_range(seen, found.span) if analysis.snapshot.edition == document.edition else None,
    )


LENS_PATIENCE = 0.3
"""Seconds. VS Code asks as much later after each refresh as its last request took, and later again with every refresh
meanwhile."""


async def _code_lens(workspace: Workspace, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Lenses of the newest text. Those of before, where their lines are now, when that takes long and the client can be
    told to ask again."""
    uri = params.text_document.uri
    if not workspace.settings_of(uri).code_lens:
        return []
    workspace.analyses.touched(uri)
    if not (workspace.features.refresh_code_lens and workspace.earlier_lenses(uri)):
        return await _lenses_now(workspace, uri)  # VS Code hides a lens where it was told of none
    asked = asyncio.ensure_future(_lenses_now(workspace, uri))
    await asyncio.wait((asked,), timeout=LENS_PATIENCE)
    if asked.done():
        return asked.result()
    workspace.late_lenses(uri, asked)
    return workspace.earlier_lenses(uri)


async def _lenses_now(workspace: Workspace, uri: str) -> list[types.CodeLens]:
    analysis = await workspace.analyses.fresh(uri)
    if analysis is None:
        return []
    if (kept := workspace.kept_lenses(uri)) is not None:
        return kept
    found = await or_nothing(workspace, uri, lambda: list(lenses(analysis, workspace.features)))
    workspace.keep_lenses(analysis, found)
    return found


async def _inlay_hint(workspace: Workspace, params: types.InlayHintParams) -> list[types.InlayHint]:
    uri = params.text_document.uri
    if not workspace.settings_of(uri).inlay_hints:
        return []
    workspace.analyses.touched(uri)
    analysis = await workspace.analyses.fresh(uri)
    if analysis is None or analysis.report is None:
        return []
    span = to_span(client_text(analysis.report.source, workspace.features.encoding), params.range)
    return await or_nothing(workspace, uri, lambda: list(inlay_hints(analysis, span, workspace.features)))


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        types.TEXT_DOCUMENT_DIAGNOSTIC: _diagnostic,
        types.TEXT_DOCUMENT_HOVER: _hover,
        types.TEXT_DOCUMENT_CODE_LENS: _code_lens,
        types.TEXT_DOCUMENT_INLAY_HINT: _inlay_hint,
    }
)
