"""Plans in terms for ranges of dynamic shared memory: which begin where afterwards, with the barriers that this takes.

What the ranges rest on in ``terms`` is assumed there and proved here: that what goes through a pointer stays in its
range. How far the last range reaches nothing says but its accesses: the size of another range, or what the launches
pass, where they provably stay in that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from smem_lsp.allocation.layouts import task
from smem_lsp.allocation.plan import Item
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import Interference, interference
from smem_lsp.analysis.decision.inside import stays_between
from smem_lsp.analysis.decision.question import RaceQueries
from smem_lsp.analysis.decision.verdict import asker_of
from smem_lsp.analysis.storage.ranges_in_terms import TermPartition, TermRange
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.values.block_shape import dims_of
from smem_lsp.analysis.values.pointer_ranges import assignments
from smem_lsp.analysis.values.sums import larger, may_be_negative, passed_by, spelled, sum_of, text_of
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.facts.data_flow import DataFlow
from smem_lsp.facts.layouts import LayoutCandidate, curve_of
from smem_lsp.facts.refills import of_parts
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import Access, Branch, Kernel, Loop, walk
from smem_lsp.ir.values import Op
from smem_lsp.source import checkpoint, record
from smem_lsp.terms.operators import Operator
from smem_lsp.terms.polynomial import added, evaluated, is_nonnegative
from smem_lsp.terms.symbolic import Atom, Symbol, SymbolicSum, symbols_of

_EFFORT = 3_000_000  # of the solver, for all accesses of one kernel
_SAMPLE = 4096  # what a symbol stands for where places for barriers are looked for
_OF_BLOCK = 256
_MOST_DYNAMIC_ALIGN = 16  # CUDA programming guide: what the start of dynamic shared memory is aligned to

_MOST_GUARDS = 6
_COMPARISONS = (
    Operator.LESS,
    Operator.LESS_EQUAL,
    Operator.GREATER,
    Operator.GREATER_EQUAL,
    Operator.NOT_EQUAL,
)

_Sizes = Mapping[int, SymbolicSum | None]  # by range; None: how far it reaches is not known


@record
class ProvedRanges:
    """The kernel with the ranges as its buffers, of unknown sizes; ``facts``: of its body."""

    kernel: Kernel
    facts: Facts
    interference: Interference


@record
class TermPlan:
    """``begins``: by range, its first byte afterwards; ``columns``: ranges (their indices) that begin at one place;
    ``before`` and ``after``: bytes of all ranges, of all but the last one where ``open_end``: how far that reaches is
    not known; ``candidate``: what the plan rests on, its bytes are those of a sample; ``doubt``: why it may not be
    applied."""

    partition: TermPartition
    begins: Mapping[int, SymbolicSum]
    columns: tuple[tuple[int, ...], ...]
    before: SymbolicSum
    after: SymbolicSum
    open_end: bool
    candidate: LayoutCandidate
    doubt: Cause | None

    @property
    def words(self) -> str:
        """``8·n → 4·n B``"""
        return f"{spelled(self.before)} → {spelled(self.after)} B"

    @property
    def below(self) -> str:
        """Of which bytes these are, in words; empty: of all."""
        return f" below `{self.partition.ranges[-1].name}`" if self.open_end else ""

    @property
    def named_columns(self) -> tuple[tuple[str, ...], ...]:
        own = {each.index: each.name for each in self.partition.ranges}
        return tuple(tuple(own[index] for index in column) for column in self.columns)

    @property
    def saved(self) -> SymbolicSum:
        return added(self.before, self.after, -1)

    @property
    def shifts(self) -> Mapping[int, SymbolicSum]:
        """By range: bytes that it moves by, none above 0."""
        return {each.index: added(self.begins[each.index], each.begin, -1) for each in self.partition.ranges}

    @property
    def decisive(self) -> tuple[SymbolicSum, ...]:
        """What the rewrite is made of: where ranges begin, before and afterwards, and what it saves. How many bytes the
        last range has, behind all others, is of no matter to it."""
        before = tuple(each.begin for each in self.partition.ranges)
        return (*before, *self.begins.values(), self.saved)

    @property
    def symbols(self) -> tuple[str, ...]:
        """That these are made of, and of these what may be negative though no parameter is."""
        atoms = {atom for total in self.decisive for product in total for atom in product}
        found = {each.name for total in self.decisive for each in symbols_of(total)}
        return tuple(sorted(found.union(text_of(each) for each in atoms if may_be_negative(each))))


def plans_in_terms(partition: TermPartition, flow: DataFlow) -> tuple[TermPlan, ...]:
    """Plans that save bytes, rising in added barriers, each saving more than the one before for all sizes."""
    base = flow.kernel.buffers[partition.base]
    if len(partition.ranges) < 2 or partition.stays or not base.seen:
        return ()
    asker = asker_of(flow.followed, dims_of(flow.fact), flow.followed.effort(_EFFORT))
    through = _accesses(partition, flow)
    sizes: _Sizes = {each.index: each.size for each in partition.ranges}
    last = partition.ranges[-1]
    sizes = {**sizes, last.index: _last_size(partition, through[last.index], asker, flow)}
    plans: list[TermPlan] = []
    doubts: dict[bool, Cause | None] = {}
    for candidate in _curve(partition, flow, sizes):
        checkpoint()
        found = _columns(partition.ranges, sizes, candidate)
        plan = None if found is None else _plan(partition, sizes, found, candidate)
        least = plans[-1].saved if plans else {}
        gained = {} if plan is None else added(plan.saved, least, -1)
        if plan is None or not gained or not is_nonnegative(gained) or not _aligned(plan, through, flow):
            continue
        alone = plan.columns[-1] == (last.index,)
        if alone not in doubts:
            doubts[alone] = _doubt(
                partition, through, {**sizes, **({last.index: None} if alone else {})}, asker
            )
        plans.append(replace(plan, doubt=doubts[alone]))
    return tuple(plans)


def _accesses(partition: TermPartition, flow: DataFlow) -> Mapping[int, list[Access]]:
    """By range."""
    found: dict[int, list[Access]] = {each.index: [] for each in partition.ranges}
    for node in walk(flow.kernel.body):
        if isinstance(node, Access) and node.point in partition.of:
            found[partition.of[node.point]].append(node)
    return found


def _last_size(
    partition: TermPartition, accesses: Sequence[Access], asker: RaceQueries, flow: DataFlow
) -> SymbolicSum | None:
    """Bytes from the start of the last range that its accesses provably stay in; None: not known. Tried is what another
    range has, what launches pass, and what conditions of the kernel compare with (``i < m``), smaller ones first where
    that is known."""
    last = partition.ranges[-1]
    choices = [each.size for each in partition.ranges[:-1] if each.size is not None]
    for site in flow.kernel.launches:
        passed = passed_by(site)
        if passed is not None:
            choices.append(added(passed, last.begin, -1))
    choices += _guarded(flow.kernel, max((each.width or 0 for each in accesses), default=0))
    known: list[SymbolicSum] = []
    for each in choices:
        checkpoint()
        smaller = (at for at, other in enumerate(known) if is_nonnegative(added(other, each, -1)))
        if is_nonnegative(each) and each and each not in known:
            known.insert(next(smaller, len(known)), each)
    for each in known:
        end = added(last.begin, each)
        if all(stays_between(asker, access, last.begin, end) for access in accesses):
            return each
    return None


def _guarded(kernel: Kernel, width: int) -> Iterator[SymbolicSum]:
    """Bytes of so many elements as conditions compare with, the first few of them."""
    assigned = assignments(kernel)
    found: list[SymbolicSum] = []
    for node in walk(kernel.body):
        if not isinstance(node, Branch | Loop) or not isinstance(node.condition, Op):
            continue
        if node.condition.operator not in _COMPARISONS:
            continue
        for side in node.condition.args:
            checkpoint()
            total = sum_of(side, assigned)
            if total and node.condition.operator in (Operator.LESS_EQUAL, Operator.GREATER_EQUAL):
                total = added(total, {(): 1})
            if total and is_nonnegative(total) and total not in found and len(found) < _MOST_GUARDS:
                found.append(total)
    for total in found:
        yield {product: n * width for product, n in total.items()}


def _doubt(
    partition: TermPartition, through: Mapping[int, list[Access]], sizes: _Sizes, asker: RaceQueries
) -> Cause | None:
    """The first access of which is not proved that it stays in its range."""
    for each in partition.ranges:
        size = sizes[each.index]
        end = None if size is None else added(each.begin, size)
        for access in through[each.index]:
            checkpoint()
            if not stays_between(asker, access, each.begin, end):
                return Cause(CauseKind.LEAVES_RANGE, access.line, (each.name,))
    return None


def proved_in_terms(partition: TermPartition, flow: DataFlow, fixed: frozenset[int]) -> ProvedRanges:
    """The kernel with the ranges as its buffers, and what is proved of it. ``fixed``: those whose ends are not
    known."""
    applied = partition.applied(flow.kernel)
    table = flow.values.table
    again = propagate(applied.body, memory=flow.kernel.memory, rows=table.rows, warp_sizes=table.warp_sizes)
    facts = prove(applied, flow.control, None, again)
    found = interference(applied.body, facts, fixed)
    named = partition.named(flow.kernel)
    if named is not None:
        facts, found = of_parts(named, flow.values, flow.control, facts, fixed, found, None)
    return ProvedRanges(applied, facts, found)


def _curve(partition: TermPartition, flow: DataFlow, sizes: _Sizes) -> tuple[LayoutCandidate, ...]:
    """Which conflicts are left with how many barriers: of a sample of the sizes, whose bytes do not matter."""
    fixed = frozenset(index for index, size in sizes.items() if size is None)
    proved = proved_in_terms(partition, flow, fixed)
    items = [Item(each.index, each.name, _sampled(sizes[each.index] or {}), 1) for each in partition.ranges]
    return curve_of(task(items, proved.kernel.body, proved.facts, fixed, proved.interference))


def _sampled(total: SymbolicSum) -> int:
    return evaluated(total, _sample)


def _sample(atom: Atom) -> int:
    of_block = isinstance(atom, Symbol) and atom.name.startswith("blockDim.")
    return _OF_BLOCK if of_block else _SAMPLE


def _columns(
    ranges: Sequence[TermRange], sizes: _Sizes, candidate: LayoutCandidate
) -> list[list[TermRange]] | None:
    """Each range in the first column in which it conflicts with none; one that has no known end comes last, alone."""
    apart = candidate.conflicts.every
    columns: list[list[TermRange]] = []
    for each in ranges:
        checkpoint()
        fitting = (
            own
            for own in columns
            if not any(frozenset((each.index, other.index)) in apart for other in own)
            and _largest([*own, each], sizes) is not None
        )
        column = next(fitting, None)
        if column is None:
            columns.append([each])
        else:
            column.append(each)
    return columns if len(columns) < len(ranges) else None


def _largest(column: Sequence[TermRange], sizes: _Sizes) -> SymbolicSum | None:
    """The bytes of a column; None: which of its ranges is the largest is not known."""
    found: SymbolicSum | None = {}
    for each in column:
        size = sizes[each.index]
        found = None if found is None or size is None else larger(found, size)
    return found


def _plan(
    partition: TermPartition,
    sizes: _Sizes,
    columns: Sequence[Sequence[TermRange]],
    candidate: LayoutCandidate,
) -> TermPlan | None:
    """None: a range would move up, to where the launches may pass no bytes."""
    first, last = partition.ranges[0], partition.ranges[-1]
    at, begins = first.begin, dict[int, SymbolicSum]()
    for column in columns:
        for each in column:
            begins[each.index] = at
            if not is_nonnegative(added(each.begin, at, -1)):
                return None
        at = added(at, _largest(column, sizes) or {})
    own = tuple(tuple(each.index for each in column) for column in columns)
    before = added(last.begin, sizes[last.index] or {})
    return TermPlan(partition, begins, own, before, at, sizes[last.index] is None, candidate, None)


def _aligned(plan: TermPlan, through: Mapping[int, list[Access]], flow: DataFlow) -> bool:
    """Is each range at least as aligned as before, or as its accesses need, whatever the sizes are?"""
    for each in plan.partition.ranges:
        needed = 1
        for access in through[each.index]:
            buffer = flow.kernel.buffers[access.buffer]
            width = access.width or buffer.element_bytes or _MOST_DYNAMIC_ALIGN
            needed = max(needed, min(width & -width, _MOST_DYNAMIC_ALIGN), buffer.required_align)
        places = (plan.begins[each.index], plan.shifts[each.index])
        if not any(all(n % needed == 0 for n in place.values()) for place in places):
            return False
    return True
