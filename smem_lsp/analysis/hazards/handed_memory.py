"""Is memory that a device function gets by pointer the block's, so that what its threads do there may race?

Its own barriers tell. A thread writes an element that no other one writes, and behind a barrier of the block a thread
of another warp reads it: memory of each thread, or of each warp, would hold nothing there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from smem_lsp.analysis.decision.model import PairVerdict
from smem_lsp.analysis.decision.path_classes import Open
from smem_lsp.analysis.decision.verdict import RaceChecker, decide
from smem_lsp.ir.nodes import Access, AccessKind, Barrier, BarrierKind
from smem_lsp.source import checkpoint

_EFFORT = 200_000
_MOST = 32  # pairs of one buffer that are asked about


def memory_of_block(judge: RaceChecker, handed: Collection[int]) -> frozenset[int]:
    """Those of such buffers for which it is shown."""
    judge.asker.effort = _EFFORT
    return frozenset(each for each in handed if _is_of_block(judge, each))


def _is_of_block(judge: RaceChecker, buffer: int) -> bool:
    accesses = [each for each in judge.of.accesses if each.buffer == buffer]
    pairs = list(_ordered(judge, accesses))[:_MOST]
    return any(_meet(judge, each) and _is_alone(judge, each.first) for each in pairs)


def _ordered(judge: RaceChecker, accesses: list[Access]) -> Iterator[Open]:
    """Writes and reads that a barrier of the block orders, and nothing else does."""
    open_ = {(each.first.point, each.second.point) for each in judge.open_pairs(accesses)}
    proved = judge.of.control.barriers
    for barrier in judge.of.nodes:
        checkpoint()
        if not isinstance(barrier, Barrier) or barrier.kind is not BarrierKind.BLOCK:
            continue
        if barrier.guess or barrier.point not in proved:
            continue
        for each in judge.open_pairs(accesses, frozenset((barrier.point,))):
            if each.first.kind is AccessKind.READ or each.second.kind is AccessKind.WRITE:
                continue
            if (each.first.point, each.second.point) not in open_:
                yield replace(each, surely=each.ways, lanes=False)


def _meet(judge: RaceChecker, pair: Open) -> bool:
    if not (judge.is_followed(pair.first) and judge.is_followed(pair.second)):
        return False
    return decide(judge.asker, pair).answer is PairVerdict.RACE


def _is_alone(judge: RaceChecker, access: Access) -> bool:
    """Does no other thread write there with the same access?"""
    found = [each for each in judge.open_pairs([access]) if each.first is each.second]
    return all(decide(judge.asker, each).answer is PairVerdict.APART for each in found)
