"""Operations of a warp that are run without some lane that their mask names."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smem_lsp.ir.nodes import Barrier, Kernel, Loop, Node, Seq, WarpCollective, bodies, walk
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class LaneWitness:
    """``thread`` comes to an operation of its warp; ``other``, whose lane the mask names, goes another way."""

    thread: int
    other: int


def first_missing(
    mask: int, here: Sequence[int], block: Sequence[int], returned: Collection[int], warp: int
) -> LaneWitness | None:
    """The first lane that ``mask`` names and that is not among the threads ``here``. Threads in ``returned`` have left
    the kernel and count as present. ``warp``: lanes of one; None: no lane is missing."""
    if len(here) + len(returned) >= len(block):
        return None  # all are here
    start, end = here[0], here[-1] + 1
    if end - start == len(here) and start % warp == 0 and (end % warp == 0 or end == len(block)):
        return None  # whole warps
    first: dict[int, int] = {}
    for thread in here:
        first.setdefault(thread // warp, thread)
    for thread in sorted(set(block).difference(here, returned)):
        number, lane = divmod(thread, warp)
        if number in first and mask >> lane & 1:
            return LaneWitness(first[number], thread)
    return None


def others_return(kernel: Kernel, node: Barrier | WarpCollective) -> bool:
    """Do the threads that go past the branches around a warp barrier return without waiting for others? No barrier
    waits for threads that have returned, but a shuffle would read the registers that they have left."""
    if not isinstance(node, Barrier) or any(point > node.point for point in kernel.opaque):
        return False
    return _is_last(kernel.body, node)


def _is_last(seq: Seq, wanted: Barrier) -> bool:
    """Do threads outside of the branches around ``wanted`` come to the end of ``seq`` without waiting for others?"""
    for number, node in enumerate(seq.items):
        if _holds(node, wanted):
            return node is wanted or (
                _is_last_inside(node, wanted) and not any(map(_waits, seq.items[number + 1 :]))
            )
    return False


def _is_last_inside(node: Node, wanted: Barrier) -> bool:
    if isinstance(node, Loop) and node.trips != 1:  # else a function's body
        return False
    return all(
        _is_last(seq, wanted) if _holds_in(seq, wanted) else not any(map(_waits, seq)) for seq in bodies(node)
    )


def _holds(node: Node, wanted: Barrier) -> bool:
    return _holds_in(Seq((node,)), wanted)


def _holds_in(seq: Seq, wanted: Barrier) -> bool:
    return any(each is wanted for each in walk(seq))


def _waits(node: Node) -> bool:
    return any(isinstance(each, Barrier | WarpCollective) for each in walk(Seq((node,))))
