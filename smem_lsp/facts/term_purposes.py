"""What takes turns in the bytes of a range in terms: pointers that begin at one place, whose values never pass from one
to the other. They may get bytes of their own again, behind all that the launches pass now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import combinations

from smem_lsp.analysis.dataflow.conflicts import pair
from smem_lsp.analysis.dataflow.interference import interference
from smem_lsp.analysis.decision.inside import stays_between
from smem_lsp.analysis.decision.verdict import asker_of
from smem_lsp.analysis.storage.ranges_in_terms import TermPartition, TermRange
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.values.block_shape import dims_of
from smem_lsp.analysis.values.sums import sum_of, total_of
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.facts.data_flow import DataFlow
from smem_lsp.facts.refills import of_parts
from smem_lsp.ir.nodes import Access, Kernel, walk
from smem_lsp.source import checkpoint, record
from smem_lsp.terms.polynomial import added, is_nonnegative
from smem_lsp.terms.symbolic import SymbolicSum

_EFFORT = 1_000_000  # of the solver
_Groups = dict[int, tuple[tuple[str, ...], ...]]  # by range


@record
class TermPurpose:
    """``names``: its pointers; ``range``: that they begin at; ``size``: bytes that it may take from there."""

    names: tuple[str, ...]
    range: TermRange
    size: SymbolicSum


@record
class TermPurposes:
    """``staying``: pointers that stay where they are, ``moving``: what goes behind all others, in this order;
    ``passed``: the bytes that the launches in sight pass, in words of the kernel."""

    partition: TermPartition
    staying: tuple[str, ...]
    moving: tuple[TermPurpose, ...]
    passed: SymbolicSum

    @property
    def names(self) -> tuple[str, ...]:
        """Of the purposes that take turns, each by its first pointer, those that stay first."""
        return (*self.staying, *(each.names[0] for each in self.moving))

    @property
    def begins(self) -> Mapping[str, SymbolicSum]:
        """By pointer that moves: where it begins afterwards."""
        found: dict[str, SymbolicSum] = {}
        end = self.passed
        for each in self.moving:
            found.update(dict.fromkeys(each.names, end))
            end = added(end, each.size)
        return found

    @property
    def more(self) -> SymbolicSum:
        """Bytes that the launches have to pass in addition."""
        return total_of(each.size for each in self.moving)


def purposes_in_terms(partition: TermPartition, flow: DataFlow) -> TermPurposes | None:
    """None: no two pointers take turns, or what the launches pass is not known in words of the kernel."""
    passed, names = _passed(flow), _pointers(partition)
    followed = all(name in names[partition.of[point]] for point, name in partition.through.items())
    if passed is None or partition.stays or not followed or len(partition.through) < len(partition.of):
        return None
    if all(len(each) < 2 for each in names.values()):
        return None
    groups: _Groups = {index: tuple((each,) for each in own) for index, own in names.items()}
    while any(len(each) > 1 for each in groups.values()):
        checkpoint()
        left = _joined(partition, groups, flow)
        if left == groups:
            return _apart(partition, groups, passed, flow)
        groups = left
    return None


def _apart(
    partition: TermPartition, groups: _Groups, passed: SymbolicSum, flow: DataFlow
) -> TermPurposes | None:
    """A purpose takes all bytes up to the end, unless its accesses provably stay in its range."""
    asker = asker_of(flow.followed, dims_of(flow.fact), flow.followed.effort(_EFFORT))
    accesses = [
        node for node in walk(flow.kernel.body) if isinstance(node, Access) and node.point in partition.of
    ]
    moving: list[TermPurpose] = []
    for each in partition.ranges:
        rest = added(passed, each.begin, -1)
        if not is_nonnegative(rest):
            return None
        for group in groups[each.index][1:]:
            own = [node for node in accesses if partition.through[node.point] in group]
            end = None if each.size is None else added(each.begin, each.size)
            within = end is not None and all(stays_between(asker, access, each.begin, end) for access in own)
            moving.append(TermPurpose(group, each, each.size if within and each.size is not None else rest))
    staying = tuple(own[0][0] for own in groups.values() if len(own) > 1)
    return TermPurposes(partition, staying, tuple(moving), passed)


def _passed(flow: DataFlow) -> SymbolicSum | None:
    """What every launch in sight passes; None: they differ, or it is not known."""
    found = [
        None if each.dynamic is None else sum_of(each.dynamic.value, {}) for each in flow.kernel.launches
    ]
    alike = bool(found) and all(each == found[0] for each in found)
    return found[0] if alike and found[0] and is_nonnegative(found[0]) else None


def _pointers(partition: TermPartition) -> Mapping[int, list[str]]:
    """The pointers that begin where a range begins, in the order of the text."""
    begins = {each.index: each.begin for each in partition.ranges}
    found: dict[int, list[str]] = {each.index: [] for each in partition.ranges}
    for point in sorted(partition.starts):
        _, start = partition.starts[point]
        name, index = partition.through.get(point, ""), partition.of[point]
        if name and start == begins[index] and name not in found[index]:
            found[index].append(name)
    return found


def _joined(partition: TermPartition, groups: _Groups, flow: DataFlow) -> _Groups:
    """``groups``, those of them as one between which values pass."""
    numbers: dict[str, int] = {}
    ranges: list[TermRange] = []
    for each in partition.ranges:
        for group in groups[each.index]:
            numbers.update(dict.fromkeys(group, partition.ranges[0].index + len(ranges)))
            ranges.append(replace(each, index=partition.ranges[0].index + len(ranges), name=group[0]))
    of = {point: numbers[partition.through[point]] for point in partition.of}
    divided = replace(partition, ranges=tuple(ranges), of=of)
    applied, table = divided.applied(flow.kernel), flow.values.table
    again = propagate(applied.body, memory=flow.kernel.memory, rows=table.rows, warp_sizes=table.warp_sizes)
    facts = prove(applied, flow.control, None, again)
    found = interference(applied.body, facts, frozenset())
    named = divided.named(flow.kernel)
    if named is not None:
        _, found = of_parts(named, flow.values, flow.control, facts, frozenset(), found, None)
    lives = found.liveness
    reading = lives.reads_before_write | _updated_first(applied, frozenset(numbers.values()))
    left: _Groups = {}
    for index, own in groups.items():
        parts = [[each] for each in own]
        for a, b in combinations(own, 2):
            both = pair(numbers[a[0]], numbers[b[0]])
            if both in lives.apart or not both.isdisjoint(reading):
                one, other = (next(part for part in parts if each in part) for each in (a, b))
                if one is not other:
                    parts.remove(other)
                    one += other
        left[index] = tuple(tuple(name for group in part for name in group) for part in parts)
    return left


def _updated_first(applied: Kernel, ranges: Collection[int]) -> frozenset[int]:
    """Those of which the first access in the text adds to what is there: ``y[i] += v``."""
    first: dict[int, Access] = {}
    for node in walk(applied.body):
        if isinstance(node, Access) and node.buffer in ranges:
            first.setdefault(node.buffer, node)
    return frozenset(index for index, access in first.items() if access.plain)
