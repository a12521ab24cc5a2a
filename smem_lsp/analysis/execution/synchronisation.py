"""What orders the accesses of a run: barriers of the block and of warps, named barriers, waits for copies."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from smem_lsp.analysis.execution.access_recorder import AccessRecorder
from smem_lsp.analysis.execution.frame import Lost, RegionFrame
from smem_lsp.analysis.execution.gatherings import Masks
from smem_lsp.analysis.execution.missing_lanes import LaneWitness, first_missing
from smem_lsp.analysis.execution.named_barrier_arrivals import Arrivals
from smem_lsp.analysis.execution.program import (
    AddedCopyWait,
    BlockBarrierInstruction,
    CopyInstruction,
    OtherBarrierInstruction,
    Program,
    WarpBarrierInstruction,
)
from smem_lsp.analysis.execution.warp_traces import Traces
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    Barrier,
    BarrierFamily,
    BarrierKind,
    BarrierSite,
    CopyWaitKind,
    Kernel,
    WarpCollective,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.language import Op

_ALL_LANES = 0xFFFFFFFF
_ALIKE = "__match_any_sync()"


@dataclass(slots=True)
class Synchronisation:
    """``missing``: barrier or exchange of a warp -> a lane that its mask names and that does not come to it;
    ``arrivals``: who comes to the named barriers."""

    kernel: Kernel
    values: ValueFacts
    program: Program
    block: Evaluator
    recorder: AccessRecorder
    missing: dict[int, LaneWitness] = field(default_factory=dict)
    arrivals: Arrivals = field(default_factory=Arrivals)

    def come_to(self, point: int, frame: RegionFrame) -> None:
        """The path goes on to a point: an unknown call on the way may have synchronised threads."""
        path = frame.path
        if self.program.calls and point > path.point and self.calls_between(path.point, point):
            self.forget(frame)
            self.lose(self.block.threads, frame)
        path.point = point

    def calls_between(self, after: int, before: int) -> bool:
        """Does an unknown call stand between two points?"""
        calls = self.program.calls
        return bool(calls) and bisect_right(calls, after) < bisect_left(calls, before)

    def forget(self, frame: RegionFrame) -> None:
        """Who has waited for whom, and for what, is no longer known."""
        frame.interval.forget()
        self.forget_proxies(frame)

    def forget_proxies(self, frame: RegionFrame) -> None:
        """What the asynchronous proxy has seen, or may still read, is no longer known."""
        if self.recorder.proxies is not None and not frame.assumed:
            self.recorder.proxies.forget()

    def lose(self, threads: Iterable[int], frame: RegionFrame) -> None:
        """What ``threads`` do from here on is not known."""
        if self.recorder.traces is not None and not frame.assumed:
            self.recorder.traces.lose(threads)

    def copies(self, instruction: CopyInstruction, threads: Evaluator, frame: RegionFrame) -> None:
        """``threads`` commit their copies, or wait for them."""
        kind, interval = instruction.node.kind, frame.interval
        if kind is CopyWaitKind.COMMIT:
            interval.pending.commit(threads.threads)
        elif kind is CopyWaitKind.UNKNOWN:
            interval.lose_copies()
        else:
            interval.wait(threads.threads, None if kind is CopyWaitKind.ALL else instruction.left)

    def added_wait(self, instruction: AddedCopyWait, threads: Evaluator, frame: RegionFrame) -> None:
        """``threads`` wait for all their copies."""
        frame.interval.wait(threads.threads, None if instruction.ungrouped else 0)

    def proxy_fence(self, threads: Evaluator) -> None:
        """The asynchronous proxy sees what ``threads`` have written."""
        if self.recorder.proxies is not None:
            self.recorder.proxies.fence(threads.threads)

    def block_barrier(
        self, instruction: BlockBarrierInstruction, threads: Evaluator, frame: RegionFrame
    ) -> None:
        """``threads`` come to a block barrier. Raises Lost if others that have not returned do not."""
        self._order_proxies(instruction.node)
        came, returned = threads.threads, frame.path.returned
        if len(came) + len(returned) < len(self.block.threads) and not frame.paired_arms:
            raise Lost  # the others are at other barriers from here on
        frame.interval.barrier()
        if self.recorder.traces is not None and not frame.assumed:
            self.recorder.traces.meet(came, returned)

    def warp_barrier(
        self, instruction: WarpBarrierInstruction, threads: Evaluator, frame: RegionFrame
    ) -> None:
        """``threads`` come to a barrier of their warps."""
        node, interval = instruction.node, frame.interval
        self._order_proxies(node)
        if isinstance(node, Barrier):
            size = min(node.lanes, interval.warp)
            interval.gather(threads.threads, size, self._masks(node, size, threads))
            self._gather(node, threads, frame)
        else:
            interval.gather(threads.threads, interval.warp)
            self._gather_all(node.point, _ALL_LANES, threads, frame)

    def _masks(self, node: Barrier, size: int, threads: Evaluator) -> Masks | None:
        """Which lanes wait for each other; None: all of a group, or it is not known."""
        term = self.values.masks.get(node.point)
        if term is None or size & size - 1:
            return None
        here = threads.threads
        found: dict[int, set[int]] = {}
        if (
            isinstance(term, Op) and term.operator == _ALIKE
        ):  # lanes with the same value, if all of a group are here
            labels = threads.values(term.args[1])
            came = Counter(thread // size for thread in here)
            for label in () if labels is None else set(labels):
                checkpoint()
                alike = [thread for thread, each in zip(here, labels or ()) if each == label]
                for group in {thread // size for thread in alike}:
                    found.setdefault(group, set()).add(_bits(alike, group, size))
            return {group: frozenset(each) for group, each in found.items() if came[group] == size}
        masks = threads.values(term)
        for thread, mask in () if masks is None else zip(here, masks):
            first = thread // size * size
            found.setdefault(thread // size, set()).add(mask >> first % WARP_SIZE & (1 << size) - 1)
        return {group: frozenset(each) for group, each in found.items()}

    def exchange(self, node: WarpCollective, threads: Evaluator, frame: RegionFrame) -> None:
        """``threads`` exchange values with other lanes of their warps."""
        frame.interval.exchanged += 1
        loads = self.program.delivered.get(node.point)
        if loads is not None:
            frame.interval.deliver(loads, threads.threads)
        self._gather(node, threads, frame)

    def other_barrier(
        self, instruction: OtherBarrierInstruction, threads: Evaluator, frame: RegionFrame
    ) -> None:
        """``threads`` come to a barrier that need not be for the whole block: only the traces tell what it orders."""
        node, interval = instruction.node, frame.interval
        self._order_proxies(node)
        if not frame.assumed:
            self._arrive(node, threads, frame)
        all_come = len(threads.threads) + len(frame.path.returned) == len(self.block.threads)
        if node.kind is BarrierKind.TILE:
            interval.gather(threads.threads, node.lanes)
        elif node.kind is BarrierKind.HALF and node.arrives and all_come:
            interval.arrive(node.point)
        elif node.kind is BarrierKind.HALF and node.arrived is not None and all_come:
            interval.wait_for_arrival(node.arrived)
        else:
            interval.forget()

    def _order_proxies(self, node: Barrier | BarrierSite) -> None:
        if self.recorder.proxies is not None and isinstance(node, Barrier):
            self.recorder.proxies.barrier()

    def _arrive(self, node: Barrier, threads: Evaluator, frame: RegionFrame) -> None:
        number, count = self.values.named.get(node.point, (None, None))
        numbers = None if number is None else threads.values(number)
        counts = None if count is None else threads.values(count)
        if numbers is None or counts is None:
            self.arrivals.all_seen = False
            self.lose(threads.threads, frame)
            return
        for each in set(numbers):
            checkpoint()
            here = [(t, c) for t, n, c in zip(threads.threads, numbers, counts) if n == each]
            came = [thread for thread, _ in here]
            if len({c for _, c in here}) == 1:
                waits_for = here[0][1]
                warp = frame.interval.warp
                if node.family is not BarrierFamily.OBJECT:
                    self.arrivals.come(node, each, waits_for, {thread // warp for thread in came})
                if self.recorder.traces is not None:
                    self._trace(self.recorder.traces, node, each, waits_for, came, frame)
            else:
                self.lose(came, frame)

    def _trace(
        self,
        traces: Traces,
        node: Barrier,
        number: int,
        count: int,
        threads: Sequence[int],
        frame: RegionFrame,
    ) -> None:
        returned = frame.path.returned
        if number or node.family is not BarrierFamily.PTX:
            traces.arrive(threads, returned, (node.family, number), count, waits=not node.arrives)
        elif count == len(self.block.threads) and not node.arrives:
            traces.meet(threads, returned)
        else:
            traces.lose(threads)

    def _gather(self, node: Barrier | WarpCollective, threads: Evaluator, frame: RegionFrame) -> None:
        """Do all lanes come that the mask of an operation names, but for those that have returned?"""
        term = self.values.masks.get(node.point)
        mask = None if term is None else threads.uniform_value(term)
        if mask is not None:
            self._gather_all(node.point, mask, threads, frame)

    def _gather_all(self, point: int, mask: int, threads: Evaluator, frame: RegionFrame) -> None:
        if point in self.missing:
            return
        missing = first_missing(
            mask, threads.threads, self.block.threads, frame.path.returned, frame.interval.warp
        )
        if missing is not None:
            self.missing[point] = missing


def _bits(threads: Sequence[int], group: int, size: int) -> int:
    """Those of a group, as bits."""
    return sum(1 << thread - group * size for thread in threads if thread // size == group)
