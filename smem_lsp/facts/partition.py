"""One buffer in parts: its ranges as buffers of their own, with their layouts."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.storage.dynamic_ranges import Partition
from smem_lsp.facts.layouts import LayoutCandidate, Layouts
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class PartitionLayouts:
    """Ranges of dynamic shared memory, members of a class, or purposes of the same bytes. ``declared``: where they are;
    ``lives``: first and last point of each; ``filled``: those of which no element is read before it is written, in the
    block that is known or assumed."""

    partition: Partition
    items: tuple[Item, ...]
    declared: Plan
    best: tuple[LayoutCandidate, ...]
    lives: Mapping[int, tuple[int, int]]
    filled: frozenset[int] = frozenset()

    @property
    def by_names(self) -> bool:
        """Are they what the same bytes serve for, told apart by the names that accesses go by?"""
        return any(each.names for each in self.partition.ranges)

    @property
    def layouts(self) -> Layouts:
        return Layouts(self.items, self.declared, self.best)
