"""Does the host raise a kernel's limit of dynamic shared memory, with ``cudaFuncSetAttribute`` or the like?"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.source import checkpoint
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.targets.dialects import Dialect


def may_opt_in(unit: TranslationUnit, kernel: Function, dialect: Dialect) -> bool:
    """Is there a call in sight that may be about this kernel: one that names it, or any, when the kernel's name is used
    for something else than launches (a pointer to it, an argument)?"""
    calls = dialect.dynamic_opt_ins
    if not calls.isdisjoint(unit.header_words):
        return True
    if all(calls.isdisjoint(function.definition.words) for function in unit.all_functions):
        return any(not calls.isdisjoint(placed.block.tokens.texts) for placed in unit.all_blocks)
    for placed in unit.all_blocks:
        checkpoint()
        texts = placed.block.tokens.texts
        for i, text in enumerate(texts):
            if (
                text == kernel.name
                and not is_launch(texts, i)
                and not _is_declaration(placed.block.tokens.kinds, i)
            ):
                return True
    return False


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
