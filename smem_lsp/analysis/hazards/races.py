"""Races on shared memory and accesses outside of it, each shown by one run of one block.

The kernel is run for all threads of a sample block at once (``execution.interpreter``). Two accesses that conflict in
one interval are a race. A witness has to appear under every sample, for two unrelated assignments of the free symbols.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from smem_lsp.analysis.execution.access_recorder import AccessRecorder
from smem_lsp.analysis.execution.async_proxy import Proxies
from smem_lsp.analysis.execution.conflicting_accesses import ConflictingAccesses, Pair
from smem_lsp.analysis.execution.happens_before import unordered
from smem_lsp.analysis.execution.interpreter import ProgramInterpreter
from smem_lsp.analysis.execution.named_barrier_arrivals import Counts
from smem_lsp.analysis.execution.program import NONE_RACE_FREE, NOTHING_ADDED, Added, Program, RaceFree
from smem_lsp.analysis.execution.program_builder import build_program
from smem_lsp.analysis.execution.warp_traces import Traces
from smem_lsp.analysis.hazards.evidence import Report, RunEvidence
from smem_lsp.analysis.hazards.model import Hazards
from smem_lsp.analysis.hazards.sample_blocks import is_for_warps, sample_blocks
from smem_lsp.analysis.threads.assignments import assignments
from smem_lsp.analysis.threads.block_shape import smallest_grid
from smem_lsp.analysis.threads.divergence import Verdicts
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockAssumption, BlockShape
from smem_lsp.analysis.values.evaluate import EvaluationBudget, Evaluator
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Barrier, BarrierKind, Dims, Kernel, Node, Proxy, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_MAX_WORK = 200_000  # numbers that are worked out in one run, each counted once for every thread


def find_hazards(
    kernel: Kernel,
    values: ValueFacts,
    control: Control,
    verdicts: Verdicts,
    shape: BlockShape | None,
    added: Added = NOTHING_ADDED,
    race_free: RaceFree = NONE_RACE_FREE,
    asked: frozenset[Pair] | None = None,
) -> Hazards:
    """All pairs of accesses that race, accesses outside of their buffers, and operations of a warp that lanes miss.

    ``shape``: the block, if one is known or launched in sight; ``added``: what the kernel is taken to have besides;
    ``race_free``: accesses that need no run; ``asked``: only whether these pairs race, and which lanes miss barriers
    that are added."""
    nodes = tuple(walk(kernel.body))
    proxy_reads = any(isinstance(n, Proxy) and n.buffer >= 0 for n in nodes)
    if not _may_show_anything(kernel, values, race_free, nodes, proxy_reads=proxy_reads):
        return Hazards()
    barriers = bool(added.barriers) or any(
        isinstance(n, Barrier) and n.kind is BarrierKind.BLOCK for n in nodes
    )
    alone = not barriers and shape is None and kernel.launch_bounds is None
    in_warps = alone and is_for_warps(kernel, nodes)
    samples = sample_blocks(kernel, values, control, shape, in_warps=in_warps, unordered=alone)
    if not samples.blocks:
        return Hazards()
    pairwise = not (proxy_reads or values.named or verdicts.paired)
    if asked is not None and pairwise:
        race_free = race_free.but(frozenset(point for pair in asked for point in pair), nodes)
    search = Search(
        kernel,
        values,
        build_program(kernel, values, control, verdicts, added, race_free),
        ground=samples.ground,
        traced_threads=_traced_threads(kernel, values, verdicts, shape),
        proxy_reads=proxy_reads,
        pairwise=pairwise,
        asked=asked,
        compared=asked if pairwise else None,
        counts=Counts(kernel, values),
    )
    if alone and any(map(search.strays, samples.blocks)):
        samples = sample_blocks(kernel, values, control, shape, in_warps=True)
    return search.hazards(samples.blocks)


def _may_show_anything(
    kernel: Kernel, values: ValueFacts, race_free: RaceFree, nodes: Sequence[Node], *, proxy_reads: bool
) -> bool:
    """Is there anything to show, in a kernel that can be followed?"""
    if kernel.irregular is not None:
        return False
    if values.masks or values.named or (kernel.buffers and proxy_reads):
        return True
    accesses = (node.point for node in nodes if isinstance(node, Access))
    return bool(kernel.buffers) and not race_free.in_bounds.issuperset(accesses)


def _traced_threads(
    kernel: Kernel, values: ValueFacts, verdicts: Verdicts, shape: BlockShape | None
) -> int | None:
    """Threads of the block, where the warps' traces can tell an order: the block is known, and it has named barriers of
    one kind, or barriers that the arms of a branch share."""
    if shape is None or not (values.named or verdicts.paired):
        return None
    families = {n.family for n in walk(kernel.body) if isinstance(n, Barrier) and n.point in values.named}
    traced = len(families) == 1 or (not families and bool(verdicts.paired))
    return shape.threads if traced else None


@dataclass(slots=True)
class Search:
    """Runs a kernel until what the runs have in common is found.

    ``ground``: what the blocks stand for; ``traced_threads``: of a block whose warps are traced; ``pairwise``: whether
    two accesses race does not depend on what others do in between; ``compared``: the pairs that a run compares; None:
    all; ``idle``: accesses to which no thread of the first block comes.
    """

    kernel: Kernel
    values: ValueFacts
    program: Program
    ground: BlockAssumption
    traced_threads: int | None
    proxy_reads: bool
    pairwise: bool
    asked: frozenset[Pair] | None
    compared: frozenset[Pair] | None
    counts: Counts
    evidence: RunEvidence = field(default_factory=RunEvidence)
    idle: frozenset[int] = frozenset()

    def hazards(self, samples: Sequence[Dims]) -> Hazards:
        """What runs of all samples show; of accesses to which no thread of the first one comes, those of the others."""
        whole = self.program
        self.idle = whole.compared if samples[1:] and self.pairwise and self.asked is None else frozenset()
        found = self._common(samples)
        if not self.idle:
            return found
        larger = replace(
            self,
            program=whole,
            ground=replace(self.ground, tried=samples[1]),
            compared=None,
            counts=Counts(self.kernel, self.values),
            evidence=RunEvidence(),
        )
        races = (race for race in larger.hazards(samples[1:]).races if not self.idle.isdisjoint(race.pair))
        return replace(found, races=(*found.races, *races))

    def _common(self, samples: Sequence[Dims]) -> Hazards:
        """What runs of all samples show."""
        self._run_all(samples)
        if self.asked is not None and not self._answers():
            return Hazards()
        tails = self._run_tails(samples)
        miscounts = self.counts.miscounts(self.ground)
        if not (self.evidence.anything or tails.missing):
            return Hazards(miscounts=miscounts)
        report = Report(self.kernel, samples, self.ground)
        return replace(report.hazards(self.evidence, tails), miscounts=miscounts)

    def strays(self, dims: Dims) -> bool:
        """Does such a block leave some array, so that the kernel is written for a smaller one?"""
        symbols = next(self.assignments(dims), None)
        return symbols is not None and self.run(dims, symbols).recorder.strays

    def assignments(self, dims: Dims) -> Iterator[dict[str, int]]:
        """Values of the parameters to run such a block with."""
        grid = smallest_grid(self.kernel)
        return assignments(self.program.terms, dims, grid, given=self.values.given)

    def _answers(self) -> bool:
        """Do runs show anything of what is asked about?"""
        evidence = self.evidence
        return bool(evidence.within or (self.program.added.in_warps and evidence.missing))

    def _run_all(self, samples: Sequence[Dims]) -> None:
        """Run all samples, or as many until nothing is left that they have in common."""
        for dims in samples:
            checkpoint()
            for symbols in self.assignments(dims):
                first = self.evidence.within is None
                run = self.run(dims, symbols, brief=self.asked is not None)
                self._note(run, dims)
                if dims == samples[0]:
                    self.idle &= run.recorder.unseen
                if self.asked is not None and not self._answers():
                    return
                if not (self.evidence.anything or self.counts.found):
                    return
                if self.pairwise:
                    self._narrow(first=first)

    def _note(self, run: ProgramInterpreter, dims: Dims) -> None:
        traces, across = run.recorder.traces, run.conflicts.across
        self.counts.note(run.synchronisation.arrivals, math.prod(dims))
        if traces is not None and not self.counts.found:
            for pair, conflict in unordered(traces).items():
                across.setdefault(pair, replace(conflict, named=True))
        self.evidence.note(run)

    def _narrow(self, *, first: bool) -> None:
        """Later runs need to look only at what the first one has shown."""
        if first and self.asked is None and not self.evidence.by_data:
            self.program = self.program.only(self.evidence.points)
        self.compared = frozenset(self.evidence.within or ())

    def _run_tails(self, samples: Sequence[Dims]) -> RunEvidence:
        """Which lanes are missing where sizes are no multiple of the block's."""
        tails = RunEvidence()
        if self.values.masks and self.asked is None:
            for dims in samples:
                tails.note(self.run_tail(dims))
        return tails

    def run_tail(self, dims: Dims) -> ProgramInterpreter:
        """A run in which sizes end in the midst of the block, and no access counts."""
        program = self.program.only(frozenset())
        recorder = AccessRecorder(
            self.kernel, self.values, program, ConflictingAccesses(self.kernel.dialect.lanes)
        )
        return self._run_once(recorder, dims, _tail(program, dims), program=program)

    def run(self, dims: Dims, symbols: dict[str, int], *, brief: bool = False) -> ProgramInterpreter:
        """A run with these values. Where its whole block returns at once, another block of the grid is run, too, and
        the run that comes to more accesses counts."""
        run = self._run_once(self._recorder(), dims, symbols, brief=brief)
        places = sorted(name for name in symbols if name.startswith("blockIdx."))
        if not run.deserted or not places:
            return run
        turned = dict(zip(places, [symbols[name] for name in reversed(places)] if len(places) > 1 else [0]))
        other = self._run_once(self._recorder(), dims, symbols | turned, brief=brief)
        return min(run, other, key=lambda each: each.recorder.left)

    def _run_once(
        self,
        recorder: AccessRecorder,
        dims: Dims,
        symbols: dict[str, int],
        *,
        brief: bool = False,
        program: Program | None = None,
    ) -> ProgramInterpreter:
        block = Evaluator(dims, symbols, work=EvaluationBudget(_MAX_WORK))
        program = self.program if program is None else program
        return ProgramInterpreter(self.kernel, self.values, program, block, recorder, brief=brief).go()

    def _recorder(self) -> AccessRecorder:
        return AccessRecorder(
            self.kernel,
            self.values,
            self.program,
            ConflictingAccesses(self.kernel.dialect.lanes, self.compared),
            None if self.traced_threads is None else Traces(self.traced_threads, self.kernel.dialect.lanes),
            Proxies() if self.proxy_reads else None,
            block_known=self.ground.is_certain,
        )


def _tail(program: Program, dims: Dims) -> dict[str, int]:
    """The first block of a grid, and sizes that end in its midst."""
    given = next(assignments(program.terms, dims), {})
    threads = math.prod(dims)
    builtin = {"blockIdx": 0, "gridDim": 1}
    return {name: builtin.get(name.partition(".")[0], threads // 2 + 3) for name in given}
