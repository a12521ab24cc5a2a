"""Barriers that some threads of a block bypass on their way to another one, each with an example that was replayed.

The hardware counts who waits, not where: threads that wait at two barriers are let through together, ahead of data, or
the block hangs. The example is worked out again for every thread of the block with the values of the witness.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from smem_lsp.analysis.decision.arriving_threads import come
from smem_lsp.analysis.decision.barriers import BarrierJudge
from smem_lsp.analysis.decision.divergence import DivergenceResult, Reachability
from smem_lsp.analysis.decision.divergence_points import DivergenceSite
from smem_lsp.analysis.decision.question import RaceQueries
from smem_lsp.analysis.decision.size_sets import SizeCondition
from smem_lsp.analysis.threads.block_shape import evidence
from smem_lsp.analysis.threads.divergence import samples_for
from smem_lsp.analysis.values.block_shape import NO_GROUND, BlockAssumption, BlockShape, most_threads
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.ir.nodes import Barrier, Branch, Dims, Loop
from smem_lsp.source import checkpoint, record
from smem_lsp.targets.every import MAX_THREADS

_EFFORT = 60_000  # about one block of those that are tried
_ORDINARY = 256  # threads of a block like any other


@record
class Mispaired:
    """``dims``: a block in which threads ``inside`` reach the barrier (none: it is not known which do) while thread
    ``outside`` goes on to the one at line ``other``. ``decision`` parts them; ``condition``: for which values of a
    parameter; None: for all; ``sizes``: of the example; ``from_on``: it holds for all from some number on;
    ``data``: loaded values decide; ``ground``: the blocks that show it."""

    barrier: Barrier
    decision: Branch | Loop
    inside: tuple[int, ...]
    outside: int
    other: Barrier
    dims: Dims
    ground: BlockAssumption
    condition: SizeCondition | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    from_on: bool = True
    data: bool = False

    @property
    def proved(self) -> bool:
        """Does it happen in a block that somebody names, or in every block of more than one warp, whatever the
        parameters and data are?"""
        return (self.ground.is_certain or self.ground.covers_most) and not (self.condition or self.data)


def mispaired(judge: BarrierJudge, shape: BlockShape | None) -> Iterator[Mispaired]:
    """Those of one block that is named, or of all that a kernel may get: of more than one warp, in whole warps.
    ``judge``: of that block, or of any."""
    kernel = judge.asker.of.kernel
    if kernel.irregular is not None:
        return
    for site in judge.sites:
        checkpoint()
        if (
            not isinstance(site.node, Barrier)
            or site.node.guess
            or judge.prove(site) is not Reachability.UNDECIDED
        ):
            continue
        found = judge.told(site)
        if shape is not None:
            shown = _shown(judge, site, found, BlockAssumption(named=(shape,)))
        elif found.reach is Reachability.SIZES:
            shown = _in_every_block(judge, site)
        else:
            shown = _shown(judge, site, found, NO_GROUND) if found.reach is Reachability.DATA else None
        if shown is not None:
            yield shown


def _in_every_block(judge: BarrierJudge, site: DivergenceSite) -> Mispaired | None:
    """The example of a block of 256 threads, where every block from some size on shows one: of more than one warp, or
    more than half of those that the kernel is written for."""
    kernel, values = judge.asker.of.kernel, judge.asker.of.values
    axes, most, lanes = values.table.axes(), most_threads(kernel), kernel.dialect.lanes
    flat = "y" not in axes and "z" not in axes
    samples: Sequence[Dims] = (
        [(threads, 1, 1) for threads in range(64, most[0] + 1, 32)] if flat else samples_for(values)
    )
    samples = [
        dims
        for dims in samples
        if math.prod(dims) > lanes and all(n <= limit for n, limit in zip(dims, most))
    ]
    shown: Mispaired | None = None
    above = lanes
    for dims in samples[::-1] if flat else samples:
        tried = replace(judge, asker=in_block(judge.asker, dims), _sites=[site], _agreed={})
        found = tried.told(site)
        ground = NO_GROUND if flat else BlockAssumption(tried=dims)
        example = _shown(tried, site, found, ground) if found.reach is Reachability.DIVERGES else None
        if example is None:
            if not flat or shown is None:
                return None
            above = dims[0]
            break
        if shown is None or dims[0] == _ORDINARY:
            shown = example
    if shown is None or not flat:
        return shown
    largest = min(evidence(kernel, values, judge.control).upper[0], MAX_THREADS)
    ground = BlockAssumption(above=above, warp=lanes, whole_warps=True, largest=largest)
    return replace(shown, ground=ground) if ground.covers_most else None


def in_block(asker: RaceQueries, dims: Dims) -> RaceQueries:
    """The same questions about a block that is known."""
    axes = "".join(axis for axis, size in zip("xyz", dims) if size > 1) or "x"
    bounds = Bounds(asker.of.values.loops, dims, exact=True)
    return replace(asker, dims=dims, axes=axes, bounds=bounds, effort=_EFFORT)


def _shown(
    judge: BarrierJudge, site: DivergenceSite, found: DivergenceResult, ground: BlockAssumption
) -> Mispaired | None:
    """What the values of the witness come to; None: nothing that may be told."""
    fork, witness, other, asker = found.fork, found.witness, found.other, judge.asker
    if fork is None or witness is None or other is None or not isinstance(site.node, Barrier):
        return None
    one, outside = witness.threads
    inside: tuple[int, ...] = ()
    if found.reach is not Reachability.DATA:
        came = come(asker, site.node, found)
        if came is None or one not in came or outside in came:
            return None
        inside = came
        if asker.of.kernel.dialect.warp_size is None:
            # warps come to a barrier as a whole, and how large they are depends on the device
            apart = _of_other_warps(came, math.prod(witness.dims), asker.of.kernel.dialect.lanes)
            if apart is None or not inside:
                return None
            outside = apart
    elif asker.of.kernel.dialect.warp_size is None:
        return None
    condition = None if found.sizes is None else found.sizes.condition
    return Mispaired(
        site.node,
        fork.node,
        inside,
        outside,
        other,
        witness.dims,
        ground,
        condition,
        witness.sizes,
        found.sizes is None or found.sizes.from_on,
        found.reach is Reachability.DATA,
    )


def _of_other_warps(came: tuple[int, ...], threads: int, lanes: int) -> int | None:
    warps = {thread // lanes for thread in came}
    return next((thread for thread in range(threads) if thread // lanes not in warps), None)


def joined(found: Sequence[Sequence[Mispaired]]) -> tuple[Mispaired, ...]:
    """Those of several blocks: each barrier once, the worst of them, with all the blocks that show it."""
    by_barrier: dict[int, Mispaired] = {}
    for each in (each for one in found for each in one):
        known = by_barrier.get(each.barrier.point)
        if known is None:
            by_barrier[each.barrier.point] = each
        elif _rank(each) == _rank(known):
            ground = known.ground.joined(each.ground)
            by_barrier[each.barrier.point] = replace(known, ground=ground)
        elif _rank(each) > _rank(known):
            by_barrier[each.barrier.point] = each
    return tuple(
        replace(each, ground=replace(each.ground, all_named=len(each.ground.named) == len(found)))
        for each in by_barrier.values()
    )


def _rank(each: Mispaired) -> tuple[int, tuple[object, ...]]:
    """Of two that are as bad, one is told: by a convention, which compares digits and not numbers."""
    sets = () if each.condition is None else each.condition.sets
    ordered = tuple(
        (one.exact, one.names, one.relation, tuple(map(str, (*one.numbers, one.below)))) for one in sets
    )
    return 0 if each.data else 1 if not each.from_on else 2 if sets else 3, ordered
