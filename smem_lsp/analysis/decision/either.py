"""One pair of accesses that meets under several conditions: one decision, with its condition and a witness of it.

The witness of a decision is one for the first set of its condition, and at its bound.
"""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.analysis.decision.model import Decision, PairVerdict


def either(one: Decision, other: Decision) -> Decision:
    """The same pair under one condition, or under the other."""
    assert one.condition is not None and other.condition is not None
    any_block = one.any_block and other.any_block
    mine, theirs = one.condition.bound, other.condition.bound
    if mine is not None and theirs is not None and mine != theirs and mine.is_in(theirs):
        return replace(other, any_block=any_block)
    return replace(one, condition=one.condition.or_else(other.condition), any_block=any_block)


def at_least(known: Decision, found: Decision) -> Decision:
    """The same pair, which another way lets meet for ``found`` values that are not solved: the condition that was is
    enough, and there may be others."""
    if known.answer is not PairVerdict.CONDITION or found.answer is not PairVerdict.SIZES:
        return known
    condition = known.condition
    if condition is None or not (condition.is_solved and condition.has_no_end):
        return known
    return replace(known, condition=replace(condition, enough=True))
