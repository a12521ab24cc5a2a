"""Shapes of a thread block: one that is known, and the largest that a launch may have."""

from __future__ import annotations

from dataclasses import dataclass

from smem_lsp.ir.nodes import Dims, Kernel
from smem_lsp.targets.every import MAX_BLOCK


@dataclass(frozen=True, slots=True)
class BlockShape:
    """``dims``: threads in x, y, z. ``fact``: no other shape can be launched."""

    dims: tuple[int, int, int]
    source: str  # "assume", "launch", "setting"
    fact: bool

    @property
    def threads(self) -> int:
        return self.dims[0] * self.dims[1] * self.dims[2]


def most_threads(kernel: Kernel) -> Dims:
    """Threads per dimension that no launch can exceed: the hardware's limits and ``__launch_bounds__``."""
    if kernel.launch_bounds is None:
        return MAX_BLOCK
    threads = max(1, kernel.launch_bounds[0])
    x, y, z = (min(limit, threads) for limit in MAX_BLOCK)
    return x, y, z
