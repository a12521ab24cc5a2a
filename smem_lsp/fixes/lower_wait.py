"""A wait that leaves fewer groups of copies open."""

from __future__ import annotations

from smem_lsp.fixes.copy_waits import lower_wait
from smem_lsp.fixes.cure import CheckedKernel, Cure
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.rules.model import LowerWait


def _fix(remedy: LowerWait, at: CheckedKernel) -> Fix:
    edit = lower_wait(at.kernel, at.source, remedy.wait, remedy.left)
    left = {0: "no group", 1: "1 group"}.get(remedy.left, f"{remedy.left} groups")
    title = Title(f"Leave {left} of copies open", checked=("checked for the first and last iterations",))
    return Fix(title, Safety.UNSAFE, (edit,))


CURE = Cure(LowerWait, lambda remedy, kernel: "change the wait", _fix)
