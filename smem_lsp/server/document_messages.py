"""Notifications: documents, settings, folders and files, as the client tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lsprotocol import types

from smem_lsp.server.answering import Handler
from smem_lsp.server.documents import Change
from smem_lsp.server.uris import path_of
from smem_lsp.server.workspace import Workspace


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


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
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
    }
)
