"""What rules look at: one kernel with everything that was found out about it, or the whole file."""

from __future__ import annotations

from dataclasses import dataclass

from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.analysis.conflicts import Conflicts
from smem_lsp.analysis.facts import Facts
from smem_lsp.analysis.liveness import Liveness
from smem_lsp.analysis.occupancy import occupancy
from smem_lsp.analysis.uniformity import Control
from smem_lsp.ir.model import Kernel
from smem_lsp.rules.suppressions import Suppressions
from smem_lsp.source import SourceText, Span
from smem_lsp.syntax.parse import TranslationUnit


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan with what it rests on."""

    plan: Plan
    conflicts: Conflicts
    facts: Facts
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Occupied:
    """What occupancy on one target is computed with. ``registers`` per thread; None when they are not known."""

    arch: str
    threads: int
    registers: int | None
    registers_from: str
    dynamic_bytes: int


@dataclass(frozen=True)
class KernelFacts:
    """One kernel. ``items``: buffers that ptxas keeps, in declaration order. ``best``: rising added barriers."""

    index: int
    source: SourceText
    kernel: Kernel
    control: Control
    items: tuple[Item, ...]
    liveness: Liveness
    declared: Plan | None  # None: some size is not known
    stack: Plan | None
    best: tuple[Candidate, ...]
    occupied: tuple[Occupied, ...]  # per target in force; empty when the threads are not known
    static_limit: int
    withheld: str | None  # why nothing that rests on control or data flow is said of this kernel

    @property
    def static_bytes(self) -> int | None:
        """Bytes that ptxas will report for the kernel as it stands; None when a size is not known."""
        if self.declared is None:
            return None
        total = self.declared.bytes
        for buffer in self.kernel.helper_bytes:
            if buffer.bytes is None or buffer.align is None:
                return None
            total = align_up(total, buffer.align) + buffer.bytes
        return total

    @property
    def exact(self) -> bool:
        return self.static_bytes is not None and self.kernel.unexact is None

    def blocks(self, row: Occupied, static_bytes: int) -> int:
        """Resident blocks/SM with this many static bytes."""
        return self.resident(row, static_bytes)[0]

    def resident(self, row: Occupied, static_bytes: int) -> tuple[int, tuple[str, ...]]:
        """(resident blocks/SM, what limits them) with this many static bytes."""
        found = occupancy(
            row.arch,
            threads=row.threads,
            registers=row.registers,
            static_shared=static_bytes,
            dynamic_shared=row.dynamic_bytes,
            max_dynamic_shared=row.dynamic_bytes,
            opt_in=True,
        )
        return found.blocks, found.limited_by


@dataclass(frozen=True)
class FileFacts:
    """The whole file. ``unread``: statements outside the grammar."""

    source: SourceText
    unit: TranslationUnit
    kernels: tuple[KernelFacts, ...]
    unread: tuple[tuple[Span, str, str | None], ...]  # (where, why, kernel)
    suppressions: Suppressions
