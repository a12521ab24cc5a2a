"""How much a piece of work may use, and whether anybody still waits for it.

A loop that grows with the text calls ``checkpoint()``. It costs a tenth of a microsecond where nothing is limited and
little more where something is; now and then it looks at the clock. Budgets nest, each within the one around it: a pass
within its kernel, a kernel within its file. They belong to the thread that opened them.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

processor_time: Callable[[], float] = getattr(time, "thread_time", time.process_time)
"""Processor seconds of this thread; of the process where Python knows no threads, as in a browser."""

STEPS = 16  # checkpoints between two looks at the clock
MEMORY_INTERVAL = 0.01  # seconds of processor time between two looks at the memory


class OutOfBudget(Exception):
    """A budget is used up. ``reason``: "time" or "memory"."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"out of {reason}")
        self.reason = reason


class Superseded(Exception):
    """Nobody wants the answer any more, or somebody wants another one first."""


class Budget:
    """Limits the work inside a ``with`` block: processor time of this thread in seconds, and bytes by which the process
    grows meanwhile. ``stale`` is asked whether anybody still waits. ``own``: what runs ``apart`` inside does not count.

    ``checkpoint`` inside raises OutOfBudget or Superseded. Once used up it stays used up: whoever goes on with
    something else inside the block is stopped at the next look. The processor time of a thread does not pass while it
    waits for a compiler, nor while other programs run.
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
        """Raise OutOfBudget or Superseded where this budget or one around it says so."""
        now = processor_time()
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


@contextmanager
def apart() -> Iterator[None]:
    """For work that has a budget of its own: the ``own`` budgets around it neither stop it nor pay for it."""
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
    """What is limited on a thread."""

    budget: Budget | None = None
    steps = STEPS
    next_memory = 0.0  # processor time of the thread, seconds


_running = _Running()


def checkpoint() -> None:
    """Stop here if the work takes too much or nobody waits for it. Raises OutOfBudget or Superseded."""
    running = _running
    if running.budget is None:
        return
    running.steps -= 1
    if running.steps <= 0:
        running.steps = STEPS
        running.budget.look()


def look() -> None:
    """``checkpoint`` that always looks: for steps that take a millisecond or more."""
    budget = _running.budget
    if budget is not None:
        budget.look()


def used_up() -> bool:
    """Is the innermost budget of this thread, or one around it, used up?"""
    try:
        look()
    except OutOfBudget:
        return True
    return False


def held_bytes() -> int | None:
    """Physical memory of this process; None where the system does not tell."""
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
