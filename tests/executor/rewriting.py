"""The rewrites that smem-lsp offers for a kernel, and whether a rewritten program does what it did before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from smem_lsp.config import Config
from smem_lsp.engine import apply, check
from smem_lsp.engine.fit_kernel import Place, plan
from smem_lsp.fixes import fixes_for
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.rules.model import (
    Finding,
    MergeBuffers,
    MoveRanges,
    MoveToDynamic,
    PadRows,
    ReorderDeclarations,
    Severity,
)
from smem_lsp.rules.subject import KernelFacts

from .model import Outcome
from .programs import Programs, Run


@dataclass(frozen=True, slots=True)
class Rewrite:
    """``text``: of the whole file afterwards. ``barriers``: added ones."""

    title: str
    text: str
    barriers: int
    safe: bool


def rewrites(text: str) -> list[Rewrite]:
    """One for each point of the curve bytes against barriers of each kernel, whether it would be reported or not; and
    what is reported of ranges of dynamic memory, of padding, of bank conflicts and of too much static memory."""
    report = check(text)
    found = _rewrites(text, report.facts, report.fixes_for)
    for finding in report.findings:
        if isinstance(finding.remedy, (MoveRanges, MoveToDynamic, PadRows, ReorderDeclarations)):
            fixes = [fix for fix in report.fixes_for(finding) if fix.edits]
            found += [Rewrite(fix.title, apply(text, fix), 0, fix.safety is Safety.SAFE) for fix in fixes]
    return found


def rewrites_of_first_kernel(text: str) -> list[Rewrite]:
    """The same for the first kernel of a text, without what only findings need: races, barriers, bank conflicts."""
    config = Config()
    reading = Place("<memory>", None).read(text, config, 0, 0)
    assert reading is not None
    facts = [plan(reading, {}, config)]
    return _rewrites(text, facts, partial(fixes_for, kernels=facts, unit=reading.unit))


def _rewrites(
    text: str, kernels: Sequence[KernelFacts], fixes: Callable[[Finding], Sequence[Fix]]
) -> list[Rewrite]:
    found: dict[str, Rewrite] = {}
    for index, facts in enumerate(kernels):
        for candidate in facts.best:
            remedy = MergeBuffers(index, candidate, "")
            finding = Finding("SMEM302", "", facts.kernel.name_span, Severity.INFO, remedy=remedy)
            for fix in fixes(finding):
                if fix.safety is Safety.DISPLAY or not fix.edits:
                    continue
                after, added = apply(text, fix), len(candidate.plan.barriers)
                found.setdefault(after, Rewrite(fix.title, after, added, fix.safety is Safety.SAFE))
    return list(found.values())


def differences(before: Sequence[Outcome], after: Sequence[Outcome]) -> str:
    """What is wrong with the outcomes of a rewritten program, in words; empty when nothing is.

    Every run of the original must be clean, and give the bytes that its first run gave.
    """
    expected = before[0].buffers
    for outcome in after:
        if outcome.complaints:
            return outcome.complaints
        if outcome.buffers != expected:
            changed = [
                number for number in expected.keys() | outcome.buffers.keys()
                if expected.get(number) != outcome.buffers.get(number)
            ]  # fmt: skip
            return f"other bytes in the global buffers {changed}"
    return ""


def outcomes(programs: Programs, names: Sequence[str], seeds: Sequence[int]) -> Mapping[str, list[Outcome]]:
    """The outcomes of each program under each seed."""
    runs = [Run(name, seed) for name in names for seed in seeds]
    found: dict[str, list[Outcome]] = {name: [] for name in names}
    for run, outcome in zip(runs, programs.run_all(runs)):
        found[run.program].append(outcome)
    return found
