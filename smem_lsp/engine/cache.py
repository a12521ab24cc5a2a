"""What is known of kernels from earlier checks: an edit re-analyses the kernels it touches.

A kernel is found by everything that its answers depend on, except for its place in the file: what was found names
places of the IR, looked up when it is printed. One whose text has changed is lowered again; if what is lowered
is equal to an earlier version, the analyses of that one hold for it, and only the rules look again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from weakref import ref

from smem_lsp.config import Config
from smem_lsp.engine.contexts import Units
from smem_lsp.engine.measured import Measured, Measurement, as_before, kernel_key, measure, sized
from smem_lsp.engine.readings import KernelConfiguration
from smem_lsp.facts.attempts import Attempts, Limits
from smem_lsp.facts.stopped import OF_BUDGET, Stopped, Why
from smem_lsp.ir.author_facts import Annotations
from smem_lsp.ir.nodes import Kernel, LaunchSite
from smem_lsp.ir.places import SourceMap
from smem_lsp.lowering.again import BuiltVersion, build_again
from smem_lsp.lowering.kernel import source_parts
from smem_lsp.lowering.numbered import analysed
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding, KernelFinding, Rule
from smem_lsp.rules.suppressions import Suppressions
from smem_lsp.source import SourceText, Span
from smem_lsp.source.budget import look, used_up
from smem_lsp.source.queries import Query, Store
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function
from smem_lsp.unit.unit_facts import UnitFacts, parts_of

PLACED, JUDGED, DECIDED = "placed", "judged", "decided"
"""Stages of the check of a kernel: what a report prints, what the rules find, its verdict."""


@dataclass
class KnownKernel:
    """What was found out about a kernel, where it stood then."""

    facts: KernelFacts
    placed_within: Limits
    _findings: dict[str, tuple[KernelFinding, ...]] = field(
        default_factory=dict
    )  # of the rules that have run, by code
    _told: tuple[tuple[Rule, ...], tuple[Rule, ...]] = ((), ())
    _stopped: list[Stopped] = field(default_factory=list)  # of the rules
    _read_from: ref[SourceText] | None = (
        None  # the text that it was analysed in, once ``facts`` have let go of it
    )

    @property
    def bytes(self) -> int:
        """About what it keeps alive, by the words of the functions that it is made of."""
        return 80 * (100 + sum(len(each.layout.words) for each in self.facts.kernel.places.parts))

    def stood_in(self, source: SourceText) -> bool:
        """Was it analysed in this very text? If several kernels of it say the same, one of them was."""
        return (self.facts.source if self._read_from is None else self._read_from()) is source

    def stands_as(self, reading: KernelConfiguration) -> bool:
        """Do the functions that it is made of follow each other in the text as those of ``reading`` do, and its
        launches, too? Its places are numbered as they follow each other, and its launches are counted."""
        kernel = self.facts.kernel
        then = [each.span.start for each in kernel.places.parts]
        now = [each.start for each in parts_of(reading.function, reading.around)]
        order = sorted(range(len(then)), key=then.__getitem__)
        return order == sorted(range(len(now)), key=now.__getitem__) and (
            kernel.launches == reading.launches or _passed(kernel.launches) == _passed(reading.launches)
        )

    def answers(self, rules: Iterable[Rule]) -> bool:
        """Can be said what the rules find?"""
        return self._read_from is None or all(rule.code in self._findings for rule in rules)

    def let_go(self) -> None:
        """Keep the answers and not the text of the time: a server would hold one version of the file for each kernel.
        No other rule can be asked for then."""
        if self._read_from is None:
            self._read_from = ref(self.facts.source)
            self.facts = replace(self.facts, source=SourceText("", self.facts.source.path))

    @property
    def stopped(self) -> tuple[Stopped, ...]:
        """Analyses and rules without a result."""
        return (*self.facts.stopped, *self._stopped)

    @property
    def stopped_in_check(self) -> tuple[Stopped, ...]:
        """Those that the check has asked for, without what was asked for later."""
        return (*self.facts.analysis.stopped_in(JUDGED), *self._stopped)

    @property
    def is_cut(self) -> bool:
        """Would the check find more with more work?"""
        return any(each.why in OF_BUDGET for each in self.stopped_in_check)

    def is_placed(self, limits: Limits) -> bool:
        """Is what a report prints of it what would be found out within ``limits``?"""
        analysis = self.facts.analysis
        if any(each.why in OF_BUDGET for each in analysis.stopped_in(PLACED)):
            return self.placed_within == limits
        return analysis.largest(PLACED) <= limits.pass_units and analysis.cost(PLACED) <= limits.kernel_units

    def is_usable(self, reading: KernelConfiguration, rules: Iterable[Rule], limits: Limits) -> bool:
        """Is it what would be found out of ``reading``, but for where that stands?"""
        return self.answers(rules) and self.is_placed(limits) and self.stands_as(reading)

    def is_judged(self, limits: Limits) -> bool:
        """The same of what the rules find, as far as they have been asked."""
        analysis = self.facts.analysis
        if not self.is_cut:
            within = analysis.largest(JUDGED) <= limits.pass_units
            return within and analysis.cost(JUDGED) <= limits.kernel_units
        return analysis.limits == limits or self.is_no_more_than_placed

    @property
    def is_no_more_than_placed(self) -> bool:
        """Has nobody asked for more than a report prints?"""
        analysis = self.facts.analysis
        return (
            analysis.has_ended(PLACED)
            and analysis.spent == analysis.cost(PLACED)
            and not analysis.has_ended(JUDGED)
            and analysis.limits == self.placed_within
        )

    @property
    def placed_cost(self) -> int:
        """Units of work of the passes that a report prints; of those by now, where it is not known yet."""
        return self.facts.analysis.cost(PLACED)

    @property
    def cost(self) -> int:
        """The same, with those that rules have asked for."""
        return self.facts.analysis.cost(JUDGED)

    def findings(self, rule: Rule) -> tuple[KernelFinding, ...]:
        """What a kernel rule finds; nothing where it takes too long or fails. Raises OutOfBudget when it is not the
        rule that has taken the time."""
        found = self._findings.get(rule.code)
        if found is None:
            found = self._findings[rule.code] = self._judged(rule)
        return found

    def _judged(self, rule: Rule) -> tuple[KernelFinding, ...]:
        facts = self.facts
        on_kernel = rule.on_kernel
        assert on_kernel is not None
        if not rule.holds_in(facts.kernel.dialect):
            return ()
        limits = self.placed_within
        attempts = Attempts(limits, facts.kernel.instance or facts.kernel.name)
        found = attempts.run(
            f"{rule.code} {rule.name}",
            lambda: tuple(on_kernel(facts)),
            tuple[KernelFinding, ...](),
            limits.reading_units,
        )
        facts.analysis.require_data_flow()
        if attempts.stopped:
            look()
            self._stopped += (each for each in attempts.stopped if each not in self._stopped)
        return found

    def telling(self, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """Those of the kernel rules that find something."""
        asked, telling = self._told
        if asked != rules:
            telling = tuple(rule for rule in rules if self.findings(rule))
            self._told = rules, telling
        return telling


# A server has one store for these; a single check makes its own.
ANALYSES = Query[tuple[object, ...], KnownKernel]("what was found out about a kernel", each=1, in_use=True)
_VERSIONS = Query[tuple[object, ...], tuple[ref[KnownKernel], ...]]("the last versions of a kernel", each=400)
_NOWHERE = Span(0, 0)
_BLOCK = 50  # bytes of a block of memory, about
_OF_MACHINE = frozenset({Why.TIME, Why.MEMORY})
_MOST_VERSIONS = 4  # of one kernel: as a statement is typed it is whole, broken, and whole again
_BUILT = Query[tuple[object, ...], BuiltVersion]("a kernel as it was built last", each=200)
_LAST = Query[tuple[object, ...], tuple[Measurement, ...]]("what a compiler said of it last", each=2_000)
_MEASURED = Query[tuple[object, ...], tuple[Measurement, ...]]("what a compiler said of a kernel", each=2_000)


@dataclass
class PlacedKernel:
    """A known kernel where it stands now."""

    known: KnownKernel
    reading: KernelConfiguration
    index: int

    @property
    def around(self) -> UnitFacts:
        return self.reading.around

    @property
    def function(self) -> Function:
        return self.reading.function

    @property
    def source(self) -> SourceText:
        return self.around.unit.source

    @property
    def launches(self) -> tuple[LaunchSite, ...]:
        return self.reading.launches

    @property
    def span(self) -> Span:
        return self.function.span

    @cached_property
    def part_spans(self) -> tuple[Span, ...]:
        """Of the functions that it is made of."""
        return tuple(each.span for each in parts_of(self.function, self.around))

    @cached_property
    def places(self) -> SourceMap:
        """Where its places are now."""
        unit, kernel = self.around.unit, self.known.facts.kernel
        now = source_parts(parts_of(self.function, self.around), unit.source)
        return kernel.places.moved(now, dict(_apart(kernel, unit.shared_places)))

    @cached_property
    def stays(self) -> bool:
        """Is it the kernel that was analysed, in that very text? Another kernel of the text may say the same."""
        known = self.known
        return (
            known.stood_in(self.source)
            and known.facts.index == self.index
            and self.places is known.facts.kernel.places
        )

    @property
    def label(self) -> str:
        """``k<32>``, or ``k<32> through runner.cu`` where other files read it differently."""
        kernel = self.known.facts.kernel
        name = kernel.instance or kernel.name
        return f"{name} through {self.reading.contexts[0].main}" if self.reading.differs else name

    @cached_property
    def facts(self) -> KernelFacts:
        """Everything about the kernel, at its present place."""
        old = self.known.facts
        if old.source is self.source and self.stays:
            return old
        return replace(old, index=self.index, source=self.source, kernel=self._kernel)

    @cached_property
    def _kernel(self) -> Kernel:
        """With where it stands and where it is launched now."""
        old = self.known.facts.kernel
        return replace(old, launches=self.launches, contexts=self.reading.contexts, places=self.places)

    def findings(self, rule: Rule) -> Sequence[Finding]:
        """What a kernel rule finds, at its present place."""
        return [each.placed(self.index, self._kernel, self.source) for each in self.known.findings(rule)]


def _apart(kernel: Kernel, now: Mapping[str, Span]) -> Iterator[tuple[Span, Span]]:
    """Where its arrays stood that are declared outside of functions, and where they stand ``now``, by name."""
    for each in kernel.buffers:
        where = kernel.places.span(each.declared)
        if each.name in now and not any(part.span.covers(where) for part in kernel.places.parts):
            yield where, now[each.name]


def _taken() -> int:
    """Blocks of memory that the process holds."""
    return sys.getallocatedblocks()


def _alive(versions: Sequence[ref[KnownKernel]]) -> list[KnownKernel]:
    found = (each() for each in versions)
    return [each for each in found if each is not None]


def _analysed(kernel: Kernel) -> Kernel:
    """What analyses look at of a kernel: where it is launched is not among that."""
    return replace(analysed(kernel), launches=_passed(kernel.launches))


def _passed(launches: Iterable[LaunchSite]) -> tuple[LaunchSite, ...]:
    """The launches but for where they stand in their files."""
    return tuple(replace(each.at(_NOWHERE, 0), caller=None) for each in launches)


@dataclass(frozen=True)
class Setting:
    """What all kernels of one check share."""

    units: Units  # through which the file is read
    suppressions: Suppressions
    config: Config
    cache: Store
    measured: Measured
    limits: Limits
    _new: list[tuple[tuple[object, ...], KnownKernel]] = field(
        default_factory=list
    )  # was not known before, by its key
    _blocks: int = field(default_factory=lambda: _taken())  # of memory, when the check began

    @property
    def around(self) -> UnitFacts:
        """The first of the units."""
        return self.units.read[0]

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What the answers depend on beside the kernel itself."""
        config = self.config
        return config.arch, config.arch_configured, config.threads, config.registers, config.effort

    def place(
        self,
        reading: KernelConfiguration,
        index: int,
        stated: Annotations,
        rules: Sequence[Rule],
        limits: Limits,
    ) -> PlacedKernel:
        """Everything about one kernel that the ``rules`` look at within ``limits``, from the cache where nothing that
        matters has changed."""
        key = (
            reading.key,
            reading.others,
            reading.foremost,
            reading.left_out,
            self.units.named,
            self.key,
            stated,
        )
        known = ANALYSES.find(self.cache, key)
        if known is None or not known.is_usable(reading, rules, limits):
            look()
            unit = reading.around.unit
            versions = (
                reading.key.launched,
                *key[1:],
                None if reading.binding is None else (reading.binding.text, reading.binding.made),
                reading.function.name,
                unit.source.path,
            )
            kernel = self._built(reading, stated, versions)
            kernel = replace(
                kernel,
                siblings=reading.others,
                foremost=reading.foremost,
                contexts=reading.contexts,
                left_out=reading.left_out,
                through=self.units.named,
            )
            known = self._as_before(index, unit.source, kernel, versions, limits)
            if known is None:
                facts = KernelFacts.of(index, unit.source, kernel, self.config, limits)
                known = KnownKernel(facts, limits)
            self._keep_version(versions, known)
            ANALYSES.keep(self.cache, key, known, known.bytes)
            self._new.append((key, known))
        return self._measured(PlacedKernel(known, reading, index), key, rules, limits)

    def _built(
        self, reading: KernelConfiguration, stated: Annotations, versions: tuple[object, ...]
    ) -> Kernel:
        """The kernel, with what is known of how an earlier version of it was built."""
        around, function, launched = reading.around, reading.function, reading.key.launched
        kernel, version = build_again(
            _BUILT.find(self.cache, versions),
            reading.key.parts,
            reading.key.rest,
            around.unit,
            around,
            function,
            reading.binding,
            stated,
            launched,
            reading.launches,
        )
        _BUILT.keep(self.cache, versions, version, version.weight)
        return kernel

    def _as_before(
        self,
        index: int,
        source: SourceText,
        kernel: Kernel,
        versions: tuple[object, ...],
        limits: Limits,
    ) -> KnownKernel | None:
        """What is known within ``limits`` of a version that differs from ``kernel`` in nothing but places, for those of
        this one."""
        before = self._versions(versions)
        if not before:
            return None
        same = _analysed(kernel)
        for each in before:
            analysis = each.facts.analysis
            if same == _analysed(analysis.kernel) and each.is_placed(limits):
                return KnownKernel(KernelFacts(index, source, kernel, analysis), each.placed_within)
        return None

    def _versions(self, versions: tuple[object, ...]) -> list[KnownKernel]:
        return _alive(_VERSIONS.find(self.cache, versions) or ())

    def _keep_version(self, versions: tuple[object, ...], known: KnownKernel) -> None:
        """``known`` is the newest; of those with one analysis one is enough."""
        before = self._versions(versions)
        others = [each for each in before if each.facts.analysis is not known.facts.analysis]
        kept = (known, *others[: _MOST_VERSIONS - 1])
        _VERSIONS.keep(self.cache, versions, tuple(map(ref, kept)))

    def _measured(
        self, placed: PlacedKernel, key: tuple[object, ...], rules: Sequence[Rule], limits: Limits
    ) -> PlacedKernel:
        """``placed`` with what a compiler said of this text, or of an earlier one with the same kernel in it."""
        under, reading = self.measured.under, placed.reading
        if under is None:
            return placed
        found = self.measured.of(reading.around.unit, reading.function, reading.binding)
        if found:
            _MEASURED.keep(self.cache, (key, under), found)
        else:
            found = _MEASURED.find(self.cache, (key, under)) or ()
        last = (placed.facts.source.path, *kernel_key(reading.function, reading.binding), under)
        if found and self.measured.followed:
            _LAST.keep(self.cache, last, found)
        if not found:
            earlier = _LAST.find(self.cache, last) if self.measured.followed else None
            return placed if earlier is None else self._measured_before(placed, key, earlier, rules, limits)
        whole = (key, found)
        known = ANALYSES.find(self.cache, whole)
        if known is not None and known.is_usable(reading, rules, limits):
            return replace(placed, known=known)
        facts = placed.facts
        kernel = sized(facts.kernel, found)
        if kernel is not None:
            facts = KernelFacts.of(facts.index, facts.source, kernel, self.config, limits)
        now = KnownKernel(measure(facts, found), limits)
        known = ANALYSES.keep(self.cache, whole, now, now.bytes)
        return replace(placed, known=known)

    def _measured_before(
        self,
        placed: PlacedKernel,
        key: tuple[object, ...],
        earlier: tuple[Measurement, ...],
        rules: Sequence[Rule],
        limits: Limits,
    ) -> PlacedKernel:
        """``placed`` with the registers that it had before it was edited."""
        whole = (key, earlier, "earlier")
        known = ANALYSES.find(self.cache, whole)
        if known is None or not known.is_usable(placed.reading, rules, limits):
            now = KnownKernel(as_before(placed.facts, earlier), limits)
            known = ANALYSES.keep(self.cache, whole, now, now.bytes)
        return replace(placed, known=known)

    def weigh(self) -> None:
        """Weigh what is new by the memory that was taken meanwhile: what is found out of a kernel may be many times as
        large as its text."""
        taken = _BLOCK * (_taken() - self._blocks)
        for key, known in self._new:
            if ANALYSES.find(self.cache, key) is known:
                ANALYSES.keep(self.cache, key, known, max(known.bytes, taken // len(self._new)))

    def forget(self, placed: PlacedKernel) -> None:
        """Forget what is known of a kernel: it was cut off within other limits than it has now."""
        analysis = placed.known.facts.analysis
        ANALYSES.drop(self.cache, lambda known: known.facts.analysis is analysis)
        _VERSIONS.drop(
            self.cache, lambda known: any(each.facts.analysis is analysis for each in _alive(known))
        )

    def forget_cut(self, placed: Iterable[PlacedKernel], *, every: bool) -> None:
        """Forget those that were cut for what others took, or for what the machine has, or ``every`` one that was cut:
        they may be whole the next time."""
        cut = [
            kernel.known
            for kernel in placed
            if kernel.known.stopped
            and (every or any(each.why in _OF_MACHINE for each in kernel.known.stopped) or used_up())
        ]
        if cut:
            ANALYSES.drop(self.cache, lambda known: any(known is each for each in cut))
            _VERSIONS.drop(self.cache, lambda known: any(each() is one for each in known for one in cut))
