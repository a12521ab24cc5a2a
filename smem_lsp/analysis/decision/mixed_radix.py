"""Numbers taken apart into digits, so that quotients, remainders and operations on bits become sums.

``t = 32 * warp + lane`` with ``0 <= lane < 32`` holds for any integer ``t``. Where a number is divided by one constant
after the other, the solver sees an unrelated unknown for each; of digits it sees that ``t % 32 / 8`` and ``t % 8`` are
parts of one number. A digit is split again where another constant asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from itertools import islice, pairwise

from smem_lsp.analysis.decision.formulas import (
    VARIABLE,
    Expression,
    Formula,
    both,
    choice,
    defined,
    either,
    number,
    summed,
    truth,
)
from smem_lsp.source.record import dataclass
from smem_lsp.terms.polynomial import added, mapped

Interval = tuple[int | None, int | None]
_ANY: Interval = (None, None)
_MOST_APART = 2  # distances of two ranges that meet, each asked about by itself
_MOST_NESTED = 2  # pitches of pitches
_MOST_ROWS = 8
_MOST_BITS = 16  # of which an operation on bits of two unknown numbers is made


@dataclass(slots=True)
class MixedRadix:
    """``unknown``: makes a variable of a name, with its least and its largest value; ``side``: what holds besides."""

    unknown: Callable[[str, int | None, int | None], Expression]
    side: list[Formula]
    ranges: dict[str, Interval] = field(default_factory=dict)  # by text
    _pieces: dict[str, Mapping[str, int]] = field(
        default_factory=dict
    )  # upper digits and lower digit, by text

    def divided(self, dividend: Expression, by: int) -> tuple[Expression, Expression]:
        """Quotient, rounded down, and remainder, of a division by a number above zero."""
        parts, more = self._taken_apart(dividend)
        whole = {text: factor // by for text, factor in parts.items() if factor % by == 0}
        rest = {text: factor for text, factor in parts.items() if factor % by}
        above, below = divmod(more, by)
        if rest and not self._stays_below(rest, below, by):
            if not self._may_split(rest, below, by):
                left = summed(rest, below, linear=dividend.linear)
                quotient = left // by
                return summed(whole, above, linear=dividend.linear) + quotient, left - quotient * by
            for text, factor in list(rest.items()):
                upper, lower = self._split(text, by // factor)
                whole = added(whole, upper)
                rest = added(added(rest, {text: -factor}), lower, factor)
        return summed(whole, above, linear=dividend.linear), summed(rest, below, linear=dividend.linear)

    def equal(self, one: Expression, other: Expression, *, rows: bool = False) -> Formula:
        """Two sums of digits are equal: digit by digit, as far as no lower digits can make up for a higher one.
        ``rows``: say, too, what follows where a number of rows is multiplied by an unknown pitch."""
        difference = one - other
        parts, more = self._taken_apart(difference)
        found: list[Formula] = []
        for weight in sorted({abs(factor) for factor in parts.values()}):
            lower = {text: factor for text, factor in parts.items() if factor % weight}
            if not lower or len(lower) == len(parts):
                continue
            low, high = _interval_of(self.ranges, lower, more)
            if low is None or high is None:
                continue
            carried, most = -(-low // weight), high // weight
            if carried > most:
                return truth(False)
            if carried == most:
                found.append(summed(lower, more, linear=difference.linear).equals(carried * weight))
                parts = {text: factor for text, factor in parts.items() if text not in lower}
                more = carried * weight
        rest = summed(parts, more, linear=difference.linear, products=difference.products)
        more_said = islice(_rows(rest, _MOST_NESTED), _MOST_ROWS) if rows else ()
        return both(*found, rest.equals(0), *more_said)

    def overlap(self, one: Expression, size: int, other: Expression, other_size: int) -> Formula:
        """So many bytes from ``one`` on, and so many from ``other`` on, have one in common."""
        difference = one - other
        parts, more = self._taken_apart(difference)
        step = math.gcd(*parts.values())
        if not step:
            return truth(-size < more < other_size)
        apart = range(1 - size + (more - (1 - size)) % step, other_size, step)
        if len(apart) > _MOST_APART:
            return both(one < other + other_size, other < one + size)
        return either(*(self.equal(difference, number(each), rows=True) for each in apart))

    def of_bits(self, name: str, one: Expression, other: Expression, bits: int) -> Expression | None:
        """``&``, ``|`` or ``^`` of two numbers that are not negative and have at most so many bits, or for ``&`` one of
        them. None: too many bits are asked about one by one."""
        fields = [self._fields(each) for each in (one, other)]
        cuts = {cut for found in fields if found is not None for low, high, _ in found for cut in (low, high)}
        if None in fields:
            cuts.update(range(bits + 1))
        cuts |= {0, bits}
        ordered = sorted(cut for cut in cuts if cut <= bits)
        asked = 0
        result = number(0)
        for low, high in pairwise(ordered):
            first, second = (self._window(each, low, high) for each in (one, other))
            if first.known == 0 or second.known == 0:
                if name != "&":
                    result = result + (first + second) * (1 << low)
                continue
            if first.text == second.text:
                if name != "^":
                    result = result + first * (1 << low)
                continue
            asked += high - low
            if asked > _MOST_BITS:
                return None
            for bit in range(low, high):
                result = result + self._of_bit(name, one, other, bit)
        return result

    def _of_bit(self, name: str, one: Expression, other: Expression, bit: int) -> Expression:
        first, second = (self._window(each, bit, bit + 1) for each in (one, other))
        if name == "&":
            result = self.chosen(first.equals(0), number(0), second)
        elif name == "|":
            result = self.chosen(first.equals(1), number(1), second)
        else:
            result = self.chosen(first.equals(second), number(0), number(1))
        return result * (1 << bit)

    def chosen(self, condition: Formula, yes: Expression, no: Expression) -> Expression:
        """``condition ? yes : no``."""
        found = choice(condition, yes, no)
        if found.text not in self.ranges and found.parts == {found.text: 1}:
            (low, high), (least, most) = (
                _interval_of(self.ranges, each.parts, each.more) for each in (yes, no)
            )
            self.ranges[found.text] = (
                None if low is None or least is None else min(low, least),
                None if high is None or most is None else max(high, most),
            )
        return found

    def named(self, of: Expression, name: str, longest: int) -> Expression:
        """The same, with a variable for each of its parts that takes more than so many characters."""
        parts: dict[str, int] = {}
        for index, (text, factor) in enumerate(of.parts.items()):
            if len(text) > longest:
                low, high = self.ranges.get(text, _ANY)
                short = self.unknown(f"{name}.{index}", None, None)
                self.ranges[short.text] = low, high
                self.side.append(short.equals(Expression(text, None, of.linear)))
                text = short.text
            parts[text] = parts.get(text, 0) + factor
        return summed(parts, of.more, linear=of.linear)

    def _window(self, of: Expression, low: int, high: int) -> Expression:
        """Its bits from ``low`` on, below ``high``."""
        _, rest = self.divided(of, 1 << high)
        return self.divided(rest, 1 << low)[0]

    def _fields(self, of: Expression) -> list[tuple[int, int, str]] | None:
        """Bits in which its digits lie: first, end, which. None: they overlap, or it is not known where they lie."""
        parts, more = self._taken_apart(of)
        found = []
        for text, factor in parts.items():
            low, high = self.ranges.get(text, _ANY)
            if factor <= 0 or factor & (factor - 1) or low is None or low < 0 or high is None:
                return None
            start = factor.bit_length() - 1
            found.append((start, start + high.bit_length(), text))
        if more < 0:
            return None
        for bit in range(more.bit_length()):
            if more >> bit & 1:
                found.append((bit, bit + 1, ""))
        found.sort()
        apart = all(one[1] <= other[0] for one, other in pairwise(found))
        return found if apart else None

    def _taken_apart(self, of: Expression) -> tuple[dict[str, int], int]:
        """Digits and their weights, and the number that is added."""
        return mapped(of.parts, self._digits), of.more

    def _digits(self, text: str) -> Mapping[str, int]:
        pieces = self._pieces.get(text)
        return {text: 1} if pieces is None else mapped(pieces, self._digits)

    def _stays_below(self, parts: Mapping[str, int], more: int, by: int) -> bool:
        return _is_inside(self.ranges, parts, more, by)

    def _may_split(self, parts: Mapping[str, int], more: int, by: int) -> bool:
        """Does what is left of the digits stay below, if each gives off what is above?"""
        lower: dict[str, Interval] = {}
        for text, factor in parts.items():
            if factor <= 0 or by % factor:
                return False
            low, high = self.ranges.get(text, _ANY)
            most = by // factor - 1
            inside = low is not None and low >= 0 and high is not None and high <= most
            lower[text] = (low, high) if inside else (0, most)
        return _is_inside(lower, parts, more, by)

    def _split(self, text: str, at: int) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The digits of a number above and below ``at``."""
        low, high = self.ranges.get(text, _ANY)
        if low is not None and low >= 0 and high is not None and high < at:
            return {}, {text: 1}
        over = self.unknown(
            f"{text} over {at}", None if low is None else low // at, None if high is None else high // at
        )
        under = self.unknown(f"{text} under {at}", 0, at - 1)
        of = Expression(text)
        pieces = over * at + under
        self.side.append(defined(of, pieces) if VARIABLE.fullmatch(text) else of.equals(pieces))
        self._pieces[text] = pieces.parts
        return over.parts, under.parts


def _rows(of: Expression, nested: int) -> Iterator[Formula]:
    """What is true of numbers anyway, and hard to find: ``row * pitch + column`` is 0 only if both are, or the column
    is no less than the pitch, one way or the other."""
    if not of.products or not nested:
        return
    bases: dict[str, Expression] = {}
    for text in of.parts:
        for factor in of.products.get(text, ()):
            if factor.parts == {factor.text: 1} and factor.text not in of.products:
                bases[factor.text] = factor
    for pitch in bases.values():
        row, column = _in_rows(of, pitch)
        below, above = both(row <= -1, column >= pitch), both(row >= 1, column <= -pitch)
        yield either(of.differs(0), pitch < 1, both(row.equals(0), column.equals(0)), below, above)
        yield from _rows(row, nested - 1)
        yield from _rows(column, nested - 1)


def _in_rows(of: Expression, pitch: Expression) -> tuple[Expression, Expression]:
    """A sum as a multiple of ``pitch`` and what is left."""
    step = math.gcd(*of.parts.values(), of.more)
    row, column = number(0), number(of.more // step)
    for text, factor in of.parts.items():
        factors = of.products.get(text, ())
        known = [index for index, each in enumerate(factors) if each.text == pitch.text]
        if known:
            row = row + factors[1 - known[0]] * (factor // step)
        else:
            linear = text not in of.products
            kept = summed({text: factor // step}, 0, linear=linear, products=of.products)
            column = column + kept
    return row, column


def _is_inside(ranges: Mapping[str, Interval], parts: Mapping[str, int], more: int, by: int) -> bool:
    low, high = _interval_of(ranges, parts, more)
    return low is not None and low >= 0 and high is not None and high < by


def _interval_of(ranges: Mapping[str, Interval], parts: Mapping[str, int], more: int) -> Interval:
    """The least and the largest value of a sum."""
    low: int | None = more
    high: int | None = more
    for text, factor in parts.items():
        least, most = ranges.get(text, _ANY)
        if factor < 0:
            least, most = most, least
        low = None if low is None or least is None else low + factor * least
        high = None if high is None or most is None else high + factor * most
    return low, high
