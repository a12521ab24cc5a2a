"""A buffer that nobody uses, removed."""

from __future__ import annotations

from smem_lsp.fixes.cure import CheckedKernel, Cure
from smem_lsp.fixes.declarations import declared_with, replace_declarators, require_editable
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.rules.model import RemoveDeclarator


def _fix(remedy: RemoveDeclarator, at: CheckedKernel) -> Fix:
    buffers = at.kernel.buffers
    buffer = buffers[remedy.buffer]
    require_editable(at.kernel, at.source, buffer)
    edits = replace_declarators(at.kernel, at.source, declared_with(at.kernel, buffer), {buffer.index}, ())
    return Fix(Title(f"Remove the declaration of `{buffer.name}`"), Safety.SAFE, tuple(sorted(edits)))


CURE = Cure(RemoveDeclarator, lambda remedy, kernel: f"remove `{kernel.buffers[remedy.buffer].name}`", _fix)
