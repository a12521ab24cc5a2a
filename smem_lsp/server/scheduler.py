"""When which document is analysed: after a pause in typing, one at a time, the newest text wins.

The document that the user touched last, by an edit or a question, comes first: that is as much as LSP tells of what is
visible. A pull of diagnostics is no such question, editors pull for every tab. A run makes room for other documents
(``turns``); its own is put back behind them, and whoever waits for it goes on waiting.

Everything here runs on the event loop but the analysis itself. The pause follows clangd's policy, in proportion to
what an analysis usually takes and within bounds, so a small file answers at once and a large one is not started at
every key. It is half of that time: a run that the next key makes stale stops at its next checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from smem_lsp.server.analysis import Analysis
from smem_lsp.server.turns import Turn
from smem_lsp.source import Superseded

SHORTEST_PAUSE = 0.005  # seconds: the keys of one paste, or of a macro, are one edit
LONGEST_PAUSE = 0.300  # seconds
PAUSE_RATIO = 0.5  # of the median of the last runs
_RUNS = 15

logger = logging.getLogger(__name__)

Start = Callable[[str, int, Turn], "asyncio.Future[Analysis] | None"]
"""(uri, revision, its turn) -> the analysis to come; None for a document that is not there any more."""


@dataclass(slots=True)
class _Entry:
    """One open document."""

    revision: int = 0
    touched: int = 0  # when the user was last seen at it, counted like revisions
    ready: bool = False  # its pause is over
    put_back: int = 0  # how often this revision has been
    waits_since: float | None = None  # when it was first put back
    queued: int = 0  # when it was last put back, counted like revisions
    timer: asyncio.TimerHandle | None = None
    analysis: Analysis | None = None  # the last one; of an older revision while a new one is due
    settled: int = 0  # the last revision whose analysis has ended, well or not
    times: deque[float] = field(default_factory=lambda: deque(maxlen=_RUNS))
    waiters: list[tuple[int, asyncio.Future[None]]] = field(
        default_factory=list
    )  # 0: whatever revision comes


@dataclass(frozen=True, slots=True)
class _Run:
    """What the worker has, or is about to have."""

    uri: str
    entry: _Entry
    revision: int
    turn: Turn
    future: asyncio.Future[Analysis]


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
        self._running: _Run | None = None
        self._changes = 0  # revisions are never used twice

    def changed(self, uri: str, *, at_once: bool = False, same_text: bool = False) -> None:
        """The text of a document is another one, or, with ``same_text``, what else decides its findings."""
        entry = self._entries.setdefault(uri, _Entry())
        self._changes += 1
        entry.revision = self._changes
        if not same_text:
            entry.touched = self._changes
        entry.ready = False
        entry.put_back = 0
        entry.waits_since = None
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

    def touched(self, uri: str) -> None:
        """The user asks about a document: it is the first in turn."""
        entry = self._entries.get(uri)
        if entry is None:
            return
        self._changes += 1
        entry.touched = self._changes
        if entry.ready:
            entry.put_back = 0
            self._make_room(entry)

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
        self._make_room(entry)
        self._next()

    def _make_room(self, entry: _Entry) -> None:
        """Let the run that is under way know of a document that waits."""
        run = self._running
        if run is None or run.entry is entry or not _claims(entry):
            return
        if _rank(entry) > _rank(run.entry):
            run.turn.for_another()
        elif run.turn.started is None:
            run.turn.withdraw()
            run.future.cancel()  # another client's has the worker: this one's comes first when that is done
        else:
            run.turn.for_a_later_one()

    def _next(self) -> None:
        while self._running is None:
            ready = [(uri, entry) for uri, entry in self._entries.items() if entry.ready]
            if not ready:
                return
            self._run(*min(ready, key=lambda pair: _rank(pair[1])))

    def _run(self, uri: str, entry: _Entry) -> None:
        entry.ready = False
        revision = entry.revision
        turn = Turn(lambda: entry.revision != revision, entry.put_back, entry.waits_since)
        future = self._start(uri, revision, turn)
        if future is None:
            return
        run = self._running = _Run(uri, entry, revision, turn, future)
        for other in self._entries.values():
            if other.ready:
                self._make_room(other)
        future.add_done_callback(lambda done: self._ended(run, done))

    def _ended(self, run: _Run, done: asyncio.Future[Analysis]) -> None:
        self._running = None
        error = None if done.cancelled() else done.exception()
        if run.entry.revision == run.revision:
            if done.cancelled() or isinstance(error, Superseded):
                self._put_back(run)
            else:
                self._settle(run, done, error)
        elif error is not None and not isinstance(error, Superseded):
            logger.error("%s: the analysis failed", run.uri, exc_info=error)
        self._next()

    def _put_back(self, run: _Run) -> None:
        entry = run.entry
        self._changes += 1
        entry.queued = self._changes
        entry.ready = True
        if run.turn.started is None:
            return  # it had no turn at all
        entry.put_back += 1
        if entry.waits_since is None:
            entry.waits_since = time.monotonic()
        logger.debug("%s is put back: others wait", run.uri)

    def _settle(self, run: _Run, done: asyncio.Future[Analysis], error: BaseException | None) -> None:
        entry = run.entry
        entry.settled = run.revision
        if error is None:
            entry.analysis = done.result()
            entry.times.append(entry.analysis.seconds)
            self._publish(entry.analysis)
        else:
            logger.error("%s: the analysis failed", run.uri, exc_info=error)
            entry.analysis = None
            self._failed(run.uri)
        _wake(entry)


def _claims(entry: _Entry) -> bool:
    return Turn(bool, entry.put_back, entry.waits_since).claims


def _rank(entry: _Entry) -> tuple[bool, int, int]:
    """The lowest is the next: who was touched last, and behind them who was put back, in turn."""
    turn = Turn(bool, entry.put_back, entry.waits_since)
    return (*turn.rank, entry.queued if entry.put_back else -entry.touched)


def _wake(entry: _Entry) -> None:
    waiters, entry.waiters = entry.waiters, []
    for _, waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)


def pause(times: deque[float]) -> float:
    """Seconds without a key before an analysis starts, from the seconds that the last ones took."""
    usual = statistics.median(times) if times else 0.0
    return min(max(PAUSE_RATIO * usual, SHORTEST_PAUSE), LONGEST_PAUSE)
