"""A barrier where one is missing."""

from __future__ import annotations

from smem_lsp.fixes.barriers import insert_barrier
from smem_lsp.fixes.cure import CheckedKernel, Cure, assuming
from smem_lsp.fixes.model import Fix
from smem_lsp.rules.model import InsertBarrier


def _fix(remedy: InsertBarrier, at: CheckedKernel) -> Fix:
    edit, words = insert_barrier(at.kernel, at.source, remedy.place, remedy.reason, warp=remedy.warp)
    return assuming(at.facts, f"Add {words}", (edit,), proved=remedy.proved)


CURE = Cure(InsertBarrier, lambda remedy, kernel: "insert a barrier", _fix)
