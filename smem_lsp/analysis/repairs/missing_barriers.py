"""Where a barrier ends races: at a place that all threads come to, judged again with the barrier in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.program import Added
from smem_lsp.analysis.hazards.model import Hazards, Race, pairs_of
from smem_lsp.analysis.repairs.copy_waits import CopyGap, Judge, copy_gaps
from smem_lsp.analysis.repairs.insertion_points import candidates, groups, spots
from smem_lsp.analysis.repairs.proxy_fences import Fence, fences
from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.terms import Level, Term, is_free
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Branch, Kernel, Loop, Place, Seq, walk
from smem_lsp.source import checkpoint

_TRIES = 6  # places that are judged for one gap
_FEWEST, _WORK = 6, 600  # how often a kernel is judged: at least, and times its accesses and races


@dataclass(frozen=True, slots=True)
class MissingBarrier:
    """Races that one barrier ends. ``back``: over the back edge of a loop; ``place``: point of the place where the
    barrier would stand; None: nowhere, as far as one can prove."""

    races: tuple[Race, ...]
    back: bool
    place: int | None


@dataclass(frozen=True, slots=True)
class MissingBarriers:
    """``across``: where a barrier of the block is missing; ``within``: where one of the warp is, when those stand;
    ``copies``: where an asynchronous copy is not waited for, or not by all who read it; ``fences``: where the
    asynchronous proxy reads what it may not see, or what it reads is overwritten."""

    across: tuple[MissingBarrier, ...] = ()
    within: tuple[MissingBarrier, ...] = ()
    copies: tuple[CopyGap, ...] = ()
    fences: tuple[Fence, ...] = ()


def find_missing_barriers(
    kernel: Kernel, found: Hazards, places: frozenset[int], warp_places: frozenset[int], judge: Judge
) -> MissingBarriers:
    """The races of a kernel in as few groups as barriers are missing. ``places``: where all threads of the block come
    to; ``warp_places``: where perhaps all lanes of a warp do."""
    fenced = tuple(fences(kernel, found.proxies, spots(kernel, places), judge)) if found.proxies else ()
    return replace(_race_gaps(kernel, found, places, warp_places, judge), fences=fenced)


def _race_gaps(
    kernel: Kernel, found: Hazards, places: frozenset[int], warp_places: frozenset[int], judge: Judge
) -> MissingBarriers:
    trial = _Trials(kernel, found, judge)
    copying = [race for race in found.races if race.first.asynchronous]
    copies = tuple(copy_gaps(kernel, copying, spots(kernel, places), trial)) if copying else ()
    plain = [race for race in found.across if not (race.first.asynchronous or race.named)]
    apart = tuple(_apart(race for race in found.across if race.named))
    across = apart + tuple(
        _gaps(
            kernel, plain, places, lambda point, asked: trial(added=Added(frozenset((point,))), asked=asked)
        )
    )
    stand = frozenset(gap.place for gap in across if gap.place is not None)
    if len(stand) < len(across) or copies:
        return MissingBarriers(
            across, (), copies
        )  # what the missing barriers would order between lanes is not known
    rest = judge(added=Added(stand), asked=pairs_of(found.races)) if stand else found

    def in_warps(point: int, asked: frozenset[Pair]) -> Hazards:
        return trial(added=Added(stand, frozenset((point,))), asked=asked)

    return MissingBarriers(across, tuple(_gaps(kernel, rest.within, warp_places, in_warps)))


class _Trials:
    """Judges the kernel with something added, so often; from then on nothing ends a race."""

    def __init__(self, kernel: Kernel, found: Hazards, judge: Judge) -> None:
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
        return levels.level(term) <= Level.WARP or not is_free(term)

    collect(kernel.body)
    return frozenset(found)


def _gaps(
    kernel: Kernel,
    races: Sequence[Race],
    places: frozenset[int],
    again: Callable[[int, frozenset[Pair]], Hazards],
) -> Iterator[MissingBarrier]:
    if not races:
        return
    where = spots(kernel, places)
    for group, back in groups(kernel, races):
        checkpoint()
        found = candidates(kernel, group, where, back=back)[:_TRIES]
        known = not any(race.cut for race in group)  # else a barrier of the warp may not be enough
        pairs = pairs_of(group)
        place = next((p for p in found if known and _ends(again(p, pairs), pairs, p)), None)
        yield MissingBarrier(tuple(group), back, place)


def _apart(races: Iterable[Race]) -> Iterator[MissingBarrier]:
    """Races between warps that go different ways, one gap for each buffer: a barrier of the block helps nowhere."""
    by_buffer: dict[int, list[Race]] = {}
    for race in races:
        by_buffer.setdefault(race.first.buffer, []).append(race)
    for group in by_buffer.values():
        yield MissingBarrier(tuple(group), False, None)


def _ends(after: Hazards, pairs: frozenset[Pair], point: int) -> bool:
    return point not in after.split and pairs.isdisjoint(pairs_of(after.races))
