"""A wait where a copy may still be in flight."""

from __future__ import annotations

from smem_lsp.fixes.copy_waits import insert_wait
from smem_lsp.fixes.cure import CheckedKernel, Cure, assuming
from smem_lsp.fixes.model import Fix
from smem_lsp.rules.model import InsertWait


def _fix(remedy: InsertWait, at: CheckedKernel) -> Fix:
    edit, words = insert_wait(at.kernel, at.source, remedy.place, barrier=remedy.barrier, loose=remedy.loose)
    return assuming(at.facts, f"Add {words}", (edit,), proved=remedy.proved)


CURE = Cure(InsertWait, lambda remedy, kernel: "insert a wait", _fix)
