"""A pass: one analysis of a kernel, declared once, run when its result is first asked for, and never again.

A pass is a method that takes what it needs from other passes of the same kernel, so the flow goes one way: a pass that
nobody asks for, directly or through another one, is not run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar, overload

from smem_lsp.facts.attempts import Attempts, Limits
from smem_lsp.facts.stopped import Stopped
from smem_lsp.source import Budget
from smem_lsp.source.budget import apart, processor_time
from smem_lsp.source.queries import Query, Store

T = TypeVar("T")
U = TypeVar("U")
S = TypeVar("S", bound="Passes")


class Passes:
    """The results of the passes of one kernel, and the time that they share. ``kernel``: its name for the user."""

    def __init__(self, kernel: str, limits: Limits) -> None:
        self._attempts = Attempts(limits, kernel)
        self._left = limits.kernel_seconds
        self._metered = False
        self._results = Store()

    @property
    def limits(self) -> Limits:
        return self._attempts.limits

    @property
    def stopped(self) -> tuple[Stopped, ...]:
        """Passes without a result."""
        return tuple(self._attempts.stopped)

    @property
    def out_of_time(self) -> bool:
        """Is the time of all passes together used up?"""
        return self._left <= 0

    def result(self, query: Query[None, T], find: Callable[[], T]) -> T:
        """What ``find`` finds, or has found before for this kernel."""
        return query.of(self._results, None, find)

    def run(self, what: str, work: Callable[[], T], otherwise: T, seconds: float | None = None) -> T:
        """The result of a pass, or ``otherwise``. What asks for it does not pay for it; the kernel does."""
        if self._metered:
            with apart():
                return self._attempts.run(what, work, otherwise, seconds)
        self._metered = True
        started = processor_time()
        try:
            with apart(), Budget(seconds=self._left):
                found = self._attempts.run(what, work, otherwise, seconds)
            self._left -= processor_time() - started
            return found
        finally:
            self._metered = False


class Pass(Generic[S, T]):
    """A method that is run once, as an attribute. ``what``: its name in SMEM004; passes of one name are told once.
    ``otherwise``: its result where it was stopped, and where ``needs`` says no."""

    def __init__(
        self,
        what: str,
        work: Callable[[S], T],
        otherwise: T,
        needs: Callable[[S], bool] | None,
    ) -> None:
        self._what, self._work, self._otherwise, self._needs = what, work, otherwise, needs
        self._query = Query[None, T](work.__name__)
        self.__doc__ = work.__doc__

    @overload
    def __get__(self, of: None, owner: type[S]) -> Pass[S, T]: ...
    @overload
    def __get__(self, of: S, owner: type[S]) -> T: ...
    def __get__(self, of: S | None, owner: type[S]) -> T | Pass[S, T]:
        if of is None:
            return self
        return of.result(self._query, partial(self._found, of))

    def _found(self, of: S) -> T:
        if self._needs is not None and not self._needs(of):
            return self._otherwise
        return of.run(self._what, partial(self._work, of), self._otherwise)


def run_once(
    what: str, otherwise: U, *, needs: Callable[[S], bool] | None = None
) -> Callable[[Callable[[S], T]], Pass[S, T | U]]:
    """Declare a pass. ``what``: its name in SMEM004; ``otherwise``: its result where it was stopped, and where
    ``needs`` says no."""

    def declared(work: Callable[[S], T]) -> Pass[S, T | U]:
        return Pass(what, work, otherwise, needs)

    return declared
