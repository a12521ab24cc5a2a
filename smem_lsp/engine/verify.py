"""Does every rewrite that is offered keep its promise? Each is applied to a copy, compiled and checked again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smem_lsp.engine.check import apply
from smem_lsp.engine.confirm import new_findings
from smem_lsp.engine.measured import Measured, MeasuredFacts
from smem_lsp.engine.merges import merges
from smem_lsp.engine.report import FileReport
from smem_lsp.fixes.model import Fix
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, MergeBuffers, MoveRanges, MoveTermRanges
from smem_lsp.source import TextEdit
from smem_lsp.source.record import dataclass

Check = Callable[[str, Measured], FileReport]


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A kernel on one target, as a compiler reports it. ``blocks``: resident per SM; None: threads not known."""

    bytes: int  # static
    registers: int  # per thread
    spill_bytes: int
    blocks: int | None


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One kernel, or one instance, on one target, before and after a rewrite. ``before`` None: it did not compile.
    ``problem``: what the rewrite breaks."""

    kernel: str
    arch: str
    before: CompiledKernel | None
    after: CompiledKernel
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """One rewrite. ``refused``: it is not offered, and its title is the reason; ``problems``: promises that it breaks
    beside those of its rows."""

    finding: Finding
    fix: Fix
    line: int
    rows: tuple[ComparisonRow, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        return not self.fix.edits and self.fix.broken is None

    @property
    def kept(self) -> bool:
        return not self.problems and all(row.problem is None for row in self.rows)


def verify(report: FileReport, chosen: Sequence[int], check: Check, measured: Measured) -> list[Verified]:
    """Every rewrite of the kernels ``chosen`` of a text that ``measured`` says something about, in source order."""
    found: list[Verified] = []
    seen: set[tuple[TextEdit, ...]] = set()
    for finding in _offered(report, chosen):
        line = report.source.line_number(finding.span.start)
        for fix in report.fixes_for(finding):
            if fix.edits in seen:
                continue
            if not fix.edits:
                broken = () if fix.broken is None else (fix.broken,)
                found.append(Verified(finding, fix, line, problems=broken))
                continue
            seen.add(fix.edits)
            text = apply(report.source.text, fix)
            after = Measured(measured.rewritten(text), measured.under)
            rows, problems = _judged(report, check(text, after), finding, fix, after)
            found.append(Verified(finding, fix, line, tuple(rows), tuple(problems)))
    return found


def _offered(report: FileReport, chosen: Sequence[int]) -> list[Finding]:
    """What is reported of the kernels, and every merge that an editor offers beside that."""
    kernels = [report.facts[index] for index in chosen]
    names = {facts.kernel.name for facts in kernels}
    told = [finding for finding in report.findings if finding.kernel in names]

    def plan(finding: Finding) -> tuple[object, ...]:
        remedy = finding.remedy
        if isinstance(remedy, MoveRanges | MoveTermRanges):
            return remedy.kernel, remedy.number
        assert isinstance(remedy, MergeBuffers)
        return remedy.kernel, remedy.candidate.plan.barriers, remedy.waits

    reported = {plan(finding) for finding in told if isinstance(finding.remedy, (MergeBuffers, MoveRanges))}
    told += [each for facts in kernels for each in merges(facts) if plan(each) not in reported]
    return sorted(told, key=lambda finding: finding.span.start)


def _judged(
    report: FileReport, again: FileReport, finding: Finding, fix: Fix, after: Measured
) -> tuple[list[ComparisonRow], list[str]]:
    """What changed for every kernel of the name that the finding is about, and what is broken beside that."""
    problems = [] if after.kernels else ["it does not compile"]
    rows: list[ComparisonRow] = []
    at = finding.remedy.kernel if finding.remedy is not None else None
    for index, facts in enumerate(report.facts):
        if facts.kernel.name != finding.kernel or not after.kernels:
            continue
        now = next((each for each in again.facts if _alike(each, facts)), None)
        if isinstance(now, MeasuredFacts):
            promised = fix.static_bytes if index == at else now.predicted_bytes if now.exact else None
            rows += _rows(facts, now, promised)
        elif isinstance(facts, MeasuredFacts):
            problems.append(f"{_name(facts)} was compiled before, and is not found afterwards")
    problems += new_findings(report, again, finding)
    return rows, problems


def _alike(one: KernelFacts, other: KernelFacts) -> bool:
    return (one.kernel.name, one.kernel.instance) == (other.kernel.name, other.kernel.instance)


def _name(facts: KernelFacts) -> str:
    return facts.kernel.instance or facts.kernel.name


def _rows(facts: KernelFacts, now: MeasuredFacts, promised: int | None) -> list[ComparisonRow]:
    rows: list[ComparisonRow] = []
    for there in now.measured:
        before = _state(facts, there.arch) if isinstance(facts, MeasuredFacts) else None
        after = _state(now, there.arch)
        if after is not None:
            rows.append(
                ComparisonRow(_name(now), there.arch, before, after, _problem(before, after, promised))
            )
    return rows


def _state(facts: MeasuredFacts, arch: str) -> CompiledKernel | None:
    there = facts.on(arch)
    if there is None:
        return None
    row = next((each for each in facts.occupied if each.arch == arch), None)
    blocks = None if row is None else facts.blocks(row, there.shared_bytes)
    return CompiledKernel(there.shared_bytes, there.registers, there.spill_bytes, blocks)


def _problem(before: CompiledKernel | None, after: CompiledKernel, promised: int | None) -> str | None:
    if promised is not None and after.bytes != promised:
        return f"{promised:,} B were promised, ptxas reports {after.bytes:,} B"
    if before is None:
        return None
    if before.blocks is not None and after.blocks is not None and after.blocks < before.blocks:
        return f"{before.blocks} → {after.blocks} blocks/SM"
    if after.spill_bytes > before.spill_bytes:
        return f"{after.spill_bytes - before.spill_bytes:,} B of registers more are spilled"
    return None
