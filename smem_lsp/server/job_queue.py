"""Which job the worker does next: requests before analyses, analyses in turn, and last what nobody waits for.

Several clients may share a worker; each has at most one analysis here at a time, and they come in turn. The queue
starts nothing and reads no clock: a worker asks it for the next job and says when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from smem_lsp.server.turns import Turn

MOST_REQUESTS = 10  # in a row while an analysis waits

Job = Callable[[], None]


class JobQueue:
    """The jobs that wait, and the turn of the analysis that runs. Times are seconds of the worker's clock."""

    __slots__ = ("_analyses", "_idle", "_in_a_row", "_requests", "_running")

    def __init__(self) -> None:
        self._requests: deque[Job] = deque()
        self._analyses: list[tuple[Turn, Job]] = []
        self._idle: deque[Job] = deque()
        self._running: Turn | None = None
        self._in_a_row = 0  # requests

    def __len__(self) -> int:
        return len(self._requests) + len(self._analyses) + len(self._idle)

    @property
    def awaited(self) -> bool:
        """Does a job wait that somebody waits for?"""
        return bool(self._requests or self._analyses)

    def add_request(self, job: Job, now: float, *, urgent: bool = True) -> None:
        """``urgent`` False: an analysis that is under way need not make room."""
        self._requests.append(job)
        if urgent and self._running is not None:
            self._running.for_a_request(now)

    def add_analysis(self, job: Job, turn: Turn, now: float) -> None:
        self._analyses.append((turn, job))
        if self._running is not None and turn.claims:
            self._running.for_another(now)

    def add_idle(self, job: Job) -> None:
        """Nobody waits for it, and it takes some milliseconds: nothing can interrupt it."""
        self._idle.append(job)

    def next(self, now: float) -> tuple[Job, Turn | None] | None:
        """The next job; for an analysis with its turn, which begins now. None: no job waits.

        To be called when the job before it has ended.
        """
        self._running = None
        if self._requests and (self._in_a_row < MOST_REQUESTS or not self._analyses):
            self._in_a_row += 1
            return self._requests.popleft(), None
        if not self._analyses:
            return (self._idle.popleft(), None) if self._idle else None
        self._in_a_row = 0
        at = min(range(len(self._analyses)), key=lambda each: self._analyses[each][0].rank(now))
        turn, job = self._analyses.pop(at)
        turn.begin(now)
        self._running = turn
        if self._requests:
            turn.for_a_request(now)
        if any(other.claims for other, _ in self._analyses):
            turn.for_another(now)
        return job, turn
