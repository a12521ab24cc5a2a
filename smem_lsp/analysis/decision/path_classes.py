"""How a second access of a kernel follows a first one with no barrier between, and what was decided on the way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from smem_lsp.ir.nodes import NO_OBJECT, Access
from smem_lsp.source import record


class NotTaken(NamedTuple):
    """A block-uniform decision on a way: the loop at ``point`` ran no iteration, or its branch went ``arm``.
    ``before``: it was taken in the iteration of the first access, else in that of the second."""

    point: int
    arm: bool
    before: bool


@record
class InIteration:
    """The second access stands in this iteration (from 0 on) of the loop at ``point``, which was entered on the way;
    the first one (``before``), of a loop that was walked iteration by iteration."""

    point: int
    number: int = 0
    before: bool = False


@record
class LastIteration:
    """The first access stands in the last iteration of the loop at ``point``, which its condition ends."""

    point: int

    @property
    def before(self) -> bool:
        return True


Mark = NotTaken | InIteration | LastIteration


def in_order(mark: Mark) -> tuple[int, str, int, bool]:
    """By the place in the text."""
    which = (
        int(mark.arm) if isinstance(mark, NotTaken) else mark.number if isinstance(mark, InIteration) else -1
    )
    return mark.point, type(mark).__name__, which, mark.before


class Flight(NamedTuple):
    """A copy for which its thread has not waited. ``bound``: the object that it is bound to, as in ``CopyWait``;
    ``place``: of its group among those of the thread, the newest 1, or of its stage of a pipeline among those under
    way, the oldest 1; 0: it belongs to none yet."""

    bound: int = NO_OBJECT
    place: int = 0


class PathClass(NamedTuple):
    """How a second access follows a first one. ``crossed``: the outermost loop (point) whose back edge lies between,
    ``iterations`` times; None: both belong to one iteration of every loop around them. ``several``: perhaps more often;
    ``flight``: the first is a copy for which its thread has not waited."""

    crossed: int | None = None
    several: bool = False
    decisions: frozenset[Mark] = frozenset()
    iterations: int = 1
    flight: Flight | None = None

    @property
    def widest(self) -> PathClass:
        """The same, whatever was decided on it, and however often the loop was crossed."""
        return self._replace(several=self.crossed is not None, decisions=frozenset(), iterations=1)

    @property
    def in_order(self) -> list[Mark]:
        """What was decided, in one order wherever in the text it stands."""
        return sorted(self.decisions, key=in_order) if len(self.decisions) > 1 else [*self.decisions]


def by_place(ways: Iterable[PathClass]) -> list[PathClass]:
    """In one order in every process, by what stands where in the text: sets have none, as the hash of None is another
    one in each. The order decides what is asked first, and so what is left for the rest."""
    return sorted(ways, key=_place)


def _place(way: PathClass) -> tuple[object, ...]:
    marks = way.in_order
    return (
        way.crossed or 0,
        way.crossed is not None,
        way.several,
        len(marks),
        [*map(in_order, marks)],
        way.iterations,
        way.flight or (),
    )


SAME_TURN = PathClass()
Pair = tuple[int, int]  # points of two accesses


@record
class Ordering:
    """What orders accesses. ``clears``: points of barriers, or of places where one is added, behind which nothing is
    open but copies in flight, and of waits behind which none of these are; ``uniform``: branches, loops and jumps that
    all threads of the block take alike; ``calls``: points, rising, from which on nothing that was open counts any more;
    ``waits``: those of them that may let one thread after the other through; ``locks``: those that do nothing else;
    ``covering``: waits for copies (points)
    that leave another number of groups open, or that are added at a place; ``delivered``: exchanges of a warp (points),
    each with a load that is over there for all lanes; ``halves``: where all threads wait for what the others have done
    before they were at a point, and that point; ``paired``: barriers that the arms of a branch have in common;
    ``of_arms``: those that are for all who come to an arm, with its first and its last point."""

    clears: frozenset[int]
    uniform: frozenset[int]
    calls: tuple[int, ...] = ()
    waits: frozenset[int] = frozenset()
    covering: frozenset[tuple[int, int]] = frozenset()
    locks: frozenset[int] = frozenset()
    delivered: frozenset[tuple[int, int]] = frozenset()
    halves: frozenset[tuple[int, int]] = frozenset()
    paired: frozenset[int] = frozenset()
    of_arms: frozenset[tuple[int, int, int]] = frozenset()


@record
class Open:
    """Two accesses that fall into one barrier interval on some ``ways``. ``surely``: those on which nothing that is not
    known may order them; ``presumed``: those on which only calls may of which nothing
    says that they wait. ``lanes``: of lanes of one warp; else of threads of different warps; None: of both;
    ``tile``: only of threads of different tiles of so many."""

    first: Access
    second: Access
    ways: frozenset[PathClass]
    surely: frozenset[PathClass]
    lanes: bool | None
    tile: int = 0
    presumed: frozenset[PathClass] = frozenset()
