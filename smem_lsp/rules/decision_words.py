"""For which sizes something happens, in words: ``when n ≥ 33, or when m is even``."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.decision.size_sets import Relation, SizeCondition, SizeSet
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
