"""All proved facts of one kernel, under one assumption about its block."""

from __future__ import annotations

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.threads.thread_private import find_footprints
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Kernel


def prove(kernel: Kernel, control: Control, shape: BlockShape | None, values: ValueFacts) -> Facts:
    """Facts for the walks. ``shape`` None: the block is unknown, and no slot is proved."""
    found = find_footprints(kernel, control, shape, values)
    return Facts(
        uniform=control.uniform,
        barriers=control.barriers,
        full=found.full,
        slots=found.slots,
        places=control.places,
        covering=found.covering,
    )
