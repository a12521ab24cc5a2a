"""Shapes of a thread block: those that somebody names, the largest that a launch may have, what a result rests on."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.nodes import Dims, Kernel
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import MAX_BLOCK, MAX_THREADS, WARP_SIZE


@dataclass(frozen=True, slots=True)
class BlockShape:
    """``dims``: threads in x, y, z. ``fact``: no other shape can be launched."""

    dims: Dims
    source: str  # "assume", "launch", "assert", "setting"
    fact: bool

    @property
    def threads(self) -> int:
        return self.dims[0] * self.dims[1] * self.dims[2]


def dims_of(shape: BlockShape | None) -> Dims | None:
    """Its dimensions, if there is one."""
    return None if shape is None else shape.dims


@dataclass(frozen=True, slots=True)
class BlockAssumption:
    """The blocks for which something is shown, the best reason first.

    ``named``: blocks that somebody names; ``all_named``: it is shown for all that are; ``above``: it is proved for
    every block in ``x`` of more threads than that, in whole warps if ``whole_warps``, or in ``x`` and ``y`` with rows
    of whole warps (``rows``), where a warp has up to ``warp`` lanes; ``largest``: threads of the largest that the
    kernel is written for; ``tried``: else it is shown for this block, which nobody names."""

    named: tuple[BlockShape, ...] = ()
    all_named: bool = True
    above: int | None = None
    whole_warps: bool = False
    rows: bool = False
    warp: int = WARP_SIZE
    largest: int = MAX_THREADS
    tried: Dims | None = None

    @property
    def is_certain(self) -> bool:
        """Does it hold for a block that a launch, the author or the user names?"""
        return bool(self.named)

    @property
    def covers_most(self) -> bool:
        """Is it proved for every block of more than one warp, or for more than half of those that it is written for?"""
        return self.above is not None and (
            self.above <= self.warp or (self.largest < MAX_THREADS and 2 * self.above < self.largest)
        )

    def joined(self, other: BlockAssumption) -> BlockAssumption:
        """What two named blocks show."""
        return replace(self, named=(*self.named, *other.named))


NO_GROUND = BlockAssumption()
"""Of what holds whatever the block is."""


def most_threads(kernel: Kernel) -> Dims:
    """Threads per dimension that no launch can exceed: the hardware's limits, ``__launch_bounds__``, and what the
    kernel asserts."""
    bounds = kernel.launch_bounds
    if bounds is None and not kernel.stated.asserted_most:
        return MAX_BLOCK
    threads = MAX_THREADS if bounds is None else max(1, bounds[0])
    asserted = dict(kernel.stated.asserted_most)
    x, y, z = (min(limit, threads, asserted.get(axis, limit)) for axis, limit in zip("xyz", MAX_BLOCK))
    return x, y, z
