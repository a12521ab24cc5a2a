"""The blocks that a kernel is run with: the one that is known, or some that its text does not rule out."""

from __future__ import annotations

import math
from collections.abc import Iterable

from smem_lsp.analysis.threads.block_shape import evidence
from smem_lsp.analysis.threads.divergence import samples_for
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Barrier, Dims, Exchange, Kernel, Node
from smem_lsp.targets.every import MAX_BLOCK, MAX_THREADS


def sample_blocks(
    kernel: Kernel,
    values: ValueFacts,
    control: Control,
    shape: BlockShape | None,
    *,
    in_warps: bool,
    unordered: bool = False,
) -> list[Dims]:
    """``shape`` alone, or blocks to try that the kernel's text does not rule out. ``in_warps``: the kernel may be
    written for a single warp, and is tried with that; ``unordered``: the same, if no array tells how large the block
    is."""
    if shape is not None:
        return [shape.dims] if 1 < shape.threads <= MAX_THREADS else []
    shown = evidence(kernel, values, control)
    if shown.equal:
        return []  # an extent that is not known says how large the block is
    if in_warps or (unordered and shown.upper == MAX_BLOCK):
        samples = [(min(kernel.dialect.lanes, shown.upper[0]), 1, 1)] if values.table.axes() == "x" else []
    elif shown.upper == MAX_BLOCK:
        samples = _of_warps(values, kernel.dialect.lanes)
    elif math.prod(shown.sample) <= most_threads(kernel)[0]:
        samples = [shown.sample]  # the largest block that the kernel is written for
    else:
        tried, most = _of_warps(values, kernel.dialect.lanes), most_threads(kernel)[0]
        samples = [each for each in tried if _fits(each, shown.upper, most)]
    return [dims for dims in dict.fromkeys(samples) if 1 < math.prod(dims) <= MAX_THREADS]


def _of_warps(values: ValueFacts, lanes: int) -> list[Dims]:
    """Blocks to try that have several warps, of up to so many lanes."""
    return [dims for dims in samples_for(values) if math.prod(dims) > lanes]


def is_for_warps(kernel: Kernel, nodes: Iterable[Node]) -> bool:
    """Does a kernel without barriers of the block order lanes of a warp, or count on their order? Where nothing orders
    anything, larger blocks want a barrier."""
    lanes = any(isinstance(each, Barrier | Exchange) for each in nodes)
    return lanes or any(each.stays or "volatile" in each.qualifiers for each in kernel.buffers)


def _fits(dims: Dims, upper: Dims, threads: int) -> bool:
    return math.prod(dims) <= threads and all(size <= most for size, most in zip(dims, upper))
