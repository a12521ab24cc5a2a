"""Everything the server holds for one client: its documents, their settings, their analyses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from lsprotocol import types

from smem_lsp.engine import summarise
from smem_lsp.environment import DiskReader, Indexing
from smem_lsp.environment.compiler import Compiler, user_store
from smem_lsp.environment.index_store import user_index_store
from smem_lsp.server.analyses import Analyses
from smem_lsp.server.analysis import Analysis, AnalysisInput, Analyst, path_for_messages
from smem_lsp.server.background import Background
from smem_lsp.server.client_settings import ClientSettings, overlay, read_client_settings
from smem_lsp.server.code_lens import KeptLenses, kept_lenses
from smem_lsp.server.config_files import ConfigFiles
from smem_lsp.server.diagnostics import diagnostics_of, result_id
from smem_lsp.server.documents import Change, Document, Documents
from smem_lsp.server.handshake import Client
from smem_lsp.server.indexing import IndexQuestions, ProjectIndexing
from smem_lsp.server.outgoing import Outgoing
from smem_lsp.server.scheduler import AnalysisRun
from smem_lsp.server.steady import Steady
from smem_lsp.server.uris import path_of, same_file_key
from smem_lsp.server.worker import Worker

CONFIG_FILES = frozenset({"smem.toml", "pyproject.toml", "compile_commands.json"})
T = TypeVar("T")

FILES_FRESH = 10.0  # seconds before it is looked for new files again, unless the client reports them
WHOLE_AFTER = 0.4  # seconds without a key until a header is read through all of its contexts
HEADERS_FRESH = 2.0  # seconds before a header is looked at again, unless the client reports a change earlier

logger = logging.getLogger(__name__)


class Workspace:
    """One client's state. Every method belongs to the event loop."""

    def __init__(self, client: Client, outgoing: Outgoing, worker: Worker) -> None:
        self.features = client.features
        self.outgoing = outgoing
        self.worker = worker
        self.analyst = Analyst()
        self.documents = Documents(client.features.encoding)
        self.analyses = Analyses(self, worker.clock)
        self._reader = DiskReader(fresh_for=HEADERS_FRESH, indexing=_indexing(client))
        self._indexing = ProjectIndexing(self._reader, worker, self._asked, self._contexts_changed)
        self._config_files = ConfigFiles()
        self._config_files.watched = client.features.register_watched_files
        self._config_files.trusted = client.trusted
        self._compiler = Compiler(user_store()) if client.trusted else None
        self._background = (
            None if self._compiler is None else Background(self._compiler, self._measured, outgoing.status)
        )
        self._look_again = 0.0  # when it may be looked for new files, in seconds of the worker's clock
        self._folders = list(client.folders)
        self._name_folders()
        self._initial = read_client_settings(client.settings)
        self._settings = self._initial
        self._folder_settings: dict[str, ClientSettings] = {}
        self._whole: dict[str, int] = {}  # by document: the edition that is read through all of its contexts
        self._steady = Steady()
        self._lenses: dict[str, KeptLenses] = {}  # by document
        self._late_lenses: dict[str, asyncio.Future[list[types.CodeLens]]] = {}  # by document
        self._told: set[str] = set()  # problems of settings, until the settings change
        _log_as_much_as(self._settings)

    def stop(self) -> None:
        """No more analyses, no more compilers; whoever waits for one gets an empty answer."""
        self.analyses.stop()
        self._indexing.stop()
        if self._background is not None:
            self._background.stop()

    # Documents

    def opened(self, uri: str, language: str, version: int, text: str) -> None:
        document = self.documents.open(uri, language, version, text)
        if not self.features.register_watched_files and self.worker.clock() > self._look_again:
            self._look_again = self.worker.clock() + FILES_FRESH
            self._reader.forget()
        self._shown(document, at_once=True)

    def edited(self, uri: str, version: int, changes: Sequence[Change]) -> None:
        document = self.documents.change(uri, version, changes)
        if document is not None:
            self._steady.edited(uri, changes, self.worker.clock())
            self._shown(document, at_once=False)

    def closed(self, uri: str) -> None:
        document = self.documents.close(uri)
        self._whole.pop(uri, None)
        self._steady.closed(uri)
        self._lenses.pop(uri, None)
        if (late := self._late_lenses.pop(uri, None)) is not None:
            late.cancel()
        self.analyses.closed(uri)
        if self._background is not None:
            self._background.changed(uri)
        path = path_of(uri)
        if document is None:
            return
        if path is not None:
            self._reader.hide(path)
            self._indexing.wake()
            self._includers_changed({same_file_key(path)})
        analysed_as = path_for_messages(path, self._root_of(uri))
        self.worker.submit(lambda: self.analyst.forget(analysed_as), urgent=False)
        if not self.features.pull_diagnostics:
            self.outgoing.publish(uri, None, [])

    def _shown(self, document: Document, *, at_once: bool) -> None:
        path = path_of(document.uri)
        if path is not None:
            self._reader.show(path, document.text)
            self._indexing.wake()
            self._includers_changed({same_file_key(path)}, but=document.uri)
        if self._background is not None:
            self._background.changed(document.uri)
        self.analyses.changed(document.uri, at_once=at_once)

    def _includers_changed(self, files: set[str], *, but: str | None = None, at_once: bool = False) -> bool:
        """Analyse the documents that include one of ``files`` again. False: there are none."""
        found = False
        for document in self.documents:
            read = self.analyses.read(document.uri)
            if document.uri != but and read is not None and not files.isdisjoint(read.files):
                self.analyses.changed(document.uri, at_once=at_once, same_text=True)
                found = True
        return found

    # Settings

    def settings_of(self, uri: str) -> ClientSettings:
        folder = self._folder_of(uri)
        return self._settings if folder is None else self._folder_settings.get(folder, self._settings)

    async def ask_configuration(self) -> None:
        """Ask the client for its settings and apply them. Nothing waits for the answer, which may never come."""
        folders = tuple(self._folders)
        found = await self.outgoing.configuration(folders)
        if found is None:
            return
        whole, *by_folder = (overlay(self._initial, read_client_settings(part), part) for part in found)
        own = {folder: found for folder, found in zip(folders, by_folder) if found != whole}
        self._take_settings(whole, own)

    def configured(self, section: object) -> None:
        """The client sent its settings without being asked."""
        self._take_settings(overlay(self._initial, read_client_settings(section), section), {})

    def _take_settings(self, whole: ClientSettings, by_folder: dict[str, ClientSettings]) -> None:
        _log_as_much_as(whole)
        if (whole, by_folder) == (self._settings, self._folder_settings):
            logger.debug("the client's settings are the ones in force")
            return
        logger.debug("the client's settings have changed: %s", dict(whole.table))
        self._settings, self._folder_settings = whole, by_folder
        self.everything_changed()

    def folders_changed(self, added: Iterable[str], removed: Iterable[str]) -> None:
        gone = set(removed)
        self._folders = [folder for folder in self._folders if folder not in gone]
        self._folders += [folder for folder in added if folder not in self._folders]
        self._name_folders()
        self.everything_changed()

    def files_changed(self, paths: Iterable[str], *, came_or_went: bool = False) -> None:
        """Files on the disk have changed. ``came_or_went``: some were made or removed, so an include may lead
        elsewhere."""
        files = list(paths)
        self._reader.forget(files)
        self._indexing.wake()
        if came_or_went or any(Path(path).name in CONFIG_FILES for path in files):
            self.everything_changed()
        elif self._includers_changed({same_file_key(path) for path in files}, at_once=True):
            self.outgoing.refresh()

    def _name_folders(self) -> None:
        self._reader.name_folders(path for path in map(path_of, self._folders) if path is not None)

    def _asked(self) -> dict[str, IndexQuestions]:
        """What the analyses of the open documents wanted to know of the project."""
        latest = ((document.uri, self.analyses.read(document.uri)) for document in self.documents)
        return {uri: read.asked for uri, read in latest if read is not None}

    def _contexts_changed(self, uris: Sequence[str]) -> None:
        for uri in uris:
            if self.documents.get(uri) is not None:
                self.analyses.changed(uri, at_once=True, same_text=True)
        self.outgoing.refresh()

    def everything_changed(self) -> None:
        """Something that every finding depends on has changed."""
        self._config_files.forget()
        self._told.clear()
        for document in self.documents:
            self.analyses.changed(document.uri, at_once=True, same_text=True)
        self.outgoing.refresh()

    def _folder_of(self, uri: str) -> str | None:
        """The innermost workspace folder around a document; the first folder for an untitled one."""
        if path_of(uri) is None:
            return self._folders[0] if self._folders else None
        around = (folder for folder in self._folders if uri.startswith(f"{folder.rstrip('/')}/"))
        return max(around, key=len, default=None)

    def _root_of(self, uri: str) -> Path | None:
        folder = self._folder_of(uri)
        root = None if folder is None else path_of(folder)
        return None if root is None else Path(root)

    # Analyses

    async def ask(self, uri: str, job: Callable[[], T]) -> T:
        """Do the work of a request about a document on the worker's thread.

        Raises OutOfBudget when it takes too long, Superseded when the document is closed meanwhile.
        """
        return await self.worker.submit(job, gone=lambda: self.documents.get(uri) is None)

    @property
    def folder_paths(self) -> list[Path]:
        return [Path(path) for path in map(path_of, self._folders) if path is not None]

    async def analyse_closed(self, uri: str) -> Analysis | None:
        """The analysis of a file that is not open, when nobody else wants the worker; None: it cannot be read."""
        path = path_of(uri)
        text = None if path is None else self._reader.read(path)
        if text is None:
            return None
        snapshot = self._snapshot(Document(uri, "", 0, text, []), revision=0, compiler=False)

        def work() -> Analysis:
            found = self.analyst.analyse(snapshot, bool)
            self.analyst.forget(path_for_messages(snapshot.path, snapshot.root))
            return found

        return await self.worker.submit(work, seconds=None, urgent=False)

    def start(self, run: AnalysisRun) -> asyncio.Future[Analysis]:
        """For ``analyses``: hand a document to the worker as it is now."""
        uri = run.uri
        document = self.documents.get(uri)
        assert document is not None, "a document that is closed is not scheduled any more"
        snapshot = self._snapshot(document, revision=run.revision)
        return self.worker.analyse(lambda stale: self.analyst.analyse(snapshot, stale), run.turn)

    def _snapshot(self, document: Document, *, revision: int, compiler: bool = True) -> AnalysisInput:
        """A text and all that decides what is found in it. ``compiler``: what nvcc says of it counts."""
        uri = document.uri
        return AnalysisInput(
            uri=uri,
            revision=revision,
            edition=document.edition,
            version=document.version,
            text=document.text,
            language=document.language,
            path=path_of(uri),
            root=self._root_of(uri),
            settings=self.settings_of(uri),
            reader=self._reader,
            config_files=self._config_files,
            compiler=self._compiler if compiler else None,
            opened=self._opened(but=uri),
            whole=self._whole.get(uri) == document.edition,
        )

    def _opened(self, but: str) -> frozenset[str]:
        paths = (path_of(document.uri) for document in self.documents if document.uri != but)
        return frozenset(same_file_key(path) for path in paths if path is not None)

    def _measured(self, uri: str) -> None:
        """The compiler has said something about a document: its findings and numbers may change."""
        if self.documents.get(uri) is not None:
            self.analyses.changed(uri, at_once=True, same_text=True)
            self.outgoing.refresh()

    def publish(self, analysis: Analysis) -> None:
        """For ``analyses``: tell the client what was found."""
        found = 0 if analysis.report is None else len(analysis.report.findings)
        snapshot = analysis.snapshot
        logger.debug(
            "%s, version %d: %d findings in %.1f ms",
            snapshot.uri,
            snapshot.version,
            found,
            analysis.seconds * 1e3,
        )
        for defect in () if analysis.report is None else analysis.report.defects:
            logger.error("%s: %s; please report this line", snapshot.uri, defect)
        for problem in analysis.problems:
            if problem not in self._told:
                self._told.add(problem)
                self.outgoing.warn(problem)
        self._look(analysis)
        if not self.features.pull_diagnostics:
            self.outgoing.publish(snapshot.uri, snapshot.version, self.diagnostics(analysis))
        if self._background is not None:
            self._background.wanted(snapshot.uri, analysis.request)
        self._indexing.wake()
        if analysis.report is not None and analysis.report.more_contexts:
            asyncio.get_running_loop().call_later(
                WHOLE_AFTER, self._read_whole, snapshot.uri, snapshot.edition
            )

    def renew(self, analysis: Analysis) -> None:
        """For ``analyses``: tell the client only where something else is found than what it was told: a file may have
        changed that nobody reported."""
        uri, report = analysis.snapshot.uri, analysis.report
        logger.debug("%s: analysed once more in %.1f ms", uri, analysis.seconds * 1e3)
        if report is None or self._steady.due(uri) is not None:
            return
        found = diagnostics_of(analysis, report.findings, self.features)
        if result_id(found) != result_id(self.diagnostics(analysis)):
            self.publish(analysis)
            self.outgoing.refresh()

    def diagnostics(self, analysis: Analysis) -> list[types.Diagnostic]:
        """What is shown of an analysis."""
        return diagnostics_of(analysis, self._steady.findings(analysis), self.features)

    def kept_lenses(self, uri: str) -> list[types.CodeLens] | None:
        """The lenses of a text that is half typed: those of before, where their lines are now. None: it is not."""
        if uri not in self._lenses or not self._steady.half_typed(uri):
            return None
        return self.earlier_lenses(uri)

    def earlier_lenses(self, uri: str) -> list[types.CodeLens]:
        """The last lenses of a document, where their lines are now."""
        kept, document = self._lenses.get(uri), self.documents.get(uri)
        return [] if kept is None or document is None else kept.moved(document, self.features)

    def late_lenses(self, uri: str, found: asyncio.Future[list[types.CodeLens]]) -> None:
        """The client was given earlier lenses of a document: let it ask again once these are there."""
        waiting = self._late_lenses.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self._late_lenses[uri] = found
        found.add_done_callback(lambda done: self._lenses_came(uri, done))

    def _lenses_came(self, uri: str, found: asyncio.Future[list[types.CodeLens]]) -> None:
        if found.cancelled():
            return
        self._late_lenses.pop(uri, None)
        if found.exception() is None:
            self.outgoing.refresh_lenses()

    def keep_lenses(self, analysis: Analysis, found: list[types.CodeLens]) -> None:
        if analysis.report is not None:
            self._lenses[analysis.snapshot.uri] = kept_lenses(analysis, found, self.features)

    def _look(self, analysis: Analysis) -> None:
        """Decide what is shown of an analysis, and look again when more of it can be."""
        uri = analysis.snapshot.uri
        document, now = self.documents.get(uri), self.worker.clock()
        if document is None or document.edition != analysis.snapshot.edition:
            return
        self._steady.look(analysis, document, now)
        due = self._steady.due(uri)
        if due is not None:
            asyncio.get_running_loop().call_later(max(due - now, 0.0), self._show_more, analysis)

    def _show_more(self, analysis: Analysis) -> None:
        """Nobody types any more: show what was held back."""
        uri = analysis.snapshot.uri
        due = self._steady.due(uri)
        if due is None or self.analyses.latest(uri) is not analysis:
            return
        before = self._steady.findings(analysis), self._steady.half_typed(uri)
        self._look(analysis)
        if before == (self._steady.findings(analysis), self._steady.half_typed(uri)):
            return
        if not self.features.pull_diagnostics:
            self.outgoing.publish(uri, analysis.snapshot.version, self.diagnostics(analysis))
        self.outgoing.refresh()

    def _read_whole(self, uri: str, edition: int) -> None:
        """Nobody types: read a header through its other contexts, too."""
        document = self.documents.get(uri)
        if document is not None and document.edition == edition and self._whole.get(uri) != edition:
            self._whole[uri] = edition
            self.analyses.changed(uri, at_once=True, same_text=True)
            self.outgoing.refresh()

    def fail(self, uri: str) -> None:
        """For ``analyses``: a defect of ours. Findings of an older text would be wrong now, so there are none."""
        document = self.documents.get(uri)
        if document is not None and not self.features.pull_diagnostics:
            self.outgoing.publish(uri, document.version, [])


def _indexing(client: Client) -> Indexing:
    """What is known of a project is kept for the next session only where the user trusts it."""
    return Indexing(summarise, user_index_store() if client.trusted else None, background=True)


def _log_as_much_as(settings: ClientSettings) -> None:
    """Set the log level of the process. Clients that share it over TCP override each other."""
    if settings.log_level is not None:
        logging.getLogger("smem_lsp").setLevel(settings.log_level.upper())
