"""Which accesses of different warps no barrier orders, in a run of a block with named barriers.

The traces of the warps are replayed together, each as far as it goes: this is one run that may happen. Once as many
threads have come to a named barrier as it counts, the threads that wait at it go on, and what all of them did before is
ordered before what these do afterwards (PTX ISA, "bar"). Vector clocks record this order.
"""

from __future__ import annotations

from dataclasses import field

from smem_lsp.analysis.execution.conflicting_accesses import Conflict, ConflictingAccesses, Pair
from smem_lsp.analysis.execution.events import Event
from smem_lsp.analysis.execution.warp_traces import Together, Touch, Traces, WarpArrival
from smem_lsp.ir.nodes import BarrierFamily
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_Clock = list[int]


@dataclass(slots=True)
class _Phase:
    """A named barrier that some warps have come to, and that waits for more."""

    count: int
    arrived: set[int] = field(default_factory=set)  # warps
    waiting: list[int] = field(default_factory=list)
    clock: _Clock = field(default_factory=list)


@dataclass(slots=True)
class _Known:
    """An access that was made. ``at``: its warp's own clock at that time."""

    warp: int
    at: int
    event: Event


def unordered(traces: Traces) -> dict[Pair, Conflict]:
    """Conflicts between accesses of different warps that nothing orders."""
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
        self.conflicts = ConflictingAccesses(traces.lanes)

    def run(self) -> dict[Pair, Conflict]:
        moved = True
        while moved:
            checkpoint()
            moved = sum(self._go(warp) for warp in range(len(self.next))) > 0
            moved = self._meet() or moved
        return self.conflicts.across

    def _go(self, warp: int) -> bool:
        """Run a warp until it waits. Has it moved at all?"""
        checkpoint()
        actions, first = self.traces.actions.get(warp, []), self.next[warp]
        while self.next[warp] < len(actions) and warp not in self.waiting:
            action = actions[self.next[warp]]
            if isinstance(action, WarpArrival) and not self._arrive(warp, action):
                break
            self.next[warp] += 1
            if isinstance(action, Touch):
                self._touch(warp, action)
            elif isinstance(action, Together):
                self.together.add(warp)
                self.waiting.add(warp)
        return self.next[warp] > first

    def _touch(self, warp: int, touch: Touch) -> None:
        clock, event = self.clocks[warp], touch.event
        mine = _Known(warp, clock[warp], event)
        others: dict[int, _Known] = {}
        for cell in event.low:
            checkpoint()
            known = self.seen.setdefault((touch.storage, cell), [])
            for each in known:
                if each.warp != warp and each.at > clock[each.warp]:
                    others[id(each)] = each
            known.append(mine)
        for each in others.values():
            self.conflicts.compare(each.event, event, touch.unit)

    def _arrive(self, warp: int, arrival: WarpArrival) -> bool:
        """Come to a named barrier. False: the warp stays in front of it, so as not to come twice in one phase."""
        clock = self.clocks[warp]
        phase = self.phases.setdefault(arrival.key, _Phase(arrival.count))
        if phase.count != arrival.count or warp in phase.arrived:
            return False
        phase.arrived.add(warp)
        phase.clock = _later(phase.clock, clock)
        clock[warp] += 1
        if arrival.waits:
            phase.waiting.append(warp)
            self.waiting.add(warp)
        if self.traces.lanes * len(phase.arrived) == phase.count:
            del self.phases[arrival.key]
            self._release(phase.waiting, phase.clock)
        return True

    def _meet(self) -> bool:
        """If all warps that have not returned are at a barrier of the block, let them go on. Did they?"""
        left = {
            warp
            for warp, at in enumerate(self.next)
            if warp in self.traces.open or warp in self.waiting or at < len(self.traces.actions.get(warp, ()))
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
