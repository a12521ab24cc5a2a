"""Notifications and requests that the server sends by itself."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from lsprotocol import types

from smem_lsp.server.handshake import Features
from smem_lsp.server.protocol import RequestFailed, Server
from smem_lsp.server.status import Status
from smem_lsp.source import printable

logger = logging.getLogger(__name__)

WATCHED = (
    "**/{smem,pyproject}.toml",
    "**/compile_commands.json",
    "**/*.{cu,cuh,hip,h,hh,hpp,hxx,hu,inl,inc,cpp,cc,cxx}",
)


class Outgoing:
    """Notifications and requests to one client."""

    __slots__ = ("_features", "_server", "status")

    def __init__(self, server: Server, features: Features) -> None:
        self._server = server
        self._features = features
        self.status = Status(server, enabled=features.work_done_progress)

    def publish(self, uri: str, version: int | None, diagnostics: Sequence[types.Diagnostic]) -> None:
        params = types.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=diagnostics)
        self._server.text_document_publish_diagnostics(params)

    def plain(self, value: object) -> object:
        """An object of LSP as the JSON that it is sent as."""
        return self._server.protocol.plain(value)

    def warn(self, message: str) -> None:
        """Show the user a problem that only the user can solve."""
        self._server.window_show_message(
            types.ShowMessageParams(types.MessageType.Warning, printable(message))
        )

    def refresh(self) -> None:
        """What the client was told may be wrong now: let it ask again."""
        if self._features.refresh_diagnostics:
            self._server.workspace_diagnostic_refresh(None)
        self.refresh_lenses()
        if self._features.refresh_inlay_hints:
            self._server.workspace_inlay_hint_refresh(None)

    def refresh_lenses(self) -> None:
        if self._features.refresh_code_lens:
            self._server.workspace_code_lens_refresh(None)

    def register(self) -> None:
        """Ask to be told about changed settings and files. LSP allows that only after the handshake."""
        wanted: list[types.Registration] = []
        if self._features.register_configuration:
            section = types.DidChangeConfigurationRegistrationOptions(section="smem")
            wanted.append(
                types.Registration("smem-configuration", types.WORKSPACE_DID_CHANGE_CONFIGURATION, section)
            )
        if self._features.register_watched_files:
            watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in WATCHED]
            files = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            wanted.append(types.Registration("smem-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, files))
        if wanted:
            self._server.client_register_capability(types.RegistrationParams(wanted))

    async def configuration(self, folders: Sequence[str]) -> list[object] | None:
        """The ``smem`` section, first the whole one, then that of each folder; None when the client does not answer."""
        items = [types.ConfigurationItem(section="smem")]
        items += [types.ConfigurationItem(scope_uri=folder, section="smem") for folder in folders]
        try:
            found = await self._server.workspace_configuration_async(types.ConfigurationParams(items))
        except RequestFailed as error:
            logger.warning("the client did not give its configuration: %s", error)
            return None
        return list(found) if len(found) == len(items) else None
