"""How the author could declare the members of a class: shown, not applied."""

from __future__ import annotations

from smem_lsp.fixes.cure import CheckedKernel, Cure
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.rules.model import ShowStorage


def _fix(remedy: ShowStorage, at: CheckedKernel) -> Fix:
    return Fix(Title(f"Declare the members of `{remedy.buffer}` as `{remedy.text}`"), Safety.DISPLAY, ())


CURE = Cure(ShowStorage, lambda remedy, kernel: "rewrite the kernel", _fix)
