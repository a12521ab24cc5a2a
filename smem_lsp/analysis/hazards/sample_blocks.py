"""The blocks that a kernel is run with: the one that is known, or some that its text does not rule out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from smem_lsp.analysis.threads.block_shape import evidence, single_axes
from smem_lsp.analysis.threads.divergence import samples_for
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import NO_GROUND, BlockAssumption, BlockShape, most_threads
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Barrier, Dims, Kernel, Node, WarpCollective
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import MAX_BLOCK, MAX_THREADS


@dataclass(frozen=True, slots=True)
class Samples:
    """Blocks to run a kernel with, and what they stand for."""

    blocks: Sequence[Dims] = ()
    ground: BlockAssumption = NO_GROUND


def sample_blocks(
    kernel: Kernel,
    values: ValueFacts,
    control: Control,
    shape: BlockShape | None,
    *,
    in_warps: bool,
    unordered: bool = False,
    decided: bool = False,
) -> Samples:
    """``shape`` alone, or blocks to try that the kernel's text does not rule out. ``in_warps``: the kernel may be
    written for a single warp, and is tried with that; ``unordered``: the same, if no array tells how large the block
    is; ``decided``: what is looked for has been decided for every block, and a launch in sight may have each."""
    if shape is not None:
        blocks = [shape.dims] if 1 < shape.threads <= MAX_THREADS else []
        return Samples(blocks, BlockAssumption(named=(shape,)))
    shown = evidence(kernel, values, control)
    if shown.equal and not decided:
        return Samples()  # an extent that is not known says how large the block is
    if in_warps or (unordered and not shown.bounded):
        samples = [(min(kernel.dialect.lanes, shown.upper[0]), 1, 1)] if values.table.axes() == "x" else []
    elif shown.upper == MAX_BLOCK:  # an array of 1,024 elements may have several for each thread
        samples = _of_warps(kernel, values) + [shown.sample] * shown.bounded
    elif math.prod(shown.sample) <= most_threads(kernel)[0]:
        samples = [shown.sample]  # the largest block that the kernel is written for
    else:
        tried, most = _of_warps(kernel, values), most_threads(kernel)[0]
        samples = [each for each in tried if _fits(each, shown.upper, most)]
    single = single_axes(kernel)
    blocks = [
        dims
        for dims in dict.fromkeys(samples)
        if 1 < math.prod(dims) <= MAX_THREADS and all(dims["xyz".index(axis)] == 1 for axis in single)
    ]
    return Samples(blocks, BlockAssumption(tried=blocks[0])) if blocks else Samples()


def _of_warps(kernel: Kernel, values: ValueFacts) -> list[Dims]:
    """Blocks to try that have several warps."""
    tried = samples_for(values, single_axes(kernel))
    return [dims for dims in tried if math.prod(dims) > kernel.dialect.lanes]


def is_for_warps(kernel: Kernel, nodes: Iterable[Node]) -> bool:
    """Does a kernel without barriers of the block order lanes of a warp, or count on their order? Where nothing orders
    anything, larger blocks want a barrier."""
    lanes = any(isinstance(each, Barrier | WarpCollective) for each in nodes)
    return lanes or any(each.stays or "volatile" in each.written.qualifiers for each in kernel.buffers)


def _fits(dims: Dims, upper: Dims, threads: int) -> bool:
    return math.prod(dims) <= threads and all(size <= most for size, most in zip(dims, upper))
