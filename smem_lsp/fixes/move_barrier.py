"""A barrier that some threads miss, taken out of the branch."""

from __future__ import annotations

from smem_lsp.fixes.barriers import insert_lines, remove_barrier, spelling_at
from smem_lsp.fixes.cure import CheckedKernel, Cure, assuming
from smem_lsp.fixes.model import Fix
from smem_lsp.rules.model import MoveBarrier


def _fix(remedy: MoveBarrier, at: CheckedKernel) -> Fix:
    removal = remove_barrier(at.kernel, at.source, remedy.barrier)
    spelling = spelling_at(at.kernel, at.source, remedy.place)
    insertion, line = insert_lines(at.kernel, at.source, remedy.place, [spelling])
    edits = tuple(sorted((removal, insertion)))
    return assuming(at.facts, f"Move the barrier out, before line {line}", edits, proved=remedy.proved)


CURE = Cure(MoveBarrier, lambda remedy, kernel: "move the barrier", _fix)
