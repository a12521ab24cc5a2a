"""The server's engine with the files that an editor holds: one store for all of them, as long as it lives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from goldens.rows import line_of, rows_of

from smem_lsp.environment import DiskReader
from smem_lsp.server.analysis import Analysis, AnalysisInput, Analyst
from smem_lsp.server.client_settings import ClientSettings
from smem_lsp.server.config_files import ConfigFiles
from smem_lsp.server.process import MOST_KEPT
from smem_lsp.source.queries import KEPT

_EVERY_RULE = ClientSettings({"select": ["SMEM"]})  # those that are off by default, too


class Editor:
    """``tell`` says of the first of the files what the server would, after the texts of all of them are shown."""

    def __init__(self) -> None:
        KEPT.most = MOST_KEPT
        self._analyst, self._config = Analyst(), ConfigFiles()
        self._reader = DiskReader(fresh_for=1e9)
        self._shown: dict[str, str] = {}
        self._last: dict[str, Analysis] = {}  # the server keeps the newest analysis of each document
        self._edition = 0

    def tell(self, files: Mapping[str, str]) -> list[str]:
        """The rows of a record, as lines in their order."""
        for path, text in files.items():
            if self._shown.get(path) != text:
                self._reader.show(path, text)
                self._shown[path] = text
        self._edition += 1
        path = next(iter(files))
        snapshot = AnalysisInput(
            Path(path).as_uri(),
            self._edition,
            self._edition,
            self._edition,
            files[path],
            "cuda-cpp",
            path,
            None,
            _EVERY_RULE,
            self._reader,
            self._config,
        )
        analysis = self._last[path] = self._analyst.analyse(snapshot, bool)
        KEPT.rest()  # as the worker does when it has nothing to do
        return [] if analysis.report is None else [line_of(row) for row in rows_of(analysis.report)]
