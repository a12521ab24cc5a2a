"""How a function could be handed the bytes of its caller: shown, not applied."""

from __future__ import annotations

from smem_lsp.fixes.cure import CheckedKernel, Cure
from smem_lsp.fixes.declarations import lent_to
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.rules.model import ShowCallerReuse


def _fix(remedy: ShowCallerReuse, at: CheckedKernel) -> Fix:
    buffers = at.kernel.buffers
    words = "; ".join(lent_to(buffers[lent], buffers[host]) for lent, host in remedy.hosts)
    return Fix(Title(words), Safety.DISPLAY, ())


CURE = Cure(ShowCallerReuse, lambda remedy, kernel: "rewrite the kernel", _fix)
