"""Does every thread of a block that has not returned come to each barrier? If not: for which values, and what then?

Two arbitrary threads stand for all, as for races. Each fork in front of a barrier (``forks``) is a question: can one
thread go on to the barrier while another one, which has come to the same fork in the same iterations, leaves? Where
none can, all come. A thread that leaves and returns without waiting anywhere counts as arrived; one that comes to
another barrier is taken there for one that has come to the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.arriving_threads import come_later
from smem_lsp.analysis.decision.divergence import (
    DATA,
    TO_PROVE,
    Asked,
    DivergenceResult,
    ForkQuestion,
    Reachability,
    for_sizes,
)
from smem_lsp.analysis.decision.divergence_points import (
    DivergenceSite,
    Fork,
    LaterBarrier,
    is_idle,
    may_call,
    sites,
    waits,
)
from smem_lsp.analysis.decision.formulas import Formula
from smem_lsp.analysis.decision.loaded_values import MadeOf
from smem_lsp.analysis.decision.question import RaceQueries
from smem_lsp.analysis.decision.unknowns import Origin
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.ir.nodes import Barrier, Branch, Jump, JumpKind, Loop, Seq, walk
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass


@record
class Reached:
    """``ordering``: barriers (points) to which all threads come, or return without touching anything; ``uniform``:
    branches and loops that all who come to them take alike; ``meant``: those that they have to take alike, since some
    would miss a barrier else, and that do not ask for a thread's number."""

    ordering: frozenset[int]
    uniform: frozenset[int]
    meant: frozenset[int]


ALL = DivergenceResult(Reachability.ALL)


@dataclass(slots=True)
class BarrierJudge:
    """Decides the block barriers of one kernel that are not proved to be run by all. ``asker``: its questions;
    ``paired``: barriers that all run in one arm or the other."""

    asker: RaceQueries
    control: Control
    paired: frozenset[int]
    _sites: list[DivergenceSite] | None = None
    _reached: Reached | None = None
    _agreed: dict[tuple[int, int, bool, bool], Reachability] = field(default_factory=dict)

    @property
    def sites(self) -> list[DivergenceSite]:
        """The block barriers that are not proved."""
        if self._sites is None:
            proved = self.control.barriers | self.control.alike | self.paired
            every = sites(self.asker.of.kernel.body, self.asker.of.values, self.asker.of.positions)
            self._sites = [
                each
                for each in every
                if isinstance(each.node, Barrier) and each.node.of_block and each.node.point not in proved
            ]
        return self._sites

    @property
    def reached(self) -> Reached:
        """What the solver proves of barriers."""
        if self._reached is None:
            ordering: set[int] = set()
            agreed: dict[int, bool] = {}
            for site in self.sites:
                if self.prove(site) <= Reachability.LEAVES:
                    ordering.add(site.node.point)
                before = Reachability.ALL
                for fork in site.forks:
                    before = max(before, self.agreed(fork))
                    if before > Reachability.LEAVES:
                        break
                    alike = self.agreed(fork) is Reachability.ALL
                    agreed[fork.node.point] = agreed.get(fork.node.point, True) and alike
            uniform = frozenset(point for point, alike in agreed.items() if alike)
            forks = (fork for site in self.sites for fork in site.forks)
            meant = frozenset(each.branch for fork in forks if self.is_meant(fork) for each in fork.parts)
            self._reached = Reached(frozenset(ordering), uniform, meant)
        return self._reached

    def is_meant(self, fork: Fork) -> bool:
        """May threads part there that would wait at different barriers then, and does none of them by its number?"""
        of = self.asker.of
        by_number = any(MadeOf.BY_NUMBER in of.made_of(each.term) for each in fork.parts)
        return bool(fork.parts) and not by_number and self.agreed(fork) is Reachability.UNDECIDED

    def prove(self, site: DivergenceSite) -> Reachability:
        """The worst that is not ruled out at the forks in front of it; UNDECIDED for more than RETURNS."""
        assert isinstance(site.node, Barrier)
        if site.node.guess or self.asker.of.kernel.irregular is not None:
            return Reachability.UNDECIDED
        worst = Reachability.ALL
        for fork in site.forks:
            worst = max(worst, self.agreed(fork))
            if worst is Reachability.UNDECIDED:
                break
        return worst

    def agreed(self, fork: Fork) -> Reachability:
        """Do all threads that come to it decide alike? Else: do those who leave return?"""
        found = self._agreed.get(fork.key)
        if found is None:
            found = self._agreed[fork.key] = self._agree(fork)
        return found

    def _agree(self, fork: Fork) -> Reachability:
        if not fork.known:
            return Reachability.UNDECIDED
        if all(self.asker.of.levels.uniform(each.term) for each in fork.parts):
            return Reachability.ALL
        if self.is_excluded(fork, None):
            return Reachability.ALL
        if may_call(fork, self.asker.of.kernel.opaque):
            return Reachability.UNDECIDED
        if is_idle(fork):
            return Reachability.LEAVES
        others, complete = waits(fork)
        if complete and all(not each.later and self.is_excluded(fork, each) for each in others):
            return Reachability.RETURNS
        return Reachability.UNDECIDED

    def is_excluded(self, fork: Fork, wait: LaterBarrier | None) -> bool:
        """Can no two threads part there, one of which comes to ``wait``?"""
        for loose in (True, False):
            question = ForkQuestion(self.asker, fork, loose=loose)
            formulas = question.parted() + ([] if wait is None else question.comes_to(wait.barrier, 1))
            found = question.solve(formulas, TO_PROVE)
            if found.outcome is solver.Satisfiability.NONE:
                return True
            if not question.encoder.loosened:
                break
        return False

    def told(self, site: DivergenceSite) -> DivergenceResult:
        """The first fork at which threads part from those that come to the barrier and wait elsewhere, and the worst
        that is known of it."""
        worst, open_ = ALL, ALL
        for fork in site.forks:
            checkpoint()
            found = self.at(site, fork)
            if found.reach is Reachability.UNDECIDED and self.is_of_later_iterations(site, fork):
                open_ = found
                continue
            if found.reach > worst.reach:
                worst = found
            if worst.reach is Reachability.UNDECIDED or worst.reach > Reachability.DATA:
                break
        return open_ if worst.reach < open_.reach else worst

    def is_of_later_iterations(self, site: DivergenceSite, fork: Fork) -> bool:
        """Does nothing depend on it in the first iteration of the loop, of which alone others tell then?"""
        return fork.jump is not None and isinstance(fork.node, Loop) and fork.is_behind(site.node)

    def at(self, site: DivergenceSite, fork: Fork) -> DivergenceResult:
        """What is decided at one fork."""
        reach = self.agreed(fork)
        undecided = DivergenceResult(Reachability.UNDECIDED, fork)
        if reach is not Reachability.UNDECIDED:
            return DivergenceResult(reach, fork)
        if not fork.known or fork.hides(site.node) or not self.may_tell(site, fork):
            return undecided
        others, _ = waits(fork)
        if fork.jump is None and isinstance(fork.node, Branch) and others:
            arm = fork.elsewhere[0].nodes
            inside = [each for each in others if any(node is each.barrier for node in walk(Seq(arm)))]
            if inside and not self.splits_a_warp(fork):
                if _partner(site, fork) is not False:
                    return undecided  # the arms of whole warps may have their barriers in common
                others = [each for each in others if each not in inside]
        worst = undecided
        for wait in others:
            if not wait.barrier.of_block or wait.barrier.guess:
                continue
            found = self.waiting(site, fork, wait)
            if found is None:
                continue
            if found.reach > worst.reach:
                worst = found
            if found.reach > Reachability.UNDECIDED:
                break
        return worst

    def splits_a_warp(self, fork: Fork) -> bool:
        """May two lanes of one warp part there?"""
        question = ForkQuestion(self.asker, fork, loose=False)
        lanes = min(self.asker.of.values.table.warp_sizes, default=32)
        return question.solve([*question.parted(), question.in_one_warp(lanes)], TO_PROVE).outcome is not (
            solver.Satisfiability.NONE
        )

    def waiting(self, site: DivergenceSite, fork: Fork, wait: LaterBarrier) -> DivergenceResult | None:
        """Can one thread come to the barrier while another one goes on to ``wait``? None: it cannot."""
        question = ForkQuestion(self.asker, fork, loose=False)
        formulas = [*question.parted(), *question.comes(site), *question.first_iterations(site)]
        if not wait.later:
            formulas += question.comes_to(wait.barrier, 1)
        encoder = question.encoder
        meant = [*formulas, *encoder.assumed.all]
        found = question.solve(meant, TO_PROVE)
        if found.outcome is solver.Satisfiability.NONE:
            return None
        undecided = DivergenceResult(Reachability.UNDECIDED, fork, wait.barrier)
        if found.outcome is not solver.Satisfiability.SOME or Origin.UNKNOWN in question.origin:
            return undecided
        if wait.later and not self.runs_again(fork, wait):
            return undecided
        if question.origin & DATA:
            if not (wait.sure or wait.later):
                return undecided
            shown = question.witness([*meant, *question.alike_data()], {})
            if shown is None:
                return undecided
            return DivergenceResult(Reachability.DATA, fork, wait.barrier, shown[0], None, shown[1])
        if wait.later and not (wait.sure and wait.barrier.point in self.control.barriers):
            return self.coming_back(question, meant, wait)
        if not wait.sure:
            return undecided
        asked = [(question, meant), *self.in_later_iterations(site, fork, wait)]
        return for_sizes(self.asker, asked, wait.barrier)

    def coming_back(
        self, question: ForkQuestion, meant: list[Formula], wait: LaterBarrier
    ) -> DivergenceResult:
        """Do threads leave that come to the barrier in a later iteration?"""
        fork, loop = question.fork, self.loop_of(question.fork, wait)
        jumps = (each for each in walk(loop.body) if isinstance(each, Jump))
        ends = any(each.kind is not JumpKind.CONTINUE for each in jumps)
        if ends or not waits(fork)[0][0].later:  # where they wait first may be meant for this barrier
            return DivergenceResult(Reachability.UNDECIDED, fork, wait.barrier)

        def settled(found: DivergenceResult) -> DivergenceResult | None:
            assert found.witness is not None
            later = come_later(self.asker, wait.barrier, found, loop.point)
            threads = found.witness.threads[0], min(later, default=0)
            return replace(found, witness=replace(found.witness, threads=threads)) if later else None

        early = question.encoder.iteration(loop.point, 0) <= 1
        asked = [(question, [*meant, early]), (question, meant)]
        found = for_sizes(self.asker, asked, wait.barrier, settled)
        known = found.reach is Reachability.DIVERGES or self.asker.dims is None
        return found if known else DivergenceResult(Reachability.UNDECIDED, fork, wait.barrier)

    def in_later_iterations(self, site: DivergenceSite, fork: Fork, wait: LaterBarrier) -> Iterator[Asked]:
        """The same question about later iterations of a loop."""
        for each in self.later_iterations(site, fork):
            question = ForkQuestion(self.asker, each, loose=False)
            formulas = [*question.parted(), *question.comes(site), *question.first_iterations(site)]
            formulas += question.comes_to(wait.barrier, 1)
            if not question.origin & (DATA | Origin.UNKNOWN):
                yield question, [*formulas, *question.encoder.assumed.all]

    def later_iterations(self, site: DivergenceSite, fork: Fork) -> Iterator[Fork]:
        """Where threads part at the start of a loop: the ends of its iterations, where they may, too."""
        if isinstance(fork.node, Loop) and fork.jump is None and not fork.again:
            for each in site.forks:
                if each.node is fork.node and each.again and self.may_tell(site, each):
                    yield each

    def runs_again(self, fork: Fork, wait: LaterBarrier) -> bool:
        """Does the barrier stand in a loop around the fork that may run more than once?"""
        loop = self.loop_of(fork, wait)
        return loop.trips is None or loop.trips > 1

    def loop_of(self, fork: Fork, wait: LaterBarrier) -> Loop:
        """The loop in whose later iteration they wait."""
        segment = next(
            each
            for each in fork.elsewhere
            if each.later and any(n is wait.barrier for n in walk(Seq(each.nodes)))
        )
        return next(
            node for node in self.asker.of.nodes if isinstance(node, Loop) and node.point == segment.loop
        )

    def may_tell(self, site: DivergenceSite, fork: Fork) -> bool:
        """Is it simple who comes to the barrier? In the iteration behind the fork, all who run it have to."""
        if not fork.is_behind(site.node):
            return True
        if fork.jump is not None and len({each.branch for each in fork.parts}) > 1:
            return False
        conditions = self.asker.of.positions[site.node.point].conditions
        return all(each in fork.holds or self.asker.of.levels.uniform(each.term) for each in conditions)


def _partner(site: DivergenceSite, fork: Fork) -> bool | None:
    """Has the other arm of the branch a barrier for this one? None: not known."""
    assert isinstance(fork.node, Branch)
    then, otherwise = fork.node.then, fork.node.otherwise
    mine, other = (then, otherwise) if any(n is site.node for n in walk(then)) else (otherwise, then)
    own, others = _straight(mine), _straight(other)
    if own is None or others is None:
        return None
    return own.index(site.node.point) < len(others)


def _straight(seq: Seq) -> list[int] | None:
    """The block barriers that every thread runs in ``seq`` (points); None: unknown."""
    found = []
    for node in seq.items:
        if isinstance(node, Barrier):
            if not node.of_block:
                return None
            found.append(node.point)
        elif isinstance(node, Branch | Loop) and any(
            isinstance(each, Barrier | Jump) for each in walk(Seq((node,)))
        ):
            return None
    return found
