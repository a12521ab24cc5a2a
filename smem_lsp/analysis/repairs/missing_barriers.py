"""Where a barrier ends races: at a place that all threads come to, judged again with the barrier in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.program import Added
from smem_lsp.analysis.hazards.model import Hazards, Race, pairs_of
from smem_lsp.analysis.repairs.copy_waits import MissingCopyWait, WaitChecker, missing_copy_waits
from smem_lsp.analysis.repairs.insertion_points import candidates, common_loop, insertion_points
from smem_lsp.analysis.repairs.proxy_fences import Fence, fences
from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, BarrierSite, Branch, Kernel, Node, Region, placed, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Level, Term, is_free

_TRIES = 6  # places that are tried for one missing barrier
_FEWEST = 6  # times a kernel is judged, at least
_WORK = 600  # times a kernel is judged, times the number of its accesses and races


@dataclass(frozen=True, slots=True)
class MissingBarrier:
    """Races that one barrier ends. ``back``: they go over the back edge of a loop; ``place``: point of the place where
    the barrier would stand; None: no place is proved to end them."""

    races: tuple[Race, ...]
    back: bool
    place: int | None


@dataclass(frozen=True, slots=True)
class MissingBarriers:
    """Where something is missing. ``across``: a barrier of the block; ``within``: a barrier of the warp, once those of
    the block stand; ``copies``: where an asynchronous copy is not waited for, or not by all threads that read it;
    ``fences``: where the asynchronous proxy may not see what it reads, or what it reads is overwritten."""

    across: tuple[MissingBarrier, ...] = ()
    within: tuple[MissingBarrier, ...] = ()
    copies: tuple[MissingCopyWait, ...] = ()
    fences: tuple[Fence, ...] = ()


def find_missing_barriers(
    kernel: Kernel, found: Hazards, places: frozenset[int], warp_places: frozenset[int], judge: WaitChecker
) -> MissingBarriers:
    """The races of a kernel in as few groups as barriers are missing. ``places``: where all threads of the block come
    to; ``warp_places``: where perhaps all lanes of a warp do."""
    fenced: tuple[Fence, ...] = ()
    if found.proxies:
        fenced = tuple(fences(kernel, found.proxies, insertion_points(kernel, places), judge))
    return replace(_barriers(kernel, found, places, warp_places, judge), fences=fenced)


def _barriers(
    kernel: Kernel, found: Hazards, places: frozenset[int], warp_places: frozenset[int], judge: WaitChecker
) -> MissingBarriers:
    trial = _Trials(kernel, found, judge)
    copying = [race for race in found.races if race.first.asynchronous]
    copies: tuple[MissingCopyWait, ...] = ()
    if copying:
        copies = tuple(missing_copy_waits(kernel, copying, insertion_points(kernel, places), trial))

    def with_barrier(point: int, asked: frozenset[Pair]) -> Hazards:
        return trial(added=Added(frozenset((point,))), asked=asked)

    plain = [race for race in found.across if not (race.first.asynchronous or race.named)]
    across = (
        *_between_named(race for race in found.across if race.named),
        *_missing(kernel, plain, places, with_barrier),
    )
    stand = frozenset(each.place for each in across if each.place is not None)
    if copies:
        # what the missing barriers would order between lanes is not known
        return MissingBarriers(across, (), copies)
    rest = judge(added=Added(stand), asked=pairs_of(found.races)) if stand else found
    open_ = [_window(kernel, each.races, back=each.back) for each in across if each.place is None]
    within = [
        race for race in rest.within if not any(_meets(each, _window(kernel, (race,))) for each in open_)
    ]

    def with_warp_barrier(point: int, asked: frozenset[Pair]) -> Hazards:
        return trial(added=Added(stand, frozenset((point,))), asked=asked)

    return MissingBarriers(across, tuple(_missing(kernel, within, warp_places, with_warp_barrier)))


def _window(kernel: Kernel, races: Sequence[Race], *, back: bool = False) -> tuple[int, int]:
    """Behind which point, and at which at the latest, a barrier of the block stands that ends these races: anywhere in
    the loop that they go around."""
    if not back and all(race.first.point <= race.second.point for race in races):
        return max(race.first.point for race in races), min(race.second.point for race in races)
    loop = common_loop(kernel, races)
    return (0, kernel.body.below[-1].point) if loop is None else (loop.point, loop.end_point)


def _meets(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return max(one[0], other[0]) < min(one[1], other[1])


class _Trials:
    """Judges the kernel with something added, a limited number of times; from then on nothing ends a race."""

    def __init__(self, kernel: Kernel, found: Hazards, judge: WaitChecker) -> None:
        accesses = sum(isinstance(node, Access) for node in walk(kernel.body))
        self.left = max(_FEWEST, _WORK // (accesses + len(found.races) + 1))
        self.found, self.judge = found, judge

    def __call__(self, *, added: Added, asked: frozenset[Pair] | None = None) -> Hazards:
        if self.left == 0:
            return self.found
        self.left -= 1
        after = self.judge(added=added, asked=asked)
        return self.found if after.full else after


def warp_places(kernel: Kernel, values: ValueFacts, levels: Levels, places: frozenset[int]) -> frozenset[int]:
    """``places``, and those that whole warps may come to: what is decided around them is the same for all lanes of a
    warp, or can be worked out for every thread."""

    def is_clear(term: Term) -> bool:
        return levels.level(term) <= Level.WARP or not is_free(term)

    regions = (node for node in walk(kernel.body) if isinstance(node, Region))
    clear = {node.point for node in regions if all(map(is_clear, _decide(node, values)))}
    return places.union(
        node.point
        for node, around in placed(kernel.body)
        if isinstance(node, BarrierSite) and all(each.point in clear for each in around)
    )


def _decide(node: Node, values: ValueFacts) -> tuple[Term, ...]:
    """The terms that decide who runs what is inside."""
    if isinstance(node, Branch):
        return (values.conditions[node.point],)
    loop = values.loops[node.point]
    return (loop.first, loop.head, loop.again, *loop.exits)


def _groups(kernel: Kernel, races: Sequence[Race]) -> Iterator[tuple[list[Race], bool]]:
    """Races that one barrier would end, and whether they go over a back edge. Races over a back edge make one group for
    each loop. An access that conflicts with itself in one iteration is alone."""
    forward = sorted((r for r in races if r.first.point < r.second.point), key=lambda r: r.second.point)
    group: list[Race] = []
    end = -1  # the barrier stands in front of this point
    for race in forward:
        if group and race.first.point < end <= race.second.point:
            group.append(race)
        else:
            if group:
                yield group, False
            group, end = [race], race.second.point
    if group:
        yield group, False
    back: dict[int, list[Race]] = {}
    for race in races:
        if race.first.point >= race.second.point:
            loop = common_loop(kernel, (race,))
            back.setdefault(-race.first.point if loop is None else loop.point, []).append(race)
    for group in back.values():
        yield group, True


def _missing(
    kernel: Kernel,
    races: Sequence[Race],
    places: frozenset[int],
    judge: Callable[[int, frozenset[Pair]], Hazards],
) -> Iterator[MissingBarrier]:
    """One for each group of ``races``. ``judge``: which of some pairs race with a barrier at a point."""
    if not races:
        return
    points = insertion_points(kernel, places)
    at_ends: dict[int, list[Race]] = {}  # place -> races that go over a back edge, which a barrier there ends
    for group, back in _groups(kernel, races):
        checkpoint()
        known = not any(race.cut for race in group)  # else a barrier of the warp may not be enough
        pairs = pairs_of(group)

        def place_of(back: bool, pairs: frozenset[Pair] = pairs, group: Sequence[Race] = group) -> int | None:
            tried = candidates(kernel, group, points, back=back)[:_TRIES]
            return next((each for each in tried if _ends(judge(each, pairs), pairs, each)), None)

        place = place_of(back) if known else None
        if known and place is None and not back:  # the second one may be that of a later iteration
            place = place_of(True)
            back = place is not None
        if back and place is not None:
            at_ends.setdefault(place, []).extend(group)
        else:
            yield MissingBarrier(tuple(group), back, place)
    for place, group in at_ends.items():
        yield MissingBarrier(tuple(group), True, place)


def _between_named(races: Iterable[Race]) -> Iterator[MissingBarrier]:
    """Races between warps that go different ways, by buffer: a barrier of the block would not end them."""
    by_buffer: dict[int, list[Race]] = {}
    for race in races:
        by_buffer.setdefault(race.first.buffer, []).append(race)
    for group in by_buffer.values():
        yield MissingBarrier(tuple(group), False, None)


def _ends(after: Hazards, pairs: frozenset[Pair], point: int) -> bool:
    return point not in after.split and pairs.isdisjoint(pairs_of(after.races))
