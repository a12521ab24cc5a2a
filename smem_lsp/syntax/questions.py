"""What questions are asked about, with the store of the answers; and what every room asks of a function."""

from __future__ import annotations

from smem_lsp.source.queries import Store, question
from smem_lsp.syntax.blocks import SourceBlock
from smem_lsp.syntax.parse import Body, Function, TranslationUnit

MAX_TOKENS = 8_000  # of a body that is followed
SMALL = 60  # of one that is followed for its value alone


def of_function(function: Function) -> Store:
    return function.definition.store


def of_body(body: Body) -> Store:
    return body.store


def of_block(block: SourceBlock) -> Store:
    return block.store


def of_unit(unit: TranslationUnit) -> Store:
    return unit.store


@question(of_function)
def has_at_most(function: Function, tokens: int) -> bool:
    """Does its body have so many tokens, or fewer?"""
    return len(function.body.tokens) <= tokens
