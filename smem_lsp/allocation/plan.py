"""Inputs and results that all allocators share."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.source import record


def align_up(offset: int, alignment: int) -> int:
    """``offset`` in bytes, rounded up to a multiple of ``alignment``."""
    return -(-offset // alignment) * alignment


@record
class Item:
    """One buffer to lay out. ``size`` and ``align`` in bytes."""

    index: int
    name: str
    size: int
    align: int


@record
class Plan:
    """A layout: byte offset of every buffer by its index. ``barriers``: Place points where one is added."""

    allocator: str  # declared | stack | alias | best_fit | best
    bytes: int
    offsets: Mapping[int, int]
    lower_bound: int = 0
    optimal: bool = False
    clique: tuple[int, ...] = ()  # buffers that together force the bytes
    barriers: tuple[int, ...] = ()
    cost: int = 0  # executions of the added barriers per block, 8 for a loop of unknown count
