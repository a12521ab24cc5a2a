"""The worker with a thread of its own: messages are read while it works."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from smem_lsp.server.garbage import Collector
from smem_lsp.server.job_queue import Job, JobQueue
from smem_lsp.server.turns import Turn
from smem_lsp.server.worker import Worker


class ThreadWorker(Worker):
    """Works on a daemon thread: a long job never delays the end of the process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._changed = threading.Condition()  # guards the queue
        self._queue = JobQueue()
        threading.Thread(target=self._run, daemon=True, name="analysis").start()

    def _put_request(self, job: Job, *, urgent: bool) -> None:
        with self._changed:
            self._queue.add_request(job, self.clock(), urgent=urgent)
            self._changed.notify()

    def _put_analysis(self, job: Job, turn: Turn) -> None:
        with self._changed:
            self._queue.add_analysis(job, turn, self.clock())
            self._changed.notify()

    def _put_idle(self, job: Job) -> None:
        with self._changed:
            self._queue.add_idle(job)
            self._changed.notify()

    def _report(self, settle: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(settle)

    def _run(self) -> None:
        collector = Collector()
        while True:
            job, awaited = self._next(collector.quiet)
            if job is None:
                collector.pause()
                continue
            job()
            del job  # and with it the text that it was about
            collector.job_done(self.clock(), awaited=awaited)

    def _next(self, seconds: float | None) -> tuple[Job | None, bool]:
        """The next job, and whether somebody waits for it; None when none comes within ``seconds``."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._queue), seconds)
            awaited = self._queue.awaited
            found = self._queue.next(self.clock())
            return (None, False) if found is None else (found[0], awaited)
