"""What orders the accesses of a run of a block: its barriers, named ones too, and the waits for copies."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from smem_lsp.analysis.execution.access_recorder import Accesses
from smem_lsp.analysis.execution.conflicting_accesses import ConflictingAccesses
from smem_lsp.analysis.execution.missing_lanes import Missed, first_missed
from smem_lsp.analysis.execution.named_barrier_arrivals import Arrivals
from smem_lsp.analysis.execution.program import Instruction, Program
from smem_lsp.analysis.execution.warp_traces import Traces
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Barrier, BarrierFamily, CopyWaitKind, Kernel
from smem_lsp.source import checkpoint

_ALL_LANES = 0xFFFFFFFF


class Lost(Exception):
    """From here on it is not known who runs what."""


@dataclass(slots=True)
class Ordered:
    """A run, as far as it concerns who has waited for whom. ``missed``: barrier or exchange of a warp -> who comes to
    it without a lane that its mask names."""

    kernel: Kernel
    values: ValueFacts
    script: Program
    block: Evaluator
    accesses: Accesses
    missed: dict[int, Missed] = field(default_factory=dict)
    at: int = -1  # the point that the run has come to
    supposed: bool = False
    away: set[int] = field(default_factory=set)  # threads that have returned
    named: Arrivals = field(default_factory=Arrivals)
    apart: bool = False  # inside a branch whose arms have barriers that are one

    @property
    def met(self) -> ConflictingAccesses:
        """What has met so far."""
        return self.accesses.met

    def _copies(self, kind: CopyWaitKind, left: int, going: Evaluator) -> None:
        if kind is CopyWaitKind.COMMIT:
            self.met.flights.commit(going.threads)
        elif kind is CopyWaitKind.UNKNOWN:
            self.met.lose_copies()
        else:
            self.met.wait(going.threads, None if kind is CopyWaitKind.ALL else left)

    def _forget(self) -> None:
        """Who has waited for whom, and for what, is not known."""
        self.met.forget()
        if self.accesses.proxies is not None and not self.supposed:
            self.accesses.proxies.forget()

    def _barrier(self, step: Instruction, going: Evaluator) -> None:
        if self.accesses.proxies is not None:
            if step.node.point in self.script.added.fences:
                self.accesses.proxies.fence(going.threads)
            if isinstance(step.node, Barrier):
                self.accesses.proxies.barrier()
        if step.lands:
            self.met.wait(going.threads, None if self.script.added.waits[step.node.point] else 0)
        if step.syncs:
            if len(going.threads) + len(self.away) < len(self.block.threads) and not self.apart:
                raise Lost  # threads that miss it are at other barriers from here on
            self.met.barrier()
            if self.accesses.traces is not None and not self.supposed:
                self.accesses.traces.meet(going.threads, self.away)
        elif step.orders:
            if not self.supposed and isinstance(step.node, Barrier):
                self._arrive(step.node, going)
            self.met.forget()  # for whom, and with whom, is told by the traces alone
        elif step.warps:
            self.met.warp_barrier(going.threads)
            self._gather(step.node.point, going)

    def _arrive(self, node: Barrier, going: Evaluator) -> None:
        number, count = self.values.named.get(node.point, (None, None))
        numbers = None if number is None else going.values(number)
        counts = None if count is None else going.values(count)
        if numbers is None or counts is None:
            self.named.all_seen = False
            self._lose(going.threads)
            return
        for each in set(numbers):
            checkpoint()
            here = [(t, c) for t, n, c in zip(going.threads, numbers, counts) if n == each]
            threads = [thread for thread, _ in here]
            if len({c for _, c in here}) == 1:
                waits_for = here[0][1]
                self.named.come(node, each, waits_for, {thread // self.met.warp for thread in threads})
                if self.accesses.traces is not None:
                    self._trace(self.accesses.traces, node, each, waits_for, threads)
            else:
                self._lose(threads)

    def _trace(self, traces: Traces, node: Barrier, number: int, count: int, threads: Sequence[int]) -> None:
        if number or node.family is not BarrierFamily.PTX:
            traces.arrive(threads, self.away, (node.family, number), count, waits=not node.arrives)
        elif count == len(self.block.threads) and not node.arrives:
            traces.meet(threads, self.away)
        else:
            traces.lose(threads)

    def _lose(self, threads: Iterable[int]) -> None:
        if self.accesses.traces is not None and not self.supposed:
            self.accesses.traces.lose(threads)

    def _gather(self, point: int, going: Evaluator) -> None:
        """Are all lanes here that the mask of an operation names, but for those that have returned?"""
        term = self.values.masks.get(point)
        mask = (
            _ALL_LANES
            if point in self.script.added.in_warps
            else None
            if term is None
            else going.constant(term)
        )
        if mask is None or point in self.missed:
            return
        missed = first_missed(mask, going.threads, self.block.threads, self.away, self.met.warp)
        if missed is not None:
            self.missed[point] = missed

    def _come_to(self, point: int) -> None:
        """Go on to a point: what is called on the way may have synchronised."""
        if point > self.at and self._calls(self.at, point):
            self._forget()
            self._lose(self.block.threads)
        self.at = point

    def _calls(self, after: int, before: int) -> bool:
        opaque = self.kernel.opaque
        return bool(opaque) and bisect_right(opaque, after) < bisect_left(opaque, before)
