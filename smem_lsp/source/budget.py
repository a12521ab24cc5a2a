"""Limits on the work and memory of a piece of work, and cancellation when nobody waits for it.

Every loop whose length depends on the text calls ``checkpoint()``, which counts one unit of work; a step that takes as
long as many of them calls ``spend(units)``. Units do not depend on the machine, nor on what else it does: the same text
uses up the same budget at the same place everywhere. ``SECOND`` of them take about a second. An answer that is
remembered must not decide what is left for other work. So the loops that find it call ``pause()`` in the place of
``checkpoint()``, or all of it is done inside ``uncounted()``: its units count for budgets of ``all`` work alone, which
only a defect can use up. Seconds of processor time and the growth of the process in MiB can be limited as well.

A checkpoint costs a tenth of a microsecond without a budget and little more with one; every few calls it asks whether
the work is still wanted, and more seldom where no time passes between them. Budgets nest: a pass within its kernel, a
kernel within its file. A budget belongs to the thread that opened it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType

_clock: Callable[[], float] = getattr(time, "thread_time", time.process_time)
_pace: Callable[[], float] = time.perf_counter  # costs a tenth of that

SECOND = 250_000  # units that take about a second of processor time, between a third and three times as long
EFFORTS: Mapping[str, float] = {"quick": 0.25, "normal": 1.0, "thorough": 8.0}
"""How much work a check may spend, in the words of users, as a factor of all of its limits."""

STEPS = 16  # units between two looks at what is left, each of which costs as much as 20 of them
MOST_STEPS = 128  # the same, while they are passed in no time
QUICK = 0.0005  # seconds between two looks: less is too often
CLOCK_INTERVAL = 0.001  # seconds between two readings of the processor's clock
MEMORY_INTERVAL = 0.02  # seconds between two readings of the memory


class OutOfBudget(Exception):
    """A budget is used up. ``reason``: "effort", which is the same on every machine; "time", of seconds or of all work;
    or "memory"."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"out of {reason}")
        self.reason = reason


class Superseded(Exception):
    """The answer is no longer wanted, or another one is more urgent."""


class Budget:
    """Limits the work inside a ``with`` block: units of work, units of ``all`` work, processor time of this thread in
    seconds, and growth of the process in MiB. ``stale``: True once nobody waits for the answer. ``own``: work in
    ``apart`` inside does not count.

    ``checkpoint`` inside raises OutOfBudget or Superseded. A used-up budget stays used up: any further work inside the
    block is stopped at the next look. The processor time of a thread does not pass while it waits for a compiler, nor
    while other programs run.
    """

    __slots__ = (
        "_all",
        "_bytes",
        "_deadline",
        "_last",
        "_last_of_all",
        "_limit",
        "_own",
        "_parent",
        "_seconds",
        "_stale",
        "_units",
    )

    def __init__(
        self,
        *,
        units: int | None = None,
        all: int | None = None,
        seconds: float | None = None,
        megabytes: int | None = None,
        stale: Callable[[], bool] | None = None,
        own: bool = False,
    ) -> None:
        self._own = own
        self._units = units
        self._all = all
        self._seconds = seconds
        self._bytes = None if megabytes is None else megabytes << 20
        self._stale = stale
        self._last: int | None = None  # unit of work of the thread that is within the budget
        self._last_of_all: int | None = None
        self._deadline: float | None = None
        self._limit: int | None = None
        self._parent: Budget | None = None

    def __enter__(self) -> Budget:
        running = _running
        done = _settle(running)
        if self._units is not None:
            self._last = done + self._units
        if self._all is not None:
            self._last_of_all = running.total + self._all
        if self._seconds is not None:
            self._deadline = processor_time() + self._seconds
            running.next_clock = 0.0  # what was read before may be from before the deadline
        if self._bytes is not None:
            held = held_bytes()
            self._limit = None if held is None else held + self._bytes
            running.next_memory = 0.0  # whatever the clock said before
        self._parent = running.budget
        running.budget = self
        running.look_next()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _settle(_running)
        _running.budget = self._parent

    def look(self) -> None:
        """Raise OutOfBudget or Superseded if this budget or an enclosing one is exceeded."""
        running = _running
        done = _settle(running)
        running.look_next()  # if this one raises
        before = running.looked
        now = running.looked = _pace()
        held: int | None = None
        if now >= running.next_memory:
            running.next_memory = now + MEMORY_INTERVAL
            held = held_bytes()
        running.between = min(2 * running.between, MOST_STEPS) if now - before < QUICK else STEPS
        left = running.between
        budget: Budget | None = self
        while budget is not None:
            if budget._stale is not None and budget._stale():
                raise Superseded
            if budget._last is not None and not running.uncounted:
                if done > budget._last:
                    raise OutOfBudget("effort")
                left = min(left, budget._last + 1 - done)
            if budget._last_of_all is not None:
                if running.total > budget._last_of_all:
                    raise OutOfBudget("time")
                left = min(left, budget._last_of_all + 1 - running.total)
            if budget._deadline is not None and running.spent(now) > budget._deadline:
                raise OutOfBudget("time")
            if held is not None and budget._limit is not None and held > budget._limit:
                running.next_memory = 0.0  # still too much at the next look
                raise OutOfBudget("memory")
            budget = budget._parent
        running.looks += 1
        running.granted = running.left = left


def processor_time() -> float:
    """Processor seconds of this thread; of the process where Python has no threads, as in a browser."""
    return _clock()


def work_done() -> int:
    """Units of work that this thread has done so far, within budgets."""
    return _settle(_running)


@contextmanager
def apart() -> Iterator[None]:
    """For work with its own budget: the enclosing ``own`` budgets neither stop it nor count it."""
    around = budget = _running.budget
    skipped: list[Budget] = []
    while budget is not None and budget._own:
        skipped.append(budget)
        budget = budget._parent
    timed = any(each._deadline is not None for each in skipped)
    done, started = _settle(_running), processor_time() if timed else 0.0
    _running.budget = budget
    try:
        yield
    finally:
        _running.budget = around
        units, passed = _settle(_running) - done, processor_time() - started if timed else 0.0
        _running.look_next()
        for each in skipped:
            if each._last is not None:
                each._last += units
            if each._deadline is not None:
                each._deadline += passed


class uncounted:
    """For work of which an answer is remembered, or whose units somebody else counts: inside, units count for budgets
    of all work alone. It is entered often: as a generator it took three times as long."""

    __slots__ = ("_done", "_looks", "_outer")

    def __enter__(self) -> None:
        running = _running
        self._done, self._outer, self._looks = _settle(running), running.uncounted, running.looks
        running.uncounted = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running = _running
        running.uncounted = self._outer
        _settle(running)
        running.done = self._done
        if running.looks != self._looks:  # a look inside may have granted more than what counts has left
            running.look_next()


class _Running(threading.local):
    """The budget of each thread, and its work."""

    budget: Budget | None = None
    done = 0  # units, of those that are settled
    total = 0  # the same, with those that do not count
    free = 0  # units that are not settled and do not count
    granted = 0  # units from the last look to the next one
    left = 0  # of these
    between = STEPS  # units between two looks
    looks = 0
    looked = 0.0  # seconds
    next_memory = 0.0
    next_clock = 0.0
    clock = 0.0  # processor seconds of the thread, at the last reading
    uncounted = False

    def look_next(self) -> None:
        """The next checkpoint looks. The units until now are settled."""
        self.granted = self.left = 0

    def spent(self, now: float) -> float:
        """Processor seconds of the thread; ``now``: by the clock on the wall, which they do not run ahead of."""
        if now >= self.next_clock:
            self.next_clock = now + CLOCK_INTERVAL
            self.clock = processor_time()
        return self.clock


_running = _Running()


def _settle(running: _Running) -> int:
    """The units that are done."""
    units = running.granted - running.left
    if units:
        running.total += units
        running.done += units - running.free
        running.granted = running.left
        running.free = 0
    return running.done


def checkpoint() -> None:
    """Count a unit of work. Stop here if the work exceeds its budget or is stale. Raises OutOfBudget or Superseded."""
    running = _running
    if running.budget is None:
        return
    running.left -= 1
    if running.left <= 0:
        running.budget.look()


def pause() -> None:
    """A checkpoint of work of which the result is remembered: it is no unit of who asks first."""
    running = _running
    if running.budget is None:
        return
    running.left -= 1
    running.free += 1
    if running.left <= 0:
        running.budget.look()


def spend(units: int) -> None:
    """Count ``units`` of work. Raises as ``checkpoint``."""
    running = _running
    if running.budget is None:
        return
    running.left -= units
    if running.left <= 0:
        running.budget.look()


def look() -> None:
    """``checkpoint`` that always looks and counts nothing: for steps that take a millisecond or more."""
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


def used_up() -> str | None:
    """The reason, if the innermost budget of this thread, or an enclosing one, is used up."""
    try:
        look()
    except OutOfBudget as error:
        return error.reason
    return None


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
