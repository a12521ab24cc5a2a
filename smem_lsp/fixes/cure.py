"""A cure: how one type of remedy becomes a fix. Each stands in a module of its own and is listed in ``registry``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.ir.nodes import Kernel
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Remedy
from smem_lsp.source import SourceText, TextEdit
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import TranslationUnit

R = TypeVar("R", bound=Remedy)


@dataclass(frozen=True, slots=True)
class CheckedKernel:
    """The kernel that a remedy is for, in its file. ``kernels``: all of the file."""

    facts: KernelFacts
    kernels: Sequence[KernelFacts]
    unit: TranslationUnit

    @property
    def kernel(self) -> Kernel:
        return self.facts.kernel

    @property
    def source(self) -> SourceText:
        return self.unit.source

    @property
    def siblings(self) -> list[KernelFacts]:
        """The other instances of the same template."""
        if not self.kernel.siblings:
            return []
        name = self.kernel.name_span
        return [o for o in self.kernels if o.index != self.facts.index and o.kernel.name_span == name]


@dataclass(frozen=True, slots=True)
class Cure(Generic[R]):
    """``fix`` raises Refused; ``task``: what it was to do, for ``Cannot {task}: ...``. ``compiled``: a
    compiler helps to decide whether the fix is worth it."""

    remedy: type[R]
    task: Callable[[R, Kernel], str]
    fix: Callable[[R, CheckedKernel], Fix]
    compiled: bool = False


def assuming(facts: KernelFacts, title: str, edits: tuple[TextEdit, ...], *, proved: bool) -> Fix:
    """A fix that is safe unless something is assumed; the title names each assumption."""
    kernel, assumed = facts.kernel, facts.told((*facts.shape_assumption, *facts.wrap_assumption))
    if not proved:
        assumed.append("not proved for every block and input")
    if kernel.instance is not None and (kernel.siblings or kernel.more_instances):
        assumed.append(f"checked for {kernel.instance}")
    checked = (", ".join(assumed),) if assumed else ()
    return Fix(Title(title, checked=checked), Safety.UNSAFE if assumed else Safety.SAFE, edits)


def conditional_words(facts: KernelFacts, source: SourceText) -> list[str]:
    """Code that this configuration leaves out was not checked."""
    if not facts.kernel.conditional:
        return []
    line = source.line_number(facts.span(facts.kernel.conditional[0]).start)
    return [f"the other branches of #if (line {line}) were not checked"]
