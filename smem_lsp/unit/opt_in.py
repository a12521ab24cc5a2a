"""Does the host raise a kernel's limit of dynamic shared memory, with ``cudaFuncSetAttribute`` or the like?"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.source import checkpoint
from smem_lsp.source.queries import question
from smem_lsp.syntax.blocks import SourceBlock
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.syntax.questions import of_block
from smem_lsp.targets.dialects import Dialect


def may_opt_in(unit: TranslationUnit, kernel: Function, dialect: Dialect) -> bool:
    """Is there a call in sight that may be about this kernel: one that names it, or any, when the kernel's name is used
    for something else than launches (a pointer to it, an argument)?"""
    return bool(opted_in(unit, frozenset((kernel.name,)), dialect))


def opted_in(unit: TranslationUnit, kernels: frozenset[str], dialect: Dialect) -> frozenset[str]:
    """Those of the kernels that a call in sight may be about; see ``may_opt_in``."""
    calls = dialect.dynamic_opt_ins
    if not calls.isdisjoint(unit.header_words):
        return kernels
    blocks = [placed.block for placed in unit.all_blocks]
    said = [_said(block, calls) for block in blocks]
    if not any(in_function for in_function, _ in said):
        return kernels if any(anywhere for _, anywhere in said) else frozenset()
    named = (_named(block, kernels) for block in blocks)
    return frozenset[str]().union(*named)


@question(of_block, most=2)
def _said(block: SourceBlock, calls: frozenset[str]) -> tuple[bool, bool]:
    """Is one of these called in a function, or anywhere?"""
    in_function = any(not calls.isdisjoint(each.definition.words) for each in block.functions)
    return in_function, in_function or not calls.isdisjoint(block.tokens.texts)


@question(of_block, most=2)
def _named(block: SourceBlock, kernels: frozenset[str]) -> frozenset[str]:
    """Which of these it names for more than a launch."""
    kinds, texts = block.tokens.kinds, block.tokens.texts
    checkpoint()
    return frozenset(
        text
        for i, text in enumerate(texts)
        if text in kernels and not is_launch(texts, i) and not _is_declaration(kinds, i)
    )


def is_launch(texts: Sequence[str], name: int) -> bool:
    """Is the kernel that is named there the callee of a launch?"""
    i = name + 1
    if i < len(texts) and texts[i] == "<":
        depth = 0
        while i < len(texts):
            depth += {"<": 1, ">": -1, ">>": -2, ">>>": -3}.get(texts[i], 0)
            i += 1
            if depth <= 0:
                break
    return i < len(texts) and texts[i] == "<<<"


def _is_declaration(kinds: Sequence[str], name: int) -> bool:
    """``void k(``: the definition or a prototype."""
    return kinds[name - 1 : name] == ["TYPE"] and kinds[name + 1 : name + 2] == ["LP"]
