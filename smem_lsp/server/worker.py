"""The one thread that analyses. Results come back to the event loop; nothing else does.

Work for a request comes before analyses, and an analysis that is under way makes room for it (``turns``). Of the
analyses that several clients want at once each client has one here, and they come in turn.

Collecting garbage stops every thread, for a quarter of a second once a large file is in the caches, so it waits for a
pause: young objects are looked through soon after a run, everything only when nobody has typed for a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from smem_lsp.server.turns import Turn
from smem_lsp.source.budget import Budget

T = TypeVar("T")

LONGEST_REQUEST = 2.0  # seconds of processor time for the work of one request
MOST_REQUESTS = 10  # in a row while an analysis waits
SHORT_QUIET = 0.05  # seconds without a job before young garbage is collected
LONG_QUIET = 10.0  # seconds before all of it is
MOST_JOBS = (
    10  # that may follow each other without either: more of them, and the pause is one that a hover notices
)

_Job = Callable[[], None]


def collect_all() -> None:
    """Collect all garbage; what is left stays, most likely, and is not looked at again before the next time."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class Worker:
    """Runs one job after the other on a daemon thread: a long one never delays the end of the process."""

    __slots__ = ("_analyses", "_changed", "_in_a_row", "_loop", "_requests", "_running")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._changed = threading.Condition()  # guards everything below
        self._requests: deque[_Job] = deque()
        self._analyses: list[tuple[Turn, _Job]] = []
        self._running: Turn | None = None
        self._in_a_row = 0  # requests
        threading.Thread(target=self._run, daemon=True, name="analysis").start()

    def submit(
        self,
        job: Callable[[], T],
        *,
        gone: Callable[[], bool] = bool,
        seconds: float | None = LONGEST_REQUEST,
        urgent: bool = True,
    ) -> asyncio.Future[T]:
        """Run the work of a request after that of earlier ones. To be called and awaited on the loop.

        ``urgent`` False: an analysis that is under way need not make room.

        Awaiting raises OutOfBudget when it takes too long, Superseded when ``gone`` says that nobody waits. A future
        that is cancelled takes its job with it.
        """
        future: asyncio.Future[T] = self._loop.create_future()

        def limited() -> T:
            with Budget(seconds=seconds, stale=lambda: future.cancelled() or gone()):
                return job()

        with self._changed:
            self._requests.append(self._settling(future, limited))
            if urgent and self._running is not None:
                self._running.for_a_request()
            self._changed.notify()
        return future

    def analyse(self, job: Callable[[], T], turn: Turn) -> asyncio.Future[T]:
        """Run an analysis when it is its turn. It asks ``turn`` whether it is stale."""
        future: asyncio.Future[T] = self._loop.create_future()
        with self._changed:
            self._analyses.append((turn, self._settling(future, job)))
            if self._running is not None and turn.claims:
                self._running.for_another()
            self._changed.notify()
        return future

    def _settling(self, future: asyncio.Future[T], job: Callable[[], T]) -> _Job:
        def settle(result: T | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]  # T may include None

        def run() -> None:
            if future.cancelled():
                return
            try:
                result = job()
            except BaseException as error:  # noqa: BLE001  (whoever awaits the future gets it)
                self._post(settle, None, error)
            else:
                self._post(settle, result, None)

        return run

    def _run(self) -> None:
        since_young = since_full = 0  # jobs
        while True:
            quiet = SHORT_QUIET if since_young else LONG_QUIET if since_full else None
            job = self._next(quiet)
            if job is None:
                if since_young:
                    gc.collect(1)
                    since_young = 0
                else:
                    collect_all()
                    since_full = 0
                continue
            job()
            del job  # and with it the text that it was about
            since_young += 1
            since_full += 1
            if since_young >= MOST_JOBS:
                gc.collect(1)
                since_young = 0

    def _next(self, seconds: float | None) -> _Job | None:
        """The job whose turn it is; None when there is none within so many seconds."""
        with self._changed:
            self._running = None
            if not self._changed.wait_for(lambda: self._requests or self._analyses, seconds):
                return None
            if self._requests and (self._in_a_row < MOST_REQUESTS or not self._analyses):
                self._in_a_row += 1
                return self._requests.popleft()
            self._in_a_row = 0
            turn, job = self._analyses.pop(
                min(range(len(self._analyses)), key=lambda at: self._analyses[at][0].rank)
            )
            turn.begin()
            self._running = turn
            if self._requests:
                turn.for_a_request()
            if any(other.claims for other, _ in self._analyses):
                turn.for_another()
            return job

    def _post(
        self,
        settle: Callable[[T | None, BaseException | None], None],
        result: T | None,
        error: BaseException | None,
    ) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(settle, result, error)
