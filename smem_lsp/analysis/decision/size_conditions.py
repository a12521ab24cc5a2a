"""For which values of one parameter something is possible, in words that are solved for.

What is possible for a value is a question with all other unknowns open: ``possible(n)``. Words say it exactly if no
value outside of them makes it possible, and none inside of them rules it out: "there is an n inside of them for which
no values of the others fulfil the formulas" is one more question, with quantifiers, that has to have no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import (
    VARIABLE,
    Expression,
    Formula,
    both,
    for_none,
    negated,
    number,
    truth,
)
from smem_lsp.analysis.decision.witnesses import is_any_number
from smem_lsp.ir.nodes import Dims
from smem_lsp.source import listed, record
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.targets.every import WARP_SIZE

if TYPE_CHECKING:
    from smem_lsp.analysis.decision.question import Asker

_HUGE = 1 << 24
_EFFORT = 30_000  # of a question about some values
_OF_ALL = 1_100_000  # about all of them
_OF_PRODUCTS = 300_000  # the same, of products of unknown numbers: more of it rarely helps
_OF_A_CONDITION = 1_500_000  # of all questions about one parameter
_SHARE = 10  # of which this part is taken from what is left for the kernel: few are asked
MOST_HARD = 2  # proofs of a kernel that are too hard
_PROBES = (1, 2, 3, 5, 31, 32, 33, 64, 100, 255, 256, 257, 512, 1000, 1024, 4096, 1 << 20)
_DIVISOR = regex(r"\((?:mod|div) \S+ (\d+)\)|\(\* (\d+) v\d+\)")
_LARGEST_DIVISOR = 1 << 16
_MOST_DIVISORS = 8

Values = Callable[[Expression], Formula]


@record
class SizeCondition:
    """``words``: "when n ≥ 33", "when n is no multiple of 256"; "": for all that are at least 1. ``example``: a value;
    ``from_on``: it holds for all from some number on; ``exact``: for these and for no others, else for some of them,
    "for some n ≥ 2", with ``from_on`` for all from there on that were tried."""

    words: str
    example: int
    from_on: bool
    exact: bool = True


@record
class About:
    """Formulas about one parameter (``size``), all of which can hold for some of its values. ``admitted``: what is true
    of all values that count."""

    encoder: Encoder
    size: Expression
    formulas: list[Formula]
    admitted: Sequence[Formula] = ()


def condition_on(
    asker: Asker, asked: Sequence[About], dims: Dims, *, sampled: bool = False, whole: int | None = None
) -> SizeCondition | None:
    """The values of a parameter for which one of the questions can be answered with yes; None: none, or it is not
    known. ``dims``: the block; ``sampled``: that all of them can is tried for some, not proved; ``whole``: one that
    ends with a block, where that is known."""
    if any(is_any_number(each.encoder) for each in asked):
        return None
    own = replace(asker, effort=_OF_A_CONDITION if asker.effort > 0 else 0)
    hard = asker.hard_conditions >= MOST_HARD
    projection = _Projection(own, asked, dims, sampled, hard=hard, whole=whole or 0)
    found = projection.condition()
    asker.spend((_OF_A_CONDITION - own.effort) // _SHARE, hard=int(projection.hard))
    return found


@dataclass(slots=True)
class _Projection:
    """What is left of questions if only one parameter is looked at."""

    asker: Asker
    asked: Sequence[About]
    dims: Dims
    sampled: bool
    hard: bool  # a proof was too hard: others are, too
    whole: int  # one that ends with a block; 0: not known
    name: str = field(init=False)
    _probed: dict[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        first = self.asked[0]
        sizes = first.encoder.sizes.items()
        self.name = next(name for name, each in sizes if each.text == first.size.text)

    def condition(self) -> SizeCondition | None:
        bounds = [self._least(each) for each in self.asked]
        least = min((each for each in bounds if each is not None), default=None)
        if least is None:
            return None
        missed = self.missed(lambda _: truth(True))
        if missed is None:
            return SizeCondition("", least, from_on=True)
        return self._exactly(least, missed) or self._some(least)

    def _exactly(self, least: int, missed: int | bool) -> SizeCondition | None:
        """``missed``: a value for which it is not possible; True: it is not known whether there is one."""
        name = self.name
        if missed is not True and missed > least and self.missed(lambda n: n.differs(missed)) is None:
            return SizeCondition(f"when {name} ≠ {missed}", least, from_on=False)
        after = (least, least + 1, least + 2, 2 * least, 2 * least + 1, 4 * least)
        if least > 1 and self.missed(lambda n: n >= least, after) is None:
            return SizeCondition(f"when {name} ≥ {least}", least, from_on=True)
        most = self._most(least)
        if most is not None:
            within = (least, least + 1, least + 2, (least + most) // 2, most - 2, most - 1, most)
            if self.missed(lambda n: both(n >= least, n <= most), within) is None:
                return SizeCondition(self._from_to(least, most), least, from_on=False)
        for factor in self._factors():
            for words, values in _of_factor(factor, self.whole % factor):
                found = self._of_these(factor, words, values, least, most)
                if found is not None:
                    return found
        return None

    def _of_these(
        self, factor: int, words: str, values: Values, least: int, most: int | None
    ) -> SizeCondition | None:
        """All of them, perhaps up to the greatest."""
        if self.possible(lambda n: negated(values(n))) is not False:
            return None
        ends = self.whole % factor
        near = [ends + n for n in (factor - 1, factor, factor + 1, 3 * factor + factor // 2)]
        near += [ends + n for n in (64 * factor + 1, 100 * factor - 1)]
        if self.missed(values, near) is None:
            return SizeCondition(f"when {self._subject(factor)}{words}", least, from_on=False)
        if most is None or self.whole % factor:
            return None
        if self.missed(lambda n: both(values(n), n <= most), (*near, most)) is not None:
            return None
        return SizeCondition(f"when {self.name} is below {most + 1} and {words}", least, from_on=False)

    def _subject(self, factor: int) -> str:
        ends = self.whole % factor
        return f"{self.name} - {ends} is " if ends else f"{self.name} is "

    def _some(self, least: int) -> SizeCondition:
        """For some values, of which not more is known than from where on, or up to where."""
        most = self._most(least)
        bound = f" ≥ {least}" if least > 1 else "" if most is None else f" ≤ {most}"
        more = {least + 1, least + 2, 2 * least, 2 * least + 1, 4 * least}
        from_on = not any(self._is_missed(n) for n in sorted(more.union(_PROBES)) if n > least)
        return SizeCondition(f"for some {self.name}{bound}", least, from_on, exact=False)

    def _from_to(self, least: int, most: int) -> str:
        if most == least:
            return f"when {self.name} is {least}"
        if least == 1 and self.possible(lambda n: n.equals(0), least=0):
            return f"when {self.name} ≤ {most}"
        return f"when {self.name} is {least} to {most}"

    def possible(self, values: Values, *, least: int = 1) -> bool | None:
        """Is it for one of these?"""
        outcomes = set()
        for each in self.asked:
            formulas = [*each.formulas, each.size >= least, values(each.size)]
            outcomes.add(self.asker.solve(each.encoder, formulas, _EFFORT).outcome)
            if solver.Outcome.SOME in outcomes:
                return True
        return None if solver.Outcome.UNKNOWN in outcomes else False

    def missed(self, values: Values, probes: Iterable[int] = ()) -> int | bool | None:
        """One of these for which it is not possible; None: there is none; True: that is not known. ``probes``: tried
        first."""
        ends: tuple[int, ...] = (self.whole, self.whole + self.dims[0]) if self.whole else ()
        for n in (*probes, *ends, *_PROBES):
            if n > 0 and values(number(n)).known and self._is_missed(n):
                return n
        if self.sampled:
            return None
        if self.hard:
            return True
        first = self.asked[0]
        kept = {name: each for name, each in first.encoder.sizes.items() if is_parameter(name)}
        none = [for_none(each.formulas, _shared(each, kept)) for each in self.asked]
        asked = [*(each >= 1 for each in kept.values()), *first.admitted, values(first.size), *none]
        effort = _OF_ALL if all(each.linear for each in none) else _OF_PRODUCTS
        found = self.asker.solve(first.encoder, asked, effort, wanted=[first.size])
        if found.outcome is solver.Outcome.NONE:
            return None
        self.hard = found.outcome is solver.Outcome.UNKNOWN
        return True if self.hard else found.values[first.size.text]

    def _is_missed(self, n: int) -> bool:
        """Is it surely not possible for this value, which counts? Samples have to show that it is."""
        known = self._probed.get(n)
        if known is None:
            first, possible = self.asked[0], self.possible(lambda size: size.equals(n))
            counts = [*first.admitted, first.size.equals(n)]
            known = possible is None and self.sampled
            if possible is False:
                found = self.asker.solve(first.encoder, counts, _EFFORT)
                known = found.outcome is solver.Outcome.SOME
            self._probed[n] = known
        return known

    def _least(self, each: About) -> int | None:
        return self.asker.least(each.encoder, [*each.formulas, each.size >= 1], each.size)

    def _most(self, least: int) -> int | None:
        """The greatest value for which it is possible; None: there is none, or it is not known."""
        low, high = least, 2 * least + 1
        while (more := self.possible(partial(_above, high))) and high < _HUGE:
            low, high = high, 2 * high
        if more is not False:
            return None
        while high > low:
            middle = (low + high) // 2
            more = self.possible(partial(_above, middle))
            if more is None:
                return None
            low, high = (middle + 1, high) if more else (low, middle)
        return low

    def _factors(self) -> Iterator[int]:
        """Of which a size may have to be a multiple: what it is divided by, threads of the block, in one of its axes,
        or of a warp."""
        divisors = set[int]()
        for each in self.asked:
            texts = (formula.text for formula in each.formulas)
            about = [text for text in texts if each.size.text in VARIABLE.findall(text)]
            divisors.update(int(n or m) for text in about for n, m in _DIVISOR.findall(text))
        x, y, z = self.dims
        common = (x * y * z, x, y, z, WARP_SIZE)
        usual = [n for n in common if n > 1]
        more = sorted(n for n in divisors if 1 < n <= _LARGEST_DIVISOR)[:_MOST_DIVISORS]
        yield from dict.fromkeys((*usual, *more))


def for_some(names: Iterable[str]) -> str:
    """``for some n and m``: what depends on sizes in a way that is not solved."""
    return f"for some {listed(sorted(names))}"


def is_parameter(name: str) -> bool:
    """Of the kernel, or a member of one: no place in the grid."""
    return not name.startswith(("blockIdx.", "gridDim."))


def _shared(each: About, kept: Mapping[str, Expression]) -> Mapping[str, str]:
    """The variables of a question that stand for parameters, and what the first question calls them."""
    return {
        each.encoder.sizes[name].text: own.text for name, own in kept.items() if name in each.encoder.sizes
    }


def _above(bound: int, n: Expression, *more: Formula) -> Formula:
    return both(n > bound, *more)


def _of_factor(factor: int, rest: int) -> Iterator[tuple[str, Values]]:
    """Numbers that are no multiple where ``rest`` is taken from them, and those that are."""
    odd, even = (f"no multiple of {factor}", f"a multiple of {factor}") if factor > 2 else ("odd", "even")
    yield odd, lambda n: _above(rest, n, (n % factor).differs(rest))
    yield even, lambda n: _above(rest, n, (n % factor).equals(rest))
