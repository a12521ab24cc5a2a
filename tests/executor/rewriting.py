"""The rewrites that smem-lsp offers for a kernel, and whether a rewritten program does what it did before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from smem_lsp.config import Config
from smem_lsp.engine import apply, check
from smem_lsp.engine.merges import merges
from smem_lsp.engine.report import FileReport
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.rules.model import (
    MergeBuffers,
    MoveRanges,
    MoveTermRanges,
    MoveToDynamic,
    PadRows,
    ReorderDeclarations,
)
from smem_lsp.source.queries import Store

from .model import Outcome
from .programs import Programs, Run

# It has no rewrite that is run here, no rewrite is taken back for what it says, and it takes a third of a check.
_WITHOUT_BARRIERS_TO_REMOVE = Config(ignore=("SMEM204",))
_REMEDIES = (MergeBuffers, MoveRanges, MoveTermRanges, MoveToDynamic, PadRows, ReorderDeclarations)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """``text``: of the whole file afterwards. ``remedy``: what it makes of which kernel, by its number."""

    fix: Fix
    text: str
    remedy: MergeBuffers | MoveRanges | MoveTermRanges | MoveToDynamic | PadRows | ReorderDeclarations

    @property
    def title(self) -> str:
        return self.fix.title

    @property
    def barriers(self) -> int:
        """Added ones."""
        return len(self.remedy.candidate.plan.barriers) if isinstance(self.remedy, MergeBuffers) else 0

    @property
    def safe(self) -> bool:
        return self.fix.safety is Safety.SAFE


def looked_at(text: str, cache: Store | None = None) -> FileReport:
    """A check for ``rewrites_of``. ``cache``: of checks of the same text rewritten, which take less time then."""
    return check(text, config=_WITHOUT_BARRIERS_TO_REMOVE, cache=cache)


def rewrites(text: str) -> list[Rewrite]:
    """One for each point of the curve bytes against barriers of each kernel that saves bytes, with one more wait for
    copies or without, whether it would be reported or not; and what is reported of ranges of dynamic memory, of
    padding, of bank conflicts and of too much static memory."""
    return rewrites_of(looked_at(text))


def rewrites_of(report: FileReport) -> list[Rewrite]:
    """The same of a text that is checked already."""
    text, found = report.source.text, dict[str, Rewrite]()
    findings = [finding for finding in report.findings if not isinstance(finding.remedy, MergeBuffers)]
    for facts in report.facts:
        findings += merges(facts)
    for finding in findings:
        if isinstance(finding.remedy, _REMEDIES):
            for fix in report.fixes_for(finding):
                if fix.safety is not Safety.DISPLAY and fix.edits:
                    after = apply(text, fix)
                    found.setdefault(after, Rewrite(fix, after, finding.remedy))
    return list(found.values())


def differences(before: Sequence[Outcome], after: Sequence[Outcome]) -> str:
    """What is wrong with the outcomes of a rewritten program, in words; empty when nothing is.

    Every run of the original must be clean, and give the bytes that its first run gave. Where each of its runs read the
    same from shared memory, so must the rewritten program: a wrong value that rounding swallows is seen, too.
    """
    expected = before[0].buffers
    read = {outcome.read for outcome in before} if len(before) > 1 else set()
    for outcome in after:
        if outcome.complaints:
            return outcome.complaints
        if outcome.buffers != expected:
            changed = [
                number for number in expected.keys() | outcome.buffers.keys()
                if expected.get(number) != outcome.buffers.get(number)
            ]  # fmt: skip
            return f"other bytes in the global buffers {changed}"
        if len(read) == 1 and outcome.read not in read:
            return "other values read from shared memory"
    return ""


def outcomes(programs: Programs, names: Sequence[str], seeds: Sequence[int]) -> Mapping[str, list[Outcome]]:
    """The outcomes of each program under each seed."""
    runs = [Run(name, seed) for name in names for seed in seeds]
    found: dict[str, list[Outcome]] = {name: [] for name in names}
    for run, outcome in zip(runs, programs.run_all(runs)):
        found[run.program].append(outcome)
    return found
