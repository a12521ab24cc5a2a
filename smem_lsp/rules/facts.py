"""What rules look at: one kernel with everything that was found out about it, or the whole file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.analysis.banks.conflicts import BankConflict
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.liveness import Liveness
from smem_lsp.analysis.hazards.model import Hazards
from smem_lsp.analysis.hazards.redundant_barriers import Redundant
from smem_lsp.analysis.occupancy import occupancy, shared_for_one_more_block, shared_until_one_less
from smem_lsp.analysis.repairs.barrier_hoisting import Hoist
from smem_lsp.analysis.repairs.missing_barriers import MissingBarriers
from smem_lsp.analysis.storage.dynamic_need import Need
from smem_lsp.analysis.storage.dynamic_ranges import Carving
from smem_lsp.analysis.threads.divergence import Verdicts
from smem_lsp.analysis.threads.mispairing import Mispaired
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.ir.nodes import Dims, Kernel
from smem_lsp.rules.stopped import Stopped
from smem_lsp.rules.suppressions import Suppressions
from smem_lsp.source import SourceText, Span
from smem_lsp.syntax.parse import TranslationUnit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plan with what it rests on. ``assumes_shape``: it is proved only for the block shape of the launch in sight
    or of the settings, which is no fact."""

    plan: Plan
    conflicts: Conflicts
    facts: Facts
    assumes_shape: bool = False


@dataclass(frozen=True, slots=True)
class Carved:
    """Ranges of a buffer, of dynamic shared memory or the members of a class, as buffers of their own. ``declared``:
    where they are; ``lives``: first and last point of each."""

    carving: Carving
    items: tuple[Item, ...]
    declared: Plan
    best: tuple[Candidate, ...]
    lives: Mapping[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Lending:
    """Arrays of the functions that a kernel calls, each in the bytes of one of its own buffers: ``hosts``, by the index
    of the array. ``bytes``: of the buffers that are left; ``plan``: where everything is."""

    hosts: Mapping[int, int]
    bytes: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class Occupied:
    """What occupancy on one target is computed with. ``registers`` per thread; None when they are not known.
    ``barriers``: of the hardware, per block. ``spill_bytes``: stores and loads, as a compiler counted them.
    ``most_of_several``: launches pass different numbers of dynamic bytes, this is the largest."""

    arch: str
    threads: int
    registers: int | None
    registers_from: str
    dynamic_bytes: int
    barriers: int = 1
    spill_bytes: int | None = None
    most_of_several: bool = False

    @property
    def dynamic_words(self) -> str:
        """``, 9,000 B dynamic``, where not every launch passes so many."""
        return f", {self.dynamic_bytes:,} B dynamic" if self.most_of_several else ""


@dataclass(frozen=True)
class KernelFacts:
    """One kernel. ``items``: buffers that ptxas keeps, in declaration order. ``best``: rising added barriers."""

    index: int
    source: SourceText
    kernel: Kernel
    control: Control
    verdicts: Verdicts
    items: tuple[Item, ...]
    liveness: Liveness
    declared: Plan | None  # None: some size is not known
    stack: Plan | None
    compared: tuple[Plan, ...]  # of the other allocators: alias, best_fit
    best: tuple[Candidate, ...]
    occupied: tuple[Occupied, ...]  # per target in force; empty when the threads are not known
    static_limit: int
    targets: tuple[str, ...]  # in force
    configured: bool  # somebody said that these targets are meant
    shape: BlockShape | None
    withheld: str | None  # why nothing that rests on control or data flow is said of this kernel
    mispaired: tuple[Mispaired, ...]
    hoists: tuple[Hoist, ...]  # of those barriers
    hazards: Hazards
    missing: MissingBarriers
    redundant: tuple[Redundant, ...]  # barriers
    banks: tuple[BankConflict, ...]
    needs: Mapping[Dims, Need]  # block of a launch -> dynamic bytes that it is sure to touch
    extents: Mapping[int, tuple[int, int]]  # buffer -> (first byte, end byte) of what is touched, where known
    carved: Carved | None = None  # ranges of dynamic shared memory, where they are known
    uncarved: Carved | None = None  # all of dynamic shared memory, where it is one range
    storages: tuple[Carved, ...] = ()  # members of classes in static shared memory, one item for each buffer
    lending: Lending | None = None  # what arrays of helpers could save
    drained: tuple[Candidate, ...] = ()  # what one more wait for copies could save, like ``best``
    stopped: tuple[Stopped, ...] = ()  # analyses without a result

    @property
    def of_ranges(self) -> KernelFacts | None:
        """The same kernel with its ranges of dynamic shared memory in the place of its static buffers."""
        return None if self.carved is None else self.split(self.carved)

    @property
    def of_drained(self) -> KernelFacts | None:
        """The same kernel with one more wait for its copies, and the layouts that this allows."""
        if self.kernel.drained is None or not self.drained:
            return None
        return replace(self, kernel=self.kernel.with_wait(self.kernel.drained), best=self.drained, drained=())

    def split(self, carved: Carved) -> KernelFacts:
        """The same kernel with the ranges of a buffer in its place."""
        return replace(
            self,
            kernel=carved.carving.applied(self.kernel),
            items=carved.items,
            declared=carved.declared,
            stack=None,
            compared=(),
            best=carved.best,
        )

    def assumptions(self, candidate: Candidate) -> tuple[str, ...]:
        """What a plan rests on, in words for titles."""
        kernel = self.kernel
        found = list(kernel.hidden)
        if kernel.instance is not None and (kernel.siblings or kernel.more_instances):
            found.insert(0, f"checked for {kernel.instance}")
        if candidate.assumes_shape:
            found[:0] = self.shape_assumption
        return tuple(found)

    @property
    def shape_assumption(self) -> tuple[str, ...]:
        """In words, when the shape of the block is no fact."""
        if self.shape is None or self.shape.fact:
            return ()
        return (f"assumes {self.shape.threads} threads ({self.shape_source})",)

    @property
    def shape_source(self) -> str:
        """Where the shape of the block is from, in words: ``launch line 40``, ``setting``, ``assume``; empty when it is
        not known."""
        if self.shape is None:
            return ""
        site = self.kernel.launches[0] if self.kernel.launches else None
        return f"launch line {site.line}" if self.shape.source == "launch" and site else self.shape.source

    @property
    def static_bytes(self) -> int | None:
        """Bytes that ptxas will report for the kernel as it stands; None when a size is not known."""
        if self.declared is None or any(b.bytes is None or b.align is None for b in self.kernel.helper_bytes):
            return None
        return self.total(self.declared.bytes)

    def total(self, own: int) -> int:
        """Static bytes of the kernel when its own buffers take ``own``: with its helpers' arrays, and rounded up when
        the file uses dynamic shared memory."""
        for buffer in self.kernel.helper_bytes:
            own = align_up(own, buffer.align or 1) + (buffer.bytes or 0)
        return align_up(own, self.kernel.rounding) if own else 0

    @property
    def exact(self) -> bool:
        total = self.static_bytes
        certain = total is not None and total % self.kernel.possible_rounding == 0
        return certain and self.kernel.unexact is None

    def blocks(self, row: Occupied, static_bytes: int) -> int:
        """Resident blocks/SM with this many static bytes (a ``total``)."""
        return self.resident(row, static_bytes)[0]

    def next_steps(self, row: Occupied, static_bytes: int) -> tuple[int | None, int | None]:
        """(bytes less for one more resident block/SM, bytes more before one is lost) from this many static bytes."""
        return (
            _asked(shared_for_one_more_block, row, static_bytes),
            _asked(shared_until_one_less, row, static_bytes),
        )

    def resident(self, row: Occupied, static_bytes: int) -> tuple[int, tuple[str, ...]]:
        """(resident blocks/SM, what limits them) with this many static bytes."""
        found = _asked(occupancy, row, static_bytes)
        return found.blocks, found.limited_by


def _asked(question: Callable[..., T], row: Occupied, static_bytes: int) -> T:
    """The answer of a function of analysis/occupancy.py for a launch that has opted in to its dynamic bytes."""
    return question(
        row.arch,
        threads=row.threads,
        registers=row.registers,
        static_shared=static_bytes,
        dynamic_shared=row.dynamic_bytes,
        max_dynamic_shared=row.dynamic_bytes,
        opt_in=True,
        barriers=row.barriers,
    )


@dataclass(frozen=True)
class FileFacts:
    """The whole file. ``unread``: statements outside the grammar; ``stopped``: analyses of it and of its kernels
    without a result, known once the other rules have run."""

    source: SourceText
    unit: TranslationUnit | None  # None: it could not be read within its budget
    unread: tuple[tuple[Span, str, str | None], ...]  # (where, why, kernel)
    suppressions: Suppressions
    stopped: tuple[Stopped, ...] = ()
