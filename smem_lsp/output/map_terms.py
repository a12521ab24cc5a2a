"""Layouts in terms of a launch: ranges of dynamic shared memory whose bytes are no numbers.

They are drawn for sizes of about a thousand, chosen so that no two of the bytes that a map shows coincide; wherever a
map would print such a byte it prints the term instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from smem_lsp.allocation.plan import Plan
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.storage.ranges_in_terms import TermPartition
from smem_lsp.analysis.values.sums import number_of, spelled, text_of
from smem_lsp.facts.layouts import Layouts
from smem_lsp.facts.term_plans import TermPlan
from smem_lsp.facts.terms import passed_in_terms
from smem_lsp.ir.causes import Cause
from smem_lsp.ir.nodes import Buffer, Kernel
from smem_lsp.output.map_layouts import MapLayout, MapPart, layouts_beside
from smem_lsp.rules.cause_words import on_line
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import checkpoint, listed
from smem_lsp.source.record import dataclass
from smem_lsp.terms.polynomial import added, is_nonnegative
from smem_lsp.terms.symbolic import SymbolicSum

_SAMPLE = 1024  # what a symbol stands for, or a little more
_STEP = 8
_MOST_TRIES = 24
_REST = "…"  # how far the last range reaches, where nothing says it


@dataclass(frozen=True, slots=True)
class TermMap:
    """``facts``: of the kernel with its ranges as buffers; ``base``: the array that they are in; ``texts``: what is
    printed for a byte of the drawing; ``saved``: for what a layout of so many bytes gives back; ``samples``: what
    symbols stand for; ``assumes``: what the ranges rest on, in words, where that is not proved."""

    facts: KernelFacts
    base: int
    layouts: tuple[MapLayout, ...]
    texts: Mapping[int, str]
    saved: Mapping[int, str]
    samples: Mapping[str, int]
    assumes: str

    @property
    def scale(self) -> str:
        """``n = 1,024 and m = 1,032``: what it is drawn for."""
        return listed(f"{symbol} = {value:,}" for symbol, value in self.samples.items())


def term_map(facts: KernelFacts) -> TermMap | None:
    """None: there are no two ranges in terms, or no sizes tell all bytes apart."""
    found, proved = facts.dynamic_terms, facts.of_terms
    if found is None or proved is None or len(found.partition.ranges) < 2:
        return None
    plans = facts.term_plans
    partition = found.partition
    symbols = sorted(
        {text_of(each) for total in _sums(partition, plans) for product in total for each in product}
    )
    for attempt in range(_MOST_TRIES):
        checkpoint()
        places = enumerate(symbols)
        sheet = _Sheet(partition, plans, {name: _SAMPLE + _STEP * at * (at + attempt) for at, name in places})
        drawn = sheet.drawn(facts, proved)
        if drawn is not None:
            return drawn
    return None


def _sums(partition: TermPartition, plans: Sequence[TermPlan]) -> Iterator[SymbolicSum]:
    for each in partition.ranges:
        yield each.begin
        yield each.size or {}
    for plan in plans:
        yield from (*plan.begins.values(), plan.before, plan.after)


@dataclass(slots=True)
class _Sheet:
    """One choice of sizes to draw for (``samples``, by symbol)."""

    partition: TermPartition
    plans: Sequence[TermPlan]
    samples: Mapping[str, int]
    texts: dict[int, str] = field(default_factory=dict)
    coincide: bool = False

    def drawn(self, facts: KernelFacts, proved: Facts) -> TermMap | None:
        """None: two bytes coincide that differ in terms, or a range has none."""
        sizes = self.sizes(facts.kernel)
        known = [self.sampled(size) for size in sizes.values() if size is not None]
        if not known or min(known) <= 0:
            return None
        rest = max(known) // 2 + 1  # of a range that may reach any number of bytes
        widths = {at: rest if size is None else self.sampled(size) for at, size in sizes.items()}
        own = self.of_ranges(facts, widths)
        begins = {each.index: each.begin for each in self.partition.ranges}
        made = [self.layout(own, Plan("declared", 0, {}, optimal=True), begins, widths, proved)]
        made += [
            self.layout(own, plan.candidate.plan, plan.begins, widths, plan.candidate.facts, plan.doubt)
            for plan in self.plans
        ]
        layouts = layouts_beside(facts, made, self.partition.base)
        less = {each.plan.bytes: plan.saved for each, plan in zip(made[1:], self.plans)}
        first, saved = layouts[0], dict[int, str]()
        for layout in layouts:
            at = layout.dynamic_at or 0
            for places in (begins, *(plan.begins for plan in self.plans)):
                self.write_edges(places, sizes, widths, at)
            given: SymbolicSum = {(): (first.dynamic_at or 0) - at} if at != first.dynamic_at else {}
            saved[layout.plan.bytes] = spelled(added(less.get(layout.plan.bytes - at, {}), given))
        if self.coincide:
            return None
        proved_all = bool(self.plans) and self.plans[0].doubt is None
        assumes = "" if proved_all else self.partition.assumes
        base = self.partition.base
        return TermMap(own, base, tuple(layouts), self.texts, saved, self.samples, assumes)

    def sizes(self, kernel: Kernel) -> Mapping[int, SymbolicSum | None]:
        """By range; that of the last one is what a plan has found, or what all launches pass; None: nothing says how
        far it reaches."""
        sizes = {each.index: each.size for each in self.partition.ranges}
        last = self.partition.ranges[-1]
        whole = self.plans[0].before if self.plans and not self.plans[0].open_end else passed_in_terms(kernel)
        size = None if whole is None else added(whole, last.begin, -1)
        return {**sizes, last.index: size if size and is_nonnegative(size) else None}

    def of_ranges(self, facts: KernelFacts, widths: Mapping[int, int]) -> KernelFacts:
        """The kernel with its ranges as buffers of so many bytes."""
        kernel = self.partition.applied(facts.kernel)
        whole = kernel.buffers[self.partition.base].name
        buffers = (self.drawn_buffer(each, whole, widths) for each in kernel.buffers)
        return replace(facts, kernel=replace(kernel, buffers=tuple(buffers)), instead=Layouts((), None, ()))

    def drawn_buffer(self, each: Buffer, whole: str, widths: Mapping[int, int]) -> Buffer:
        """``whole``: the name of the array, which a range at its start may have, too."""
        if each.index not in widths:
            return each
        name = f"{whole} + 0" if each.name == whole else each.name
        fixed = each.fixed if self.partition.stays else None
        written = replace(each.written, dims=("",))
        return replace(each, name=name, bytes=widths[each.index], written=written, fixed=fixed)

    def layout(
        self,
        own: KernelFacts,
        plan: Plan,
        begins: Mapping[int, SymbolicSum],
        widths: Mapping[int, int],
        under: Facts,
        doubt: Cause | None = None,
    ) -> MapLayout:
        """``plan`` with the ranges where they begin in the drawing."""
        offsets = {at: self.sampled(begin) for at, begin in begins.items()}
        top = max(offset + widths[at] for at, offset in offsets.items())
        placed = replace(plan, bytes=top, offsets=offsets, lower_bound=0, clique=(), optimal=False)
        assumes = () if doubt is None else (on_line(own.kernel, doubt),)
        return MapLayout(placed, (MapPart(own, placed, under),), assumes)

    def write_edges(
        self,
        begins: Mapping[int, SymbolicSum],
        sizes: Mapping[int, SymbolicSum | None],
        widths: Mapping[int, int],
        at: int,
    ) -> None:
        """What is printed for the first byte, the end and the bytes of each range, the first one behind ``at``."""
        before: SymbolicSum = {(): at} if at else {}
        for index, begin in begins.items():
            start, size = added(before, begin), sizes[index]
            byte = self.sampled(start)
            self.write(byte, spelled(start))
            if size is None:
                self.write(byte + widths[index], f"{spelled(start)} + {_REST}")
                self.write(widths[index], _REST)
            else:
                self.write(byte + widths[index], spelled(added(start, size)))
                self.write(widths[index], spelled(size))

    def write(self, byte: int, text: str) -> None:
        self.coincide = self.coincide or self.texts.setdefault(byte, text) != text

    def sampled(self, total: SymbolicSum) -> int:
        found = number_of(total, self.samples)
        assert found is not None
        return found
