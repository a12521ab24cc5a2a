"""A fence where the asynchronous proxy may not see what a thread has written."""

from __future__ import annotations

from smem_lsp.fixes.cure import CheckedKernel, Cure, assuming
from smem_lsp.fixes.fences import insert_fence
from smem_lsp.fixes.model import Fix
from smem_lsp.rules.model import InsertFence


def _fix(remedy: InsertFence, at: CheckedKernel) -> Fix:
    edit, words = insert_fence(at.kernel, at.source, remedy.place, remedy.buffer)
    return assuming(at.facts, f"Add {words}", (edit,), proved=remedy.proved)


CURE = Cure(InsertFence, lambda remedy, kernel: "insert a fence", _fix)
