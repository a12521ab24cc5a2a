"""``check --watch``: check again whenever a file has changed, until Ctrl-C.

Files are asked for their time and size, which works on every file system; the pause grows with what asking costs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from smem_lsp.cli.errors import UsageError, complain
from smem_lsp.cli.path_settings import Settings
from smem_lsp.cli.reading import named_folders
from smem_lsp.config import GitIgnore
from smem_lsp.environment import source_files
from smem_lsp.source import Stamp, is_folder, plural, stamp_of

_PAUSE = 0.25  # seconds between two looks
_SHARE = 0.1  # of the time may go into looking
_SETTINGS = ("smem.toml", "pyproject.toml", ".gitignore", "compile_commands.json")

State = dict[str, tuple[Stamp, int]]
"""Path -> stamp and number of the file."""


def watch(flags: argparse.Namespace, check: Callable[[argparse.Namespace], int]) -> int:
    """Never returns by itself. Raises UsageError if the first check does; what goes wrong later may be mended."""
    watched = _Watched(flags)
    state = watched.state()  # before the check: what changes meanwhile is checked again
    check(flags)
    while True:
        sys.stdout.flush()
        if not flags.quiet:
            complain(f"watching {plural(len(state), 'file')}; Ctrl-C ends")
        sys.stderr.flush()
        watched.wait(state)
        if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
            sys.stdout.write("\x1b[2J\x1b[H")
        state = watched.state()
        try:
            watched = _Watched(flags)
            state = watched.state()
            check(flags)
        except UsageError as error:
            complain(str(error))


class _Watched:
    """The files that a check may depend on: sources and headers in the named folders, and settings above them."""

    __slots__ = ("_files", "_folders", "_git", "_settings")

    def __init__(self, flags: argparse.Namespace) -> None:
        """Raises UsageError."""
        paths = flags.paths or ["."]
        self._settings = Settings(flags)
        self._git = GitIgnore(named_folders(paths), lambda problem: None) if flags.gitignore else None
        self._folders = [path for path in paths if is_folder(path)]
        named = (flags.config, flags.baseline)
        self._files = {*(path for path in paths if not is_folder(path)), *(each for each in named if each)}
        for path in paths:
            here = Path(os.path.abspath(path))  # noqa: PTH100
            self._files |= {str(above / name) for above in (here, *here.parents) for name in _SETTINGS}

    def state(self) -> State:
        """Of those that are there."""
        found: State = {}
        for path in self._paths():
            try:
                status = os.stat(path)  # noqa: PTH116
            except (OSError, ValueError):
                continue
            found[path] = stamp_of(status), status.st_ino
        return found

    def _paths(self) -> Iterator[str]:
        yield from self._files
        yield from source_files(self._folders, self._left_out)

    def _left_out(self, path: str) -> bool:
        return self._settings.excludes(path) or (self._git is not None and self._git.ignores(path))

    def wait(self, state: State) -> None:
        """Until something has changed and nothing changes any more."""
        now = state
        while now == state:
            now = self._next()
        while (later := self._next()) != now:
            now = later

    def _next(self) -> State:
        time.sleep(_PAUSE)
        start = time.monotonic()
        state = self.state()
        time.sleep(max(0.0, min(10.0, (time.monotonic() - start) / _SHARE)))
        return state
