"""A layout in terms of ranges of dynamic shared memory: ``8·n → 4·n bytes``, without an added barrier."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.interference import interference, relate
from smem_lsp.analysis.storage.ranges_in_terms import TermPartition, TermRange
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.sums import larger, passed_by, spelled, total_of
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.facts.refills import of_parts
from smem_lsp.ir.nodes import Kernel
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.polynomial import added
from smem_lsp.terms.symbolic import SymbolicSum


@dataclass(frozen=True, slots=True)
class TermLayout:
    """``columns``: ranges (their indices) that may begin at one place, one column behind the other; ``saved``: bytes
    that this takes away."""

    partition: TermPartition
    columns: tuple[tuple[int, ...], ...]
    saved: SymbolicSum

    @property
    def ranges(self) -> tuple[tuple[str, str, str | None], ...]:
        """(name, first byte, bytes) of each; None: to the end of the array."""
        return tuple(
            (each.name, spelled(each.begin), None if each.size is None else spelled(each.size))
            for each in self.partition.ranges
        )

    @property
    def named_columns(self) -> tuple[tuple[str, ...], ...]:
        own = {each.index: each.name for each in self.partition.ranges}
        return tuple(tuple(own[index] for index in column) for column in self.columns)

    @property
    def saves(self) -> str | None:
        return spelled(self.saved) if self.saved else None

    @property
    def before(self) -> str:
        """Bytes up to the last range, which ends with the array."""
        return spelled(self.partition.ranges[-1].begin)

    @property
    def after(self) -> str:
        return spelled(added(self.partition.ranges[-1].begin, self.saved, -1))


def passed_in_terms(kernel: Kernel) -> SymbolicSum | None:
    """The dynamic bytes that all launches in sight pass, in the kernel's own terms; None: there are none, or they
    differ."""
    found = [passed_by(site) for site in kernel.launches]
    return found[0] if found and all(each == found[0] for each in found) else None


def passed_words(kernel: Kernel) -> str:
    """``8·n B``: the same as text; empty: not known."""
    passed = passed_in_terms(kernel)
    return f"{spelled(passed)} B" if passed else ""


def layout_in_terms(
    partition: TermPartition, kernel: Kernel, control: Control, values: ValueFacts
) -> TermLayout:
    """Each range in the first column in which it conflicts with none. The last one, whose end is not known, stays
    alone. No element is told from another, so only barriers that are there keep two ranges apart; but what is filled
    again is told by the bytes of the whole array."""
    ranges = partition.ranges
    if len(ranges) < 3 or partition.stays:
        return TermLayout(partition, tuple((each.index,) for each in ranges), {})
    applied = partition.applied(kernel)
    again = propagate(
        applied.body, memory=kernel.memory, rows=values.table.rows, warp_sizes=values.table.warp_sizes
    )
    facts = prove(applied, control, None, again)
    found = interference(applied.body, facts, frozenset())
    named = partition.named(kernel)
    if named is not None:
        _, found = of_parts(named, values, control, facts, frozenset(), found, None)
    conflicts = relate(found)
    columns: list[list[TermRange]] = []
    for each in ranges[:-1]:
        checkpoint()
        column = next((own for own in columns if _fits(each, own, conflicts)), None)
        if column is None:
            columns.append([each])
        else:
            column.append(each)
    sizes = total_of(_largest(column) or {} for column in columns)
    saved = added(added(ranges[-1].begin, ranges[0].begin, -1), sizes, -1)
    return TermLayout(
        partition, (*(tuple(each.index for each in column) for column in columns), (ranges[-1].index,)), saved
    )


def _fits(each: TermRange, column: Sequence[TermRange], conflicts: Conflicts) -> bool:
    apart = conflicts.every.row(each.index)
    return not any(apart >> other.index & 1 for other in column) and _largest([*column, each]) is not None


def _largest(column: Sequence[TermRange]) -> SymbolicSum | None:
    """The bytes of a column; None: which of its ranges is the largest is not known."""
    found: SymbolicSum | None = {}
    for each in column:
        found = None if found is None or each.size is None else larger(found, each.size)
    return found
