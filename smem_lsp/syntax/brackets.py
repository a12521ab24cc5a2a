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


_LONGEST_HEADER = 2000  # tokens of `template <...>`
_VALUES = frozenset(("RP", "RB", "NUMBER"))  # what ends so is no name of a template


def template_close(kinds: Sequence[str], texts: Sequence[str], lt: int) -> int:
    """Index of the `>` that closes ``template <``. Inside parentheses `<` and `>` compare ([temp.param]/18), and so
    does `<` behind what is a number: ``template <int N, bool B = N < 32>``, ``template <class T, bool B = sizeof(T) <
    4>``."""
    depth = inside = 0
    numbers = set[str]()
    for i in range(lt, min(len(kinds), lt + _LONGEST_HEADER)):
        kind = kinds[i]
        if kind in ("LP", "RP"):
            inside += 1 if kind == "LP" else -1
        elif kind in ("LC", "SEMI"):
            return i - 1
        elif inside > 0:
            continue
        elif kind == "NAME" and kinds[i - 1] == "TYPE":
            numbers.add(texts[i])
        elif kind == "LT":
            depth += texts[i - 1] not in numbers and kinds[i - 1] not in _VALUES
        elif kind in ("GT", "SHIFT", "LAUNCH_CLOSE") and texts[i][0] == ">":
            depth -= len(texts[i])
            if depth <= 0:
                return i
    return lt


_ENDS_ARGUMENTS = frozenset(("SEMI", "LC", "RC", "EQ"))


def template_name(kinds: Sequence[str], texts: Sequence[str], closing: int) -> int:
    """The token before the template arguments whose last ``>`` stands at ``closing``; -1: it can only compare.
    Inside parentheses `<` and `>` compare."""
    at, depth, inside = closing, 0, 0
    while at > 0 and kinds[at] not in _ENDS_ARGUMENTS and inside >= 0:
        inside += (kinds[at] == "RP") - (kinds[at] == "LP")
        if not inside:
            depth += {">": 1, ">>": 2, "<": -1}.get(texts[at], 0)
        at -= 1
        if depth <= 0:
            return at
    return -1
