"""What orders the accesses of a kernel: for sure, perhaps, and but for calls of which nothing says so."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.decision.followed import Followed
from smem_lsp.analysis.decision.ways import Ordering
from smem_lsp.analysis.threads.ordering_calls import ordering_calls
from smem_lsp.analysis.threads.spin_loops import only_waits, waits
from smem_lsp.ir.nodes import Barrier, BarrierKind, CopyWait, CopyWaitKind, Loop, Node
from smem_lsp.targets.every import WARP_SIZE


def orderings(
    of: Followed,
    proved: frozenset[int],
    uniform: frozenset[int],
    covering: frozenset[tuple[int, int]],
    more: frozenset[int] = frozenset(),
    *,
    meant: frozenset[int],
    prove: bool,
    in_warp: bool = False,
) -> Iterator[Ordering]:
    """What surely orders; unless only that is asked for (``prove``): what may; and, if that is another one, what may
    but for calls of which nothing says so. ``proved``, ``uniform`` and ``covering``: as in ``Ordering``; ``more``: what
    surely orders, too; ``meant``: branches and loops (points) that all take alike in a run in which no thread misses a
    barrier; ``in_warp``: lanes of one warp: what a shuffle or vote has to have read is over behind it, though it orders
    no memory."""
    yield Ordering(proved | more, uniform, covering=covering)
    if prove:
        return
    doubtful = {
        node.point
        for node in of.barriers
        if node.kind is not BarrierKind.WARP or (node.mask and not orders_a_warp(of, node))
    }
    doubtful.update(node.point for node in of.nodes if _is_doubtful_wait(node))
    loops = [node for node in of.nodes if isinstance(node, Loop)]
    spins = frozenset(node.end_point for node in loops if waits(node, of.values, of.kept))
    locks = frozenset(node.end_point for node in loops if only_waits(node, of.values))
    calls, presumed = ordering_calls(of.kernel, of.control), of.kernel.presumed
    said = tuple(each for each in calls if each not in presumed or (in_warp and presumed[each].in_warp))
    meant |= of.control.together
    delivered = of.delivered if in_warp else frozenset[tuple[int, int]]()
    for each in dict.fromkeys((calls, said)):
        stops = tuple(sorted(spins.union(each)))
        yield Ordering(proved.union(more, doubtful), meant, stops, spins, covering, locks, delivered)


def orders_a_tile(node: Barrier) -> bool:
    """Is it a barrier of tiles that are less than a warp?"""
    return node.kind is BarrierKind.WARP and node.lanes < WARP_SIZE and not node.guess


def orders_a_warp(of: Followed, node: Barrier) -> bool:
    """Is it a barrier of whole warps?"""
    if node.lanes < WARP_SIZE:
        return False
    if node.kind is not BarrierKind.WARP or node.guess or of.kernel.dialect.warp_sizes != (WARP_SIZE,):
        return False
    mask = of.values.masks.get(node.point)
    return node.mask is None or (mask is not None and getattr(mask, "n", None) in (0xFFFFFFFF, -1))


def _is_doubtful_wait(node: Node) -> bool:
    """May it be a wait that copies land at, and is that not known?"""
    return isinstance(node, CopyWait) and node.kind is CopyWaitKind.UNKNOWN
