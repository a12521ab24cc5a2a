"""When which document is analysed: after a pause in typing, one at a time, the newest text wins.

Everything here runs on the event loop but the analysis itself. The pause follows clangd's policy, in proportion to
what an analysis usually takes and within bounds, so a small file answers at once and a large one is not started at
every key. It is half of that time: a run that the next key makes stale stops at its next checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from smem_lsp.server.analysis import Analysis
from smem_lsp.source import Superseded

SHORTEST_PAUSE = 0.005  # seconds: the keys of one paste, or of a macro, are one edit
LONGEST_PAUSE = 0.300  # seconds
PAUSE_RATIO = 0.5  # of the median of the last runs
_RUNS = 15

logger = logging.getLogger(__name__)

Start = Callable[[str, int, Callable[[], bool]], "asyncio.Future[Analysis] | None"]
"""(uri, revision, is it stale?) -> the analysis to come; None for a document that is not there any more."""


@dataclass(slots=True)
class _Entry:
    """One open document."""

    revision: int = 0
    order: int = 0  # of the last change: who was touched last is analysed first
    ready: bool = False  # its pause is over
    timer: asyncio.TimerHandle | None = None
    analysis: Analysis | None = None  # the last one; of an older revision while a new one is due
    settled: int = 0  # the last revision whose analysis has ended, well or not
    times: deque[float] = field(default_factory=lambda: deque(maxlen=_RUNS))
    waiters: list[tuple[int, asyncio.Future[None]]] = field(
        default_factory=list
    )  # 0: whatever revision comes


class Scheduler:
    """``start`` hands a document to the worker; ``publish`` gets each analysis that is still the newest, ``failed``
    the document that has none."""

    __slots__ = ("_changes", "_entries", "_failed", "_loop", "_publish", "_running", "_start")

    def __init__(
        self, start: Start, publish: Callable[[Analysis], None], failed: Callable[[str], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._start = start
        self._publish = publish
        self._failed = failed
        self._entries: dict[str, _Entry] = {}
        self._running: asyncio.Future[Analysis] | None = None
        self._changes = 0  # revisions are never used twice

    def changed(self, uri: str, *, at_once: bool = False, same_text: bool = False) -> None:
        """The text of a document is another one, or, with ``same_text``, what else decides its findings."""
        entry = self._entries.setdefault(uri, _Entry())
        self._changes += 1
        entry.revision = entry.order = self._changes
        entry.ready = False
        if entry.timer is not None:
            entry.timer.cancel()
            entry.timer = None
        if not same_text:
            for this_text, waiter in entry.waiters:
                if this_text and not waiter.done():
                    waiter.set_exception(Superseded())
        entry.waiters = [pair for pair in entry.waiters if not pair[1].done()]
        if at_once:
            self._is_ready(entry)
        else:
            entry.timer = self._loop.call_later(pause(entry.times), self._is_ready, entry)

    def dropped(self, uri: str) -> None:
        """A document was closed."""
        entry = self._entries.pop(uri, None)
        if entry is None:
            return
        entry.revision = -1  # a run that goes on is stale
        if entry.timer is not None:
            entry.timer.cancel()
        _wake(entry)

    def stop(self) -> None:
        for uri in tuple(self._entries):
            self.dropped(uri)

    def latest(self, uri: str) -> Analysis | None:
        """The last analysis, perhaps of an older text."""
        entry = self._entries.get(uri)
        return None if entry is None else entry.analysis

    async def fresh(self, uri: str, *, this_text: bool = False) -> Analysis | None:
        """The analysis of the text as it is once nobody types; None when it failed or the document is closed.

        ``this_text``: raises Superseded as soon as the text of now has changed.
        """
        while True:
            entry = self._entries.get(uri)
            if entry is None:
                return None
            if entry.settled == entry.revision:
                current = entry.analysis is not None and entry.analysis.job.revision == entry.revision
                return entry.analysis if current else None
            waiter: asyncio.Future[None] = self._loop.create_future()
            entry.waiters.append((this_text, waiter))
            await waiter

    def _is_ready(self, entry: _Entry) -> None:
        entry.timer = None
        entry.ready = True
        self._next()

    def _next(self) -> None:
        if self._running is not None:
            return
        ready = [(entry.order, uri) for uri, entry in self._entries.items() if entry.ready]
        if not ready:
            return
        uri = max(ready)[1]
        entry = self._entries[uri]
        entry.ready = False
        revision = entry.revision
        running = self._start(uri, revision, lambda: entry.revision != revision)
        if running is None:
            self._next()
            return
        self._running = running
        running.add_done_callback(lambda done: self._ended(uri, entry, revision, done))

    def _ended(self, uri: str, entry: _Entry, revision: int, done: asyncio.Future[Analysis]) -> None:
        self._running = None
        error = None if done.cancelled() else done.exception()
        if error is not None and not isinstance(error, Superseded):
            logger.error("%s: the analysis failed", uri, exc_info=error)
        if entry.revision == revision:
            entry.settled = revision
            if error is None and not done.cancelled():
                entry.analysis = done.result()
                entry.times.append(entry.analysis.seconds)
                self._publish(entry.analysis)
            else:
                entry.analysis = None
                self._failed(uri)
            _wake(entry)
        self._next()


def _wake(entry: _Entry) -> None:
    waiters, entry.waiters = entry.waiters, []
    for _, waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)


def pause(times: deque[float]) -> float:
    """Seconds without a key before an analysis starts, from the seconds that the last ones took."""
    usual = statistics.median(times) if times else 0.0
    return min(max(PAUSE_RATIO * usual, SHORTEST_PAUSE), LONGEST_PAUSE)
