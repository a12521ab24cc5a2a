"""The one thread that analyses. Results come back to the event loop; nothing else does.

Collecting garbage stops every thread, for a quarter of a second once a large file is in the caches, so it waits for a
pause: young objects are looked through soon after a run, everything only when nobody has typed for a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SHORT_QUIET = 0.05  # seconds without a job before young garbage is collected
LONG_QUIET = 10.0  # seconds before all of it is
MOST_JOBS = (
    10  # that may follow each other without either: more of them, and the pause is one that a hover notices
)


def collect_all() -> None:
    """Collect all garbage; what is left stays, most likely, and is not looked at again before the next time."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class Worker:
    """Runs one job after the other on a daemon thread: a long one never delays the end of the process."""

    __slots__ = ("_jobs", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True, name="analysis").start()

    def submit(self, job: Callable[[], T]) -> asyncio.Future[T]:
        """Run ``job`` after those already submitted. To be called and awaited on the loop.

        A future that is cancelled before its turn takes its job with it.
        """
        future: asyncio.Future[T] = self._loop.create_future()

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

        self._jobs.put(run)
        return future

    def _run(self) -> None:
        since_young = since_full = 0  # jobs
        while True:
            quiet = SHORT_QUIET if since_young else LONG_QUIET if since_full else None
            try:
                job = self._jobs.get(timeout=quiet)
            except queue.Empty:
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

    def _post(
        self,
        settle: Callable[[T | None, BaseException | None], None],
        result: T | None,
        error: BaseException | None,
    ) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(settle, result, error)
