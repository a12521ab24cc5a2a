"""Which accesses of different warps no barrier orders, in a run of the block with named barriers.

The traces of the warps are run against each other, each as far as it comes: a run that may happen. A named barrier
lets those go on that wait at it once as many threads have come as it is for, and orders what these did before against
what those do afterwards (PTX ISA, "bar"). Vector clocks tell what is ordered so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from smem_lsp.analysis.execution.conflicting_accesses import Conflict, ConflictingAccesses, Pair
from smem_lsp.analysis.execution.events import Event
from smem_lsp.analysis.execution.warp_traces import Arrival, Together, Touch, Traces
from smem_lsp.ir.nodes import BarrierFamily
from smem_lsp.source import checkpoint
from smem_lsp.targets.every import WARP_SIZE

_Clock = list[int]


@dataclass(slots=True)
class _Phase:
    """A named barrier that some have come to."""

    count: int
    arrived: set[int] = field(default_factory=set)  # warps
    waiting: list[int] = field(default_factory=list)
    clock: _Clock = field(default_factory=list)


@dataclass(slots=True)
class _Known:
    """An access that was made: ``at``: what its warp's own clock showed."""

    warp: int
    at: int
    event: Event


def unordered(traces: Traces) -> dict[Pair, Conflict]:
    """Accesses of different warps that meet, with nothing between them that orders them."""
    return _Replay(traces).run()


class _Replay:
    def __init__(self, traces: Traces) -> None:
        count = traces.warps
        self.traces = traces
        self.clocks: list[_Clock] = [[int(i == warp) for i in range(count)] for warp in range(count)]
        self.next = [0] * count
        self.phases: dict[tuple[BarrierFamily, int], _Phase] = {}
        self.together: set[int] = set()  # waiting at a barrier of the block
        self.waiting: set[int] = set()
        self.seen: dict[tuple[int, int], list[_Known]] = {}  # (storage, cell) -> who has touched it
        self.met = ConflictingAccesses(WARP_SIZE)

    def run(self) -> dict[Pair, Conflict]:
        moved = True
        while moved:
            checkpoint()
            moved = sum(self._go(warp) for warp in range(len(self.next))) > 0
            moved = self._meet() or moved
        return self.met.across

    def _go(self, warp: int) -> bool:
        """Run a warp until it waits; has it moved at all?"""
        checkpoint()
        steps, first = self.traces.steps.get(warp, []), self.next[warp]
        while self.next[warp] < len(steps) and warp not in self.waiting:
            step = steps[self.next[warp]]
            if isinstance(step, Arrival) and not self._arrive(warp, step):
                break
            self.next[warp] += 1
            if isinstance(step, Touch):
                self._touch(warp, step)
            elif isinstance(step, Together):
                self.together.add(warp)
                self.waiting.add(warp)
        return self.next[warp] > first

    def _touch(self, warp: int, step: Touch) -> None:
        clock, event = self.clocks[warp], step.event
        mine = _Known(warp, clock[warp], event)
        others: dict[int, _Known] = {}
        for cell in event.low:
            checkpoint()
            known = self.seen.setdefault((step.storage, cell), [])
            for each in known:
                if each.warp != warp and each.at > clock[each.warp]:
                    others[id(each)] = each
            known.append(mine)
        for each in others.values():
            self.met.compare(each.event, event, step.unit)

    def _arrive(self, warp: int, step: Arrival) -> bool:
        """Come to a named barrier; False: stay in front of it, so that no warp comes twice before others go on."""
        clock = self.clocks[warp]
        phase = self.phases.setdefault(step.key, _Phase(step.count))
        if phase.count != step.count or warp in phase.arrived:
            return False
        phase.arrived.add(warp)
        phase.clock = _later(phase.clock, clock)
        clock[warp] += 1
        if step.waits:
            phase.waiting.append(warp)
            self.waiting.add(warp)
        if WARP_SIZE * len(phase.arrived) == phase.count:
            del self.phases[step.key]
            self._release(phase.waiting, phase.clock)
        return True

    def _meet(self) -> bool:
        """All that have not returned have come to a barrier of the block; did they?"""
        left = {
            warp
            for warp, at in enumerate(self.next)
            if warp in self.traces.open or warp in self.waiting or at < len(self.traces.steps.get(warp, ()))
        }
        if not self.together or self.together != left:
            return False
        clock: _Clock = []
        for warp in self.together:
            clock = _later(clock, self.clocks[warp])
            self.clocks[warp][warp] += 1
        together, self.together = self.together, set()
        self._release(together, clock)
        return True

    def _release(self, warps: list[int] | set[int], clock: _Clock) -> None:
        for warp in warps:
            self.clocks[warp] = _later(self.clocks[warp], clock)
        self.waiting.difference_update(warps)


def _later(one: _Clock, other: _Clock) -> _Clock:
    return [max(a, b) for a, b in zip(one, other)] if one else list(other)
