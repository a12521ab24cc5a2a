"""One run of one block: all threads at once, a barrier interval at a time.

Nothing is concluded from what is not known: an access that cannot be evaluated is left out, and where an order may come
from something else than a barrier (named barriers, locks, flags, unknown calls) the run ends or starts anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress, takewhile

from smem_lsp.analysis.execution.access_recorder import Circumstances
from smem_lsp.analysis.execution.assumed_paths import Supposing
from smem_lsp.analysis.execution.pending_copies import Flights
from smem_lsp.analysis.execution.program import Instruction
from smem_lsp.analysis.execution.synchronisation import Lost
from smem_lsp.analysis.values.evaluate import Evaluator, decided, iterations
from smem_lsp.analysis.values.loop_exits import exit_values
from smem_lsp.analysis.values.terms import Term
from smem_lsp.analysis.values.trip_counts import iterations_of
from smem_lsp.analysis.values.value_facts import LoopFacts
from smem_lsp.ir.nodes import (
    Access,
    Barrier,
    Branch,
    CopyWait,
    Exchange,
    Jump,
    JumpKind,
    Loop,
    Place,
    Proxy,
)
from smem_lsp.source import checkpoint

_TURNS = (12, 5, 4)  # iterations that are run of a loop with barriers, by how many loops are around it
_PLAIN = (8, 4, 3, 2)  # of one without
_FEW = 4
_LAST_STAGES = 6  # iterations at its end that are run of one with asynchronous copies
_MET = 2  # iterations after which a loop has met itself over its back edge
_MAX_BEHIND = 12_000  # behind a return or the like of which it is not known whether the block takes it
_MAX_DECIDED = 100_000  # branches and iterations of one run, threads counted


class _Settled(Exception):
    """Nothing else is to be found out."""


@dataclass(slots=True)
class Interpreter(Supposing):
    """The steps of a script, for all threads of the block."""

    undecided: int = _MAX_DECIDED
    deserted: bool = False  # have all threads that were left returned at once?
    cut: set[int] = field(default_factory=set)  # loops of which not all iterations were run
    brief: bool = False  # is it over when all that is asked about meets?

    def go(self) -> Interpreter:
        """Run the kernel as far as it can be followed."""
        try:
            self._steps(self.script.steps, self.block)
        except Lost:
            self.met.forget()
            self.named.all_seen = False
            self._lose(set(self.block.threads) - self.away)
        except _Settled:
            pass  # ``met`` tells it all
        return self

    # ---- control -----------------------------------------------------------------------------------------------------

    def _steps(self, steps: Sequence[Instruction], here: Evaluator) -> Evaluator | None:
        """Run ``steps`` for the threads ``here``; those that come to the end."""
        going: Evaluator | None = here
        for step in steps:
            checkpoint()
            if going is None:
                return None
            node = step.node
            self._come_to(node.point)
            if isinstance(node, Access):
                sure = not (self.free or self.decisions or self.guard)
                self.accesses.make(
                    node, going, Circumstances(self.decisions, self.supposed, sure, self.unsure, self.guard)
                )
                if self.brief and self.met.settled:
                    raise _Settled
            elif isinstance(node, Branch):
                going = self._branch(step, node, going)
            elif isinstance(node, Loop):
                going = self._loop(step, node, going)
            elif isinstance(node, Exchange):
                self.met.exchanged += 1
                self._gather(node.point, going)
            elif isinstance(node, Barrier | Place):
                self._barrier(step, going)
            elif isinstance(node, Proxy):
                if not self.supposed:
                    self.accesses.proxy(node, going)
            elif isinstance(node, CopyWait):
                self._copies(node.kind, self.script.added.left.get(node.point, node.left), going)
            elif isinstance(node, Jump):
                if node.kind is JumpKind.RETURN:
                    self.away.update(going.threads)
                elif node.kind is JumpKind.BREAK:
                    self.broken.update(going.threads)
                return None
        return going

    def _decide(self, here: Evaluator) -> None:
        self.undecided -= len(here.threads)
        if self.undecided < 0 or (here.work is not None and here.work.left < 0):
            raise Lost  # it would take too long

    def _branch(self, step: Instruction, node: Branch, here: Evaluator) -> Evaluator | None:
        self._decide(here)
        condition = self.values.conditions[node.point]
        value = here.value(condition)
        mask = [value] if isinstance(value, int) else decided(condition, here)
        if step.paired:
            self._arms_apart(step, decided(condition, here), here)
            return here
        if step.uniform and (step.free or mask is None) and not self._symbols(step, here) & self.decided:
            for arm, truth in ((step.first, True), (step.second, False)):
                elsewhere = mask is None or any(mask) != truth
                if elsewhere and any(each.orders for each in arm):
                    self.named.all_seen = False
                if arm and elsewhere and not self.script.narrows(condition, truth):
                    self._suppose(step, arm, here, again=False)
            if mask is None and step.leaves and not step.waits:
                staying_arm = self._arm_that_stays(step, condition)
                if staying_arm is not None:
                    return self._stay(step, staying_arm, here)
        if mask is None:
            self._either(step, here)
            if not step.uniform:
                for arm, truth in ((step.first, True), (step.second, False)):
                    self._perhaps(step, arm, condition, truth, here)
            self._pass_over(step, here)
            return here
        staying: list[Sequence[int]] = []  # threads that come to the end of an arm
        ordered = step.orders or self._calls(node.point, step.end)
        for arm, truth in ((step.first, True), (step.second, False)):
            checkpoint()
            with self._decided_by(step, truth, here, stays=step.leaves):
                if ordered:
                    self._forget()
                if any(mask) if truth else not all(mask):
                    taken = mask if truth else [not each for each in mask]
                    whole = all(taken)
                    if not arm:
                        staying.append(here.threads if whole else list(compress(here.threads, taken)))
                    else:
                        going = self._steps(arm, here if whole else here.only(taken))
                        staying.append(going.threads if going is not None else ())
                    if ordered:
                        self._forget()
        self._fences(step)
        if not any(staying) and step.returns and not self.supposed:
            self.deserted = True
        if sum(map(len, staying)) == len(here.threads):
            return here
        return _only(here, set().union(*staying))

    def _arm_that_stays(self, step: Instruction, condition: Term) -> Sequence[Instruction] | None:
        """The one arm that does not lead away for sure: all threads are in it, or none is behind the branch."""
        for arm, other, truth in ((step.first, step.second, True), (step.second, step.first, False)):
            checkpoint()
            if any(isinstance(each.node, Jump) for each in other) and not any(each.leaves for each in arm):
                return None if self.script.narrows(condition, truth) else arm
        return None

    def _stay(self, step: Instruction, arm: Sequence[Instruction], here: Evaluator) -> Evaluator | None:
        """Go on behind a branch of which only that all threads take it alike is known, through ``arm``. What named
        barriers and fences do from there on is not followed."""
        self.named.all_seen = False
        self._lose(here.threads)
        if self.accesses.proxies is not None and not self.supposed:
            self.accesses.proxies.forget()
        with self._decided_by(step, arm is step.first, here, stays=True):
            self.free, self.accesses.left = True, min(self.accesses.left, _MAX_BEHIND)
            self._trust(step)
            going = self._steps(arm, here)
        self._come_to(step.end)
        return going

    def _fences(self, step: Instruction) -> None:
        """Behind a branch or loop: whether its fences have run may rest on what the kernel is given."""
        if step.fences and step.free and self.accesses.proxies is not None:
            self.accesses.proxies.forget()

    def _arms_apart(self, step: Instruction, mask: Sequence[int] | None, here: Evaluator) -> None:
        """Arms whose barriers are one: what they do in between is ordered in a way that the traces alone tell."""
        if self.accesses.traces is None or mask is None or step.leaves or step.waits:
            self._pass_over(step, here)
            return
        before, self.apart = self.apart, True
        flights, self.met.flights = self.met.flights, Flights()
        for arm, taken in ((step.first, mask), (step.second, [not each for each in mask])):
            checkpoint()
            inside = here.of([int(each) for each in taken])
            self._forget()
            if inside is not None:
                self._steps(arm, inside)
        self.apart, self.met.flights = before, flights
        if step.copies:
            self.met.lose_copies()
        self.met.barrier()

    def _loop(self, step: Instruction, node: Loop, here: Evaluator) -> Evaluator | None:
        facts = self.script.followed.loops[node.point]
        if not (step.first or step.waits):
            return self._behind(node, facts, here)
        outer, self.broken = self.broken, set()
        calm, depth, apart = self.loop, self.depth, self.apart
        if not step.syncs:
            self.loop = calm or (node.point, node.end_point)
        with self._decided_by(step, True, here, stays=step.returns):
            try:
                if facts.once:
                    self._steps(step.first, here)
                else:
                    self._turns(step, node, facts, here)
            except Lost:
                if not step.left_together:
                    raise
                self._leave_together(step, here)
        self.broken, self.loop, self.depth, self.apart = outer, calm, depth, apart
        if step.orders or self._calls(node.point, node.end_point):
            self._forget()
        self._fences(step)
        here = self._behind(node, facts, here)
        return _only(here, set(here.threads) - self.away) if self.away else here

    def _leave_together(self, step: Instruction, here: Evaluator) -> None:
        """Go behind a loop in which the run was lost: all threads leave it in the same iteration, some time."""
        self.named.all_seen = False
        self._forget()
        self._lose(here.threads)
        self._trust(step)
        self.free, self.cut = True, self.cut | {step.node.point}
        self.at = max(self.at, step.end)

    def _behind(self, node: Loop, facts: LoopFacts, here: Evaluator) -> Evaluator:
        """With what the loop leaves in its variables."""
        wanted = self.script.followed.exits.get(node.point, ())
        found = exit_values(facts, here, wanted) if wanted else {}
        return here.behind(found) if found else here

    def _turns(self, step: Instruction, node: Loop, facts: LoopFacts, here: Evaluator) -> None:
        """The iterations that are known: the first ones, and the last where it is a long loop that is counted."""
        if step.waits:
            self._ask(step, facts, here)
            raise Lost  # for a flag or a lock
        limits = _TURNS if step.syncs else _PLAIN
        most = limits[min(self.depth, len(limits) - 1)]
        counted = iterations_of(facts, here)
        lasts = 0
        if counted is not None and max(counted.counts) > most and not facts.exits and not step.returns:
            if not step.syncs or min(counted.counts) == max(counted.counts):
                lasts = _LAST_STAGES if step.copies and most > _LAST_STAGES else 2 if most > _FEW else 1
        self.depth += 1
        enough = self.accesses.left // 2  # is left for what is behind the loop, once it has met itself
        together = step.uniform and step.syncs
        for number, inside in enumerate(iterations(facts, here, most, together=together)):
            checkpoint()
            if number and together and (facts.exits or not facts.again.known):
                self._trust(step)
            if number >= _MET and self.accesses.left < enough and step.sure and not step.leaves:
                self._pass_over(step, here)
                break
            if lasts and number == most - lasts:
                self._pass_over(step, here)
                for back in reversed(range(lasts)):
                    last = counted.last(back) if counted is not None else None
                    if last is not None:
                        self._turn(step, node, last)
                break
            if inside is None or self.accesses.left <= 0:
                if number == 0 and step.uniform and step.free and not facts.exits:
                    self._suppose(step, step.first, here, again=True)
                elif number == 0 and not step.uniform:
                    begun = {r.atom: v for r in facts.recurrences if (v := here.value(r.init)) is not None}
                    self._perhaps(step, step.first, facts.first, True, here.within(begun))
                self._pass_over(step, here)
                break
            if not self._turn(step, node, inside):
                break
        self.depth -= 1

    def _ask(self, step: Instruction, facts: LoopFacts, here: Evaluator) -> None:
        """A loop waits: what it surely asks in its first iteration is the word of a barrier object."""
        asked = list(takewhile(lambda each: isinstance(each.node, Access), step.first))
        behind = step.first[len(asked) : len(asked) + 1]
        inside = next(iterations(facts, here, 1), None)
        if inside is not None and behind and isinstance(behind[0].node, Barrier) and behind[0].orders:
            self._steps(asked, inside)

    def _turn(self, step: Instruction, node: Loop, inside: Evaluator) -> bool:
        """One iteration; False when no thread runs it."""
        self._decide(inside)
        gone = self.broken or self.away
        running = _only(inside, set(inside.threads) - self.broken - self.away) if gone else inside
        if running is None:
            return False
        self.at = node.point  # what is called before the first step is called in every iteration
        self._steps(step.first, running)
        self._come_to(node.end_point)
        return True

    def _pass_over(self, step: Instruction, here: Evaluator) -> None:
        """Go behind what is not run here: perhaps through barriers, if all threads come to those."""
        self.cut.add(step.node.point)
        if step.leaves or step.waits or not step.sure:
            raise Lost
        self.unsure = self.unsure or (step.trusting and step.syncs)
        if step.orders and not (isinstance(step.node, Loop) and not step.unsteady):
            self.named.all_seen = False
        if step.copies:
            self.met.lose_copies()
        if step.fences and self.accesses.proxies is not None:
            self.accesses.proxies.forget()
        if step.orders or self._calls(step.node.point, step.end):
            self._forget()
            self._lose(here.threads)
        elif step.syncs:
            self.met.barrier()
            if self.accesses.traces is not None and not self.supposed and not self.apart and not step.paired:
                self.accesses.traces.meet(here.threads, self.away)  # which are all, at some barriers at least
            else:
                self._lose(here.threads)
        self.met.warp_barrier(here.threads)
        self.at = max(self.at, step.end)


def _only(here: Evaluator, threads: set[int]) -> Evaluator | None:
    """``here`` for those of its threads."""
    if len(threads) == len(here.threads):
        return here
    return here.of([thread in threads for thread in here.threads])
