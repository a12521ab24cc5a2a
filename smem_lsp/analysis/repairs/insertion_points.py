"""Where a barrier could stand that ends races: places in the kernel's own text, the best one in front."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smem_lsp.analysis.hazards.model import Race
from smem_lsp.ir.nodes import Assign, Branch, GlobalAccess, Kernel, Loop, Node, Place, Seq, walk
from smem_lsp.source import checkpoint


def groups(kernel: Kernel, races: Sequence[Race]) -> Iterator[tuple[list[Race], bool]]:
    """Races that one barrier would end, those over a back edge apart: one for each loop. An access that meets itself
    in one iteration is alone."""
    forward = sorted((r for r in races if r.first.point < r.second.point), key=lambda r: r.second.point)
    group: list[Race] = []
    slot = -1
    for race in forward:
        if group and race.first.point < slot <= race.second.point:
            group.append(race)
        else:
            if group:
                yield group, False
            group, slot = [race], race.second.point
    if group:
        yield group, False
    back: dict[int, list[Race]] = {}
    for race in races:
        if race.first.point >= race.second.point:
            loop = common_loop(kernel, (race,))
            back.setdefault(-race.first.point if loop is None else loop.point, []).append(race)
    for group in back.values():
        yield group, True


@dataclass(frozen=True, slots=True)
class InsertionPoint:
    """A place in the kernel's own text. ``before``: the next node of interest, ``after``: the one in front."""

    place: Place
    loops: tuple[Loop, ...]  # around it
    before: Node | None
    after: Node | None

    @property
    def depth(self) -> int:
        return len(self.loops)


def _own_text(kernel: Kernel, place: Place) -> bool:
    """Does it stand in the kernel itself, in text that is there whatever macros are set?"""
    where = place.statement
    return (
        where is not None
        and kernel.span.covers(where)
        and not any(span.covers(where) for span in kernel.conditional)
    )


def spots(kernel: Kernel, places: frozenset[int]) -> list[InsertionPoint]:
    """Those of ``places`` that stand in the kernel's own text."""
    found: list[InsertionPoint] = []

    def collect(seq: Seq, loops: tuple[Loop, ...]) -> None:
        last: Node | None = None
        pending: list[tuple[Place, Node | None]] = []
        for node in seq:
            checkpoint()
            if isinstance(node, Place):
                if node.point in places and _own_text(kernel, node):
                    pending.append((node, last))
            elif not isinstance(node, Assign | GlobalAccess):
                found.extend(InsertionPoint(place, loops, node, after) for place, after in pending)
                pending.clear()
                last = node
        found.extend(InsertionPoint(place, loops, None, after) for place, after in pending)
        for node in seq:
            if isinstance(node, Branch):
                collect(node.then, loops)
                collect(node.otherwise, loops)
            elif isinstance(node, Loop):
                collect(node.body, (*loops, node))

    collect(kernel.body, ())
    return found


def candidates(
    kernel: Kernel, group: Sequence[Race], spots: Sequence[InsertionPoint], *, back: bool
) -> list[int]:
    """Places between the accesses, the one to try first in front: in the fewest loops, as late as possible."""
    if not back:
        low = max(race.first.point for race in group)
        high = min(race.second.point for race in group)
        between = [spot for spot in spots if low < spot.place.point < high]
        return [spot.place.point for spot in sorted(between, key=lambda s: (s.depth, -s.place.point))]
    loop = common_loop(kernel, group)
    if loop is None:
        return []
    first = min(race.second.point for race in group)
    last = max(race.first.point for race in group)
    inside = [spot for spot in spots if loop in spot.loops]
    ends = [spot for spot in inside if spot.place.point > last]
    heads = [spot for spot in inside if spot.place.point < first]
    order = sorted(ends, key=lambda s: (s.depth, -s.place.point)) + sorted(
        heads, key=lambda s: (s.depth, -s.place.point)
    )
    return [spot.place.point for spot in order]


def common_loop(kernel: Kernel, group: Sequence[Race]) -> Loop | None:
    """The innermost loop around all of them."""
    points = [point for race in group for point in (race.first.point, race.second.point)]
    around = [
        node
        for node in walk(kernel.body)
        if isinstance(node, Loop) and all(node.point < point < node.end_point for point in points)
    ]
    return around[-1] if around else None
