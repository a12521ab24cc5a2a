"""The analyses of one client's documents: what the scheduler decides is done here, on the event loop.

An analysis is an answer like any other: it counts in the one budget of the process (``source.queries``), the documents
that were least recently touched go first, and one that is missed is made again. What was sent stays sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from smem_lsp.server.analysis import Analysis
from smem_lsp.server.indexing import IndexQuestions
from smem_lsp.server.scheduler import (
    AnalysisRun,
    Changed,
    Closed,
    DocumentTouched,
    Elapsed,
    Ended,
    Fail,
    Missed,
    Publish,
    ReadyAnswer,
    Renew,
    ScheduleAction,
    ScheduleEvent,
    Scheduler,
    Start,
    Supersede,
    Withdraw,
)
from smem_lsp.source import Superseded
from smem_lsp.source.queries import Query, Store
from smem_lsp.source.record import dataclass

logger = logging.getLogger(__name__)

_ANALYSED = Query[str, Analysis]("last analysis of an open document", each=1, in_use=True, whole=True)


@dataclass(frozen=True, slots=True)
class Read:
    """What the last analysis of a document has read: stays when the analysis goes."""

    files: frozenset[str]  # their keys
    asked: IndexQuestions


class DocumentOwner(Protocol):
    """Whose documents they are."""

    def start(self, run: AnalysisRun) -> asyncio.Future[Analysis]:
        """Hand a run to the worker. Awaiting the future raises Superseded when the run had to stop."""

    def publish(self, analysis: Analysis) -> None:
        """The newest text of a document has been analysed."""

    def renew(self, analysis: Analysis) -> None:
        """The newest text of a document has been analysed once more, because the first analysis was let go."""

    def fail(self, uri: str) -> None:
        """The newest text of a document could not be analysed: a defect of ours."""


class Analyses:
    """Every method belongs to the event loop. ``clock`` gives seconds and is the worker's."""

    __slots__ = (
        "_clock",
        "_futures",
        "_loop",
        "_newest",
        "_owner",
        "_read",
        "_scheduler",
        "_store",
        "_timer",
        "_waiters",
    )

    def __init__(self, owner: DocumentOwner, clock: Callable[[], float]) -> None:
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._owner = owner
        self._scheduler = Scheduler()
        self._timer: asyncio.TimerHandle | None = None
        self._futures: dict[int, asyncio.Future[Analysis]] = {}  # of the runs that were started, by revision
        # By document. True: waits for the text of that moment, not for a newer one.
        self._waiters: dict[str, list[tuple[bool, asyncio.Future[Analysis | None]]]] = {}
        self._store = Store(shared=True)
        self._newest: Analysis | None = (
            None  # stays, whatever it weighs: the next question is most likely about it
        )
        self._read: dict[str, Read] = {}  # by document

    def changed(self, uri: str, *, at_once: bool = False, same_text: bool = False) -> None:
        """The text of a document has changed, or, with ``same_text``, what else decides its findings."""
        self._step(Changed(uri, at_once, same_text))

    def touched(self, uri: str) -> None:
        """The user asks about a document: it goes first."""
        self._step(DocumentTouched(uri))

    def closed(self, uri: str) -> None:
        """Whoever waits for the document gets None."""
        self._forget(uri)
        self._step(Closed(uri))

    def stop(self) -> None:
        """As if every document were closed."""
        for uri in self._scheduler.open:
            self.closed(uri)

    def latest(self, uri: str) -> Analysis | None:
        """The last analysis, perhaps of an older text; None if there is none, or none any more: see ``fresh``."""
        return _ANALYSED.find(self._store, uri)

    def read(self, uri: str) -> Read | None:
        """What the last analysis has read; None when there is none, or it failed."""
        return self._read.get(uri)

    async def fresh(self, uri: str, *, this_text: bool = False) -> Analysis | None:
        """The analysis of the newest text, once nobody types; None when it failed or the document is closed.

        ``this_text``: raises Superseded as soon as the text changes.
        """
        found: Analysis | None = None
        while True:
            while self._scheduler.pending(uri):
                waiter: asyncio.Future[Analysis | None] = self._loop.create_future()
                self._waiters.setdefault(uri, []).append((this_text, waiter))
                found = await waiter
            revision = self._scheduler.current(uri)
            if revision is None:
                return None
            found = found or self.latest(uri)
            if found is not None and found.snapshot.revision == revision:
                return found
            found = None
            self._step(Missed(uri))

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
                self._keep(analysis)
                self._owner.publish(analysis)
            case Renew(analysis):
                self._keep(analysis)
                self._owner.renew(analysis)
            case Fail(uri):
                self._forget(uri)
                self._owner.fail(uri)
            case ReadyAnswer(uri):
                found = self.latest(uri)
                for _, waiter in self._waiters.pop(uri, ()):
                    if not waiter.done():
                        waiter.set_result(found)
            case Supersede(uri):
                self._supersede(uri)

    def _keep(self, analysis: Analysis) -> None:
        uri = analysis.snapshot.uri
        self._newest = analysis
        self._read[uri] = Read(analysis.included, analysis.asked)
        _ANALYSED.keep(self._store, uri, analysis, analysis.bytes)

    def _forget(self, uri: str) -> None:
        self._read.pop(uri, None)
        _ANALYSED.drop(self._store, lambda each: each.snapshot.uri == uri)
        if self._newest is not None and self._newest.snapshot.uri == uri:
            self._newest = None

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
