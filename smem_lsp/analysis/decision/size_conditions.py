"""For which values of one parameter something is possible, in words that were solved for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import Expression, Formula
from smem_lsp.analysis.decision.question import Asker
from smem_lsp.ir.nodes import Dims
from smem_lsp.source import record
from smem_lsp.targets.every import WARP_SIZE

_HUGE = 1 << 24
_EFFORT = 30_000


@record
class SizeCondition:
    """``words``: "when n ≥ 33", "when n is no multiple of 256"; "": for all that are at least 1. ``example``: a value;
    ``from_on``: it holds for all from some number on."""

    words: str
    example: int
    from_on: bool


@record
class About:
    """Formulas about one parameter (``size``), all of which can hold for some of its values."""

    encoder: Encoder
    size: Expression
    formulas: list[Formula]


def condition_on(asker: Asker, asked: Sequence[About], dims: Dims) -> SizeCondition | None:
    """The values of a parameter for which one of the questions can be answered with yes; None: no simple words for
    them. ``dims``: the block."""
    name = next(name for name, each in asked[0].encoder.sizes.items() if each.text == asked[0].size.text)

    def possible(*more: Callable[[Expression], Formula]) -> bool | None:
        outcomes = set()
        for each in asked:
            formulas = [*each.formulas, each.size >= 1, *(one(each.size) for one in more)]
            outcomes.add(asker.solve(each.encoder, formulas, _EFFORT).outcome)
            if solver.Outcome.SOME in outcomes:
                return True
        return None if solver.Outcome.UNKNOWN in outcomes else False

    def at(n: int) -> bool | None:
        return possible(lambda size: size.equals(n))

    for factor in _factors(dims):
        if possible(partial(_is_multiple, factor)) is False:
            found = _no_multiple(at, possible, name, factor)
            if found is not None:
                return found
    bounds = [asker.least(each.encoder, [*each.formulas, each.size >= 1], each.size) for each in asked]
    least = min((each for each in bounds if each is not None), default=None)
    if least is None:
        return None
    open_ended = at(_HUGE) and at(_HUGE + 1)
    most = None if open_ended else _most(at, possible, least)
    if most is None and not open_ended:
        return None
    between = {least + 1, least + 2, 2 * least, 2 * least + 1, 4 * least, 1000, 1024, 4096, 1 << 20}
    if most is not None:
        between = {each for each in between | {(least + most) // 2, most - 2, most - 1} if each < most}
    if not all(at(n) for n in sorted(between) if n > least):
        return None
    if most is None:
        return SizeCondition("" if least <= 1 else f"when {name} ≥ {least}", least, from_on=True)
    words = f"when {name} is {least}" + (f" to {most}" if most > least else "")
    return SizeCondition(words, least, from_on=False)


def _no_multiple(
    at: Callable[[int], bool | None], possible: Callable[..., bool | None], name: str, factor: int
) -> SizeCondition | None:
    """All numbers but the multiples of ``factor``, perhaps up to a greatest one."""
    tried = [factor - 1, factor + 1, 3 * factor + factor // 2, 64 * factor + 1, 100 * factor - 1]
    tried = [n for n in tried if n % factor and n > 0]
    if all(at(n) for n in tried):
        return SizeCondition(f"when {name} is no multiple of {factor}", factor + 1, from_on=False)
    most = next((n for n in range(factor, 33 * factor, factor) if not at(n + 1)), None)
    if most is None or most == factor or possible(lambda size: size > most) is not False:
        return None
    if not all(at(n) for n in (1, *tried, most - 1) if n < most):
        return None
    words = f"when {name} is below {most} and no multiple of {factor}"
    return SizeCondition(words, factor + 1, from_on=False)


def _factors(dims: Dims) -> Iterator[int]:
    """Of which a size may have to be a multiple: threads of the block, in one of its axes, or of a warp."""
    yield from dict.fromkeys(n for n in (dims[0] * dims[1] * dims[2], *dims, WARP_SIZE) if n > 1)


def _most(at: Callable[[int], bool | None], possible: Callable[..., bool | None], least: int) -> int | None:
    """The greatest possible value, where all from ``least`` to it are; None: not known."""
    low, high = least, 2 * least + 1
    while high < _HUGE and at(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle) else (low, middle)
    return low if possible(lambda size: size > low) is False else None


def _is_multiple(factor: int, size: Expression) -> Formula:
    return (size % factor).equals(0)
