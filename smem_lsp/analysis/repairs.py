"""Where a barrier ends races: at a place that all threads come to, judged again with the barrier in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from smem_lsp.analysis.races import Hazards, Race
from smem_lsp.analysis.script import is_free
from smem_lsp.analysis.terms import WARP, Term
from smem_lsp.analysis.uniformity import Levels
from smem_lsp.analysis.values import Values
from smem_lsp.ir.model import Branch, Kernel, Loop, Place, Seq, walk

_TRIES = 6  # places that are judged for one gap


@dataclass(frozen=True, slots=True)
class Gap:
    """Races that one barrier ends. ``back``: over the back edge of a loop; ``place``: point of the place where the
    barrier would stand; None: nowhere, as far as one can prove."""

    races: tuple[Race, ...]
    back: bool
    place: int | None


@dataclass(frozen=True, slots=True)
class Gaps:
    """``across``: where a barrier of the block is missing; ``within``: where one of the warp is, when those stand."""

    across: tuple[Gap, ...] = ()
    within: tuple[Gap, ...] = ()


class Judge(Protocol):
    """Judges the kernel with barriers added at places."""

    def __call__(self, *, added: frozenset[int] = ..., added_in_warps: frozenset[int] = ...) -> Hazards: ...


def find_gaps(
    kernel: Kernel, found: Hazards, places: frozenset[int], warp_places: frozenset[int], judge: Judge
) -> Gaps:
    """The races of a kernel in as few groups as barriers are missing. ``places``: where all threads of the block come
    to; ``warp_places``: where perhaps all lanes of a warp do."""
    across = tuple(_gaps(kernel, found.across, places, lambda point: judge(added=frozenset((point,)))))
    stand = frozenset(gap.place for gap in across if gap.place is not None)
    if len(stand) < len(across):
        return Gaps(across)  # what the missing barriers would order between lanes is not known
    rest = judge(added=stand) if stand else found

    def in_warps(point: int) -> Hazards:
        return judge(added=stand, added_in_warps=frozenset((point,)))

    return Gaps(across, tuple(_gaps(kernel, rest.within, warp_places, in_warps)))


def warp_places(kernel: Kernel, values: Values, levels: Levels, places: frozenset[int]) -> frozenset[int]:
    """``places``, and those that whole warps may come to: around them nothing is decided lane by lane but what can be
    worked out for every thread."""
    found = set(places)

    def collect(seq: Seq) -> None:
        for node in seq:
            if isinstance(node, Place):
                found.add(node.point)
            elif isinstance(node, Branch):
                if _clear(values.conditions[node.point]):
                    collect(node.then)
                    collect(node.otherwise)
            elif isinstance(node, Loop):
                loop = values.loops[node.point]
                if all(map(_clear, (loop.first, loop.head, loop.again, *loop.exits))):
                    collect(node.body)

    def _clear(term: Term) -> bool:
        return levels.level(term) <= WARP or not is_free(term)

    collect(kernel.body)
    return frozenset(found)


def _gaps(
    kernel: Kernel, races: Sequence[Race], places: frozenset[int], again: Callable[[int], Hazards]
) -> Iterator[Gap]:
    if not races:
        return
    spots = _spots(kernel, places)
    for group, back in _groups(kernel, races):
        candidates = _candidates(kernel, group, spots, back=back)[:_TRIES]
        place = next((point for point in candidates if _ends(again(point), group, point)), None)
        yield Gap(tuple(group), back, place)


def _ends(after: Hazards, group: Sequence[Race], point: int) -> bool:
    still = {(race.first.point, race.second.point) for race in after.races}
    return point not in after.split and not any(
        (race.first.point, race.second.point) in still for race in group
    )


def _groups(kernel: Kernel, races: Sequence[Race]) -> Iterator[tuple[list[Race], bool]]:
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
            loop = _common_loop(kernel, (race,))
            back.setdefault(-race.first.point if loop is None else loop.point, []).append(race)
    for group in back.values():
        yield group, True


@dataclass(frozen=True, slots=True)
class _Spot:
    place: Place
    depth: int  # loops around it
    loops: tuple[Loop, ...]


def _own_text(kernel: Kernel, place: Place) -> bool:
    """Does it stand in the kernel itself, in text that is there whatever macros are set?"""
    where = place.statement
    return (
        where is not None
        and kernel.span.covers(where)
        and not any(span.covers(where) for span in kernel.conditional)
    )


def _spots(kernel: Kernel, places: frozenset[int]) -> list[_Spot]:
    found: list[_Spot] = []

    def collect(seq: Seq, loops: tuple[Loop, ...]) -> None:
        for node in seq:
            if isinstance(node, Place):
                if node.point in places and _own_text(kernel, node):
                    found.append(_Spot(node, len(loops), loops))
            elif isinstance(node, Branch):
                collect(node.then, loops)
                collect(node.otherwise, loops)
            elif isinstance(node, Loop):
                collect(node.body, (*loops, node))

    collect(kernel.body, ())
    return found


def _candidates(kernel: Kernel, group: Sequence[Race], spots: Sequence[_Spot], *, back: bool) -> list[int]:
    """Places between the accesses, the one to try first in front: in the fewest loops, as late as possible."""
    if not back:
        low = max(race.first.point for race in group)
        high = min(race.second.point for race in group)
        between = [spot for spot in spots if low < spot.place.point < high]
        return [spot.place.point for spot in sorted(between, key=lambda s: (s.depth, -s.place.point))]
    loop = _common_loop(kernel, group)
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


def _common_loop(kernel: Kernel, group: Sequence[Race]) -> Loop | None:
    """The innermost loop around all of them."""
    points = [point for race in group for point in (race.first.point, race.second.point)]
    around = [
        node
        for node in walk(kernel.body)
        if isinstance(node, Loop) and all(node.point < point < node.end_point for point in points)
    ]
    return around[-1] if around else None
