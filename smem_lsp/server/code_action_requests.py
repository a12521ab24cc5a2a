"""Requests of the light bulb: what it offers, and the edits of what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lsprotocol import types

from smem_lsp.engine import FileReport
from smem_lsp.server.analysis import Analysis
from smem_lsp.server.answering import Handler, or_nothing, or_refused, plain, this_text
from smem_lsp.server.code_actions import (
    CHOOSE_ACTION,
    FIX_ALL,
    REWRITE,
    SHOW_RACE,
    Action,
    ActionQuery,
    actions,
    edits_of,
)
from smem_lsp.server.documents import Document
from smem_lsp.server.positions import client_text
from smem_lsp.server.protocol import content_modified, invalid_params
from smem_lsp.server.to_lsp import EditWords, to_range, to_span, workspace_edit
from smem_lsp.server.what_fits import what_fits
from smem_lsp.server.workspace import Workspace
from smem_lsp.source import TextEdit, printable
from smem_lsp.source.record import dataclass

AUTOMATIC = types.CodeActionTriggerKind.Automatic


@dataclass(frozen=True, slots=True)
class _Offer:
    """``edits`` None: the client asks for them when it needs them."""

    action: Action
    edits: tuple[TextEdit, ...] | None = None


async def _code_action(workspace: Workspace, params: types.CodeActionParams) -> list[types.CodeAction]:
    uri = params.text_document.uri
    document, analysis = await this_text(workspace, uri)
    if document is None or analysis is None or analysis.report is None:
        return []
    seen = client_text(analysis.report.source, workspace.features.encoding)
    context = params.context
    only = None if context.only is None else tuple(str(plain(kind)) for kind in context.only)
    asked = ActionQuery(to_span(seen, params.range), only, invoked=context.trigger_kind is not AUTOMATIC)
    lazy = workspace.features.resolve_edits

    commands = workspace.features.commands if lazy else frozenset()

    def work() -> list[_Offer]:
        found = actions(analysis, asked, commands)
        if lazy:
            return [_Offer(action) for action in found]
        # A client that cannot ask later gets every edit now; those of "fix all" cost too much for each cursor move.
        cheap = (action for action in found if action.kind != FIX_ALL or only is not None)
        return [_with_edits(workspace, analysis, action) for action in cheap]

    offers = await or_nothing(workspace, uri, work)
    if asked.invoked and asked.takes(REWRITE):
        found = await what_fits(workspace.ask, analysis, asked)
        offers += await or_nothing(
            workspace,
            uri,
            lambda: [
                _Offer(action) if lazy else _with_edits(workspace, analysis, action) for action in found
            ],
        )
    return [
        _to_code_action(workspace, document, analysis, offer, context.diagnostics)
        for offer in offers
        if offer.action.refused is None or workspace.features.disabled_code_actions
    ]


def _with_edits(workspace: Workspace, analysis: Analysis, action: Action) -> _Offer:
    edits = () if action.refused is not None else tuple(_edits(workspace, analysis, action.key))
    return _Offer(action, edits)


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
    elif action.race and finding is not None:
        start = to_range(seen, finding.span).start
        at = {"line": start.line, "character": start.character}
        place: dict[str, object] = {"uri": document.uri, "position": at}
        found.command = types.Command(found.title, SHOW_RACE, arguments=[place])
    elif action.choices:
        choices = [
            {
                "action": {"title": printable(each.title), "kind": each.kind, "data": _data(analysis, each)},
                "detail": printable(each.detail),
            }
            for each in action.choices
        ]
        argument: dict[str, object] = {"title": found.title, "choices": choices}
        found.command = types.Command(found.title, CHOOSE_ACTION, arguments=[argument])
    elif offer.edits is not None:
        found.edit = workspace_edit(
            document.uri, document.version, seen, offer.edits, workspace.features, _words(action)
        )
    else:
        found.data = _data(analysis, action)
    return found


def _words(action: Action) -> EditWords:
    return EditWords(action.title, action.detail)


def _data(analysis: Analysis, action: Action) -> dict[str, object]:
    """What resolves the action later."""
    snapshot = analysis.snapshot
    data: dict[str, object] = {
        "uri": snapshot.uri,
        "edition": snapshot.edition,
        "revision": snapshot.revision,
        "key": action.key,
    }
    return {**data, "detail": action.detail} if action.detail else data


async def _resolve_code_action(workspace: Workspace, params: types.CodeAction) -> types.CodeAction:
    if params.disabled is not None or params.edit is not None:
        return params
    match plain(params.data):
        case {"uri": str(uri), "edition": int(edition), "revision": int(revision), "key": str(key), **rest}:
            detail = str(rest.get("detail", ""))
        case _:
            raise invalid_params("this action was not offered here")
    document, analysis = await this_text(workspace, uri)
    if (
        document is None
        or analysis is None
        or analysis.report is None
        or analysis.snapshot.edition != edition
    ):
        raise content_modified()
    try:
        edits = await or_refused(workspace, uri, lambda: _edits(workspace, analysis, key))
    except KeyError:
        if analysis.snapshot.revision != revision:  # under the new settings it is not offered
            raise content_modified() from None
        raise invalid_params("this action was not offered here") from None
    if workspace.documents.get(uri) is not document:
        raise content_modified()
    seen = document.seen(workspace.features.encoding)
    words = EditWords(params.title, detail)
    params.edit = workspace_edit(uri, document.version, seen, edits, workspace.features, words)
    return params


def _edits(workspace: Workspace, analysis: Analysis, key: str) -> list[TextEdit]:
    """Runs on the worker."""
    snapshot = analysis.snapshot

    def check(text: str) -> FileReport:
        return workspace.analyst.check(snapshot, text, analysis.config, snapshot.reader)

    return list(edits_of(analysis, key, check))


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        types.TEXT_DOCUMENT_CODE_ACTION: _code_action,
        types.CODE_ACTION_RESOLVE: _resolve_code_action,
    }
)
