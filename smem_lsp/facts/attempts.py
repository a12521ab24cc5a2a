"""One analysis after the other, each within its budget: what one of them loses, the others keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TypeVar

from smem_lsp.facts.stopped import Stopped, Why
from smem_lsp.source import Budget, OutOfBudget, Superseded
from smem_lsp.source.defect import described
from smem_lsp.source.record import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """What one check may use: processor time in seconds, and megabytes by which the process may grow meanwhile.

    The slowest files of the pinned corpora take 5.1 s (239 instances of kernels in one file of LightGBM) and
    3.5 s (one kernel that reads the declarations of CuTe) where these were set.
    """

    file_seconds: float = 7.0
    kernel_seconds: float = 5.0
    pass_seconds: float = 2.0
    fix_seconds: float = 0.5  # all fixes of one report, at least; else what the check has left over
    megabytes: int = 600


LIMITS = Limits()


@dataclass(slots=True)
class Attempts:
    """Runs analyses of one file or kernel and notes those that end without a result."""

    limits: Limits = LIMITS
    kernel: str | None = None
    stopped: list[Stopped] = field(default_factory=list)

    def run(self, what: str, work: Callable[[], T], otherwise: T, seconds: float | None = None) -> T:
        """The result of ``work``, or ``otherwise`` where it is out of budget or raises.

        ``what`` names it for the user. ``seconds`` None: it has those of a pass, and the time of passes that it is the
        first to ask for does not count. Raises Superseded.
        """
        limit = self.limits.pass_seconds if seconds is None else seconds
        try:
            with Budget(seconds=limit, own=seconds is None):
                return work()
        except Superseded:
            raise
        except OutOfBudget as cut:
            why = Why.MEMORY if cut.reason == "memory" else Why.TIME
            self.stopped.append(Stopped(what, why, self.kernel))
        except RecursionError:
            self.stopped.append(Stopped(what, Why.DEPTH, self.kernel))
        except Exception as error:  # noqa: BLE001  (a defect of ours costs this analysis and no other)
            of = f" of {self.kernel}" if self.kernel else ""
            line = f"internal error in {what}{of}: {described(error)}"
            self.stopped.append(Stopped(what, Why.DEFECT, self.kernel, report=line))
        return otherwise
