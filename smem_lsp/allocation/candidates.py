"""Where a barrier could be added so that two buffers may share bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.ir.nodes import Access, Assignment, BarrierSite, Loop, Seq, bodies
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

UNKNOWN_TRIPS = 8  # assumed trips of a loop whose count is unknown

Path = tuple[tuple[Seq, int], ...]  # from the kernel's body down: the block and the position in it


@dataclass(frozen=True, slots=True)
class Candidate:
    """``point`` of the place; ``cost``: executions of a barrier there per block."""

    point: int
    cost: int


def candidates(body: Seq, facts: Facts, witnesses: Iterable[tuple[Access, Access]]) -> list[Candidate]:
    """Places where a barrier may separate one of ``witnesses``, accesses o and m with m after o, by rising point.

    Per witness: right before m and before each statement around m that does not hold o; at the end of the
    body of each loop that holds both; right after the statement that holds o, in the innermost block that
    holds both. Of several places with nothing but assignments between them, only the latest.
    """
    index = _Index(facts)
    _visit(body, (), 1, index)
    points: set[int] = set()
    for o, m in witnesses:
        points.update(_cures(index.paths[o.point], index.paths[m.point]))
    points = {index.latest.get(point, point) for point in points}
    return [Candidate(point, index.costs[point]) for point in sorted(points) if point in facts.places]


@dataclass(frozen=True, slots=True)
class _Index:
    facts: Facts
    paths: dict[int, Path] = field(default_factory=dict)  # by the point of an access
    costs: dict[int, int] = field(default_factory=dict)  # by the point of a place
    latest: dict[int, int] = field(default_factory=dict)  # place -> the last allowed one of the same effect


def _visit(seq: Seq, above: Path, cost: int, index: _Index) -> None:
    same: list[int] = []
    for at, node in enumerate(seq.items):
        checkpoint()
        if isinstance(node, Assignment):
            continue
        if isinstance(node, BarrierSite):
            if node.point in index.facts.places:
                index.costs[node.point] = cost
                same.append(node.point)
            continue
        index.latest.update(dict.fromkeys(same, same[-1] if same else 0))
        same.clear()
        path = (*above, (seq, at))
        if isinstance(node, Access):
            index.paths[node.point] = path
        turns = (UNKNOWN_TRIPS if node.trips is None else node.trips) if isinstance(node, Loop) else 1
        for inner in bodies(node):
            _visit(inner, path, cost * turns, index)
    index.latest.update(dict.fromkeys(same, same[-1] if same else 0))


def _cures(o: Path, m: Path) -> Iterable[int]:
    parting = 0  # the innermost block that holds both
    while parting + 1 < min(len(o), len(m)) and o[parting + 1][0] is m[parting + 1][0]:
        parting += 1
    same_statement = o[parting][1] == m[parting][1]
    for seq, at in m[parting + same_statement :]:
        yield from _before(seq, at)
    for seq, at in m[:parting]:
        node = seq.items[at]
        if isinstance(node, Loop):
            yield from _after(node.body, len(node.body) - 2)
    yield from _after(*o[parting])


def _before(seq: Seq, at: int) -> Iterable[int]:
    """The place before the statement of the item at ``at``: one statement may be several items."""
    for node in reversed(seq.items[:at]):
        if isinstance(node, BarrierSite):
            yield node.point
            return


def _after(seq: Seq, at: int) -> Iterable[int]:
    for node in seq.items[max(at, -1) + 1 :]:
        if isinstance(node, BarrierSite):
            yield node.point
            return
