"""Check one file: read it, fix it if asked, render its findings. Worker processes do this too, so what goes in and out
is plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from smem_lsp.cli.errors import internal_error
from smem_lsp.cli.garbage import spare_imported
from smem_lsp.cli.outcome import FileOutcome, FileTask, Options, failed
from smem_lsp.cli.reading import project_reader
from smem_lsp.cli.results import NotingReader, Results, digest, result_key
from smem_lsp.environment import SourceError, SourceFile, read_source
from smem_lsp.environment.compiler import OFF
from smem_lsp.environment.result_store import user_result_store
from smem_lsp.source import FileReader

if TYPE_CHECKING:
    from smem_lsp.cli.analysing import Analyser


class FileChecker:
    """Checks one file after another. It reads what they share once: headers, and what a compiler said."""

    __slots__ = ("_analyser", "_options", "_reader", "_results")

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reader = project_reader(reuse=options.reuse, folders=options.folders, isolated=options.isolated)
        self._analyser: Analyser | None = None  # made for the first file without a result
        store = user_result_store() if options.reuse and options.reads_only else None
        self._results = None if store is None else Results(store, self._reader)

    def check(self, task: FileTask) -> FileOutcome:
        """Check one file, and fix it where the options say so. Whatever goes wrong is in the outcome: other files are
        still to be done."""
        try:
            source = task.given or read_source(task.path)
            return self._checked(source, task)
        except SourceError as error:
            return failed(task.path, str(error))
        except Exception as error:  # noqa: BLE001  (a defect of ours in one file must not hide the findings of others)
            return failed(task.path, f"{task.path}: {internal_error(error)}")

    def read_projects(self, tasks: Iterable[FileTask]) -> None:
        """Find out what the files of their projects say to each other, for other processes to read."""
        self._reader.read_projects(task.path for task in tasks)

    def known(self, task: FileTask) -> FileOutcome | None:
        """What came of the file in an earlier run, where that still holds: nothing is analysed."""
        results = self._results_of(task)
        if results is None:
            return None
        try:
            kept = results.find(self._key(read_source(task.path), task))
        except SourceError:  # whoever checks it says so
            return None
        outcome = None if kept is None else FileOutcome.read(kept)
        return None if outcome is None else self._told(outcome, task)

    def _checked(self, source: SourceFile, task: FileTask) -> FileOutcome:
        results = self._results_of(task)
        if results is None:
            outcome, _ = self._analysed(source, task, self._reader)
            return self._told(outcome, task)
        key = self._key(source, task)
        kept = results.find(key)
        known = None if kept is None else FileOutcome.read(kept)
        if known is not None:
            return self._told(known, task)
        reader = NotingReader(self._reader)
        outcome, repeatable = self._analysed(source, task, reader)
        if repeatable:
            results.keep(key, reader, outcome.written)
        return self._told(outcome, task)

    def _results_of(self, task: FileTask) -> Results | None:
        """Where the result for a file may be found; None: it has to be worked out."""
        return None if task.given is not None or task.config.nvcc not in (None, OFF) else self._results

    def _key(self, source: SourceFile, task: FileTask) -> bytes:
        return result_key(self._options, task, digest(source.text))

    def _told(self, outcome: FileOutcome, task: FileTask) -> FileOutcome:
        outcome.headers = tuple(
            path for path in outcome.headers if self._reader.in_project(path, around=task.path)
        )
        return outcome

    def _analysed(self, source: SourceFile, task: FileTask, reader: FileReader) -> tuple[FileOutcome, bool]:
        """The outcome, and whether it may be told again."""
        if self._analyser is None:
            from smem_lsp.cli.analysing import Analyser

            spare_imported()
            self._analyser = Analyser(self._options)
        return self._analyser.analysed(source, task, reader)
