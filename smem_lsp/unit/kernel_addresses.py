"""Which kernels a launch through a pointer may start, where the pointer is not followed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint
from smem_lsp.syntax.host_functions import launch_calls
from smem_lsp.syntax.lexer import Tokens
from smem_lsp.syntax.parse import TranslationUnit
from smem_lsp.unit.host_callees import asks_only
from smem_lsp.unit.kernel_tables import kernel_tables
from smem_lsp.unit.opt_in import is_launch

ANY_KERNEL = ""
"""The name of the kernel of a launch through a pointer that is not followed."""

_MOST_BACK = 200  # tokens between a name and the parenthesis around it


def kernels_with_address(unit: TranslationUnit, top: Scope, kernels: Collection[str]) -> frozenset[str]:
    """Those of the kernels whose address the unit takes: for more than a launch, or a question about the kernel."""
    wanted = frozenset(kernels)
    found = {entry.name for table in kernel_tables(top, wanted) for entry in table.entries}
    for function in unit.all_functions:
        checkpoint()
        here = (wanted - found) & function.definition.body_words
        body = function.definition.body
        for at, text in enumerate(body.texts) if here else ():
            if text in here and not is_launch(body.texts, at) and not _only_asks(body, at):
                found.add(text)
    return frozenset(found)


def _only_asks(body: Tokens, at: int) -> bool:
    """Is it an argument of a function that launches it, or only reads its attributes?"""
    depth = 0
    for i in range(at - 1, max(-1, at - _MOST_BACK), -1):
        kind = body.kinds[i]
        if kind in ("SEMI", "LC", "RC"):
            return False
        depth += (kind == "RP") - (kind == "LP")
        if depth < 0:
            callee = _callee(body.texts, i)
            if callee:
                return callee in launch_calls() or asks_only(callee)
            depth = 0  # the parentheses of a cast
    return False


def _callee(texts: Sequence[str], opening: int) -> str:
    before = texts[opening - 1] if opening else ""
    return before if before.isidentifier() else ""
