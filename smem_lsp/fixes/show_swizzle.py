"""How the author could swizzle the columns of a buffer: shown, not applied."""

from __future__ import annotations

from smem_lsp.fixes.cure import CheckedKernel, Cure
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.rules.model import ShowSwizzle


def _fix(remedy: ShowSwizzle, at: CheckedKernel) -> Fix:
    return Fix(Title("Swizzle the columns", remedy.text), Safety.DISPLAY, ())


CURE = Cure(ShowSwizzle, lambda remedy, kernel: "rewrite the kernel", _fix)
