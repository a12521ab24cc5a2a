"""One pair of accesses that meets under several conditions: one decision, with the words and the witness of the same.

Conditions are words: "when n ≥ 33", "when n ≠ 5, or when m is even". The witness of a decision is one for the first of
them, and at its bound.
"""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.analysis.decision.model import Answer, Decision
from smem_lsp.source.regex import regex

_OR = ", or "
_FROM_ON = regex(r"(when|for all) (.+) ≥ (\d+)(, perhaps for others)?")
_NAME = regex(r"(?:when|for all|for some) (\S+(?: and \S+)*?)(?: - \d+)? (?:≥|≤|≠|is)")


def either(one: Decision, other: Decision) -> Decision:
    """The same pair under one condition, or under the other."""
    any_block = one.any_block and other.any_block
    mine, theirs = _bound(one.condition), _bound(other.condition)
    if mine is not None and theirs is not None and mine[0] == theirs[0]:
        return replace(one if mine[1] <= theirs[1] else other, any_block=any_block)
    known = one.condition.split(_OR)
    if other.condition in known or (theirs is not None and any(_implied(theirs, each) for each in known)):
        return replace(one, any_block=any_block)
    return replace(one, condition=f"{one.condition}{_OR}{other.condition}", any_block=any_block)


def at_least(known: Decision, found: Decision) -> Decision:
    """The same pair, which another way lets meet for ``found`` values that are not solved: the condition that was is
    enough, and there may be others."""
    if known.answer is not Answer.CONDITION or found.answer is not Answer.SIZES:
        return known
    bound = _bound(known.condition)
    if bound is None:
        return known
    name, least = bound
    return replace(known, condition=f"for all {name} ≥ {least}, perhaps for others")


def some_of(words: str) -> str:
    """What is true of a condition if all that is known is that it can hold: ``for some n``."""
    found = _NAME.match(words)
    return "" if found is None else f"for some {found[1]}"


def _bound(words: str) -> tuple[str, int] | None:
    """The parameter and the number from which on it is enough."""
    found = _FROM_ON.fullmatch(words)
    return None if found is None else (found[2], int(found[3]))


def _implied(bound: tuple[str, int], by: str) -> bool:
    other = _bound(by)
    return other is not None and other[0] == bound[0] and other[1] <= bound[1]
