"""Paths that a run assumes: branches and loops that another launch takes, that data choose, or that data bound.

Each is run on a fork of the path and the interval, so nothing of it is left behind but the conflicts that it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from smem_lsp.analysis.execution.access_recorder import AccessRecorder
from smem_lsp.analysis.execution.data_dependent_guards import below_shared, data_guard
from smem_lsp.analysis.execution.events import Decision, Event, LoadGuard
from smem_lsp.analysis.execution.frame import Lost, RegionFrame
from smem_lsp.analysis.execution.program import (
    AccessInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    Region,
)
from smem_lsp.analysis.execution.synchronisation import Synchronisation
from smem_lsp.analysis.values.evaluate import Evaluator, decided
from smem_lsp.analysis.values.free_symbols import is_written, names_in
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Kernel
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Term

_MAX_ASSUMED = 4_000  # accesses of one branch or loop that this run does not come to


class AssumedRun(Protocol):
    """Runs instructions for ``threads``; returns those that come to the end. Raises Lost."""

    def __call__(
        self, instructions: Sequence[Instruction], threads: Evaluator, frame: RegionFrame
    ) -> Evaluator | None: ...


@dataclass(slots=True)
class AssumedPaths:
    """``run``: runs the instructions of such a path."""

    kernel: Kernel
    values: ValueFacts
    program: Program
    recorder: AccessRecorder
    synchronisation: Synchronisation
    run: AssumedRun

    # ---- what decides ------------------------------------------------------------------------------------------------

    def symbols(self, region: Region, threads: Evaluator) -> int:
        """The symbols that decide a branch or loop here, as bits. Two regions that share one may contradict each
        other."""
        bits = region.symbols
        if isinstance(region, BranchInstruction):
            for variable, bit in region.loop_symbols.items():
                if variable not in threads.bound:
                    bits |= bit
        return bits

    def decision(self, region: Region, way: bool) -> Decision:
        """That the region goes this way; True where it may go another way in the next iteration of a loop around."""
        condition = self.values.conditions.get(region.node.point)
        return region.node.point, way or condition is None or bool(condition.carried)

    def trust(self, region: Region, frame: RegionFrame) -> None:
        """What follows may rest on the region being uniform, which some are in runs without a race only."""
        if region.node.point in self.program.alike:
            frame.path.assumes_race_free = True

    # ---- another launch ----------------------------------------------------------------------------------------------

    def assume_arm(
        self, branch: BranchInstruction, arm: Sequence[Instruction], threads: Evaluator, frame: RegionFrame
    ) -> None:
        """Run an arm that some launch runs with all threads, though this run does not."""
        self._assume(branch, arm, threads, frame, way=arm is branch.then, times=1)

    def assume_iterations(self, loop: LoopInstruction, threads: Evaluator, frame: RegionFrame) -> None:
        """Run two iterations of a loop that some launch runs with all threads, though this run does not."""
        self._assume(loop, loop.body, threads, frame, way=True, times=2)

    def _assume(
        self,
        region: Region,
        arm: Sequence[Instruction],
        threads: Evaluator,
        frame: RegionFrame,
        *,
        way: bool,
        times: int,
    ) -> None:
        """Values that depend on the symbols that decide the region are not known in it. Nothing is run where the
        condition is known even so, since it does not depend on them here, or where the text alone decides it."""
        names = self._deciding_names(region)
        unknown = self._without(threads, names)
        condition = self.values.conditions.get(region.node.point)
        if condition is not None:
            settled = is_written(self.values, condition) and not names_in((condition,))
            if settled or decided(condition, unknown) is not None:
                return
        path = frame.path.fork()
        path.input_dependent = True
        path.symbols |= self.symbols(region, threads)

        def keeps(event: Event) -> bool:
            return self._is_independent(event, names)

        inside = replace(
            frame,
            path=path,
            interval=frame.interval.fork(keeps),
            broken=set(frame.broken),
            decisions=frame.decisions | {self.decision(region, way)},
            assumed=True,
        )
        self.trust(region, inside)
        with self.recorder.at_most(_MAX_ASSUMED), suppress(Lost):
            for _ in range(times):
                path.point = region.node.point
                self.run(arm, unknown, inside)
                self.synchronisation.come_to(region.end, inside)

    def _deciding_names(self, region: Region) -> frozenset[str]:
        """The symbols that decide how a branch or loop goes."""
        loop = self.values.loops.get(region.node.point)
        terms = (self.values.conditions[region.node.point],) if loop is None else (loop.first, loop.again)
        return self.program.names(region.symbols) | names_in(terms)

    def _without(self, threads: Evaluator, names: frozenset[str]) -> Evaluator:
        """``threads`` with no value for what depends on these symbols."""
        dependence = self.program.dependence
        symbols = {name: value for name, value in threads.symbols.items() if name not in names}
        bound = {atom: value for atom, value in threads.bound.items() if not dependence.rests_on(atom, names)}
        return Evaluator(threads.dims, symbols, threads.strict, bound, threads.threads, work=threads.work)

    def _is_independent(self, event: Event, names: frozenset[str]) -> bool:
        """Does the event touch the same bytes whatever these symbols are?"""
        offset = self.program.offsets[event.access.point]
        return offset is None or not self.program.dependence.rests_on(offset, names)

    # ---- data --------------------------------------------------------------------------------------------------------

    def run_guarded(
        self,
        region: Region,
        arm: Sequence[Instruction],
        condition: Term,
        truth: bool,
        threads: Evaluator,
        frame: RegionFrame,
    ) -> None:
        """Run instructions that some threads run, where data decide which. The accesses stay open behind them."""
        ordered = region.effects.any_order or self.synchronisation.calls_between(
            region.node.point, region.end
        )
        if ordered or not arm:
            return
        pointers = self.kernel.memory.pointers
        below = below_shared(condition, truth, threads, self.values, pointers)
        if below is not None:
            if not self.symbols(region, threads) & frame.path.symbols:
                self._run_below(region, arm, truth, threads.only(below), frame)
            return
        found = data_guard(condition, truth, threads, self.values, pointers)
        inside = None if found is None else threads.of(found.mask)
        if found is None or inside is None:
            return
        guard = found.guard(frame.interval.open, frame.guard, frame.barrier_free)
        with suppress(Lost):  # then nothing is known of what they do from there on
            self.run(arm, inside, self._on_fork(frame, guard=guard))

    def _run_below(
        self, region: Region, arm: Sequence[Instruction], truth: bool, threads: Evaluator, frame: RegionFrame
    ) -> None:
        """Run instructions for a number of threads that data say: at most for those that stay in their buffers."""
        accesses = [each.node for each in arm if isinstance(each, AccessInstruction)]
        inside = threads.of(self.recorder.staying(accesses, threads))
        if inside is None:
            return
        forked = self._on_fork(frame, decisions=frame.decisions | {(region.node.point, truth)})
        forked.path.assumes_race_free = True
        with suppress(Lost):
            self.run(arm, inside, forked)

    def run_either(self, branch: BranchInstruction, threads: Evaluator, frame: RegionFrame) -> None:
        """Make the accesses that threads make whichever arm of a branch they take."""
        accesses = [
            each.node
            for each in branch.then
            if isinstance(each, AccessInstruction) and each.node.point in self.program.either
        ]
        if accesses and not self.synchronisation.calls_between(branch.node.point, branch.end):
            for access in accesses:
                self.recorder.record(access, threads, frame, either=True)

    def _on_fork(
        self,
        frame: RegionFrame,
        *,
        guard: LoadGuard | None = None,
        decisions: frozenset[Decision] | None = None,
    ) -> RegionFrame:
        """A frame whose path is dropped at its end, but whose accesses stay open behind it."""
        return replace(
            frame,
            path=frame.path.fork(),
            broken=set(frame.broken),
            guard=frame.guard if guard is None else guard,
            decisions=frame.decisions if decisions is None else decisions,
        )
