"""The fixes of a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lsp.fixes.cure import CheckedKernel
from smem_lsp.fixes.declarations import Refused
from smem_lsp.fixes.host_calls import change_host
from smem_lsp.fixes.model import Fix, Safety, cannot
from smem_lsp.fixes.registry import CURES
from smem_lsp.ir.nodes import Kernel
from smem_lsp.rules import ground
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import ChangeHost, Finding
from smem_lsp.syntax.parse import TranslationUnit


def fixes_for(finding: Finding, kernels: Sequence[KernelFacts], unit: TranslationUnit) -> tuple[Fix, ...]:
    """The fixes of a finding; a refused fix becomes a display fix whose title gives the reason."""
    remedy = finding.remedy
    if remedy is None:
        return ()
    if isinstance(remedy, ChangeHost):
        return (change_host(remedy, unit.source),)
    checked, cure = CheckedKernel(kernels[remedy.kernel], kernels, unit), CURES[type(remedy)]
    try:
        return (_checked_through(checked.kernel, cure.fix(remedy, checked)),)
    except Refused as why:
        task = cure.task(remedy, checked.kernel)
        return (cannot(task, why),)


def _checked_through(kernel: Kernel, fix: Fix) -> Fix:
    """A fix that was not checked for all files that include a header is not safe, and says so."""
    if not kernel.through or fix.safety is Safety.DISPLAY:
        return fix
    checked = (*fix.words.checked, f"checked {ground.through(kernel.contexts)}")
    return replace(fix, words=replace(fix.words, checked=checked), safety=Safety.UNSAFE)
