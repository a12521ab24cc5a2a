"""Operations of a warp whose mask names lanes that go another way.

All lanes that the mask of a ``_sync`` operation names have to run it, but for those that have returned. The question is
that of ``barriers``, about two lanes of one warp: no other operation need be met elsewhere, except that lanes which
return without waiting are not missed by a ``__syncwarp()``.
"""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.arriving_threads import come
from smem_lsp.analysis.decision.barriers import BarrierJudge
from smem_lsp.analysis.decision.divergence import (
    DATA,
    TO_PROVE,
    Asked,
    DivergenceResult,
    ForkQuestion,
    Reachability,
    for_sizes,
)
from smem_lsp.analysis.decision.divergence_points import DivergenceSite, Fork, is_idle, sites
from smem_lsp.analysis.decision.formulas import Formula, either
from smem_lsp.analysis.decision.size_sets import SizeCondition
from smem_lsp.analysis.decision.unknowns import Origin
from smem_lsp.ir.nodes import Barrier, BarrierKind, WarpCollective
from smem_lsp.source import checkpoint, record
from smem_lsp.terms.language import Const, Level

_ALL_LANES = 0xFFFFFFFF


@record
class LaneMissing:
    """``thread`` comes to the operation ``node``, and ``other``, whose lane the mask names, goes another way.
    ``condition``: for which values of a parameter; None: for all; ``data``: loaded values decide."""

    node: Barrier | WarpCollective
    thread: int
    other: int
    condition: SizeCondition | None = None
    data: bool = False


def lanes_missing(judge: BarrierJudge) -> Iterator[LaneMissing]:
    """Those of all operations with a mask that is a constant, in a block that is known."""
    asker = judge.asker
    kernel, values = asker.of.kernel, asker.of.values
    if kernel.irregular is not None or kernel.dialect.warp_size is None or asker.dims is None:
        return
    if not any(isinstance(each, Const) for each in values.masks.values()):
        return
    for site in sites(kernel.body, values, asker.of.positions):
        checkpoint()
        mask = values.masks.get(site.node.point)
        if not isinstance(mask, Const) or (isinstance(site.node, Barrier) and not _is_of_warp(site.node)):
            continue
        found = _missing(judge, site, mask.n & _ALL_LANES)
        if found is not None:
            yield found


def _is_of_warp(node: Barrier) -> bool:
    return node.kind is BarrierKind.WARP and not node.guess


def _missing(judge: BarrierJudge, site: DivergenceSite, mask: int) -> LaneMissing | None:
    asker = judge.asker
    for fork in site.forks:
        if not fork.known:
            return None
        if all(asker.of.levels.level(each.term) <= Level.WARP for each in fork.parts):
            continue
        if isinstance(site.node, Barrier) and is_idle(fork):
            continue
        found = _parted(judge, site, fork, mask)
        if found.reach is Reachability.ALL:
            continue
        witness = found.witness
        if witness is None or found.reach not in (
            Reachability.DATA,
            Reachability.CONDITION,
            Reachability.DIVERGES,
        ):
            return None
        if found.reach is not Reachability.DATA:
            here = come(asker, site.node, found)
            if here is None or witness.threads[0] not in here or witness.threads[1] in here:
                return None
        condition = None if found.sizes is None else found.sizes.condition
        return LaneMissing(site.node, *witness.threads, condition, found.reach is Reachability.DATA)
    return None


def _parted(judge: BarrierJudge, site: DivergenceSite, fork: Fork, mask: int) -> DivergenceResult:
    """What is decided of two lanes at one fork."""
    asker = judge.asker
    question, formulas = _asked(judge, site, fork, mask)
    found = question.solve(formulas, TO_PROVE)
    if found.outcome is solver.Satisfiability.NONE:
        return DivergenceResult(Reachability.ALL)
    undecided = DivergenceResult(Reachability.UNDECIDED, fork)
    if (
        fork.hides(site.node)
        or found.outcome is not solver.Satisfiability.SOME
        or Origin.UNKNOWN in question.origin
    ):
        return undecided
    if not judge.may_tell(site, fork):
        return undecided
    meant = [*formulas, *question.encoder.assumed.all, *question.first_iterations(site)]
    if question.origin & DATA:
        shown = question.witness([*meant, *question.alike_data()], {})
        return (
            undecided
            if shown is None
            else DivergenceResult(Reachability.DATA, fork, None, shown[0], None, shown[1])
        )
    asked: list[Asked] = [(question, meant)]
    for later in judge.later_iterations(site, fork):
        another, more = _asked(judge, site, later, mask)
        if not another.origin & (DATA | Origin.UNKNOWN):
            asked.append((another, [*more, *another.encoder.assumed.all, *another.first_iterations(site)]))
    return for_sizes(asker, asked, None)


def _asked(judge: BarrierJudge, site: DivergenceSite, fork: Fork, mask: int) -> Asked:
    question = ForkQuestion(judge.asker, fork, loose=False)
    formulas = [*question.parted(), question.in_one_warp(judge.asker.of.kernel.dialect.lanes)]
    return question, [*formulas, *_named(question, mask), *question.comes(site)]


def _named(question: ForkQuestion, mask: int) -> list[Formula]:
    """The mask names the lane of the second thread."""
    if mask == _ALL_LANES:
        return []
    encoder = question.encoder
    _, lane = encoder.digits.divided(encoder.linear(1), question.asker.of.kernel.dialect.lanes)
    return [either(*(lane.equals(bit) for bit in range(32) if mask >> bit & 1))]
