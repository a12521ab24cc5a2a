"""What the occupancy of a kernel is computed with, target by target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smem_lsp.analysis.occupancy import registers_cap
from smem_lsp.analysis.threads.block_shape import threads_per_block
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.config import Config
from smem_lsp.ir.nodes import AddressSpace, Kernel
from smem_lsp.targets import target
from smem_lsp.targets.every import WARP_SIZE


@dataclass(frozen=True, slots=True)
class Occupied:
    """What occupancy on one target is computed with. ``registers`` per thread; None when they are not known.
    ``barriers``: of the hardware, per block. ``spill_bytes``: stores and loads, as a compiler counted them.
    ``most_of_several``: launches pass different numbers of dynamic bytes, this is the largest."""

    arch: str
    threads: int
    registers: int | None
    registers_from: str
    dynamic_bytes: int
    barriers: int = 1
    spill_bytes: int | None = None
    most_of_several: bool = False

    @property
    def dynamic_words(self) -> str:
        """``, 9,000 B dynamic``, where not every launch passes so many."""
        return f", {self.dynamic_bytes:,} B dynamic" if self.most_of_several else ""


def occupied(kernel: Kernel, shape: BlockShape | None, config: Config) -> tuple[Occupied, ...]:
    """One row for each target in force that can run the block; none when the threads or bytes are not known, or when
    the kernel runs on none of the targets."""
    known = threads_per_block(kernel, shape, config.threads)
    return () if known is None else _rows(kernel, known[0], config)


def bounded_occupied(kernel: Kernel, shapes: Sequence[BlockShape], config: Config) -> tuple[Occupied, ...]:
    """Rows that bound the blocks of an SM where ``occupied`` has none: with the fewest threads of the blocks that are
    named, or of one warp, so that shared memory decides."""
    return _rows(kernel, min((shape.threads for shape in shapes), default=WARP_SIZE), config)


def _rows(kernel: Kernel, threads: int, config: Config) -> tuple[Occupied, ...]:
    if not kernel.dialect.nvidia or any(buffer.bytes is None for buffer in kernel.helper_bytes):
        return ()
    passed = kernel.passed
    dynamic = {each for each in passed if each is not None}
    if None in passed or (not passed and any(b.space is AddressSpace.DYNAMIC for b in kernel.buffers)):
        return ()  # blocks per SM depend on bytes that are not known
    most, several = max(dynamic, default=0), len(dynamic) > 1
    return tuple(
        Occupied(name, threads, *_registers(kernel, name, config), most, most_of_several=several)
        for name in config.arch
        if threads <= target(name).threads_per_block
    )


def _registers(kernel: Kernel, arch: str, config: Config) -> tuple[int | None, str]:
    """Registers per thread, and who says so."""
    if config.registers is not None:
        return config.registers, "setting"
    bounds = kernel.launch_bounds
    if bounds is not None and bounds[1]:
        return registers_cap(arch, bounds[0], bounds[1]), "launch_bounds"
    return None, "unknown"
