"""What rules look at: one kernel with everything that can be found out about it, or the whole file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.analysis.banks.conflicts import BankConflict
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.liveness import Life, Liveness
from smem_lsp.analysis.decision.mispaired import Mispaired
from smem_lsp.analysis.execution.named_barrier_arrivals import Miscount
from smem_lsp.analysis.hazards.model import Hazards, MissingLane, Overrun, ProxyHazard, Race
from smem_lsp.analysis.hazards.redundant_barriers import Redundant
from smem_lsp.analysis.host.survey import HostResources
from smem_lsp.analysis.occupancy import occupancy, shared_for_one_more_block, shared_until_one_less
from smem_lsp.analysis.repairs.barrier_hoisting import Hoist
from smem_lsp.analysis.repairs.missing_barriers import MissingBarriers
from smem_lsp.analysis.storage.dynamic_need import Need
from smem_lsp.analysis.threads.divergence import Verdicts
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockAssumption, BlockShape
from smem_lsp.config import Config
from smem_lsp.facts.attempts import LIMITS, Limits
from smem_lsp.facts.caller_reuse import CallerReuse
from smem_lsp.facts.kernel_analysis import KernelAnalysis
from smem_lsp.facts.layouts import LayoutCandidate, Layouts
from smem_lsp.facts.occupied import Bound, Occupied
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.facts.questions import Questions
from smem_lsp.facts.stopped import Stopped
from smem_lsp.facts.term_plans import TermPlan
from smem_lsp.facts.term_purposes import TermPurposes
from smem_lsp.facts.terms import TermLayout
from smem_lsp.ir.causes import Cause, Opens
from smem_lsp.ir.nodes import Dims, Kernel
from smem_lsp.ir.places import At, Row
from smem_lsp.rules import cause_words, ground
from smem_lsp.rules.ground import Grade
from smem_lsp.rules.model import Severity
from smem_lsp.rules.suppressions import Suppressions
from smem_lsp.rules.words import Words, said
from smem_lsp.source import SourceText, Span, listed, plural
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import TranslationUnit
from smem_lsp.targets.every import STATIC_LIMIT

T = TypeVar("T")


@dataclass(frozen=True)
class KernelFacts:
    """One kernel where it stands now. What is asked for is worked out then, and once; see ``KernelAnalysis``.

    ``analysis``: of the kernel, wherever it stood. ``instead``: other layouts than those of its static buffers."""

    index: int
    source: SourceText
    kernel: Kernel
    analysis: KernelAnalysis
    instead: Layouts | None = None

    @classmethod
    def of(
        cls, index: int, source: SourceText, kernel: Kernel, config: Config, limits: Limits = LIMITS
    ) -> KernelFacts:
        """Of a kernel as it was read from ``source``; nothing is worked out yet."""
        analysis = KernelAnalysis(kernel, config, limits)
        return cls(index, source, analysis.kernel, analysis)

    @property
    def static_limit(self) -> int:
        """Bytes of static shared memory that ptxas accepts."""
        return STATIC_LIMIT

    @property
    def measurable(self) -> bool:
        """Has the kernel shared memory, and does nvcc compile it?"""
        return self.kernel.dialect.nvidia and bool(self.kernel.buffers or self.kernel.helper_bytes)

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that the kernel is checked for."""
        return tuple(self.analysis.config.arch)

    @property
    def configured(self) -> bool:
        """Did the user choose the targets?"""
        return self.analysis.config.arch_configured

    @property
    def stopped(self) -> tuple[Stopped, ...]:
        """Analyses without a result, of those that were asked for."""
        return self.analysis.stopped

    @property
    def withheld(self) -> Cause | None:
        """Why rules that rest on control or data flow say nothing of this kernel; None: they may."""
        return self.kernel.irregular or self.analysis.withheld

    def told(self, words: Iterable[Words]) -> list[str]:
        """Words about the kernel as text, with lines of the file."""
        return [str(each.placed(self.kernel, self.source)) for each in words]

    def span(self, at: At) -> Span:
        """Where a place of the kernel is in the file."""
        return self.kernel.places.span(at)

    def text(self, at: At) -> str:
        """What stands at a place of the kernel."""
        return self.source.slice(self.span(at))

    def is_in_parts(self, at: At) -> bool:
        """Does it stand in a function that the kernel is made of?"""
        where = self.span(at)
        return any(part.span.covers(where) for part in self.kernel.places.parts)

    def lines_of(self, life: Life) -> tuple[int, int]:
        """The first and the last line of it, that of the kernel's name where there is none."""
        first, last = life.first_line or self.kernel.row, life.last_line or self.kernel.row
        return self.line(first), self.line(last)

    def line(self, row: Row) -> int:
        """A line of the kernel as one of the file, from 1 on."""
        return self.kernel.places.line(row)

    @property
    def shape(self) -> BlockShape | None:
        return self.analysis.flow.shape

    @property
    def shapes(self) -> tuple[BlockShape, ...]:
        """The blocks that somebody names."""
        return self.analysis.flow.shapes

    @property
    def control(self) -> Control:
        return self.analysis.flow.control

    @property
    def verdicts(self) -> Verdicts:
        return self.analysis.flow.verdicts

    @property
    def liveness(self) -> Liveness:
        return self.analysis.flow.interference.liveness

    @property
    def hazards(self) -> Hazards:
        return self.analysis.hazards

    @property
    def questions(self) -> Questions:
        """What decision can be asked: whether one thread alone comes to an access in an iteration, whether two
        threads meet."""
        return Questions(self.analysis.launched_flow)

    @property
    def missing_barriers(self) -> MissingBarriers:
        return self.analysis.missing_barriers

    @property
    def redundant(self) -> tuple[Redundant, ...]:
        """Barriers that no accesses need."""
        return self.analysis.redundant

    @property
    def mispaired(self) -> tuple[Mispaired, ...]:
        """Barriers that some threads of the block do not reach."""
        return self.analysis.mispaired

    @property
    def hoists(self) -> tuple[Hoist, ...]:
        """Where those barriers could move to."""
        return self.analysis.hoists

    @property
    def banks(self) -> tuple[BankConflict, ...]:
        return self.analysis.banks

    @property
    def needs(self) -> Mapping[Dims, Need]:
        """By the block of a launch: the dynamic bytes that it is sure to touch."""
        return self.analysis.needs

    @property
    def bounds_from_indices(self) -> tuple[str, ...]:
        """What indices say of the block, in words: ``at most 256 threads in x, if no index leaves `s[256]`."""
        return tuple(
            f"at most {plural(most, 'thread')} in {axis}, if no index leaves `{array}`"
            for axis, most, array in self.analysis.bounds_from_indices
        )

    @property
    def unwritten(self) -> frozenset[int]:
        """Reads (points) that no write can precede, the first of each buffer."""
        return self.analysis.unwritten

    @property
    def extents(self) -> Mapping[int, tuple[int, int]]:
        """By buffer: the first byte and the end of what is touched, where that is known."""
        return self.analysis.extents

    @property
    def occupied(self) -> tuple[Occupied, ...]:
        """Per target in force; empty when the threads are not known."""
        return self.analysis.occupied

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Per target in force, where ``occupied`` is empty or sizes are not known: what bounds the blocks of an SM."""
        return self.analysis.bounds

    @property
    def block_words(self) -> Words:
        """The block that ``occupied`` counts with, and who names it: ``the 256×1×1 block of line 40``."""
        if self.shape is not None:
            return ground.block(self.kernel, self.shape)
        threads = self.occupied[0].threads if self.occupied else 0
        stated = self.analysis.config.threads is not None
        who = "that --threads states" if stated else "that `__launch_bounds__` allows"
        return said(f"the {threads} threads {who}") if threads else Words()

    @property
    def items(self) -> tuple[Item, ...]:
        """Buffers that ptxas keeps, in declaration order; empty when some size is not known."""
        return self.analysis.items if self.instead is None else self.instead.items

    @property
    def declared(self) -> Plan | None:
        """As ptxas lays them out; None when some size is not known."""
        return self.analysis.declared if self.instead is None else self.instead.declared

    @property
    def best(self) -> tuple[LayoutCandidate, ...]:
        """The best plans, rising in added barriers."""
        return self.analysis.best if self.instead is None else self.instead.best

    @property
    def stack(self) -> Plan | None:
        return None if self.instead is not None else self.analysis.compared.get("stack")

    @property
    def compared(self) -> tuple[Plan, ...]:
        """The plans of the other allocators: alias, best_fit."""
        found = {} if self.instead is not None else self.analysis.compared
        return tuple(found[name] for name in ("alias", "best_fit") if name in found)

    @property
    def dynamic_partition(self) -> PartitionLayouts | None:
        """The ranges of dynamic shared memory, where they are known and more than one."""
        found = self.analysis.dynamic_partition
        return found if found is not None and len(found.partition.ranges) > 1 else None

    @property
    def dynamic_terms(self) -> TermLayout | None:
        """The ranges of dynamic shared memory in terms, under an assumption."""
        return self.analysis.dynamic_terms

    @property
    def of_terms(self) -> Facts | None:
        """What is proved of the kernel with its ranges in terms as buffers."""
        return self.analysis.of_terms

    @property
    def term_plans(self) -> tuple[TermPlan, ...]:
        """What its ranges of dynamic shared memory in terms could save, rising in added barriers."""
        return self.analysis.term_plans

    @property
    def dynamic_refusals(self) -> tuple[Cause, ...]:
        """Why the ranges of dynamic shared memory are not known, or why some of them are one."""
        return self.analysis.dynamic_refusals

    @property
    def class_partitions(self) -> tuple[PartitionLayouts, ...]:
        """Members of classes in static shared memory, one item for each buffer."""
        return self.analysis.class_partitions

    @property
    def dynamic_purposes(self) -> PartitionLayouts | None:
        """What takes turns in the bytes of dynamic shared memory."""
        return self.analysis.dynamic_purposes

    @property
    def term_purposes(self) -> TermPurposes | None:
        """The same, where its ranges are known in terms only."""
        return self.analysis.term_purposes

    @property
    def caller_reuse(self) -> CallerReuse | None:
        """What arrays of called functions could save."""
        return self.analysis.caller_reuse

    @property
    def of_ranges(self) -> KernelFacts | None:
        """The same kernel with its ranges of dynamic shared memory in the place of its static buffers."""
        return None if self.dynamic_partition is None else self.split(self.dynamic_partition)

    @property
    def of_drained(self) -> KernelFacts | None:
        """The same kernel with one more wait for its copies, and the layouts that this allows."""
        if self.instead is not None or self.kernel.drained is None or not self.analysis.with_wait:
            return None
        layouts = Layouts(self.items, self.declared, self.analysis.with_wait)
        return replace(self, kernel=self.kernel.with_wait(self.kernel.drained), instead=layouts)

    def split(self, divided: PartitionLayouts) -> KernelFacts:
        """The same kernel with the ranges of a buffer in its place."""
        return replace(self, kernel=divided.partition.applied(self.kernel), instead=divided.layouts)

    def assumptions(self, candidate: LayoutCandidate, *, of_instance: bool = True) -> tuple[Words, ...]:
        """What a plan rests on, in words for titles. ``of_instance``: that it was checked for one, too."""
        kernel = self.kernel
        found = cause_words.causes(kernel.open(Opens.ANYTHING))
        found += [said(f"{each.names[0]} is not in sight") for each in kernel.open(Opens.UNDECLARED)]
        if of_instance and kernel.instance is not None and (kernel.siblings or kernel.more_instances):
            found.insert(0, said(f"checked for {kernel.instance}"))
        if candidate.assumes_shape:
            found[:0] = *self.shape_assumption, *self._room_assumption
        if candidate.fills:
            found.insert(0, said("assumes blocks that fill all that they read"))
        return (*self.wrap_assumption, *found)

    @property
    def wrap_assumption(self) -> tuple[Words, ...]:
        """In words, where numbers that decide what the kernel touches are taken not to wrap."""
        names = self.analysis.flow.values.unwrapped()
        return (said(f"assumes that nothing computed of {listed(names)} wraps"),) if names else ()

    @property
    def _room_assumption(self) -> tuple[Words, ...]:
        """In words, where the ranges of dynamic shared memory rest on blocks of a certain size at most, or on what is
        passed."""
        divided = self.analysis.dynamic_partition
        assumed = "" if divided is None else divided.partition.assumes
        return (said(assumed),) if assumed else ()

    @property
    def shape_assumption(self) -> tuple[Words, ...]:
        """In words, when the shape of the block is no fact."""
        if self.shape is None or self.shape.fact:
            return ()
        return (said("assumes ", ground.block(self.kernel, self.shape)),)

    def ground(self, shown: Race | Overrun | MissingLane | ProxyHazard | Miscount) -> BlockAssumption:
        """The blocks for which it is shown."""
        return self.analysis.ground(shown)

    def graded(self, shown: Race | Overrun | MissingLane | ProxyHazard, severity: Severity) -> Grade:
        """What a finding about it may say; ``severity``: its highest."""
        likely = isinstance(shown, Race | MissingLane) and shown.data
        likely = likely or (isinstance(shown, MissingLane) and shown.tail)
        likely = likely or (isinstance(shown, Overrun) and self._another_block_may_do(shown))
        under = shown.condition if isinstance(shown, Race | MissingLane) else None
        return ground.graded(self.kernel, self.ground(shown), severity, likely=likely, under=under)

    def _another_block_may_do(self, shown: Overrun) -> bool:
        """Is there a block that somebody names, or a launch with one that is not known, for which it is not shown?"""
        on = self.ground(shown)
        return not on.all_named or (
            bool(on.named) and any(site.block is None for site in self.kernel.launches)
        )

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
    """The whole file. ``unread``: statements outside the grammar that concern a kernel, shared memory or a barrier;
    ``stopped``: analyses of it and of its kernels without a result, known once the other rules have run; ``host``: its
    host functions, not walked yet; ``effort``: the word of the settings."""

    source: SourceText
    unit: TranslationUnit | None  # None: it could not be read within its budget
    unread: tuple[tuple[Span, str, str | None], ...]  # (where, why, kernel)
    suppressions: Suppressions
    stopped: tuple[Stopped, ...] = ()
    host: HostResources | None = None
    effort: str = "normal"
