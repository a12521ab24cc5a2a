"""What a run of a block does not come to, or not with all threads that it has: branches and loops that another launch
takes, that data choose, or that data bound."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from smem_lsp.analysis.execution.access_recorder import Circumstances
from smem_lsp.analysis.execution.data_dependent_guards import below_shared, data_guard
from smem_lsp.analysis.execution.events import Decision, Event, Guard
from smem_lsp.analysis.execution.program import Instruction
from smem_lsp.analysis.execution.synchronisation import Lost, Ordered
from smem_lsp.analysis.values.evaluate import Evaluator, decided
from smem_lsp.analysis.values.free_symbols import names_in
from smem_lsp.analysis.values.terms import Term
from smem_lsp.ir.nodes import Access, Branch

_MAX_SUPPOSED = 4_000  # of a branch or loop that this run does not come to


@dataclass(slots=True)
class Supposing(Ordered):
    """A run, as far as it concerns why it comes to a point: what decides it, and who may be there."""

    depth: int = 0  # loops around the point that it has come to
    free: bool = False  # has somebody gone away for a reason that is not known of every launch?
    decisions: frozenset[Decision] = frozenset()  # around it, that rest on what the kernel is given
    decided: int = 0  # the symbols that they rest on, and those of returns: their bits
    unsure: bool = False  # does what happens rest on values that threads agree on unless they race?
    broken: set[int] = field(default_factory=set)  # threads that have left the innermost loop
    guard: Guard | None = None  # what data decide who is here
    loop: tuple[int, int] | None = None  # the outermost loop without barriers around the point

    @abstractmethod
    def _steps(self, steps: Sequence[Instruction], here: Evaluator) -> Evaluator | None:
        """Run ``steps`` for the threads ``here``; those that come to the end."""

    def _trust(self, step: Instruction) -> None:
        self.unsure = self.unsure or step.node.point in self.script.alike

    @contextmanager
    def _decided_by(self, step: Instruction, way: bool, here: Evaluator, *, stays: bool) -> Iterator[None]:
        """Inside, what happens rests on this branch or loop going this way; with ``stays`` it does so for good."""
        decisions, decided = self.decisions, self.decided
        if step.free:
            self.decisions |= {self._decision(step, way)}
            if isinstance(step.node, Branch):
                self.decided |= self._symbols(step, here)
        try:
            yield
        finally:
            self.decisions = decisions
            if not stays:
                self.decided = decided
            elif step.free:
                self.free = True
                places = self.script.places
                if step.symbols & ~places:  # of so many blocks only what some size leaves away
                    self.decided &= decided | ~places

    def _symbols(self, step: Instruction, here: Evaluator) -> int:
        """What decides a branch here, as bits: two that share some may not go any two ways."""
        bits = step.symbols
        for atom, bit in step.turning.items():
            if atom not in here.bound:
                bits |= bit
        return bits

    def _decision(self, step: Instruction, way: bool) -> Decision:
        """One that may turn out otherwise in the next iteration of a loop goes either way."""
        condition = self.values.conditions.get(step.node.point)
        return step.node.point, way or condition is None or bool(condition.carried)

    def _suppose(
        self, step: Instruction, arm: Sequence[Instruction], here: Evaluator, *, again: bool
    ) -> None:
        """Run steps that some launch surely runs, though this run does not: with all threads, and without what rests on
        the symbols that decide it; none where these do not decide it here. Afterwards all is as it was before."""
        deciding = self._deciding(step)
        resting = self.script.resting
        names = {name: value for name, value in here.symbols.items() if name not in deciding}
        bound = {atom: at for atom, at in here.bound.items() if not resting.rests_on(atom, deciding)}
        unknown = Evaluator(here.dims, names, here.strict, bound, here.threads, work=here.work)
        condition = self.values.conditions.get(step.node.point)
        if condition is not None and decided(condition, unknown) is not None:
            return
        met, kept = (
            self.met,
            (
                self.at,
                self.away,
                self.broken,
                self.depth,
                self.decisions,
                self.decided,
                self.free,
                self.unsure,
            ),
        )
        before = met.open, met.synced, met.exchanged, met.flights
        supposed, self.supposed = self.supposed, True
        self.away, self.broken, self.free = set(self.away), set(self.broken), True
        self._trust(step)
        met.open = {storage: self._apart_from(deciding, open_) for storage, open_ in met.open.items()}
        met.flights = met.flights.saved()
        met.flights.open = [each for each in met.flights.open if self._apart_from(deciding, [each.event])]
        self.decisions |= {self._decision(step, arm is step.first)}
        self.decided |= self._symbols(step, here)
        left, self.accesses.left = self.accesses.left, min(self.accesses.left, _MAX_SUPPOSED)
        spent = self.accesses.left
        try:
            for _ in range(2 if again else 1):
                self.at = step.node.point
                self._steps(arm, unknown)
                self._come_to(step.end)
        except Lost:
            met.forget()
        met.open, met.synced, met.exchanged, met.flights = before
        self.supposed, self.accesses.left = supposed, left - (spent - self.accesses.left)
        self.at, self.away, self.broken, self.depth, self.decisions, self.decided, self.free, self.unsure = (
            kept
        )

    def _perhaps(
        self, step: Instruction, arm: Sequence[Instruction], condition: Term, truth: bool, here: Evaluator
    ) -> None:
        """Run steps that some threads run, but data decide which."""
        if step.acts or not arm or self._calls(step.node.point, step.end):
            return
        pointers = self.kernel.memory.pointers
        below = below_shared(condition, truth, here, self.values, pointers)
        if below is not None and self._symbols(step, here) & self.decided:
            return
        if below is not None:
            self._below(step, arm, truth, here.only(below))
            return
        found = data_guard(condition, truth, here, self.values, pointers)
        inside = None if found is None else here.of(found.mask)
        if found is None or inside is None:
            return
        before = self.guard, self.at, self.free, self.unsure, self.accesses.left
        broken, self.broken = self.broken, set(self.broken)
        self.guard = found.guard(self.met.open, self.guard, self.loop)
        with suppress(Lost):  # then what they do from there on is not told
            self._steps(arm, inside)
        self.guard, self.at, self.free, self.unsure, self.accesses.left = before
        self.broken = broken

    def _below(self, step: Instruction, arm: Sequence[Instruction], truth: bool, here: Evaluator) -> None:
        """Run steps that as many threads run as data say: those, at most, that stay in their buffers there."""
        nodes = [each.node for each in arm]
        inside = here.of(self.accesses.staying([each for each in nodes if isinstance(each, Access)], here))
        if inside is None:
            return
        before = self.at, self.free, self.unsure, self.decisions, self.depth, self.loop
        broken, self.broken = self.broken, set(self.broken)
        self.unsure = True
        self.decisions |= {(step.node.point, truth)}
        with suppress(Lost):
            self._steps(arm, inside)
        self.at, self.free, self.unsure, self.decisions, self.depth, self.loop = before
        self.broken = broken

    def _either(self, step: Instruction, here: Evaluator) -> None:
        """What threads do whichever arm of a branch they go through."""
        nodes = [each.node for each in step.first]
        accesses = [n for n in nodes if isinstance(n, Access) and n.point in self.script.either]
        if accesses and not self._calls(step.node.point, step.end):
            why = Circumstances(self.decisions, self.supposed, False, self.unsure, self.guard, either=True)
            for access in accesses:
                self.accesses.make(access, here, why)

    def _deciding(self, step: Instruction) -> frozenset[str]:
        """The symbols on which it rests how a branch or loop goes."""
        loop = self.values.loops.get(step.node.point)
        terms = (self.values.conditions[step.node.point],) if loop is None else (loop.first, loop.again)
        return self.script.names(step.symbols) | names_in(terms)

    def _apart_from(self, names: frozenset[str], events: Iterable[Event]) -> list[Event]:
        """Those that touch the same bytes whatever these symbols are."""
        found: list[Event] = []
        for event in events:
            offset = self.script.offsets[event.access.point]
            if offset is None or not self.script.resting.rests_on(offset, names):
                found.append(event)
        return found
