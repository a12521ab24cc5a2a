"""The fixes of a finding, each looked at again before it is offered, all of one report within a budget."""

from __future__ import annotations

from collections.abc import Callable

from smem_lsp.engine.measured import Measured
from smem_lsp.engine.report import Report
from smem_lsp.facts.attempts import Attempts, Limits
from smem_lsp.facts.stopped import Stopped, Why
from smem_lsp.fixes.model import Fix
from smem_lsp.rules.model import Finding
from smem_lsp.source.budget import processor_time
from smem_lsp.source.record import dataclass


@dataclass(slots=True)
class Fixer:
    """Works out fixes for one report. ``ended`` gets what was out of budget or failed."""

    limits: Limits
    ended: list[Stopped]
    seconds: float  # of processor time for all fixes
    spent: float = 0.0  # seconds of processor time

    def fixes(
        self, finding: Finding, report: Report, measured: Measured, again: Callable[[str], Report]
    ) -> tuple[Fix, ...]:
        """What cures ``finding``; nothing where its share of the time is used up. ``again``: checks another text in the
        place of this one. Raises Superseded."""
        unit = report.unit
        if finding.remedy is None or unit is None:
            return ()
        what = f"fixes of {finding.code}"
        if self.spent >= self.seconds:
            self._note(Stopped(what, Why.TIME, finding.kernel))
            return ()
        # 40 modules, which a check that finds nothing to cure does without
        from smem_lsp.engine.confirm import as_compiled, as_planned
        from smem_lsp.fixes.fixes import fixes_for

        def work() -> tuple[Fix, ...]:
            found = fixes_for(finding, report.facts, unit)
            found = tuple(as_planned(fix, finding, report, again) for fix in found)
            return tuple(as_compiled(fix, finding, report, measured) for fix in found)

        attempts = Attempts(self.limits, finding.kernel)
        started = processor_time()
        found = attempts.run(what, work, tuple[Fix, ...](), self.seconds - self.spent)
        self.spent += processor_time() - started
        for each in attempts.stopped:
            self._note(each)
        return found

    def _note(self, stop: Stopped) -> None:
        if stop not in self.ended:
            self.ended.append(stop)
