"""What is decided, in words: for which sizes, why not, and what a proof takes for granted."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.decision.reasons import Assumption, Reason, ReasonKind
from smem_lsp.analysis.decision.size_sets import Relation, SizeCondition, SizeSet
from smem_lsp.ir.causes import Cause
from smem_lsp.rules.cause_words import bare as bare_cause
from smem_lsp.rules.words import Words, said
from smem_lsp.source import listed

_WHEN = "when "


def when(condition: SizeCondition | None) -> str:
    """``when n ≥ 33``, ``for some n and m``, ``for all n ≥ 65, perhaps for others``; nothing for all sizes."""
    return "" if condition is None else "".join(_parts(condition))


def bare(condition: SizeCondition) -> str:
    """The same for tools: ``n ≥ 33``."""
    first, *others = _parts(condition)
    return "".join(others if first == _WHEN else (first, *others))


def _parts(condition: SizeCondition) -> Iterator[str]:
    """How it begins, and what follows."""
    for number, each in enumerate(condition.sets):
        if number:
            yield ", or "
        yield "for some " if not each.exact else "for all " if condition.enough and not number else _WHEN
        yield listed(each.names) + _values(each)
    if condition.enough:
        yield ", perhaps for others"
    if condition.blocks:
        if condition.sets:
            yield ", "
        yield _WHEN
        yield listed([f"blockDim.{axis} is {listed(extents)}" for axis, extents in condition.blocks])


def _values(of: SizeSet) -> str:
    """What follows the name of a parameter."""
    match of.relation, of.numbers:
        case Relation.FROM, (least,):
            return f" ≥ {least}"
        case Relation.UP_TO, (most,):
            return f" ≤ {most}"
        case Relation.OTHER, (number,):
            return f" ≠ {number}"
        case Relation.WITHIN, (least, most):
            return f" is {least}" if least == most else f" is {least} to {most}"
        case ((Relation.MULTIPLE | Relation.NO_MULTIPLE), (factor, rest)):
            taken = f" - {rest}" if rest else ""
            end = f"below {of.below} and " if of.below else ""
            return f"{taken} is {end}{_multiple(factor, of.relation is Relation.MULTIPLE)}"
    return ""


def _multiple(factor: int, yes: bool) -> str:
    if factor == 2:
        return "even" if yes else "odd"
    return f"a multiple of {factor}" if yes else f"no multiple of {factor}"


def why(reason: Reason | None) -> Words:
    """``data decide``, ``f() may order the accesses``; nothing where it is decided. Without the line of what reading
    left open, where the reason stands."""
    if reason is None:
        return Words()
    text, *rest = _WHY[reason.kind].split("{}")
    found = said(text)
    for each, after in zip(reason.args, rest, strict=True):
        found = said(found, bare_cause(each) if isinstance(each, Cause) else str(each), after)
    return found


_WHY = {
    ReasonKind.NOT_READ: "{}",
    ReasonKind.UNSEEN: "not every access to {} is seen",
    ReasonKind.PROXY: "the asynchronous proxy accesses shared memory",
    ReasonKind.MANY_PAIRS: "too many pairs of accesses to shared memory",
    ReasonKind.MISSED: "some threads miss this barrier and wait at another one",
    ReasonKind.MISSED_BY_DATA: "data decide whether all threads come to this barrier",
    ReasonKind.MISSED_BY_SIZES: "parameters decide whether all threads come to this barrier",
    ReasonKind.PERHAPS_MISSED: "not proved that all threads come to this barrier",
    ReasonKind.DATA: "data decide",
    ReasonKind.SIZES: "parameters decide",
    ReasonKind.CALL_ORDERS: "{}() may order the accesses",
    ReasonKind.EXCHANGE_ORDERS: "a shuffle or vote may order the accesses",
    ReasonKind.SOMETHING_ORDERS: "something that is not known may order the accesses",
    ReasonKind.GUESSED: "it is not certain what is accessed",
    ReasonKind.NO_SOLVER: "the solver (package z3-solver) is not installed",
    ReasonKind.TOO_HARD: "too hard within the budget",
    ReasonKind.LOOP_VARIABLE: "how a loop changes {} is not followed",
    ReasonKind.CALLED_VALUE: "what {}() returns is not known",
    ReasonKind.VALUE_BEHIND_LOOP: "what {} is behind a loop is not known",
    ReasonKind.LOADED_VALUE: "a value loaded from {} decides",
    ReasonKind.VALUE: "a value is not followed",
    ReasonKind.LEAVES_ROW: "an index may leave its row",
    ReasonKind.CHANGES: "a value may change between two loads of it",
    ReasonKind.SIGN: "whether a number is negative is not known",
    ReasonKind.SAME_VALUE: "both write, perhaps the same value",
    ReasonKind.ADDRESS: "an address is not known",
    ReasonKind.NOT_SHOWN: "a race that no run shows",
    ReasonKind.IN_SOME_BLOCKS: "a race in some blocks ({}×{}×{})",
    ReasonKind.NOT_FOLLOWED: "a race, unless what is not understood orders it",
    ReasonKind.IN_STEP: "not known whether lanes of one warp run in step",
}


def assumed(taken: Assumption) -> str:
    """``no index leaves its buffer``, ``m and n are not negative``."""
    names = taken.not_negative
    if not names:
        return "no index leaves its buffer"
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'} not negative"
