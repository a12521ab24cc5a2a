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
from smem_lsp.source.budget import apart, work_done
from smem_lsp.source.queries import Query, Store
from smem_lsp.source.record import dataclass

T = TypeVar("T")
U = TypeVar("U")
S = TypeVar("S", bound="Passes")


@dataclass(frozen=True, slots=True)
class _PassStage:
    """How far the passes of a kernel were at some moment."""

    spent: int
    largest: int
    stopped: tuple[Stopped, ...]


class Passes:
    """The results of the passes of one kernel, and the work that they share. ``kernel``: its name for the user.

    ``spent``: units of work of the passes that have ended, the same whatever was asked for first, and whatever was
    remembered of another kernel.
    """

    def __init__(self, kernel: str, limits: Limits) -> None:
        self._attempts = Attempts(limits, kernel)
        self._under_way: list[int] = []  # units that each pass has taken by itself, the outermost first
        self._since = 0  # when the innermost one went on, in units of work of this thread
        self._results = Store()
        self._stages: dict[str, _PassStage] = {}
        self.spent = 0
        self._largest = 0

    @property
    def limits(self) -> Limits:
        return self._attempts.limits

    def allow(self, limits: Limits) -> None:
        """What passes may use from now on, with what they have used."""
        self._attempts.limits = limits

    @property
    def stopped(self) -> tuple[Stopped, ...]:
        """Passes without a result."""
        return tuple(self._attempts.stopped)

    @property
    def is_used_up(self) -> bool:
        """Is there nothing left for any pass?"""
        return self.spent >= self.limits.kernel_units

    def mark(self, stage: str) -> None:
        """A stage of the check has ended. What it took, and what was stopped, is noted the first time."""
        self._stages.setdefault(stage, _PassStage(self.spent, self._largest, self.stopped))

    def has_ended(self, stage: str) -> bool:
        return stage in self._stages

    def cost(self, stage: str) -> int:
        """Units that passes had taken when the stage ended; up to now, where it has not."""
        return self._stages[stage].spent if stage in self._stages else self.spent

    def largest(self, stage: str) -> int:
        """The same of the one pass, of those that have a budget of their own, that had taken most."""
        return self._stages[stage].largest if stage in self._stages else self._largest

    def stopped_in(self, stage: str) -> tuple[Stopped, ...]:
        """Passes without a result when the stage ended; up to now, where it has not."""
        return self._stages[stage].stopped if stage in self._stages else self.stopped

    def result(self, query: Query[None, T], find: Callable[[], T]) -> T:
        """What ``find`` finds, or has found before for this kernel."""
        return query.of(self._results, None, find)

    def run(self, what: str, work: Callable[[], T], otherwise: T, units: int | None = None) -> T:
        """The result of a pass, or ``otherwise``. What asks for it does not pay for it; the kernel does."""
        outermost = not self._under_way
        self._went_on()
        self._under_way.append(0)
        ended = False
        try:
            with apart():
                if not outermost:
                    found = self._attempts.run(what, work, otherwise, units)
                else:
                    with Budget(units=self.limits.kernel_units - self.spent):
                        found = self._attempts.run(what, work, otherwise, units)
            ended = True
            return found
        finally:
            self._went_on()
            own = self._under_way.pop()
            if ended:  # else it begins anew
                self.spent += own
                self._largest = max(self._largest, own if units is None else 0)

    def _went_on(self) -> None:
        """What was done up to now was done by the innermost pass."""
        now = work_done()
        if self._under_way:
            self._under_way[-1] += now - self._since
        self._since = now


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
