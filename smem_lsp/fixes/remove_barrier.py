"""A barrier that orders nothing, removed."""

from __future__ import annotations

from smem_lsp.fixes.barriers import remove_barrier
from smem_lsp.fixes.cure import CheckedKernel, Cure
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.rules.model import RemoveBarrier


def _fix(remedy: RemoveBarrier, at: CheckedKernel) -> Fix:
    return Fix(
        Title("Remove the barrier"), Safety.SAFE, (remove_barrier(at.kernel, at.source, remedy.barrier),)
    )


CURE = Cure(RemoveBarrier, lambda remedy, kernel: "remove the barrier", _fix)
