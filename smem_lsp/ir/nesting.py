"""Kernels that are nested too deeply to be walked."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import Access, Kernel, Loop, Seq, bodies, walk

MAX_LOOP_DEPTH = 12
MAX_DEPTH = 250  # three frames of the interpreter each; a chain of `else if` counts as well


def bounded(kernel: Kernel) -> Kernel:
    """``kernel``, without its flow of control where that is nested too deeply.

    The walks repeat inner loops inside outer ones until nothing changes, and recurse into branches."""
    loops, depth = _nesting(kernel.body)
    if loops > MAX_LOOP_DEPTH:
        return flattened(kernel, Cause(CauseKind.LOOP_DEPTH, names=(str(MAX_LOOP_DEPTH),)))
    if depth > MAX_DEPTH:
        return flattened(kernel, Cause(CauseKind.DEPTH, names=(str(MAX_DEPTH),)))
    return kernel


def flattened(kernel: Kernel, why: Cause) -> Kernel:
    """The accesses of a kernel without its flow of control."""
    accesses = Seq(tuple(node for node in walk(kernel.body) if isinstance(node, Access)))
    return replace(kernel, body=accesses, limits=(*kernel.limits, why))


def _nesting(body: Seq) -> tuple[int, int]:
    """The most loops inside each other, and the most branches and loops."""
    loops = depth = 0
    stack = [(body, 0, 0)]
    while stack:
        seq, within_loops, within = stack.pop()
        loops, depth = max(loops, within_loops), max(depth, within)
        for node in seq:
            more = within_loops + isinstance(node, Loop)
            stack += ((inner, more, within + 1) for inner in bodies(node))
    return loops, depth
