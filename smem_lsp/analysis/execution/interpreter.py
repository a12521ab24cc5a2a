"""One run of one block: all threads at once, a barrier interval at a time.

Nothing is concluded from what is not known. An access that cannot be evaluated is left out. Where something else than a
barrier may order accesses (named barriers, locks, flags, unknown calls), the run ends or starts anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import compress, takewhile

from smem_lsp.analysis.execution.access_recorder import AccessRecorder
from smem_lsp.analysis.execution.assumed_paths import AssumedPaths
from smem_lsp.analysis.execution.conflicting_accesses import ConflictingAccesses
from smem_lsp.analysis.execution.frame import Lost, Path, RegionFrame
from smem_lsp.analysis.execution.interval import Interval
from smem_lsp.analysis.execution.iterations_run import last_iterations, most_iterations
from smem_lsp.analysis.execution.program import (
    AccessInstruction,
    AddedCopyWait,
    AddedProxyFence,
    BlockBarrierInstruction,
    BranchInstruction,
    ComputingLoop,
    CopyInstruction,
    ExchangeInstruction,
    Instruction,
    JumpInstruction,
    LoopInstruction,
    OtherBarrierInstruction,
    Program,
    ProxyInstruction,
    Region,
    WarpBarrierInstruction,
)
from smem_lsp.analysis.execution.synchronisation import Synchronisation
from smem_lsp.analysis.threads.spin_loops import may_poll
from smem_lsp.analysis.values.evaluate import Evaluator, decided, iterations_within
from smem_lsp.analysis.values.loop_exits import exit_values
from smem_lsp.analysis.values.value_facts import LoopFacts, ValueFacts
from smem_lsp.ir.nodes import JumpKind, Kernel, Loop
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Term

_OVER_BACK_EDGE = 2  # iterations after which each access of a loop has been compared over the back edge
_MAX_BEHIND = 12_000  # accesses behind a return that the block may take or not
_MAX_DECIDED = 100_000  # branches and iterations of one run, each counted once for every thread


class _AllFound(Exception):
    """Every conflict that is asked about is found."""


@dataclass(slots=True)
class ProgramInterpreter:
    """Runs a program for all threads of ``block``. ``brief``: the run is over when every conflict that is asked about
    is found; ``undecided``: branches and iterations that may still be run; ``deserted``: all threads that were left
    have returned at once; ``cut``: loops and branches (points) that were not run as a whole."""

    kernel: Kernel
    values: ValueFacts
    program: Program
    block: Evaluator
    recorder: AccessRecorder
    brief: bool = False
    undecided: int = _MAX_DECIDED
    deserted: bool = False
    cut: set[int] = field(default_factory=set)
    synchronisation: Synchronisation = field(init=False)

    def __post_init__(self) -> None:
        self.synchronisation = Synchronisation(
            self.kernel, self.values, self.program, self.block, self.recorder
        )

    @property
    def assumed(self) -> AssumedPaths:
        """Made when it is asked for: the two would keep each other until garbage is collected."""
        return AssumedPaths(
            self.kernel, self.values, self.program, self.recorder, self.synchronisation, self._run
        )

    @property
    def conflicts(self) -> ConflictingAccesses:
        """The conflicts found so far."""
        return self.recorder.conflicts

    def go(self) -> ProgramInterpreter:
        """Run the kernel as far as it can be followed."""
        frame = RegionFrame(Path(), Interval(self.conflicts.warp))
        try:
            self._run(self.program.instructions, self.block, frame)
        except Lost:
            self.synchronisation.arrivals.all_seen = False
            self.synchronisation.lose(set(self.block.threads) - frame.path.returned, frame)
        except _AllFound:
            pass  # ``conflicts`` has it all
        return self

    def _run(
        self, instructions: Sequence[Instruction], threads: Evaluator, frame: RegionFrame
    ) -> Evaluator | None:
        """Run ``instructions`` for ``threads``; returns those that come to the end."""
        order = self.synchronisation
        here: Evaluator | None = threads
        for each in instructions:
            checkpoint()
            if here is None:
                return None
            order.come_to(each.node.point, frame)
            match each:
                case AccessInstruction():
                    self.recorder.record(each.node, here, frame)
                    if self.brief and self.conflicts.settled:
                        raise _AllFound
                case BranchInstruction():
                    here = self._branch(each, here, frame)
                case LoopInstruction():
                    here = self._loop(each, here, frame)
                case ComputingLoop():
                    here = self._behind(each.node, self.program.slice.loops[each.node.point], here)
                case BlockBarrierInstruction():
                    order.block_barrier(each, here, frame)
                case WarpBarrierInstruction():
                    order.warp_barrier(each, here, frame)
                case ExchangeInstruction():
                    order.exchange(each.node, here, frame)
                case OtherBarrierInstruction():
                    order.other_barrier(each, here, frame)
                case CopyInstruction():
                    order.copies(each, here, frame)
                case AddedCopyWait():
                    order.added_wait(each, here, frame)
                case ProxyInstruction():
                    if not frame.assumed:
                        self.recorder.record_proxy(each.node, here)
                case AddedProxyFence():
                    order.proxy_fence(here)
                case JumpInstruction():
                    if each.node.kind is JumpKind.RETURN:
                        frame.path.returned.update(here.threads)
                    elif each.node.kind is JumpKind.BREAK:
                        frame.broken.update(here.threads)
                    return None
        return here

    def _decide(self, here: Evaluator) -> None:
        self.undecided -= len(here.threads)
        if self.undecided < 0 or (here.work is not None and here.work.left < 0):
            raise Lost  # the run would take too long

    @contextmanager
    def _decided_by(
        self, region: Region, way: bool, here: Evaluator, frame: RegionFrame, *, lasting: bool
    ) -> Iterator[RegionFrame]:
        """The frame for the inside of a region that goes this way. ``lasting``: what runs behind the region depends on
        its way, too, because threads may leave in it."""
        path, before = frame.path, frame.path.symbols
        inside = frame
        if region.input_dependent:
            inside = replace(frame, decisions=frame.decisions | {self.assumed.decision(region, way)})
            if isinstance(region, BranchInstruction):
                path.symbols |= self.assumed.symbols(region, here)
        try:
            yield inside
        finally:
            if not lasting:
                path.symbols = before
            elif region.input_dependent:
                path.input_dependent = True
                places = self.program.places
                if region.symbols & ~places:  # a place in the grid decides only together with a size
                    path.symbols &= before | ~places

    # ---- branches ----------------------------------------------------------------------------------------------------

    def _branch(self, branch: BranchInstruction, here: Evaluator, frame: RegionFrame) -> Evaluator | None:
        self._decide(here)
        condition = self.values.conditions[branch.node.point]
        if branch.effects.paired_barriers:
            self._paired_arms(branch, decided(condition, here), here, frame)
            return here
        value = here.value(condition)
        mask = [value] if isinstance(value, int) else decided(condition, here)
        if branch.uniform and (branch.input_dependent or mask is None):
            if not self.assumed.symbols(branch, here) & frame.path.symbols:
                self._assume_arms(branch, mask, here, frame)
                if mask is None and branch.effects.leaves and not branch.effects.may_wait:
                    arm = _arm_that_stays(branch)
                    if arm is not None:
                        return self._stay(branch, arm, here, frame)
        if mask is None:
            self._either_arm(branch, condition, here, frame)
            return here
        return self._known_arms(branch, mask, here, frame)

    def _assume_arms(
        self,
        branch: BranchInstruction,
        mask: Sequence[int] | None,
        here: Evaluator,
        frame: RegionFrame,
    ) -> None:
        """Run the arms that another launch may take with all threads, where this run does not."""
        for arm, truth in branch.arms:
            if mask is not None and any(mask) == truth:
                continue
            if any(each.effects.other_barriers for each in arm):
                self.synchronisation.arrivals.all_seen = False
            if arm:
                self.assumed.assume_arm(branch, arm, here, frame)

    def _either_arm(
        self, branch: BranchInstruction, condition: Term, here: Evaluator, frame: RegionFrame
    ) -> None:
        """Which arm a thread takes is not known."""
        self.assumed.run_either(branch, here, frame)
        if not branch.uniform:
            for arm, truth in branch.arms:
                self.assumed.run_guarded(branch, arm, condition, truth, here, frame)
        self._pass_over(branch, here, frame)

    def _known_arms(
        self, branch: BranchInstruction, mask: Sequence[int], here: Evaluator, frame: RegionFrame
    ) -> Evaluator | None:
        """Run both arms, each for the threads that take it. ``mask``: by thread, or a single number for all."""
        staying: list[Sequence[int]] = []  # threads that come to the end of an arm
        order, effects = self.synchronisation, branch.effects
        ordered = effects.other_barriers or order.calls_between(branch.node.point, branch.end)
        for arm, truth in branch.arms:
            checkpoint()
            with self._decided_by(branch, truth, here, frame, lasting=effects.leaves) as inside:
                if any(mask) if truth else not all(mask):
                    taken = mask if truth else [not each for each in mask]
                    whole = all(taken)
                    if not arm:
                        staying.append(here.threads if whole else list(compress(here.threads, taken)))
                    else:
                        going = self._run(arm, here if whole else here.only(taken), inside)
                        staying.append(going.threads if going is not None else ())
                    if ordered:
                        order.forget(frame)
        self._forget_fences(branch)
        if not any(staying) and effects.returns and not frame.assumed:
            self.deserted = True
        if sum(map(len, staying)) == len(here.threads):
            return here
        return _only(here, set().union(*staying))

    def _stay(
        self, branch: BranchInstruction, arm: Sequence[Instruction], here: Evaluator, frame: RegionFrame
    ) -> Evaluator | None:
        """Go on through ``arm`` behind a branch that all threads take alike in a way that is not known. What named
        barriers and fences do from there on is not followed."""
        order = self.synchronisation
        order.arrivals.all_seen = False
        order.lose(here.threads, frame)
        order.forget_proxies(frame)
        with self._decided_by(branch, arm is branch.then, here, frame, lasting=True) as inside:
            frame.path.input_dependent = True
            self.recorder.left = min(self.recorder.left, _MAX_BEHIND)
            self.assumed.trust(branch, frame)
            going = self._run(arm, here, inside)
        order.come_to(branch.end, frame)
        return going

    def _paired_arms(
        self, branch: BranchInstruction, mask: Sequence[int] | None, here: Evaluator, frame: RegionFrame
    ) -> None:
        """Arms that share their barriers: only the traces tell how these order what happens in between."""
        effects, order = branch.effects, self.synchronisation
        if self.recorder.traces is None or mask is None or effects.leaves or effects.may_wait:
            self._pass_over(branch, here, frame)
            return
        inside = replace(frame, interval=Interval(frame.interval.warp), paired_arms=True)
        for arm, truth in branch.arms:
            checkpoint()
            threads = here.of([int(bool(each) == truth) for each in mask])
            order.forget(inside)
            if threads is not None:
                self._run(arm, threads, inside)
        if effects.copies:
            frame.interval.lose_copies()
        frame.interval.barrier()

    # ---- loops -------------------------------------------------------------------------------------------------------

    def _loop(self, loop: LoopInstruction, here: Evaluator, frame: RegionFrame) -> Evaluator | None:
        facts, effects = self.program.slice.loops[loop.node.point], loop.effects
        barrier_free = frame.barrier_free
        if not effects.block_barriers:
            barrier_free = barrier_free or (loop.node.point, loop.end)
        with self._decided_by(loop, True, here, frame, lasting=effects.returns) as decided_frame:
            inside = replace(
                decided_frame, broken=set(), barrier_free=barrier_free, depth=frame.depth + (not facts.once)
            )
            try:
                if facts.once:
                    self._run(loop.body, here, inside)
                else:
                    self._iterate(loop, facts, here, inside)
            except Lost:
                if loop.left_together:
                    self._leave_together(loop, here, frame)
                elif may_poll(loop.node, self.values):  # what is behind it is ordered by what it waits for
                    self.cut.add(loop.node.point)
                    raise
                else:  # threads leave it one by one, but all come to what is behind it
                    self._pass_over(loop, here, frame)
        self._forget_fences(loop)
        here = self._behind(loop.node, facts, here)
        returned = frame.path.returned
        return _only(here, set(here.threads) - returned) if returned else here

    def _iterate(self, loop: LoopInstruction, facts: LoopFacts, here: Evaluator, frame: RegionFrame) -> None:
        """Run the iterations that are known: the first ones, and the last ones of a long loop that is counted."""
        if loop.effects.may_wait:
            self._poll(loop, facts, here, frame)
            self.cut.add(loop.node.point)
            raise Lost  # it waits for a flag or a lock
        together = loop.uniform and loop.effects.block_barriers
        most = most_iterations(loop, frame.depth - 1)
        last = last_iterations(loop, facts, here, most)
        enough = self.recorder.left // 2  # is left for what is behind the loop
        for number, inside in enumerate(iterations_within(facts, here, most, together=together)):
            checkpoint()
            if number and together and (facts.exits or not facts.again.known):
                self.assumed.trust(loop, frame)
            costly = number >= _OVER_BACK_EDGE and self.recorder.left < enough
            if costly and loop.effects.must_run and not loop.effects.leaves:
                self._pass_over(loop, here, frame)
                return
            if last and number == most - len(last):
                self._pass_over(loop, here, frame)
                for each in last:
                    if each is not None:
                        self._iteration(loop, each, frame)
                return
            if inside is None or self.recorder.left <= 0:
                if number == 0:
                    self._assume_iterations(loop, facts, here, frame)
                self._pass_over(loop, here, frame)
                return
            if not self._iteration(loop, inside, frame):
                return

    def _assume_iterations(
        self, loop: LoopInstruction, facts: LoopFacts, here: Evaluator, frame: RegionFrame
    ) -> None:
        """Whether the loop runs at all is not known."""
        if not loop.uniform:
            begun = {r.atom: v for r in facts.recurrences if (v := here.value(r.init)) is not None}
            self.assumed.run_guarded(loop, loop.body, facts.first, True, here.within(begun), frame)
        elif loop.input_dependent and not facts.exits:
            self.assumed.assume_iterations(loop, here, frame)

    def _poll(self, loop: LoopInstruction, facts: LoopFacts, here: Evaluator, frame: RegionFrame) -> None:
        """A loop that waits surely makes the accesses in front of its barrier once: to the word of a barrier object."""
        polled = list(takewhile(lambda each: isinstance(each, AccessInstruction), loop.body))
        behind = loop.body[len(polled) : len(polled) + 1]
        inside = next(iterations_within(facts, here, 1), None)
        if inside is not None and behind and isinstance(behind[0], OtherBarrierInstruction):
            self._run(polled, inside, frame)

    def _iteration(self, loop: LoopInstruction, inside: Evaluator, frame: RegionFrame) -> bool:
        """Run one iteration; False when no thread is left to run it."""
        self._decide(inside)
        gone = frame.broken | frame.path.returned if frame.broken or frame.path.returned else None
        running = _only(inside, set(inside.threads) - gone) if gone else inside
        if running is None:
            return False
        frame.path.point = loop.node.point  # a call before the first instruction is made in every iteration
        self._run(loop.body, running, frame)
        self.synchronisation.come_to(loop.end, frame)
        return True

    def _leave_together(self, loop: LoopInstruction, here: Evaluator, frame: RegionFrame) -> None:
        """Go on behind a loop that the run could not follow, but that all threads leave in the same iteration."""
        order, path = self.synchronisation, frame.path
        order.arrivals.all_seen = False
        order.forget(frame)
        order.lose(here.threads, frame)
        self.assumed.trust(loop, frame)
        path.input_dependent = True
        self.cut.add(loop.node.point)
        path.point = max(path.point, loop.end)

    def _behind(self, node: Loop, facts: LoopFacts, here: Evaluator) -> Evaluator:
        """With what the loop leaves in its variables."""
        wanted = self.program.slice.exits.get(node.point, ())
        found = exit_values(facts, here, wanted) if wanted else {}
        return here.behind(found) if found else here

    # ---- what is not run ---------------------------------------------------------------------------------------------

    def _pass_over(self, region: Region, here: Evaluator, frame: RegionFrame) -> None:
        """Go on behind a region that is not run. Raises Lost where threads may leave it, wait in it, or miss one of its
        barriers."""
        self.cut.add(region.node.point)
        order, effects, path = self.synchronisation, region.effects, frame.path
        if effects.leaves or effects.may_wait or not effects.must_run:
            raise Lost
        if effects.assumes_race_free and effects.block_barriers:
            path.assumes_race_free = True
        if effects.other_barriers and (isinstance(region, BranchInstruction) or effects.not_every_iteration):
            order.arrivals.all_seen = False
        if effects.copies:
            frame.interval.lose_copies()
        if effects.proxy_fences and self.recorder.proxies is not None:
            self.recorder.proxies.forget()
        if effects.other_barriers or order.calls_between(region.node.point, region.end):
            order.forget(frame)
            order.lose(here.threads, frame)
        elif effects.block_barriers:
            frame.interval.barrier()
            unpaired = not (frame.paired_arms or effects.paired_barriers)
            if self.recorder.traces is not None and not frame.assumed and unpaired:
                self.recorder.traces.meet(
                    here.threads, path.returned
                )  # all of them, at some barriers at least
            else:
                order.lose(here.threads, frame)
        frame.interval.gather(here.threads, frame.interval.warp)
        path.point = max(path.point, region.end)

    def _forget_fences(self, region: Region) -> None:
        """Behind a region: whether its fences have run may depend on the kernel's inputs."""
        if region.effects.proxy_fences and region.input_dependent and self.recorder.proxies is not None:
            self.recorder.proxies.forget()


def _only(here: Evaluator, threads: set[int]) -> Evaluator | None:
    """``here`` for those of its threads."""
    if len(threads) == len(here.threads):
        return here
    return here.of([thread in threads for thread in here.threads])


def _arm_that_stays(branch: BranchInstruction) -> tuple[Instruction, ...] | None:
    """The one arm that surely does not lead away: all threads are in it, or none is behind the branch."""
    for arm, other in ((branch.then, branch.otherwise), (branch.otherwise, branch.then)):
        checkpoint()
        leads_away = any(isinstance(each, JumpInstruction) for each in other)
        if leads_away and not any(each.effects.leaves for each in arm):
            return arm
    return None
