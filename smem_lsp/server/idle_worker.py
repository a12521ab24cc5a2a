"""The worker without a thread: one job whenever the event loop has nothing else to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from smem_lsp.server.job_queue import Job, JobQueue
from smem_lsp.server.turns import Turn
from smem_lsp.server.worker import Worker

PAUSE = 0.005  # seconds before work that nobody waits for


class IdleWorker(Worker):
    """``when_idle`` takes a function and calls it once, soon, after the messages that have already arrived. By default
    it is called on the event loop's next turn."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        when_idle: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        super().__init__(loop)
        self._when_idle = loop.call_soon if when_idle is None else when_idle
        self._queue = JobQueue()
        self._due = False  # ``when_idle`` has been asked for a step

    def step(self) -> bool:
        """Do the next job, or one slice of it if it is an analysis. False: there was none."""
        found = self._queue.next(self.clock())
        if found is None:
            return False
        job, turn = found
        if turn is not None:
            turn.for_messages(self.clock())
        job()
        return True

    def _put_request(self, job: Job, *, urgent: bool) -> None:
        self._queue.add_request(job, self.clock(), urgent=urgent)
        self._wake()

    def _put_analysis(self, job: Job, turn: Turn) -> None:
        self._queue.add_analysis(job, turn, self.clock())
        self._wake()

    def _put_idle(self, job: Job) -> None:
        self._queue.add_idle(job)
        self._wake_later()

    def _report(self, settle: Callable[[], None]) -> None:
        settle()

    def _wake(self) -> None:
        if not self._due:
            self._due = True
            self._when_idle(self._step)

    def _wake_later(self) -> None:
        """Timers that are due come first: one of them may be that of an analysis."""
        self._loop.call_later(PAUSE, self._wake)

    def _step(self) -> None:
        self._due = False
        try:
            self.step()
        finally:
            if self._queue.awaited:
                self._wake()
            elif len(self._queue):
                self._wake_later()
