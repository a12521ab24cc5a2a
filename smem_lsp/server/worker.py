"""Who does the work: jobs go in on the event loop, their results come back there as futures.

There are two workers. ``ThreadWorker`` has a thread of its own, so messages are read while it works. ``IdleWorker``
works where there are no threads, as in a browser's Python: it does one job whenever the event loop has nothing else
to do, and cuts an analysis into slices so that messages are read in between.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from smem_lsp.server.job_queue import Job
from smem_lsp.server.turns import Turn
from smem_lsp.source.budget import Budget

T = TypeVar("T")

LONGEST_REQUEST = 2.0  # seconds of processor time for the work of one request


class Worker(ABC):
    """Does one job after another, in the order of ``JobQueue``. To be called and awaited on the event loop."""

    clock = staticmethod(time.monotonic)  # seconds; turns are measured with it, so schedulers take it, too

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.warm = False  # the job that builds what every analysis needs has been submitted

    def submit(
        self,
        job: Callable[[], T],
        *,
        gone: Callable[[], bool] = bool,
        seconds: float | None = LONGEST_REQUEST,
        urgent: bool = True,
    ) -> asyncio.Future[T]:
        """Do the work of a request after that of earlier ones, within ``seconds`` of processor time.

        ``urgent`` False: an analysis that is under way need not make room.

        Awaiting raises OutOfBudget when it takes too long, Superseded when ``gone`` says that nobody waits. A future
        that is cancelled takes its job with it.
        """
        future: asyncio.Future[T] = self._loop.create_future()

        def limited() -> T:
            with Budget(seconds=seconds, stale=lambda: future.cancelled() or gone()):
                return job()

        self._put_request(self._settling(future, limited), urgent=urgent)
        return future

    def analyse(self, job: Callable[[Callable[[], bool]], T], turn: Turn) -> asyncio.Future[T]:
        """Run an analysis when it is its turn. ``job`` gets a function that says whether it must stop; it then raises
        Superseded."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._put_analysis(self._settling(future, lambda: job(lambda: turn.over(self.clock()))), turn)
        return future

    def when_idle(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """Do some milliseconds of work when nothing else is to be done."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._put_idle(self._settling(future, job))
        return future

    @abstractmethod
    def _put_idle(self, job: Job) -> None: ...

    @abstractmethod
    def _put_request(self, job: Job, *, urgent: bool) -> None: ...

    @abstractmethod
    def _put_analysis(self, job: Job, turn: Turn) -> None: ...

    @abstractmethod
    def _report(self, settle: Callable[[], None]) -> None:
        """Call ``settle`` on the event loop. Do nothing if the loop is closed: then nobody waits any more."""

    def _settling(self, future: asyncio.Future[T], job: Callable[[], T]) -> Job:
        """``job``, with its result or its error in ``future``."""

        def succeed(result: T) -> None:
            if not future.done():
                future.set_result(result)

        def fail(error: BaseException) -> None:
            if not future.done():
                future.set_exception(error)

        def run() -> None:
            if future.cancelled():
                return
            try:
                result = job()
            except BaseException as error:  # noqa: BLE001  (whoever awaits the future gets it)
                reason = error
                self._report(lambda: fail(reason))
            else:
                self._report(lambda: succeed(result))

        return run
