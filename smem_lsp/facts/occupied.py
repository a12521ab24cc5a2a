"""What the occupancy of a kernel is computed with, target by target."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from smem_lsp.analysis.occupancy import registers_cap
from smem_lsp.analysis.threads.block_shape import threads_per_block
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.config import Config
from smem_lsp.ir.nodes import AddressSpace, Kernel
from smem_lsp.source.record import dataclass
from smem_lsp.targets import attribute, target
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.symbolic import SymbolicTerm, constant, replaced


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


@dataclass(frozen=True, slots=True)
class Bound:
    """What bounds the blocks of an SM where not all that decides is known. ``row``: with the fewest threads that a
    launch may have, no registers, and the dynamic bytes that every launch passes. ``block``: of those threads, or None
    where launches may differ; ``dynamic``: are all dynamic bytes known?"""

    row: Occupied
    block: int | None
    dynamic: bool


def bounds(
    kernel: Kernel, shape: BlockShape | None, shapes: Sequence[BlockShape], config: Config
) -> tuple[Bound, ...]:
    """One for each target in force that can run the block; none in a dialect without such a target."""
    if not kernel.dialect.nvidia:
        return ()
    known = threads_per_block(kernel, shape, config.threads)
    fewest = _fewest_threads(kernel, shapes) if known is None else known[0]
    found: list[Bound] = []
    for name in config.arch:
        if fewest <= target(name).threads_per_block:
            passed = _dynamic(kernel, name)
            row = Occupied(name, fewest, None, "unknown", min(passed or (0,)))
            found.append(Bound(row, None if known is None else known[0], passed is not None))
    return tuple(found)


def _fewest_threads(kernel: Kernel, shapes: Sequence[BlockShape]) -> int:
    """Of a block; where a launch leaves an axis open, that may be one thread."""
    if kernel.launches and all(shape.source == "launch" for shape in shapes):
        return min(prod(axis or 1 for axis in site.axes) for site in kernel.launches)
    return min((shape.threads for shape in shapes), default=WARP_SIZE)


def _rows(kernel: Kernel, threads: int, config: Config) -> tuple[Occupied, ...]:
    if not kernel.dialect.nvidia or any(buffer.bytes is None for buffer in kernel.helper_bytes):
        return ()
    found: list[Occupied] = []
    for name in config.arch:
        dynamic = _dynamic(kernel, name)
        if dynamic is not None and threads <= target(name).threads_per_block:
            most, several = max(dynamic, default=0), len(dynamic) > 1
            registers = _registers(kernel, name, config)
            found.append(Occupied(name, threads, *registers, most, most_of_several=several))
    return tuple(found)


def _dynamic(kernel: Kernel, arch: str) -> set[int] | None:
    """The numbers of dynamic bytes that launches pass on a target; None where one is not known."""
    stated = None if kernel.stated.dynamic is None else kernel.stated.dynamic[1]
    found: set[int] = set()
    for site in kernel.launches:
        size = stated if site.dynamic_bytes is None else site.dynamic_bytes
        size = _of_device(site.terms.dynamic, arch) if size is None else size
        if size is None:
            return None
        found.add(size)
    if not found and stated is not None:
        return {stated}
    return None if not found and any(b.space is AddressSpace.DYNAMIC for b in kernel.buffers) else found


def _of_device(term: SymbolicTerm | None, arch: str) -> int | None:
    """What a term is on a target, if it asks for nothing but attributes of the device."""
    if term is None:
        return None
    known = {symbol: attribute(arch, symbol.name) for symbol in term.symbols}
    numbers = {symbol: constant(n) for symbol, n in known.items() if n is not None}
    made = replaced(term, numbers)
    return None if made is None else made.number


def _registers(kernel: Kernel, arch: str, config: Config) -> tuple[int | None, str]:
    """Registers per thread, and who says so."""
    if config.registers is not None:
        return config.registers, "setting"
    bounds = kernel.launch_bounds
    if bounds is not None and bounds[1]:
        return registers_cap(arch, bounds[0], bounds[1]), "launch_bounds"
    return None, "unknown"
