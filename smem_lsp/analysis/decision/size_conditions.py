"""For which values of one parameter something is possible: a set of them that is solved for.

What is possible for a value is a question with all other unknowns open: ``possible(n)``. A set says it exactly if no
value outside of it makes it possible, and none inside of it rules it out: "there is an n in the set for which no values
of the others fulfil the formulas" is one more question, with quantifiers, that has to have no answer.
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
from smem_lsp.analysis.decision.size_sets import Relation, SizeCondition, SizeSet
from smem_lsp.analysis.decision.witnesses import is_any_number
from smem_lsp.ir.nodes import Dims
from smem_lsp.source import record
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.targets.every import WARP_SIZE

if TYPE_CHECKING:
    from smem_lsp.analysis.decision.question import RaceQueries

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
class SolvedSizes:
    """``condition``: for which it is possible; None: for all that are at least 1. ``example``: a value; ``from_on``: it
    holds for all from some number on; where the condition is not solved, for all from there on that were tried."""

    condition: SizeCondition | None
    example: int
    from_on: bool

    @property
    def exact(self) -> bool:
        """Is it possible for these, and for no others?"""
        return self.condition is None or self.condition.is_solved


@record
class About:
    """Formulas about one parameter (``size``), all of which can hold for some of its values. ``admitted``: what is true
    of all values that count."""

    encoder: Encoder
    size: Expression
    formulas: list[Formula]
    admitted: Sequence[Formula] = ()


def condition_on(
    asker: RaceQueries, asked: Sequence[About], dims: Dims, *, sampled: bool = False, whole: int | None = None
) -> SolvedSizes | None:
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

    asker: RaceQueries
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

    def condition(self) -> SolvedSizes | None:
        bounds = [self._least(each) for each in self.asked]
        least = min((each for each in bounds if each is not None), default=None)
        if least is None:
            return None
        missed = self.missed(lambda _: truth(True))
        if missed is None:
            return SolvedSizes(None, least, from_on=True)
        return self._exactly(least, missed) or self._some(least)

    def _exactly(self, least: int, missed: int | bool) -> SolvedSizes | None:
        """``missed``: a value for which it is not possible; True: it is not known whether there is one."""
        if missed is not True and missed > least and self.missed(lambda n: n.differs(missed)) is None:
            return SolvedSizes(self._values(Relation.OTHER, missed), least, from_on=False)
        after = (least, least + 1, least + 2, 2 * least, 2 * least + 1, 4 * least)
        if least > 1 and self.missed(lambda n: n >= least, after) is None:
            return SolvedSizes(self._values(Relation.FROM, least), least, from_on=True)
        most = self._most(least)
        if most is not None:
            within = (least, least + 1, least + 2, (least + most) // 2, most - 2, most - 1, most)
            if self.missed(lambda n: both(n >= least, n <= most), within) is None:
                return SolvedSizes(self._from_to(least, most), least, from_on=False)
        for factor in self._factors():
            for relation, values in _of_factor(factor, self.whole % factor):
                found = self._of_these(factor, relation, values, least, most)
                if found is not None:
                    return found
        return None

    def _of_these(
        self, factor: int, relation: Relation, values: Values, least: int, most: int | None
    ) -> SolvedSizes | None:
        """All of them, perhaps up to the greatest."""
        if self.possible(lambda n: negated(values(n))) is not False:
            return None
        ends = self.whole % factor
        near = [ends + n for n in (factor - 1, factor, factor + 1, 3 * factor + factor // 2)]
        near += [ends + n for n in (64 * factor + 1, 100 * factor - 1)]
        if self.missed(values, near) is None:
            return SolvedSizes(self._values(relation, factor, ends), least, from_on=False)
        if most is None or ends:
            return None
        if self.missed(lambda n: both(values(n), n <= most), (*near, most)) is not None:
            return None
        return SolvedSizes(self._values(relation, factor, ends, below=most + 1), least, from_on=False)

    def _values(self, relation: Relation, *numbers: int, exact: bool = True, below: int = 0) -> SizeCondition:
        return SizeCondition((SizeSet(exact, (self.name,), relation, numbers, below),))

    def _some(self, least: int) -> SolvedSizes:
        """For some values, of which not more is known than from where on, or up to where."""
        most = self._most(least)
        if least > 1:
            condition = self._values(Relation.FROM, least, exact=False)
        elif most is not None:
            condition = self._values(Relation.UP_TO, most, exact=False)
        else:
            condition = self._values(Relation.ANY, exact=False)
        more = {least + 1, least + 2, 2 * least, 2 * least + 1, 4 * least}
        from_on = not any(self._is_missed(n) for n in sorted(more.union(_PROBES)) if n > least)
        return SolvedSizes(condition, least, from_on)

    def _from_to(self, least: int, most: int) -> SizeCondition:
        if most > least == 1 and self.possible(lambda n: n.equals(0), least=0):
            return self._values(Relation.UP_TO, most)
        return self._values(Relation.WITHIN, least, most)

    def possible(self, values: Values, *, least: int = 1) -> bool | None:
        """Is it for one of these?"""
        outcomes = set()
        for each in self.asked:
            formulas = [*each.formulas, each.size >= least, values(each.size)]
            outcomes.add(self.asker.solve(each.encoder, formulas, _EFFORT).outcome)
            if solver.Satisfiability.SOME in outcomes:
                return True
        return None if solver.Satisfiability.UNKNOWN in outcomes else False

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
        if found.outcome is solver.Satisfiability.NONE:
            return None
        self.hard = found.outcome is solver.Satisfiability.UNKNOWN
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
                known = found.outcome is solver.Satisfiability.SOME
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


def _of_factor(factor: int, rest: int) -> Iterator[tuple[Relation, Values]]:
    """Numbers that are no multiple where ``rest`` is taken from them, and those that are."""
    yield Relation.NO_MULTIPLE, lambda n: _above(rest, n, (n % factor).differs(rest))
    yield Relation.MULTIPLE, lambda n: _above(rest, n, (n % factor).equals(rest))
