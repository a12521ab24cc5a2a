"""Which message does what: the only place where handlers meet pygls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from lsprotocol import types

from smem_lsp.engine import Report
from smem_lsp.output import layout_html, layout_svg, layout_text
from smem_lsp.output.layout_json import layout_object
from smem_lsp.server.analysis import Analysis, shown_path, warm_up
from smem_lsp.server.code_actions import FIX_ALL, REWRITE, Action, Asked, actions, edits_of
from smem_lsp.server.code_lens import lenses
from smem_lsp.server.diagnostics import diagnostics_of, result_id
from smem_lsp.server.documents import Change, Document
from smem_lsp.server.explain import rule_page
from smem_lsp.server.handshake import Client
from smem_lsp.server.hover import hover_at, kernel_at
from smem_lsp.server.inlay_hints import inlay_hints
from smem_lsp.server.outgoing import Outgoing
from smem_lsp.server.positions import client_text
from smem_lsp.server.protocol import (
    EXPLAIN,
    LAYOUT,
    ExplainParams,
    LayoutParams,
    Protocol,
    content_modified,
    invalid_params,
    make_server,
    request_failed,
    server_cancelled,
)
from smem_lsp.server.to_lsp import to_offset, to_range, to_span, workspace_edit
from smem_lsp.server.uris import path_of
from smem_lsp.server.what_fits import what_fits
from smem_lsp.server.worker import Worker
from smem_lsp.server.workspace import Workspace
from smem_lsp.source import OutOfBudget, SourceText, Span, Superseded, TextEdit, printable

logger = logging.getLogger(__name__)

T = TypeVar("T")

TOO_LARGE = "too large to answer in time"
AUTOMATIC = types.CodeActionTriggerKind.Automatic


class App:
    """The server of one client, behind the handshake."""

    __slots__ = ("protocol", "workspace")

    def __init__(self, client: Client, send: Callable[[bytes], None], worker: Worker) -> None:
        server = make_server(send)
        self.protocol: Protocol = server.protocol
        self.workspace = Workspace(client, Outgoing(server, client.features), worker)
        for method, handler in _HANDLERS.items():
            server.feature(method)(partial(handler, self.workspace))
        if not worker.warm:
            worker.warm = True
            worker.submit(warm_up, seconds=None).add_done_callback(_log_failure)

    def stop(self) -> None:
        """No more analyses; whoever waits for one gets an empty answer."""
        self.workspace.stop()


def _log_failure(done: asyncio.Future[None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        logger.error("warming up failed", exc_info=error)


async def _initialized(workspace: Workspace, params: types.InitializedParams) -> None:
    workspace.outgoing.register()
    if workspace.features.configuration:
        await workspace.ask_configuration()


def _ignored(workspace: Workspace, params: object) -> None:
    """Nothing of ours depends on it."""


def _did_open(workspace: Workspace, params: types.DidOpenTextDocumentParams) -> None:
    item = params.text_document
    workspace.opened(item.uri, str(item.language_id), item.version, item.text)


def _did_change(workspace: Workspace, params: types.DidChangeTextDocumentParams) -> None:
    identity = params.text_document
    workspace.edited(identity.uri, identity.version, [_change(event) for event in params.content_changes])


def _change(event: types.TextDocumentContentChangeEvent) -> Change:
    if isinstance(event, types.TextDocumentContentChangeWholeDocument):
        return Change(event.text)
    start, end = event.range.start, event.range.end
    return Change(event.text, ((start.line, start.character), (end.line, end.character)))


def _did_close(workspace: Workspace, params: types.DidCloseTextDocumentParams) -> None:
    workspace.closed(params.text_document.uri)


async def _did_change_configuration(workspace: Workspace, params: types.DidChangeConfigurationParams) -> None:
    if workspace.features.configuration:
        await workspace.ask_configuration()
    else:
        workspace.configured(params.settings)


def _did_change_folders(workspace: Workspace, params: types.DidChangeWorkspaceFoldersParams) -> None:
    event = params.event
    workspace.folders_changed((f.uri for f in event.added), (f.uri for f in event.removed))


def _did_change_files(workspace: Workspace, params: types.DidChangeWatchedFilesParams) -> None:
    paths = (path_of(event.uri) for event in params.changes)
    came_or_went = any(event.type != types.FileChangeType.Changed for event in params.changes)
    workspace.files_changed((path for path in paths if path is not None), came_or_went=came_or_went)


async def _diagnostic(
    workspace: Workspace, params: types.DocumentDiagnosticParams
) -> types.DocumentDiagnosticReport:
    try:
        analysis = await workspace.analyses.fresh(params.text_document.uri, this_text=True)
    except Superseded:
        raise server_cancelled() from None
    found = [] if analysis is None else diagnostics_of(analysis, workspace.features)
    identity = result_id(found)
    if params.previous_result_id == identity:
        return types.RelatedUnchangedDocumentDiagnosticReport(identity)
    return types.RelatedFullDocumentDiagnosticReport(found, result_id=identity)


async def _hover(workspace: Workspace, params: types.HoverParams) -> types.Hover | None:
    """From the last analysis: a hover never waits for another one, only for the first."""
    uri = params.text_document.uri
    document = workspace.documents.get(uri)
    if document is None:
        return None
    workspace.analyses.touched(uri)
    seen = document.seen(workspace.features.encoding)
    now = to_offset(seen, params.position)
    analysis = workspace.analyses.latest(uri) or await workspace.analyses.fresh(uri)
    offset = None if analysis is None else document.back_to(analysis.job.edition, now)
    if analysis is None or offset is None or analysis.job.edition > document.edition:
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
        to_range(seen, found.span) if analysis.job.edition == document.edition else None,
    )


async def _code_lens(workspace: Workspace, params: types.CodeLensParams) -> list[types.CodeLens]:
    uri = params.text_document.uri
    if not workspace.settings_of(uri).code_lens:
        return []
    workspace.analyses.touched(uri)
    analysis = await workspace.analyses.fresh(uri)
    if analysis is None:
        return []
    return await _or_nothing(workspace, uri, lambda: list(lenses(analysis, workspace.features)))


async def _inlay_hint(workspace: Workspace, params: types.InlayHintParams) -> list[types.InlayHint]:
    uri = params.text_document.uri
    if not workspace.settings_of(uri).inlay_hints:
        return []
    workspace.analyses.touched(uri)
    analysis = await workspace.analyses.fresh(uri)
    if analysis is None or analysis.report is None:
        return []
    span = to_span(client_text(analysis.report.source, workspace.features.encoding), params.range)
    return await _or_nothing(workspace, uri, lambda: list(inlay_hints(analysis, span, workspace.features)))


async def _code_action(workspace: Workspace, params: types.CodeActionParams) -> list[types.CodeAction]:
    uri = params.text_document.uri
    document, analysis = await _this_text(workspace, uri)
    if document is None or analysis is None or analysis.report is None:
        return []
    seen = client_text(analysis.report.source, workspace.features.encoding)
    context = params.context
    only = None if context.only is None else tuple(str(_plain(kind)) for kind in context.only)
    asked = Asked(to_span(seen, params.range), only, invoked=context.trigger_kind is not AUTOMATIC)
    lazy = workspace.features.resolve_edits

    def work() -> list[_Offer]:
        found = actions(analysis, asked)
        if lazy:
            return [_Offer(action) for action in found]
        # Worked out at once, the edits of "fix all" are too dear to make for every move of the cursor.
        cheap = (action for action in found if action.kind != FIX_ALL or only is not None)
        return [
            _Offer(
                action, () if action.refused is not None else tuple(_edits(workspace, analysis, action.key))
            )
            for action in cheap
        ]

    offers = await _or_nothing(workspace, uri, work)
    if asked.invoked and asked.takes(REWRITE):
        found = await what_fits(workspace.ask, analysis, asked)
        offers += await _or_nothing(
            workspace,
            uri,
            lambda: [
                _Offer(action, None if lazy else tuple(_edits(workspace, analysis, action.key)))
                for action in found
            ],
        )
    return [
        _to_code_action(workspace, document, analysis, offer, context.diagnostics)
        for offer in offers
        if offer.action.refused is None or workspace.features.disabled_code_actions
    ]


@dataclass(frozen=True, slots=True)
class _Offer:
    """``edits`` None: the client asks for them when it needs them."""

    action: Action
    edits: tuple[TextEdit, ...] | None = None


def _to_code_action(
    workspace: Workspace,
    document: Document,
    analysis: Analysis,
    offer: _Offer,
    diagnostics: list[types.Diagnostic] | Any,
) -> types.CodeAction:
    action = offer.action
    seen = document.seen(workspace.features.encoding)
    finding = action.finding
    cured = None
    if finding is not None:
        where = to_range(seen, finding.span)
        cured = [d for d in diagnostics if d.code == finding.code and d.range == where] or None
    found = types.CodeAction(printable(action.title), kind=action.kind, diagnostics=cured)
    if action.preferred and workspace.features.preferred_code_actions:
        found.is_preferred = True
    if action.refused is not None:
        found.disabled = types.CodeActionDisabled(printable(action.refused))
    elif offer.edits is not None:
        found.edit = workspace_edit(document.uri, document.version, seen, offer.edits, workspace.features)
    else:
        job = analysis.job
        found.data = {
            "uri": document.uri,
            "edition": job.edition,
            "revision": job.revision,
            "key": action.key,
        }
    return found


async def _resolve_code_action(workspace: Workspace, params: types.CodeAction) -> types.CodeAction:
    if params.disabled is not None or params.edit is not None:
        return params
    match _plain(params.data):
        case {"uri": str(uri), "edition": int(edition), "revision": int(revision), "key": str(key)}:
            pass
        case _:
            raise invalid_params("this action was not offered here")
    document, analysis = await _this_text(workspace, uri)
    if document is None or analysis is None or analysis.report is None or analysis.job.edition != edition:
        raise content_modified()
    try:
        edits = await _or_refused(workspace, uri, lambda: _edits(workspace, analysis, key))
    except KeyError:
        if analysis.job.revision != revision:  # other settings, and under these it is not offered
            raise content_modified() from None
        raise invalid_params("this action was not offered here") from None
    if workspace.documents.get(uri) is not document:
        raise content_modified()
    seen = document.seen(workspace.features.encoding)
    params.edit = workspace_edit(uri, document.version, seen, edits, workspace.features)
    return params


def _edits(workspace: Workspace, analysis: Analysis, key: str) -> list[TextEdit]:
    """On the worker's thread."""
    job = analysis.job

    def check(text: str) -> Report:
        return workspace.analyst.check(job, text, analysis.config, job.reader)

    return list(edits_of(analysis, key, check))


async def _layout(workspace: Workspace, params: LayoutParams) -> dict[str, object] | None:
    uri = params.textDocument.uri
    document, analysis = await _this_text(workspace, uri)
    if document is None or analysis is None or analysis.report is None:
        return None
    offset = to_offset(document.seen(workspace.features.encoding), params.position)
    report = analysis.report

    def draw() -> dict[str, object] | None:
        index = kernel_at(report, Span(offset, offset))
        if index is None:
            return None
        if params.format == "json":
            return layout_object(report, index)
        named = replace(report, source=SourceText(report.source.text, shown_path(analysis.job)))
        return {params.format: _map(named, index, params)}

    return await _or_refused(workspace, uri, draw)


def _map(report: Report, index: int, params: LayoutParams) -> str:
    match params.format:
        case "svg":
            return layout_svg.render(report, index)
        case "html":
            return layout_html.render(report, [index])
        case _:
            return layout_text.render(report, [index], width=min(max(params.width, 40), 400))


def _explain(workspace: Workspace, params: ExplainParams) -> dict[str, object]:
    page = rule_page(params.code)
    if page is None:
        raise invalid_params(f"no rule is called `{params.code}`")
    return page


async def _or_nothing(workspace: Workspace, uri: str, job: Callable[[], list[T]]) -> list[T]:
    """For what an editor asks by itself: nothing where it takes too long, with a line in the log."""
    try:
        return await workspace.ask(uri, job)
    except OutOfBudget:
        logger.warning("%s: %s", uri, TOO_LARGE)
    except Superseded:
        logger.debug("%s was closed meanwhile", uri)
    return []


async def _or_refused(workspace: Workspace, uri: str, job: Callable[[], T]) -> T:
    """For what a user asks: an error where it takes too long."""
    try:
        return await workspace.ask(uri, job)
    except OutOfBudget:
        raise request_failed(TOO_LARGE) from None
    except Superseded:
        raise content_modified() from None


async def _this_text(workspace: Workspace, uri: str) -> tuple[Document | None, Analysis | None]:
    """A document and its analysis, for requests whose positions mean the text of now. Other settings are waited for,
    another text is not."""
    asked = workspace.documents.get(uri)
    if asked is None:
        return None, None
    workspace.analyses.touched(uri)
    while True:
        analysis = await workspace.analyses.fresh(uri)
        document = workspace.documents.get(uri)
        if document is None or document.text != asked.text:
            raise content_modified()
        if analysis is None and document is asked:
            return document, None  # it failed
        if analysis is not None and analysis.job.edition == document.edition:
            return document, analysis
        asked = document  # the same text once more, under another number


def _plain(value: Any) -> Any:
    """An enum's value, an object's fields: what was JSON before pygls saw it."""
    if hasattr(value, "_asdict"):
        return value._asdict()
    return getattr(value, "value", value)


_HANDLERS: dict[str, Callable[[Workspace, Any], Any | Awaitable[Any]]] = {
    types.INITIALIZED: _initialized,
    types.SET_TRACE: _ignored,
    types.TEXT_DOCUMENT_DID_OPEN: _did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: _did_change,
    types.TEXT_DOCUMENT_DID_SAVE: _ignored,
    types.TEXT_DOCUMENT_DID_CLOSE: _did_close,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: _did_change_configuration,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: _did_change_folders,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: _did_change_files,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: _ignored,
    types.TEXT_DOCUMENT_DIAGNOSTIC: _diagnostic,
    types.TEXT_DOCUMENT_HOVER: _hover,
    types.TEXT_DOCUMENT_CODE_LENS: _code_lens,
    types.TEXT_DOCUMENT_INLAY_HINT: _inlay_hint,
    types.TEXT_DOCUMENT_CODE_ACTION: _code_action,
    types.CODE_ACTION_RESOLVE: _resolve_code_action,
    LAYOUT: _layout,
    EXPLAIN: _explain,
}
