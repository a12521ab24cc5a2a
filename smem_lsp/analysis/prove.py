"""All proved facts of one kernel, under one assumption about its block."""

from __future__ import annotations

from smem_lsp.analysis.block_shape import BlockShape
from smem_lsp.analysis.facts import Facts
from smem_lsp.analysis.slots import find_slots
from smem_lsp.analysis.uniformity import Control
from smem_lsp.analysis.values import Values
from smem_lsp.ir.model import Kernel


def prove(kernel: Kernel, control: Control, shape: BlockShape | None, values: Values) -> Facts:
    """Facts for the walks. ``shape`` None: nothing is known of the block, no slot is proved."""
    found = find_slots(kernel, control, shape, values)
    return Facts(
        uniform=control.uniform,
        barriers=control.barriers,
        full=found.full,
        slots=found.slots,
        places=control.places,
        covering=found.covering,
    )
