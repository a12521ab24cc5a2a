"""What one check of one file found: plain data for every output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from smem_lsp.allocation.plan import Plan
from smem_lsp.analysis.host.survey import HostResources
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.facts.stopped import Stopped, Why
from smem_lsp.facts.term_plans import TermPlan
from smem_lsp.facts.terms import TermLayout
from smem_lsp.fixes.model import Fix
from smem_lsp.ir.causes import Cause
from smem_lsp.ir.nodes import BarrierKind, Kernel
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.kernel_verdict import KernelVerdict, not_asked
from smem_lsp.rules.model import Finding
from smem_lsp.source import SourceText
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import TranslationUnit

_MOST_NAMED = 4  # analyses; the others are counted


@dataclass(frozen=True, slots=True)
class OccupancyRow:
    """Resident blocks per SM before (declared) and after (best without a new barrier)."""

    arch: str
    threads: int
    registers: int | None
    registers_from: str  # nvcc | nvcc_before_this_edit (editors only) | launch_bounds | setting | unknown
    blocks_before: int
    blocks_after: int
    limited_by: tuple[str, ...]
    spill_bytes: int | None = None  # of registers, stores and loads; None: no compiler was asked


@dataclass(frozen=True, slots=True)
class BarrierRow:
    line: int  # 1-based
    kind: BarrierKind
    uniform: str  # proved | unknown | divergent


@dataclass(frozen=True, slots=True)
class KernelReport:
    """One kernel: its IR, its layouts, its occupancy."""

    kernel: Kernel
    static_bytes: int | None  # what ptxas will report; None when a size is unknown
    exact: bool
    plans: tuple[
        Plan, ...
    ]  # declared, stack, alias, best_fit, best with rising barriers; empty when sizes are unknown
    live: Mapping[int, tuple[int, int]]  # buffer -> first and last line at which it is live, 1-based
    occupancy: tuple[OccupancyRow, ...]
    barriers: tuple[BarrierRow, ...]
    point_lines: Mapping[int, int] = field(default_factory=dict)  # program point -> line, 1-based
    dynamic_partition: PartitionLayouts | None = (
        None  # the ranges of dynamic shared memory, where they are known
    )
    dynamic_terms: TermLayout | None = None  # the same in terms, under an assumption
    dynamic_refusals: tuple[Cause, ...] = ()  # why they are not
    find_verdict: Callable[[], KernelVerdict] = not_asked
    find_term_plans: Callable[[], tuple[TermPlan, ...]] = tuple

    @property
    def term_plans(self) -> tuple[TermPlan, ...]:
        """What the ranges in terms could save, rising in added barriers; worked out when it is asked for."""
        return self.find_term_plans()

    @property
    def verdict(self) -> KernelVerdict:
        """Of its shared memory; worked out when it is asked for."""
        return self.find_verdict()

    @property
    def best(self) -> Plan | None:
        """The best plan with no new barrier."""
        return next((p for p in self.plans if p.allocator == "best" and not p.barriers), None)

    @property
    def stack(self) -> Plan | None:
        return next((p for p in self.plans if p.allocator == "stack"), None)


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """``None``: the analysis was stopped before they were counted."""

    lines: int
    functions: int | None
    statements: int | None
    unparsed_statements: int | None


@dataclass(frozen=True)
class FileReport:
    """The whole answer for one file. Findings are in source order."""

    source: SourceText
    findings: tuple[Finding, ...]
    kernels: Sequence[KernelReport]
    statistics: FileStatistics
    find_fixes: Callable[[Finding, FileReport], tuple[Fix, ...]]
    rest: Sequence[
        KernelReport
    ] = ()  # what stands for instances that are left out: race-free for any numbers
    facts: Sequence[KernelFacts] = ()  # of ``kernels``, for who needs more than the report
    functions: Sequence[KernelFacts] = ()  # of the device functions that no kernel calls
    unit: TranslationUnit | None = None  # None: the file could not be read
    host: HostResources | None = None  # its host functions, each looked at when it is asked for
    more_contexts: bool = False  # a header that other files include, too, which were not read this time
    ended: Callable[[], tuple[Stopped, ...]] = (
        tuple  # what is asked for later may end without a result as well
    )
    bytes: int = 0  # about what it keeps beside what the caches have
    stopped_in_check: tuple[
        Stopped, ...
    ] = ()  # analyses without a result that the check itself has asked for
    units: int = 0  # of work that its kernels took, or had taken when they were looked at first

    def fixes_for(self, finding: Finding) -> tuple[Fix, ...]:
        """What cures a finding; worked out when it is asked for."""
        return self.find_fixes(finding, self)

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers with kernels that the file includes, where it is the main file of its unit."""
        unit = self.unit
        if unit is None or unit.main != self.source.path:
            return ()
        found = (file.source.path for file in unit.others if any(f.is_kernel for f in file.functions))
        return tuple(dict.fromkeys(found))

    @property
    def stopped(self) -> tuple[Stopped, ...]:
        """Analyses without a result, of those that were asked for so far."""
        return self.ended()

    @property
    def cut(self) -> tuple[Stopped, ...]:
        """Those that the check has asked for and begun, or wanted: not what is left out for being too many, nor fixes
        and verdicts, which are asked for later."""
        return tuple(each for each in self.stopped_in_check if each.why is not Why.MANY)

    @property
    def unseen(self) -> str | None:
        """What of the kernels the check did not look at for want of a larger budget, in one line, where an error may
        hide. Not what was asked for later, such as a verdict."""
        found = list(dict.fromkeys(each.words for each in self.stopped_in_check if each.hides_findings))
        if len(found) > _MOST_NAMED:
            found = [*found[:_MOST_NAMED], f"{len(found) - _MOST_NAMED} more"]
        return "; ".join(found) or None

    @property
    def repeatable(self) -> bool:
        """Is the same to be told of the same text? Not what ended for what the machine has, nor a defect of ours, which
        is told until it is mended."""
        return not any(each.why in (Why.TIME, Why.MEMORY, Why.DEFECT) for each in self.stopped)

    @property
    def defects(self) -> tuple[str, ...]:
        """A line to paste into a bug report for each analysis that failed."""
        return tuple(each.report for each in self.stopped if each.report is not None)
