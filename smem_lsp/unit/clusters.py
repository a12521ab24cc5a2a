"""Thread block clusters: ``__cluster_dims__``, and whether non-portable cluster sizes are allowed."""

from __future__ import annotations

from smem_lsp.ir.nodes import Dims
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.scope import Scope
from smem_lsp.source.queries import question
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import SourceBlock
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.parse import Function, TranslationUnit, parse_chunk
from smem_lsp.syntax.questions import of_block
from smem_lsp.targets.dialects import CUDA


def attribute_values(function: Function, name: str, constants: Scope) -> tuple[int | None, ...]:
    """The arguments of ``__launch_bounds__`` or another attribute in the head of a function; () if it is absent or
    does not parse."""
    kinds, texts = function.head.kinds, function.head.texts
    if name not in texts:
        return ()
    at = texts.index(name) + 1
    if at >= len(kinds) or kinds[at] != "LP":
        return ()
    close = match_brackets(kinds)[at]
    if close < at:
        return ()
    parsed = parse_chunk(
        "initializer",
        ["LC", *kinds[at + 1 : close], "RC"],
        ["{", *texts[at + 1 : close], "}"],
        function.body.symbols,
    )
    return (
        tuple(evaluate(item, constants) for item in parsed.items) if isinstance(parsed, tree.Braces) else ()
    )


def cluster_of(function: Function, constants: Scope) -> Dims | None:
    """Blocks of a cluster by ``__cluster_dims__(x, y, z)``; None where there is none or it is not constant."""
    values = attribute_values(function, CUDA.cluster_dims, constants)
    known = [value for value in values if value is not None and value > 0]
    if not 1 <= len(values) <= 3 or len(known) != len(values) or "__block_size__" in function.head.texts:
        return None
    x, y, z = (*known, 1, 1)[:3]
    return x, y, z


def may_be_non_portable(unit: TranslationUnit) -> bool:
    """Does anything in sight allow clusters of more blocks than every device takes?"""
    return not CUDA.cluster_opt_ins.isdisjoint(unit.header_words) or any(
        _allows(placed.block) for placed in unit.all_blocks
    )


@question(of_block)
def _allows(block: SourceBlock) -> bool:
    return not CUDA.cluster_opt_ins.isdisjoint(block.tokens.texts)
