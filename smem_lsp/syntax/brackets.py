"""Matches brackets, and tolerates missing and extra ones."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from smem_lsp.source.budget import look

OPENING = {"LP": "RP", "LB": "RB", "LC": "RC"}
_CLOSING = {closing: opening for opening, closing in OPENING.items()}
_BRACKETS = frozenset((*OPENING, *_CLOSING))


def match_brackets(kinds: Sequence[str]) -> array[int]:
    """``partner[i]``: index of the bracket that matches bracket ``i``, or -1 (also for all other tokens).

    A closing ``)`` or ``]`` looks for its partner inside the innermost open brace only: a half-typed call cannot
    swallow the rest of a function.
    """
    look()
    partner = array("i", (-1,)) * len(kinds)
    stack: list[int] = []
    for i in [i for i, kind in enumerate(kinds) if kind in _BRACKETS]:
        kind = kinds[i]
        if kind in OPENING:
            stack.append(i)
            continue
        opening = _CLOSING[kind]
        if stack and kinds[stack[-1]] == opening:
            top = stack.pop()
            partner[i] = top
            partner[top] = i
            continue
        x = len(stack) - 1
        while x >= 0 and kinds[stack[x]] != opening and (opening == "LC" or kinds[stack[x]] != "LC"):
            x -= 1
        if x >= 0 and kinds[stack[x]] == opening:
            partner[i] = stack[x]
            partner[stack[x]] = i
            del stack[x:]
    return partner
