"""The barriers that some threads of a block miss, over all blocks that somebody names."""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.analysis.decision.mispaired import Mispaired, joined, mispaired
from smem_lsp.analysis.decision.verdict import RaceChecker
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.ir.nodes import BarrierKind


def mispairings(
    of: KernelModel, judges: Iterable[tuple[BlockShape | None, RaceChecker]]
) -> tuple[Mispaired, ...]:
    """Each mispaired barrier, with an example. ``judges``: for each block that somebody names, or None."""
    barriers = {each.point for each in of.barriers if each.kind is BarrierKind.BLOCK}
    if of.kernel.irregular is not None or barriers <= of.control.barriers | of.control.alike:
        return ()
    return joined([tuple(mispaired(judge.barriers, shape)) for shape, judge in judges])
