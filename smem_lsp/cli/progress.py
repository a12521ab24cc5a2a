"""A progress bar for runs that take a while."""

from __future__ import annotations

import shutil
import sys
import time

_AFTER = 1.0  # seconds
_WIDTH = 30  # columns
_HOUR = 3600  # seconds


class Progress:
    """Draws on stderr, only on a terminal, and only when a run has lasted a second."""

    __slots__ = ("_drawn", "_enabled", "_start", "_total")

    def __init__(self, total: int, *, enabled: bool) -> None:
        self._total = total
        self._enabled = enabled and total > 1 and sys.stderr.isatty()
        self._start = time.monotonic()
        self._drawn = False

    def show(self, done: int) -> None:
        seconds = time.monotonic() - self._start
        if not self._enabled or seconds < _AFTER:
            return
        # A line that is broken could not be cleared again.
        line = bar(done, self._total, seconds)[: shutil.get_terminal_size().columns - 1]
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
        self._drawn = True

    def clear(self) -> None:
        """Make room for a line of output."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False


def bar(done: int, total: int, seconds: float) -> str:
    """The share that is done as a bar, the files, how many of them in a second of the ``seconds`` so far, and how long
    the others will take if they are like these."""
    filled = _WIDTH * done // total
    drawn = f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {done:,}/{total:,} files"
    if not done or seconds <= 0:
        return drawn
    rate = done / seconds
    return f"{drawn}, {_rate(rate)}, {_clock((total - done) / rate)} left"


def _rate(files: float) -> str:
    """``files``: in a second."""
    return f"{files:,.0f}/s" if files >= 10 else f"{files:.1f}/s" if files >= 0.1 else f"{files * 60:.1f}/min"


def _clock(seconds: float) -> str:
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // 60}:{whole % 60:02}"
    return f"{whole // _HOUR}:{whole % _HOUR // 60:02}:{whole % 60:02}"
