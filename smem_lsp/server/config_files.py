"""Config files of the workspace as the worker reads them."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path

from smem_lsp.config import Config, ConfigError, LoadedSettings, defaults, discover
from smem_lsp.engine.stated_functions import wrong_stubs
from smem_lsp.environment import CompileCommands
from smem_lsp.environment.compiler import OFF
from smem_lsp.environment.stub_files import read_stub
from smem_lsp.server.client_settings import ClientSettings, apply_client_settings, known_names, ruling_targets
from smem_lsp.source.record import dataclass

logger = logging.getLogger(__name__)

UNWATCHED_LIFE = 2.0  # seconds before a file is read again when the client does not report changes


@dataclass(frozen=True, slots=True)
class Resolved:
    """Settings for one document, for the target that rules. ``targets``: all that are in force. ``problems``: one line
    each for the user."""

    config: Config
    targets: tuple[str, ...]
    excluded: bool
    problems: tuple[str, ...]


class ConfigFiles:
    """The config file found for each folder. Only the worker calls ``resolve``; any thread may call ``forget``."""

    __slots__ = ("_commands", "_found", "trusted", "watched")

    def __init__(self) -> None:
        self._commands = CompileCommands()
        self._found: dict[Path, tuple[float, LoadedSettings | ConfigError]] = {}
        self.watched = False  # the client tells about changes
        self.trusted = False  # the workspace is: a compiler may run, even one that the workspace names

    def forget(self) -> None:
        self._found = {}

    def resolve(self, path: str | None, root: Path | None, client: ClientSettings) -> Resolved:
        """Settings for a file, or, with ``path`` None, for an untitled document in ``root``. A wrong config file counts
        as empty and is reported among the problems."""
        problems: list[str] = []
        folder = Path(path).parent if path is not None else root
        found = defaults() if folder is None else self._of(folder)
        if isinstance(found, ConfigError):
            problems.append(f"{found}; going on with the defaults")
            found = defaults()
        base = found.config if path is None else found.for_file(path)
        config, wrong = apply_client_settings(base, client.table, root or found.root)
        config, unknown = known_names(config)
        if not self.trusted and config.nvcc != OFF:
            # Not even the machine's own nvcc: it would read, for up to a minute, whatever the workspace includes.
            logger.debug("nvcc is not used: the workspace is not trusted")
            config = replace(config, nvcc=OFF)
        bad = wrong_stubs(config.stubs, read_stub)
        if bad:
            problems += [f"{where}: {problem}; going on without the stubs" for where, problem in bad]
            config = replace(config, stubs=())
        if path is not None:
            command = self._commands.command(path, config.compile_commands)
            config = replace(config, compile_flags=command.flags)
            if command.problem is not None:
                problems.append(f"{command.database}: {command.problem}")
        targets = tuple(config.arch)
        return Resolved(
            replace(config, arch=ruling_targets(targets, client.ruling)),
            targets,
            path is not None and found.excludes(path),
            tuple(dict.fromkeys((*problems, *wrong, *unknown))),
        )

    def _of(self, folder: Path) -> LoadedSettings | ConfigError:
        table = self._found  # `forget` replaces it
        known = table.get(folder)
        now = time.monotonic()
        if known is not None and (self.watched or 0 <= now - known[0] < UNWATCHED_LIFE):
            return known[1]
        found: LoadedSettings | ConfigError
        try:
            found = discover(folder)
        except ConfigError as error:
            found = error
        table[folder] = now, found
        return found
