"""The analyses of one client's documents: what the scheduler decides is done here, on the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from smem_lsp.server.analysis import Analysis
from smem_lsp.server.scheduler import (
    AnalysisRun,
    Answer,
    Changed,
    Closed,
    Elapsed,
    Ended,
    Fail,
    Publish,
    ScheduleAction,
    ScheduleEvent,
    Scheduler,
    Start,
    Supersede,
    Touched,
    Withdraw,
)
from smem_lsp.source import Superseded

logger = logging.getLogger(__name__)


class Owner(Protocol):
    """Whose documents they are."""

    def start(self, run: AnalysisRun) -> asyncio.Future[Analysis]:
        """Hand a run to the worker. Awaiting the future raises Superseded when the run had to stop."""

    def publish(self, analysis: Analysis) -> None:
        """The newest text of a document has been analysed."""

    def fail(self, uri: str) -> None:
        """The newest text of a document could not be analysed: a defect of ours."""


class Analyses:
    """Every method belongs to the event loop. ``clock`` gives seconds and is the worker's."""

    __slots__ = ("_clock", "_futures", "_loop", "_owner", "_scheduler", "_timer", "_waiters")

    def __init__(self, owner: Owner, clock: Callable[[], float]) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._owner = owner
        self._scheduler = Scheduler()
        self._timer: asyncio.TimerHandle | None = None
        self._futures: dict[int, asyncio.Future[Analysis]] = {}  # of the runs that were started, by revision
        # By document. True: waits for the text of that moment, not for a newer one.
        self._waiters: dict[str, list[tuple[bool, asyncio.Future[None]]]] = {}

    def changed(self, uri: str, *, at_once: bool = False, same_text: bool = False) -> None:
        """The text of a document has changed, or, with ``same_text``, what else decides its findings."""
        self._step(Changed(uri, at_once, same_text))

    def touched(self, uri: str) -> None:
        """The user asks about a document: it goes first."""
        self._step(Touched(uri))

    def closed(self, uri: str) -> None:
        """Whoever waits for the document gets None."""
        self._step(Closed(uri))

    def stop(self) -> None:
        """As if every document were closed."""
        for uri in self._scheduler.open:
            self.closed(uri)

    def latest(self, uri: str) -> Analysis | None:
        """The last analysis, perhaps of an older text."""
        return self._scheduler.latest(uri)

    async def fresh(self, uri: str, *, this_text: bool = False) -> Analysis | None:
        """The analysis of the newest text, once nobody types; None when it failed or the document is closed.

        ``this_text``: raises Superseded as soon as the text changes.
        """
        while self._scheduler.pending(uri):
            waiter: asyncio.Future[None] = self._loop.create_future()
            self._waiters.setdefault(uri, []).append((this_text, waiter))
            await waiter
        return self._scheduler.current(uri)

    def _step(self, event: ScheduleEvent) -> None:
        for action in self._scheduler.step(event, self._clock()):
            self._act(action)
        self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self._scheduler.due
        self._timer = (
            None
            if due is None
            else self._loop.call_later(max(due - self._clock(), 0.0), self._step, Elapsed())
        )

    def _act(self, action: ScheduleAction) -> None:
        match action:
            case Start(run):
                future = self._futures[run.revision] = self._owner.start(run)
                future.add_done_callback(lambda done: self._ended(run, done))
            case Withdraw(run):
                self._futures[run.revision].cancel()
            case Publish(analysis):
                self._owner.publish(analysis)
            case Fail(uri):
                self._owner.fail(uri)
            case Answer(uri):
                for _, waiter in self._waiters.pop(uri, ()):
                    if not waiter.done():
                        waiter.set_result(None)
            case Supersede(uri):
                self._supersede(uri)

    def _supersede(self, uri: str) -> None:
        waiting = [pair for pair in self._waiters.pop(uri, ()) if not pair[1].done()]
        for this_text, waiter in waiting:
            if this_text:
                waiter.set_exception(Superseded())
        if patient := [pair for pair in waiting if not pair[0]]:
            self._waiters[uri] = patient

    def _ended(self, run: AnalysisRun, done: asyncio.Future[Analysis]) -> None:
        del self._futures[run.revision]
        if done.cancelled():
            self._step(Ended(run))
            return
        error = done.exception()
        if error is None:
            self._step(Ended(run, done.result()))
            return
        if isinstance(error, Superseded):
            logger.debug("%s: the analysis had to stop", run.uri)
            self._step(Ended(run))
            return
        logger.error("%s: the analysis failed", run.uri, exc_info=error)
        self._step(Ended(run, defect=error))
