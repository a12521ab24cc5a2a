"""A progress bar for runs that take a while."""

from __future__ import annotations

import sys
import time

_AFTER = 1.0  # seconds
_WIDTH = 30  # columns


class Progress:
    """Draws on stderr, only on a terminal, and only when a run has lasted a second."""

    __slots__ = ("_drawn", "_enabled", "_start", "_total")

    def __init__(self, total: int, *, enabled: bool) -> None:
        self._total = total
        self._enabled = enabled and total > 1 and sys.stderr.isatty()
        self._start = time.monotonic()
        self._drawn = False

    def show(self, done: int) -> None:
        if not self._enabled or time.monotonic() - self._start < _AFTER:
            return
        filled = _WIDTH * done // self._total
        bar = "#" * filled + "-" * (_WIDTH - filled)
        print(f"\r[{bar}] {done}/{self._total} files", end="", file=sys.stderr, flush=True)
        self._drawn = True

    def clear(self) -> None:
        """Make room for a line of output."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False
