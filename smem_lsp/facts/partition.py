"""One buffer in parts: its ranges as buffers of their own, with their layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.storage.dynamic_ranges import Partition
from smem_lsp.facts.layouts import Candidate, Layouts


@dataclass(frozen=True, slots=True)
class PartitionLayouts:
    """Ranges of dynamic shared memory, or members of a class. ``declared``: where they are; ``lives``: first and last
    point of each."""

    partition: Partition
    items: tuple[Item, ...]
    declared: Plan
    best: tuple[Candidate, ...]
    lives: Mapping[int, tuple[int, int]]

    @property
    def layouts(self) -> Layouts:
        return Layouts(self.items, self.declared, self.best)
