"""What orders the accesses of a kernel: for sure, perhaps, and but for calls of which nothing says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.analysis.decision.path_classes import Ordering
from smem_lsp.analysis.threads.ordering_calls import ordering_calls
from smem_lsp.analysis.threads.spin_loops import only_waits, waits
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.ir.nodes import (
    Barrier,
    BarrierFamily,
    BarrierKind,
    Branch,
    CopyWait,
    CopyWaitKind,
    Dims,
    Jump,
    Loop,
    Node,
    walk,
)
from smem_lsp.source import checkpoint
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.language import Const, Term


def orderings(
    of: KernelModel,
    surely: Ordering,
    more: frozenset[int] = frozenset(),
    *,
    meant: frozenset[int],
    prove: bool,
    in_warp: bool = False,
) -> Iterator[Ordering]:
    """What surely orders; unless only that is asked for (``prove``): what may; and, if that is another one, what may
    but for calls of which nothing says so. ``surely``: what does; ``more``: what does so, too; ``meant``: branches and
    loops (points) that all take alike in a run in which no thread misses a barrier; ``in_warp``: lanes of one warp:
    what a shuffle or vote has to have read is over behind it, though it orders no memory."""
    yield replace(surely, clears=surely.clears | more)
    if prove:
        return
    loops = [node for node in of.nodes if isinstance(node, Loop)]
    spins = frozenset(node.end_point for node in loops if waits(node, of.values, of.kept))
    perhaps = replace(
        surely,
        clears=surely.clears.union(more, _doubtful(of, surely)),
        uniform=meant | of.control.together,
        waits=spins,
        locks=frozenset(node.end_point for node in loops if only_waits(node, of.values)),
        delivered=of.delivered if in_warp else frozenset(),
    )
    calls, presumed = ordering_calls(of.kernel, of.control), of.kernel.presumed
    said = tuple(each for each in calls if each not in presumed or (in_warp and presumed[each].in_warp))
    for each in dict.fromkeys((calls, said)):
        yield replace(perhaps, calls=tuple(sorted(spins.union(each))))


def _doubtful(of: KernelModel, surely: Ordering) -> set[int]:
    """Barriers and waits (points) of which it is not known whether they order all that they may."""
    settled = surely.clears.union(point for half in surely.halves for point in half)
    settled = settled.union(point for point, *_ in surely.of_arms)
    barriers = {
        node.point
        for node in of.barriers
        if not (orders_warps(of, node) or node.point in settled) and _may_order_a_block(of, node)
    }
    return barriers.union(node.point for node in of.nodes if _is_doubtful_wait(node))


def _may_order_a_block(of: KernelModel, node: Barrier) -> bool:
    """May it order more than one warp, for all that is known? A barrier of lanes that a mask names may be of any."""
    return node.kind is not BarrierKind.WARP or (node.mask is not None and not orders_a_warp(of, node))


def orders_a_tile(node: Barrier) -> bool:
    """Is it a barrier of tiles that are less than a warp?"""
    of_tile = node.kind is BarrierKind.WARP and node.lanes < WARP_SIZE and node.mask is None
    return of_tile and not node.guess


def orders_warps(of: KernelModel, node: Barrier) -> bool:
    """Is it a barrier of tiles of several whole warps?"""
    return (
        node.kind is BarrierKind.TILE
        and not node.guess
        and all(node.lanes % size == 0 for size in of.kernel.dialect.warp_sizes)
    )


def orders_a_warp(of: KernelModel, node: Barrier) -> bool:
    """Is it a barrier of whole warps?"""
    if node.lanes < WARP_SIZE:
        return False
    if node.kind is not BarrierKind.WARP or node.guess or of.kernel.dialect.warp_sizes != (WARP_SIZE,):
        return False
    mask = of.values.masks.get(node.point)
    return node.mask is None or (mask is not None and getattr(mask, "n", None) in (0xFFFFFFFF, -1))


def of_all(of: KernelModel, dims: Dims | None) -> frozenset[int]:
    """Numbered barriers (points) that all threads of the block come to and wait at, and that nobody else counts for.
    ``dims``: the block; None: not known."""
    found = dict[int, int]()  # by point, their number
    arriving = list[Term | None]()
    for node in of.barriers:
        if node.kind is not BarrierKind.NAMED:
            continue
        number, count = of.values.named.get(node.point, (None, None))
        if node.arrives or node.guess:
            arriving.append(number)
        elif node.point in of.control.steady and isinstance(number, Const) and _counts_all(node, count, dims):
            found[node.point] = number.n
    others = {each.n for each in arriving if isinstance(each, Const)}
    if len(others) < len(set(arriving)):
        return frozenset()
    return frozenset(point for point, number in found.items() if number not in others)


def of_arms(of: KernelModel, dims: Dims | None) -> frozenset[tuple[int, int, int]]:
    """Numbered barriers (points) that count all threads, in whole warps, which come to the arm of a branch that they
    stand in, each with the first and the last point of the arm."""
    if dims is None or not of.values.named:
        return frozenset()
    found = list[tuple[int, int, int]]()
    for node in of.nodes:
        if not isinstance(node, Branch) or node.point not in of.control.steady:
            continue
        for arm, truth in ((node.then, True), (node.otherwise, False)):
            checkpoint()
            named = [
                each for each in arm.items if isinstance(each, Barrier) and each.point in of.values.named
            ]
            if not named or any(isinstance(each, Jump) for each in walk(arm)):
                continue
            taken = Evaluator(dims).values(of.values.conditions[node.point]) or ()
            come = [thread for thread, each in enumerate(taken) if bool(each) == truth]
            first, last = arm.items[0].point, max(each.point for each in walk(arm))
            found += [
                (each.point, first, last)
                for each in named
                if _are_counted(of, each, come) and _is_alone(of, each, first, last)
            ]
    return frozenset(found)


def _are_counted(of: KernelModel, barrier: Barrier, threads: Sequence[int]) -> bool:
    """Does it count so many threads as these, which are whole warps?"""
    count = of.values.named[barrier.point][1]
    warps = Counter(thread // WARP_SIZE for thread in threads)
    whole = all(each == WARP_SIZE for each in warps.values())
    return whole and isinstance(count, Const) and count.n == len(threads)


def _is_alone(of: KernelModel, barrier: Barrier, first: int, last: int) -> bool:
    """Does nobody count for its number but those who wait at it between these points?"""
    number = of.values.named[barrier.point][0]
    if barrier.arrives or barrier.guess or not isinstance(number, Const):
        return False
    for each in of.barriers:
        if each.kind is not BarrierKind.NAMED:
            continue
        other = of.values.named.get(each.point, (None, None))[0]
        inside = first <= each.point <= last and not each.arrives and not each.guess
        if not inside and (not isinstance(other, Const) or other.n == number.n):
            return False
    return True


def _counts_all(node: Barrier, count: Term | None, dims: Dims | None) -> bool:
    """Does a barrier wait for as many threads as the block has, in whole warps?"""
    if node.count is None:
        return True
    if dims is None or count is None:
        return False
    counted, threads = Evaluator(dims).uniform_value(count), prod(dims)
    whole = -(-threads // WARP_SIZE) * WARP_SIZE
    return counted is not None and counted in (
        (threads,) if node.family is BarrierFamily.OBJECT else (threads, whole)
    )


def halves_of(of: KernelModel) -> frozenset[tuple[int, int]]:
    """The waits (points) of barriers in two halves that all threads come to, and where they have arrived."""
    steady = of.control.steady
    every = ((node.point, node.arrived) for node in of.barriers if node.kind is BarrierKind.HALF)
    return frozenset(
        (point, arrived)
        for point, arrived in every
        if arrived is not None and point in steady and arrived in steady
    )


def _is_doubtful_wait(node: Node) -> bool:
    """May it be a wait that copies land at, and is that not known?"""
    return isinstance(node, CopyWait) and node.kind is CopyWaitKind.UNKNOWN
