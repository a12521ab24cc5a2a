"""Where a barrier that ends races could stand: places in the kernel's own text, the best one in front."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from smem_lsp.analysis.hazards.model import Race
from smem_lsp.ir.nodes import Assignment, BarrierSite, GlobalAccess, Kernel, Loop, Node, Seq, bodies, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class InsertionPoint:
    """A place in the kernel's own text. ``loops``: those around it, from the outside in; ``previous``, ``following``:
    the nearest nodes in its sequence that are no assignment and no access to global memory."""

    place: BarrierSite
    loops: tuple[Loop, ...]
    previous: Node | None
    following: Node | None

    @property
    def point(self) -> int:
        return self.place.point

    @property
    def depth(self) -> int:
        return len(self.loops)


def is_own_text(kernel: Kernel, place: BarrierSite) -> bool:
    """Does it stand in the kernel itself, in text that is there whatever macros are set?"""
    where = place.statement
    return (
        where is not None
        and kernel.at.covers(where)
        and not any(span.covers(where) for span in kernel.conditional)
    )


def insertion_points(kernel: Kernel, places: frozenset[int]) -> list[InsertionPoint]:
    """Those of ``places`` that stand in the kernel's own text."""
    return list(_points(kernel, kernel.body, places, ()))


def _points(
    kernel: Kernel, seq: Seq, places: frozenset[int], loops: tuple[Loop, ...]
) -> Iterator[InsertionPoint]:
    last: Node | None = None
    pending: list[tuple[BarrierSite, Node | None]] = []
    for node in seq:
        checkpoint()
        if isinstance(node, BarrierSite):
            if node.point in places and is_own_text(kernel, node):
                pending.append((node, last))
        elif not isinstance(node, Assignment | GlobalAccess):
            yield from (InsertionPoint(place, loops, previous, node) for place, previous in pending)
            pending.clear()
            last = node
    yield from (InsertionPoint(place, loops, previous, None) for place, previous in pending)
    for node in seq:
        for inner in bodies(node):
            yield from _points(kernel, inner, places, (*loops, node) if isinstance(node, Loop) else loops)


def candidates(
    kernel: Kernel, races: Sequence[Race], points: Sequence[InsertionPoint], *, back: bool
) -> list[int]:
    """Points between the accesses, the one to try first in front: in the fewest loops, as late as possible. ``back``:
    between them over the back edge of a loop, at its end before its head."""
    if not back:
        low = max(race.first.point for race in races)
        high = min(race.second.point for race in races)
        return _in_order(each for each in points if low < each.point < high)
    loop = common_loop(kernel, races)
    if loop is None:
        return []
    first = min(race.second.point for race in races)
    last = max(race.first.point for race in races)
    inside = [each for each in points if loop in each.loops]
    return [
        *_in_order(each for each in inside if each.point > last),
        *_in_order(each for each in inside if each.point < first),
    ]


def _in_order(points: Iterable[InsertionPoint]) -> list[int]:
    return [each.point for each in sorted(points, key=lambda each: (each.depth, -each.point))]


def common_loop(kernel: Kernel, races: Sequence[Race]) -> Loop | None:
    """The innermost loop around all accesses of these races."""
    points = [point for race in races for point in (race.first.point, race.second.point)]
    around = [
        node
        for node in walk(kernel.body)
        if isinstance(node, Loop) and all(node.point < point < node.end_point for point in points)
    ]
    return around[-1] if around else None
