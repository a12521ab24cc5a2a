"""Integers and truth values in the words of SMT-LIB 2.6, folded where both sides are numbers.

A formula is its text: two questions of one text are one question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.terms.polynomial import added, scaled

VARIABLE = regex(r"\bv\d+\b")


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """A truth value. ``known``: what it is, where that is known; ``linear``: there is no product nor quotient of two
    unknown numbers in it; ``defines``: the variable that it says all of, and its value, in variables that were made
    after it."""

    text: str
    known: bool | None = None
    linear: bool = True
    defines: tuple[str, Expression] | None = None


NO_PRODUCTS: Mapping[str, tuple[Expression, Expression]] = MappingProxyType({})
_NO_PARTS: Mapping[str, int] = MappingProxyType({})
TRUE, FALSE = Formula("true", True), Formula("false", False)


class Expression:
    """An integer. ``known``: which, where that is known. Arithmetic is that of the solver: ``//`` and ``%`` by a number
    above zero round down, and leave a rest that is not negative. ``linear``: as of a formula. It is the sum of ``more``
    and of ``parts``, which are no sums themselves (by their text), each times a number that is not 0; ``products``: the
    two unknown numbers of which a part is the product. The text of a sum is written when it is first asked for: most
    sums are only added to."""

    __slots__ = ("_text", "known", "linear", "more", "parts", "products")

    def __init__(
        self,
        text: str | None,
        known: int | None = None,
        linear: bool = True,
        parts: Mapping[str, int] | None = None,
        more: int = 0,
        products: Mapping[str, tuple[Expression, Expression]] = NO_PRODUCTS,
    ) -> None:
        self._text = text
        self.known = known
        self.linear = linear
        self.more = more if known is None else known
        if parts is None:
            parts = _NO_PARTS if known is not None or text is None else {text: 1}
        self.parts = parts
        self.products = products

    @property
    def text(self) -> str:
        found = self._text
        if found is None:
            found = self._text = _sum(self.parts, self.more)
        return found

    def __add__(self, other: Expression | int) -> Expression:
        return _added(self, _expression(other), 1)

    def __sub__(self, other: Expression | int) -> Expression:
        return _added(self, _expression(other), -1)

    def __neg__(self) -> Expression:
        return number(0) - self

    def __mul__(self, other: Expression | int) -> Expression:
        other = _expression(other)
        one, times = (self, other.known) if other.known is not None else (other, self.known)
        if times is None:
            text = f"(* {self.text} {other.text})"
            return Expression(text, None, linear=False, products={text: (self, other)})
        if times == 1:
            return one
        parts = scaled(one.parts, times)
        return summed(parts, one.more * times, linear=one.linear, products=one.products)

    def __floordiv__(self, other: Expression | int) -> Expression:
        other = _expression(other)
        if other.known == 1:
            return self
        if self.known is not None and other.known is not None and other.known > 0:
            return number(self.known // other.known)
        return Expression(f"(div {self.text} {other.text})", None, self.linear and other.known is not None)

    def __mod__(self, other: Expression | int) -> Expression:
        other = _expression(other)
        if self.known is not None and other.known is not None and other.known > 0:
            return number(self.known % other.known)
        return Expression(f"(mod {self.text} {other.text})", None, self.linear and other.known is not None)

    def __lt__(self, other: Expression | int) -> Formula:
        return _at_most(self - other, -1)

    def __le__(self, other: Expression | int) -> Formula:
        return _at_most(self - other, 0)

    def __gt__(self, other: Expression | int) -> Formula:
        return _at_most(_expression(other) - self, -1)

    def __ge__(self, other: Expression | int) -> Formula:
        return _at_most(_expression(other) - self, 0)

    def equals(self, other: Expression | int) -> Formula:
        return _is_zero(self - other)

    def differs(self, other: Expression | int) -> Formula:
        return negated(self.equals(other))


def defined(variable: Expression, value: Expression) -> Formula:
    """A variable is another name for a value, which is a sum of variables that are made for it."""
    return Formula(variable.equals(value).text, None, True, (variable.text, value))


@remembered(most=4_096)
def number(n: int) -> Expression:
    return Expression(_digits(n), n)


def _digits(n: int) -> str:
    return str(n) if n >= 0 else f"(- {-n})"


def truth(value: bool) -> Formula:
    return TRUE if value else FALSE


def negated(formula: Formula) -> Formula:
    if formula.known is not None:
        return truth(not formula.known)
    text = formula.text[5:-1] if formula.text.startswith("(not ") else f"(not {formula.text})"
    return Formula(text, None, formula.linear)


def both(*formulas: Formula) -> Formula:
    """All of them hold."""
    return _joined("and", formulas, neutral=True)


def either(*formulas: Formula) -> Formula:
    """One of them holds."""
    return _joined("or", formulas, neutral=False)


def choice(condition: Formula, yes: Expression, no: Expression) -> Expression:
    if condition.known is not None:
        return yes if condition.known else no
    if yes.text == no.text:
        return yes
    linear = condition.linear and yes.linear and no.linear
    return Expression(f"(ite {condition.text} {yes.text} {no.text})", None, linear)


def for_none(formulas: Sequence[Formula], kept: Mapping[str, str]) -> Formula:
    """No values of their variables fulfil all of them together, but for those that are ``kept`` open: by their text,
    and what else they are called here."""
    whole = both(*formulas)
    if whole.known is not None:
        return negated(whole)
    names = dict.fromkeys(VARIABLE.findall(whole.text))
    called = {name: kept.get(name) or f"b{number}" for number, name in enumerate(names)}
    body = VARIABLE.sub(lambda found: called[found[0]], whole.text)
    bound = " ".join(f"({called[name]} Int)" for name in names if name not in kept)
    return Formula(f"(forall ({bound}) (not {body}))" if bound else f"(not {body})", None, whole.linear)


def concerned(about: Formula, formulas: Sequence[Formula]) -> list[Formula]:
    """Those of ``formulas`` that share variables with ``about``, directly or through others. If these cannot hold
    together, all of them cannot."""
    names = [set(VARIABLE.findall(each.text)) for each in formulas]
    met = set(VARIABLE.findall(about.text))
    left = list(range(len(formulas)))
    found: set[int] = set()
    while True:
        more = [index for index in left if not names[index] or not met.isdisjoint(names[index])]
        if not more:
            return [formulas[index] for index in sorted(found)]
        found.update(more)
        left = [index for index in left if index not in found]
        met.update(name for index in more for name in names[index])


def _joined(word: str, formulas: tuple[Formula, ...], *, neutral: bool) -> Formula:
    if any(each.known is not None and each.known != neutral for each in formulas):
        return truth(not neutral)
    open_ = [each for each in formulas if each.known is None]
    if len(open_) < 2:
        return open_[0] if open_ else truth(neutral)
    texts = " ".join(each.text for each in open_)
    return Formula(f"({word} {texts})", None, all(each.linear for each in open_))


def _expression(value: Expression | int) -> Expression:
    return value if isinstance(value, Expression) else number(value)


def summed(
    parts: Mapping[str, int],
    more: int,
    *,
    linear: bool,
    products: Mapping[str, tuple[Expression, Expression]] = NO_PRODUCTS,
) -> Expression:
    """The sum of ``parts`` (by their text), each times its factor, and of ``more``."""
    if 0 in parts.values():
        parts = {text: factor for text, factor in parts.items() if factor}
    if not parts:
        return number(more)
    return Expression(None, None, linear, parts, more, products)


def _added(one: Expression, other: Expression, times: int) -> Expression:
    if other.known is not None:
        return one if not other.known else _moved(one, times * other.known)
    if one.known is not None and times == 1:
        return other if not one.known else _moved(other, one.known)
    products = one.products or other.products
    if one.products and other.products:
        products = {**one.products, **other.products}
    linear = one.linear and other.linear
    parts = added(one.parts, other.parts, times)
    return summed(parts, one.more + times * other.more, linear=linear, products=products)


def _moved(one: Expression, by: int) -> Expression:
    """One that is ``by`` larger."""
    if one.known is not None:
        return number(one.known + by)
    return Expression(None, None, one.linear, one.parts, one.more + by, one.products)


def _sum(parts: Mapping[str, int], more: int) -> str:
    words = [text if factor == 1 else f"(* {_digits(factor)} {text})" for text, factor in parts.items()]
    if more or not words:
        words.append(_digits(more))
    return words[0] if len(words) == 1 else f"(+ {' '.join(words)})"


def _at_most(one: Expression, bound: int) -> Formula:
    """``one <= bound``, what is taken away standing on the other side."""
    if one.known is not None:
        return truth(one.known <= bound)
    by = math.gcd(*one.parts.values())
    return _sides("<=", one, by, (bound - one.more) // by)


def _is_zero(one: Expression) -> Formula:
    if one.known is not None:
        return truth(one.known == 0)
    by = math.gcd(*one.parts.values())
    return FALSE if one.more % by else _sides("=", one, by, -one.more // by)


def _sides(word: str, one: Expression, by: int, bound: int) -> Formula:
    left = {text: factor // by for text, factor in one.parts.items() if factor > 0}
    right = {text: -factor // by for text, factor in one.parts.items() if factor < 0}
    less, more = (-bound, 0) if bound < 0 and left else (0, bound)
    return Formula(f"({word} {_sum(left, less)} {_sum(right, more)})", None, one.linear)
