"""The fixes of a finding, each looked at again before it is offered."""

from __future__ import annotations

from collections.abc import Callable

from smem_lsp.engine.measured import Measured
from smem_lsp.engine.report import FileReport
from smem_lsp.facts.attempts import Attempts, Limits
from smem_lsp.facts.stopped import Stopped, Why
from smem_lsp.fixes.model import Fix
from smem_lsp.rules.model import Finding
from smem_lsp.source.record import dataclass

_LEAST_CHECKED = 4  # findings whose fixes are checked, however long one check takes


@dataclass(slots=True)
class Fixer:
    """Works out fixes for one report. ``ended`` gets what was out of budget or failed.

    Some fixes are offered only after a check of the text that they make, which takes about what the check of this one
    took. So as many findings as that goes into the budget have theirs checked, the first ones of the report: which
    ones they are does not depend on what is asked for first. A finding that is none of the report, which somebody has
    asked for, is looked at.
    """

    limits: Limits
    ended: list[Stopped]

    def fixes(
        self, finding: Finding, report: FileReport, measured: Measured, again: Callable[[str], FileReport]
    ) -> tuple[Fix, ...]:
        """What cures ``finding``; nothing where there is no budget to check it. ``again``: checks another text in the
        place of this one. Raises Superseded."""
        unit = report.unit
        if finding.remedy is None or unit is None:
            return ()
        # 40 modules, which a check that finds nothing to cure does without
        from smem_lsp.engine.confirm import as_compiled, as_planned, is_checked
        from smem_lsp.fixes.fixes import fixes_for

        what = f"fixes of {finding.code}"
        if is_checked(finding.remedy):
            most = max(_LEAST_CHECKED, self.limits.fix_units // max(1, report.units))
            checked = [each for each in report.findings if is_checked(each.remedy)]
            if finding in checked[most:]:
                self._note(Stopped(what, Why.EFFORT, finding.kernel))
                return ()

        def work() -> tuple[Fix, ...]:
            found = fixes_for(finding, report.facts, unit)
            found = tuple(as_planned(fix, finding, report, again) for fix in found)
            return tuple(as_compiled(fix, finding, report, measured) for fix in found)

        attempts = Attempts(self.limits, finding.kernel)
        found = attempts.run(what, work, tuple[Fix, ...](), self.limits.reading_units)
        for each in attempts.stopped:
            self._note(each)
        return found

    def _note(self, stop: Stopped) -> None:
        if stop not in self.ended:
            self.ended.append(stop)
