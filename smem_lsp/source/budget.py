"""Limits on the time and memory of a piece of work, and cancellation when nobody waits for it.

Every loop whose length depends on the text calls ``checkpoint()``. It costs a tenth of a microsecond without a budget
and little more with one; every few calls it reads the clock, and more seldom where no time passes between them.
Budgets nest: a pass within its kernel, a kernel within its file. A budget belongs to the thread that opened it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

_clock: Callable[[], float] = getattr(time, "thread_time", time.process_time)

STEPS = 16  # checkpoints between two readings of the clock, which cost as much as 20 of them
MOST_STEPS = 128  # the same, while they are passed in no time
QUICK = 0.0005  # seconds of processor time between two readings: less is too often
MEMORY_INTERVAL = 0.02  # seconds of processor time between two readings of the memory


class OutOfBudget(Exception):
    """A budget is used up. ``reason``: "time" or "memory"."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"out of {reason}")
        self.reason = reason


class Superseded(Exception):
    """The answer is no longer wanted, or another one is more urgent."""


class Budget:
    """Limits the work inside a ``with`` block: processor time of this thread in seconds, and growth of the process in
    MiB. ``stale``: True once nobody waits for the answer. ``own``: work in ``apart`` inside does not count.

    ``checkpoint`` inside raises OutOfBudget or Superseded. A used-up budget stays used up: any further work inside the
    block is stopped at the next look. The processor time of a thread does not pass while it waits for a compiler, nor
    while other programs run.
    """

    __slots__ = ("_bytes", "_deadline", "_limit", "_own", "_parent", "_seconds", "_stale")

    def __init__(
        self,
        *,
        seconds: float | None = None,
        megabytes: int | None = None,
        stale: Callable[[], bool] | None = None,
        own: bool = False,
    ) -> None:
        self._own = own
        self._seconds = seconds
        self._bytes = None if megabytes is None else megabytes << 20
        self._stale = stale
        self._deadline: float | None = None
        self._limit: int | None = None
        self._parent: Budget | None = None

    def __enter__(self) -> Budget:
        if self._seconds is not None:
            self._deadline = processor_time() + self._seconds
        if self._bytes is not None:
            held = held_bytes()
            self._limit = None if held is None else held + self._bytes
        self._parent = _running.budget
        _running.budget = self
        _running.steps = 1  # the first checkpoint inside looks
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _running.budget = self._parent

    def look(self) -> None:
        """Raise OutOfBudget or Superseded if this budget or an enclosing one is exceeded."""
        now = _running.looked = processor_time()
        held: int | None = None
        if now >= _running.next_memory:
            _running.next_memory = now + MEMORY_INTERVAL
            held = held_bytes()
        budget: Budget | None = self
        while budget is not None:
            if budget._stale is not None and budget._stale():
                raise Superseded
            if budget._deadline is not None and now > budget._deadline:
                raise OutOfBudget("time")
            if held is not None and budget._limit is not None and held > budget._limit:
                _running.next_memory = 0.0  # still too much at the next look
                raise OutOfBudget("memory")
            budget = budget._parent


def processor_time() -> float:
    """Processor seconds of this thread; of the process where Python has no threads, as in a browser."""
    return _clock()


@contextmanager
def apart() -> Iterator[None]:
    """For work with its own budget: the enclosing ``own`` budgets neither stop it nor count it."""
    around = budget = _running.budget
    skipped: list[Budget] = []
    while budget is not None and budget._own:
        skipped.append(budget)
        budget = budget._parent
    started = processor_time()
    _running.budget = budget
    try:
        yield
    finally:
        _running.budget = around
        passed = processor_time() - started
        for each in skipped:
            if each._deadline is not None:
                each._deadline += passed


class _Running(threading.local):
    """The budget of each thread."""

    budget: Budget | None = None
    steps = STEPS
    between = STEPS  # checkpoints between two readings
    looked = 0.0  # processor time of the thread, seconds
    next_memory = 0.0


_running = _Running()


def checkpoint() -> None:
    """Stop here if the work exceeds its budget or is stale. Raises OutOfBudget or Superseded."""
    running = _running
    if running.budget is None:
        return
    running.steps -= 1
    if running.steps <= 0:
        before = running.looked
        running.steps = STEPS  # where it raises
        running.budget.look()
        quick = running.looked - before < QUICK
        running.steps = running.between = min(2 * running.between, MOST_STEPS) if quick else STEPS


def look() -> None:
    """``checkpoint`` that always looks: for steps that take a millisecond or more."""
    budget = _running.budget
    if budget is not None:
        budget.look()


def staleness() -> Callable[[], bool] | None:
    """A function that says whether nobody waits for the work of this thread any more, for another thread to call while
    this one is busy; None: somebody does."""
    asked: list[Callable[[], bool]] = []
    budget = _running.budget
    while budget is not None:
        if budget._stale is not None:
            asked.append(budget._stale)
        budget = budget._parent
    return (lambda: any(stale() for stale in asked)) if asked else None


def used_up() -> bool:
    """Is the innermost budget of this thread, or an enclosing one, used up?"""
    try:
        look()
    except OutOfBudget:
        return True
    return False


def held_bytes() -> int | None:
    """Physical memory of this process in bytes; None if unknown."""
    if sys.platform == "linux":
        try:
            with open("/proc/self/statm", "rb", buffering=0) as status:  # noqa: PTH123  (ten microseconds, often)
                return int(status.read().split()[1]) * _PAGE
        except (OSError, ValueError, IndexError):
            return None
    if sys.platform in ("win32", "emscripten"):
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
