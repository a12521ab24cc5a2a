"""What each warp does in one run, in order: accesses, named barriers and barriers of the block.

A trace ends where it is not known what its warp does next. The warp might stop there for ever, so the traces are the
beginning of a run that may happen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import field, replace

from smem_lsp.analysis.execution.events import Event
from smem_lsp.ir.nodes import BarrierFamily
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class Touch:
    """The part of one access that a warp makes."""

    storage: int
    unit: int
    event: Event


@dataclass(frozen=True, slots=True)
class WarpArrival:
    """A warp comes to the named barrier ``key``, which is for ``count`` threads; ``waits``: until all have come."""

    key: tuple[BarrierFamily, int]
    count: int
    waits: bool


@dataclass(frozen=True, slots=True)
class Together:
    """A warp comes to a barrier of the block."""


Action = Touch | WarpArrival | Together


@dataclass(slots=True)
class Traces:
    """``lanes``: of a warp; ``actions``: by warp; ``open``: warps whose next action is not known."""

    threads: int  # of the block
    lanes: int
    actions: dict[int, list[Action]] = field(default_factory=lambda: defaultdict(list))
    open: set[int] = field(default_factory=set)

    @property
    def warps(self) -> int:
        return (self.threads + self.lanes - 1) // self.lanes

    def access(self, storage: int, unit: int, event: Event) -> None:
        """All threads of an event make their access. Of those that touch one unit, the first and the last count."""
        _ = event.form  # worked out once for all parts
        parts: dict[int, tuple[dict[int, int], dict[int, int]]] = {}
        for side, cells in enumerate((event.low, event.high)):
            checkpoint()
            for cell, thread in cells.items():
                parts.setdefault(thread // self.lanes, ({}, {}))[side][cell] = thread
        for warp, (low, high) in parts.items():
            if warp not in self.open:
                part = replace(event, low={**high, **low}, high={**low, **high})
                self.actions[warp].append(Touch(storage, unit, part))

    def arrive(
        self,
        threads: Collection[int],
        returned: Collection[int],
        key: tuple[BarrierFamily, int],
        count: int,
        *,
        waits: bool,
    ) -> None:
        """``threads`` come to a named barrier; those in ``returned`` have left the kernel."""
        self._come(threads, returned, WarpArrival(key, count, waits))

    def meet(self, threads: Collection[int], returned: Collection[int]) -> None:
        """``threads`` come to a barrier of the block."""
        self._come(threads, returned, Together())

    def _come(self, threads: Collection[int], returned: Collection[int], action: Action) -> None:
        here = {*threads, *returned}
        for warp in sorted({thread // self.lanes for thread in threads}):
            lanes = range(warp * self.lanes, min((warp + 1) * self.lanes, self.threads))
            if not here.issuperset(lanes):
                self.open.add(warp)  # a part of it does something else
            elif warp not in self.open:
                self.actions[warp].append(action)

    def lose(self, threads: Iterable[int]) -> None:
        """What ``threads`` do from here on is not known."""
        self.open.update(thread // self.lanes for thread in threads)
