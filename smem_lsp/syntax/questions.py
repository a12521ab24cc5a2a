"""Questions about the body of a function, whoever asks them."""

from __future__ import annotations

from smem_lsp.source.queries import Store, question
from smem_lsp.syntax.parse import Function

MAX_TOKENS = 8_000  # of a body that is followed
SMALL = 60  # of one that is followed for its value alone


def of_function(function: Function) -> Store:
    return function.definition.store


@question(of_function)
def has_at_most(function: Function, tokens: int) -> bool:
    """Does its body have so many tokens, or fewer?"""
    return len(function.body.tokens) <= tokens
