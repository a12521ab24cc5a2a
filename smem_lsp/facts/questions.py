"""What a rule asks decision about a kernel: one question a method, answered for every block that is judged."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from smem_lsp.analysis.decision.model import PairVerdict
from smem_lsp.analysis.decision.verdict import RaceChecker
from smem_lsp.analysis.values.block_shape import dims_of
from smem_lsp.facts.data_flow import DataFlow
from smem_lsp.facts.decided import judge_of
from smem_lsp.ir.nodes import Access
from smem_lsp.source.record import dataclass

_EFFORT = 50_000  # of one question in one block


@dataclass(slots=True, frozen=True)
class Questions:
    """``flow``: of the kernel, with what its launches pass. What is answered once is kept there."""

    flow: DataFlow

    def is_for_one(self, access: Access) -> bool:
        """Does at most one thread of a block come to the access in one iteration of the loops around it? In the next
        one it may be another thread, and of two accesses it may be two. False where that is not proved."""
        return all(judge.asker.is_for_one(access) for judge in self._judges())

    def worst_of(self, first: Access, second: Access) -> PairVerdict:
        """What two threads do at two accesses with no barrier between them, in the worst of the blocks; APART where
        barriers order the accesses in all of them, UNDECIDED where the kernel is not asked about."""
        pair = first.point, second.point
        found = [PairVerdict.APART]
        for judge in self._judges():
            if judge.of.kernel.irregular is not None or judge.is_too_large:
                return PairVerdict.UNDECIDED
            found += [each.answer for each in judge.decisions({pair, pair[::-1]})]
        return max(found, key=attrgetter("danger"))

    def _judges(self) -> Iterator[RaceChecker]:
        for shape, verdicts in self.flow.judged:
            judge = judge_of(self.flow, verdicts, dims_of(shape))
            judge.asker.effort = max(judge.asker.effort, self.flow.followed.effort(_EFFORT))
            yield judge
