"""Which document is analysed when: after a pause in typing, one at a time, the newest text first.

The document that the user touched last, by an edit or a question, goes first: LSP does not say more about what is
visible. A pull of diagnostics does not count as a question, because editors pull for every tab. A run gives way to
other documents (``turns``); its own document is put back behind them, and whoever waits for it keeps waiting.

The pause follows clangd's policy (``DebouncePolicy`` in TUScheduler.cpp): in proportion to what an analysis usually
takes, within bounds, so a small file is answered at once and a large one is not started at every key. It is half of
that time, because a run that the next key makes stale stops at its next checkpoint.

The scheduler is a step function: ``step`` takes an event and the time and returns what is to be done, in order. It
starts nothing, waits for nothing and reads no clock. ``analyses`` carries the actions out, and holds the analyses:
here is known only of which revisions there was one. One that was let go for its memory is made again when it is missed,
and nothing is published then.
"""

from __future__ import annotations

import statistics
from collections import deque
from dataclasses import field

from smem_lsp.server.analysis import Analysis
from smem_lsp.server.turns import Turn
from smem_lsp.source.record import dataclass

SHORTEST_PAUSE = 0.005  # seconds: the keys of one paste, or of a macro, are one edit
LONGEST_PAUSE = 0.300  # seconds
PAUSE_RATIO = 0.5  # of the median of the last runs
_RUNS = 15
MOST_CONTINUED = 8  # runs of one text that go on where the one before was cut off by time


@dataclass(frozen=True, slots=True)
class AnalysisRun:
    """One analysis of one revision of a document."""

    uri: str
    revision: int
    turn: Turn = field(compare=False)


@dataclass(frozen=True, slots=True)
class Changed:
    """A document has a new text, or, with ``same_text``, new settings, headers or registers. ``at_once``: no pause."""

    uri: str
    at_once: bool = False
    same_text: bool = False


@dataclass(frozen=True, slots=True)
class DocumentTouched:
    """The user asks about a document."""

    uri: str


@dataclass(frozen=True, slots=True)
class Closed:
    uri: str


@dataclass(frozen=True, slots=True)
class Elapsed:
    """It is ``Scheduler.due``, or later."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run is over: with its analysis, with a ``defect`` of ours, or with neither because it had to stop."""

    run: AnalysisRun
    analysis: Analysis | None = None
    defect: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Missed:
    """The analysis of the newest text was let go, and somebody needs it."""

    uri: str


ScheduleEvent = Changed | DocumentTouched | Closed | Elapsed | Ended | Missed


@dataclass(frozen=True, slots=True)
class Start:
    """Hand the run to the worker, and report its ``Ended``."""

    run: AnalysisRun


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Take the run out of the worker's queue, and report its ``Ended``."""

    run: AnalysisRun


@dataclass(frozen=True, slots=True)
class Publish:
    """This is the analysis of the newest text."""

    analysis: Analysis


@dataclass(frozen=True, slots=True)
class Renew:
    """This is the analysis of the newest text once more: what follows from it has been published."""

    analysis: Analysis


@dataclass(frozen=True, slots=True)
class Fail:
    """There is no analysis of the newest text."""

    uri: str


@dataclass(frozen=True, slots=True)
class ReadyAnswer:
    """Whoever waits for the document waits no longer: see ``current``."""

    uri: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """Whoever waits for the text that the document had waits no longer."""

    uri: str


ScheduleAction = Start | Withdraw | Publish | Renew | Fail | ReadyAnswer | Supersede


@dataclass(slots=True)
class _Document:
    """One open document. Numbers count the scheduler's changes."""

    uri: str
    revision: int = 0
    touched: int = 0  # when the user was last seen at it
    due: float | None = None  # the end of its pause
    ready: bool = False  # its pause is over, and it does not run
    put_back: int = 0  # how often this revision has been
    waits_since: float | None = None  # when it was first put back
    queued: int = 0  # when it was last put back
    analysed: int | None = (
        None  # the revision of the last analysis; an older one while a new one is due; None: it failed
    )
    settled: int = 0  # the last revision whose analysis has ended, well or not
    again: bool = False  # that analysis was let go and is made once more
    continued: int = 0  # analyses of this text that were cut off by time
    times: deque[float] = field(default_factory=lambda: deque(maxlen=_RUNS))  # seconds of the last runs

    def next_turn(self) -> Turn:
        return Turn(self.put_back, self.waits_since)

    def rank(self, now: float) -> tuple[bool, int, int]:
        """The lowest is next: who was touched last, and behind them who was put back, in turn."""
        return (*self.next_turn().rank(now), self.queued if self.put_back else -self.touched)


class Scheduler:
    """The documents of one client, and which of them the worker has."""

    __slots__ = ("_actions", "_changes", "_documents", "_running")

    def __init__(self) -> None:
        self._documents: dict[str, _Document] = {}
        self._running: AnalysisRun | None = None
        self._changes = 0  # revisions are never used twice
        self._actions: list[ScheduleAction] = []  # of the step that is being taken

    def step(self, event: ScheduleEvent, now: float) -> list[ScheduleAction]:
        """Take in what happened at ``now``, in seconds; returns what is to be done, in order. Never raises."""
        match event:
            case Changed():
                self._changed(event, now)
            case DocumentTouched():
                self._touched(event.uri, now)
            case Closed():
                self._closed(event.uri)
            case Elapsed():
                self._elapsed(now)
            case Ended():
                self._ended(event, now)
            case Missed():
                self._missed(event.uri, now)
        actions, self._actions = self._actions, []
        return actions

    @property
    def due(self) -> float | None:
        """When the next pause ends and ``Elapsed`` is to be reported; None: nobody pauses."""
        return min(
            (document.due for document in self._documents.values() if document.due is not None), default=None
        )

    @property
    def open(self) -> tuple[str, ...]:
        return tuple(self._documents)

    def pending(self, uri: str) -> bool:
        """Is an analysis of the newest text still to come?"""
        document = self._documents.get(uri)
        return document is not None and document.settled != document.revision

    def current(self, uri: str) -> int | None:
        """The newest revision, where it was analysed; None while that is pending, when it failed, once the document is
        closed."""
        document = self._documents.get(uri)
        return None if document is None or document.analysed != document.revision else document.analysed

    # Events

    def _changed(self, event: Changed, now: float) -> None:
        document = self._documents.setdefault(event.uri, _Document(event.uri))
        self._changes += 1
        document.revision = self._changes
        if not event.same_text:
            document.continued = 0
            document.touched = self._changes
            self._actions.append(Supersede(event.uri))
        document.ready = False
        document.again = False
        document.put_back = 0
        document.waits_since = None
        document.due = None
        self._abandon(event.uri)
        if event.at_once:
            self._is_ready(document, now)
        else:
            document.due = now + pause(document.times)

    def _touched(self, uri: str, now: float) -> None:
        document = self._documents.get(uri)
        if document is None:
            return
        self._changes += 1
        document.touched = self._changes
        if document.ready:
            document.put_back = 0
            self._make_room(document, now)

    def _closed(self, uri: str) -> None:
        if self._documents.pop(uri, None) is not None:
            self._abandon(uri)
            self._actions.append(ReadyAnswer(uri))

    def _missed(self, uri: str, now: float) -> None:
        document = self._documents.get(uri)
        if document is not None and self.current(uri) is not None and not self.pending(uri):
            document.settled = 0
            document.again = True
            self._is_ready(document, now)

    def _elapsed(self, now: float) -> None:
        pauses = [
            (document.due, document) for document in self._documents.values() if document.due is not None
        ]
        for due, document in sorted(pauses, key=lambda pair: pair[0]):
            if due <= now:
                self._is_ready(document, now)

    def _ended(self, event: Ended, now: float) -> None:
        run = event.run
        self._running = None
        document = self._documents.get(run.uri)
        if document is not None and document.revision == run.revision:
            if event.analysis is None and event.defect is None:
                self._put_back(document, run, now)
            else:
                self._settle(document, event)
                if event.analysis is not None and event.analysis.is_unfinished:
                    self._go_on(document, now)
        self._start_next(now)

    # What follows from them

    def _abandon(self, uri: str) -> None:
        """Nobody wants the result of a run for this document any more."""
        if self._running is not None and self._running.uri == uri:
            self._running.turn.gone = True

    def _is_ready(self, document: _Document, now: float) -> None:
        document.due = None
        document.ready = True
        self._make_room(document, now)
        self._start_next(now)

    def _make_room(self, document: _Document, now: float) -> None:
        """Tell the run that is under way about a document that waits."""
        run = self._running
        if run is None or run.uri == document.uri or not document.next_turn().claims:
            return
        running = self._documents.get(run.uri)
        if running is not None and document.rank(now) > running.rank(now):
            run.turn.for_another(now)
        elif run.turn.started is None:
            run.turn.withdraw()  # another client has the worker: this document goes first when that is done
            self._actions.append(Withdraw(run))
        else:
            run.turn.for_a_later_one(now)

    def _start_next(self, now: float) -> None:
        ready = [document for document in self._documents.values() if document.ready]
        if self._running is not None or not ready:
            return
        document = min(ready, key=lambda each: each.rank(now))
        document.ready = False
        self._running = AnalysisRun(document.uri, document.revision, document.next_turn())
        self._actions.append(Start(self._running))
        for other in ready:
            if other is not document:
                self._make_room(other, now)

    def _put_back(self, document: _Document, run: AnalysisRun, now: float) -> None:
        self._changes += 1
        document.queued = self._changes
        document.ready = True
        if run.turn.started is None:
            return  # it had no turn at all
        document.put_back += 1
        if document.waits_since is None:
            document.waits_since = now

    def _go_on(self, document: _Document, now: float) -> None:
        """What time cut off is analysed in further runs: what the others found out is kept meanwhile."""
        if document.continued < MOST_CONTINUED:
            document.continued += 1
            self._changed(Changed(document.uri, same_text=True), now)

    def _settle(self, document: _Document, event: Ended) -> None:
        again, document.again = document.again, False
        document.settled = document.revision
        document.analysed = None if event.analysis is None else document.revision
        if event.analysis is not None and again:  # its seconds tell nothing of a key
            self._actions.append(Renew(event.analysis))
        elif event.analysis is not None:
            document.times.append(event.analysis.seconds)
            self._actions.append(Publish(event.analysis))
        else:
            self._actions.append(Fail(document.uri))
        self._actions.append(ReadyAnswer(document.uri))


def pause(times: deque[float]) -> float:
    """Seconds without a key before an analysis starts, from the seconds that the last ones took."""
    usual = statistics.median(times) if times else 0.0
    return min(max(PAUSE_RATIO * usual, SHORTEST_PAUSE), LONGEST_PAUSE)
