"""One analysis after the other, each within its budget: what one of them loses, the others keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import TypeVar

from smem_lsp.config import Config
from smem_lsp.facts.stopped import Stopped, Why
from smem_lsp.source import Budget, OutOfBudget, Superseded
from smem_lsp.source.budget import SECOND
from smem_lsp.source.defect import described
from smem_lsp.source.record import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one check may use. Work is counted in units (``source.budget``), so that the same text is cut at the same
    place on every machine, whatever else it does.

    ``file_units``: for all kernels together; ``reading_units``: for reading the file and its headers, for lowering one
    kernel, and for a rule: far above what any text of a person takes, since a process that has read a header before
    does less; ``kernel_units``: for the passes of one instance of a kernel; ``pass_units``: for one of them;
    ``fix_units``: for all fixes of one report; ``seconds`` of processor time for the file, None: no limit;
    ``megabytes`` by which the process may grow.
    """

    file_units: int = 30 * SECOND
    reading_units: int = 240 * SECOND
    kernel_units: int = 16 * SECOND
    pass_units: int = 10 * SECOND
    fix_units: int = 10 * SECOND
    seconds: float | None = None
    megabytes: int = 4_000

    def scaled(self, by: float) -> Limits:
        """These for so many times the effort; what is no measure of work stays."""
        return replace(
            self,
            file_units=int(by * self.file_units),
            reading_units=int(by * self.reading_units),
            kernel_units=int(by * self.kernel_units),
            pass_units=int(by * self.pass_units),
            fix_units=int(by * self.fix_units),
        )

    def within(self, units: int) -> Limits:
        """These, for a kernel that may use no more than ``units``."""
        share = min(1.0, units / self.kernel_units) if self.kernel_units else 1.0
        return replace(
            self, kernel_units=int(share * self.kernel_units), pass_units=int(share * self.pass_units)
        )


LIMITS = Limits()


def limits_of(config: Config) -> Limits:
    """At the effort that the settings name."""
    return LIMITS.scaled(config.factor)


@dataclass(slots=True)
class Attempts:
    """Runs analyses of one file or kernel and notes those that end without a result."""

    limits: Limits = LIMITS
    kernel: str | None = None
    stopped: list[Stopped] = field(default_factory=list)

    def run(self, what: str, work: Callable[[], T], otherwise: T, units: int | None = None) -> T:
        """The result of ``work``, or ``otherwise`` where it is out of budget or raises.

        ``what`` names it for the user. ``units`` None: it has those of a pass, and the work of passes that it is the
        first to ask for does not count. Raises Superseded.
        """
        limit = self.limits.pass_units if units is None else units
        try:
            with Budget(units=limit, own=units is None):
                return work()
        except Superseded:
            raise
        except OutOfBudget as cut:
            self.stopped.append(Stopped(what, Why(cut.reason), self.kernel))
        except RecursionError:
            self.stopped.append(Stopped(what, Why.DEPTH, self.kernel))
        except Exception as error:  # noqa: BLE001  (a defect of ours costs this analysis and no other)
            of = f" of {self.kernel}" if self.kernel else ""
            line = f"internal error in {what}{of}: {described(error)}"
            self.stopped.append(Stopped(what, Why.DEFECT, self.kernel, report=line))
        return otherwise
