"""Divisions, shifts and operations on bits, as C computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from smem_lsp.analysis.decision.formulas import (
    Expression,
    Formula,
    both,
    either,
    number,
)
from smem_lsp.analysis.decision.hidden_values import HiddenValues
from smem_lsp.source.record import dataclass
from smem_lsp.terms.bit_functions import BitFunction, Counting
from smem_lsp.terms.language import (
    Const,
    Op,
    Sym,
    Term,
    parts_of,
)

_MOST_HINTS = 48
_WIDTH = 16  # bits of which a conjunction or a difference of two unknown numbers is made


@dataclass(slots=True)
class Divided:
    """What the two threads divide, so far. ``by_number``: quotients by their text, for each divisor and thread;
    ``by_term``: dividend, divisor and quotient of two terms, by thread."""

    by_number: dict[tuple[int, int], dict[str, Expression]] = field(default_factory=dict)
    by_term: dict[tuple[Term, Term], dict[int, tuple[Expression, Expression, Expression]]] = field(
        default_factory=dict
    )


@dataclass(slots=True)
class ByNumber(HiddenValues):
    """Operations of which one operand is a number, or as good as one. ``not_negative``: parameters, as in
    ``RaceQueries``; ``hints``: what follows from the rest, and is hard to see."""

    not_negative: set[str] = field(default_factory=set)
    hints: list[Formula] = field(default_factory=list)
    divided: Divided = field(default_factory=Divided)
    # by the shared operand of ``^``: the other operand, and the result, by the text of the former
    _partners: dict[str, dict[str, tuple[Expression, Expression]]] = field(default_factory=dict)

    def by_number(
        self, term: Op, who: int, ahead: int, left: Expression, right: Expression
    ) -> Expression | None:
        """Divisions, shifts and operations on bits."""
        name, (a, b) = term.operator, term.args
        if name in ("/", "%"):
            quotient = self.quotient(term, who, ahead, left, right)
            if quotient is None:
                return None
            found = quotient if name == "/" else left - quotient * right
            return self.of_natural(term, who, ahead, (left, right), found)
        if name in ("<<", ">>") and isinstance(b, Const) and 0 <= b.n < 63:
            if name == "<<":
                return left * (1 << b.n)
            found = self.rounded_down(left, 1 << b.n, who)  # of a negative number, too
            return self.of_natural(term, who, ahead, (left,), found)
        if name == "<<":
            return self.power(a, b, left, right)
        if name in ("&", "|", "^"):
            return self.of_bits(name, a, b, left, right)
        return None

    def of_natural(
        self, term: Op, who: int, ahead: int, read: Sequence[Expression], found: Expression
    ) -> Expression:
        """What is found of operands that all types read alike; of others, such as negative ones that may be large
        unsigned ones, nothing is said where their type is not known."""
        if not self.is_ambiguous(term):
            return found
        return self.digits.chosen(self.alike(read), found, self.free(term, who, ahead))

    def quotient(
        self, term: Op, who: int, ahead: int, left: Expression, right: Expression
    ) -> Expression | None:
        """As C divides: towards zero. Nothing is said of a division by zero."""
        a, b = term.args
        if isinstance(b, Const):
            if b.n <= 0:
                return None
            if term.reading.mask is not None or not self.may_be_negative(a):
                self.note_divided(a)
                return self.rounded_down(left, b.n, who)
            return self.digits.chosen(
                left >= 0, self.digits.divided(left, b.n)[0], -self.digits.divided(-left, b.n)[0]
            )
        if right.known is not None and right.known > 0 and not self.may_be_negative(a):
            return self.digits.divided(left, right.known)[0]
        # the solver is good at products, not at quotients of two unknown numbers
        found = self.variable(f"quotient{a.serial}/{b.serial}.{who}.{ahead}")
        self.agree((a, b), who, (left, right, found))
        rest = left - found * right
        below = either(both(left >= 0, rest >= 0, rest < right), both(left < 0, rest <= 0, rest > -right))
        self.side.append(either(right <= 0, below))
        self.assumed.natural.append(right > 0 if self.is_ambiguous(term) else right.differs(0))
        return found

    def agree(
        self, terms: tuple[Term, Term], who: int, division: tuple[Expression, Expression, Expression]
    ) -> None:
        """The two threads have one quotient where they divide the same, whatever nothing is said of."""
        left, right, found = division
        divisions = self.divided.by_term.setdefault(terms, {})
        for other, (dividend, divisor, quotient) in divisions.items():
            if other != who:
                self.side.append(
                    either(left.differs(dividend), right.differs(divisor), found.equals(quotient))
                )
        divisions[who] = division

    def note_divided(self, dividend: Term) -> None:
        """No parameter is taken to be negative where it is divided, for want of its type."""
        if self.bounds.interval(dividend)[0] < 0:
            names = {part.name for part in parts_of(dividend) if isinstance(part, Sym)}
            self.not_negative |= {name for name in names if self.bounds.of_symbol(name)[0] < 0}

    def rounded_down(self, left: Expression, by: int, who: int) -> Expression:
        """Rounded down. That quotients of the two threads by one number lie a whole number apart is what a solver does
        not look for: it tries one quotient after the other."""
        found = self.digits.divided(left, by)[0]
        if found.known is None and by > 1:
            ours, others = (self.divided.by_number.setdefault((by, each), {}) for each in (who, 1 - who))
            if found.text not in ours:
                ours[found.text] = found
                for other in others.values():
                    if other.text != found.text and len(self.hints) < _MOST_HINTS:
                        apart = self.variable(f"apart{len(self.hints)}")
                        self.hints.append(apart.equals(found - other))
        return found

    def power(self, a: Term, b: Term, left: Expression, right: Expression) -> Expression | None:
        low, high = self.bounds.interval(b)
        if low < 0 or high > 31:
            return None
        found = left * (1 << high)
        for shift in range(high - 1, low - 1, -1):
            found = self.digits.chosen(right.equals(shift), left * (1 << shift), found)
        return found

    def of_bits(self, name: str, a: Term, b: Term, left: Expression, right: Expression) -> Expression | None:
        """``&``, ``|`` and ``^``: by division where one side is a mask, else bit by bit."""
        if isinstance(a, Const):
            a, b, left, right = b, a, right, left
        if isinstance(b, Const):
            return self.with_mask(name, b.n, left)
        bounds = [self.bounds.interval(each) for each in (a, b)]
        if min(low for low, _ in bounds) < 0:
            return None
        bits = max(high for _, high in bounds).bit_length()
        if name == "&":
            bits = min(high for _, high in bounds).bit_length()
        if bits > _WIDTH:
            return None
        return self.digits.of_bits(name, left, right, bits)

    def of_function(self, function: BitFunction, argument: Term, one: Expression) -> Expression | None:
        """A function of bits, bit by bit of a number that is not negative; None: another one, or too many bits."""
        low, high = self.bounds.interval(argument)
        if low < 0 or high.bit_length() > min(_WIDTH, function.bits):
            return None
        whole = [self.digits.divided(one, 1 << at)[0] for at in range(high.bit_length())]
        bits = [self.digits.divided(each, 2)[1] for each in whole]
        known = [*zip(bits, function.stands_for)]
        if function.counting is Counting.EACH:
            return sum((bit * n for bit, n in known), number(0))
        found = number(function.of_none)
        for bit, n in known if function.counting is Counting.HIGHEST else reversed(known):
            found = self.digits.chosen(bit.equals(1), number(n), found)  # the last one that is set counts
        return found

    def partner(self, term: Op, who: int, ahead: int) -> Expression | None:
        """``a ^ b`` where the two threads share ``b``, as in a butterfly: whoever has ``a`` has one partner, and is the
        partner of that one. Of the partner's number nothing else is said."""
        shared = [self.levels.uniform(each) and self.is_common(each) for each in term.args]
        if shared[0] == shared[1]:
            return None
        own, mask = term.args if shared[1] else term.args[::-1]
        if isinstance(mask, Const):
            return None
        one, by = self.value(own, who, ahead), self.value(mask, who, ahead)
        met = self._partners.setdefault(by.text, {})
        if one.text not in met:
            low = 0 if min(self.bounds.interval(each)[0] for each in term.args) >= 0 else None
            found = self.variable(f"partner{len(met)} by {by.text}", low)
            self.side.append(either(by.equals(0), found.differs(one)))
            for other, others in met.values():
                self.side += (
                    either(one.differs(others), found.equals(other)),
                    either(found.differs(other), one.equals(others)),
                    either(found.differs(others), one.equals(other)),
                    either(one.differs(other), found.equals(others)),
                )
            met[one.text] = one, found
        return met[one.text][1]

    def with_mask(self, name: str, mask: int, left: Expression) -> Expression | None:
        """Of a negative number, too: it has the bits of its two's complement."""
        if name == "&" and mask < 0 and -mask & (-mask - 1) == 0:
            return left - self.digits.divided(left, -mask)[1]
        if name == "&" and mask >= 0 and mask & (mask + 1) == 0:
            return self.digits.divided(left, mask + 1)[1]
        if mask < 0 or mask.bit_length() > _WIDTH:
            return None
        common = self.masked(left, mask)
        if name == "&":
            return common
        return left + mask - common * (1 if name == "|" else 2)

    def masked(self, left: Expression, mask: int) -> Expression:
        """The bits of a number that are set in the mask."""
        found = number(0)
        start = 0
        while mask >> start:
            start += ((mask >> start) & -(mask >> start)).bit_length() - 1
            end = start + ((mask >> start) + 1 & -((mask >> start) + 1)).bit_length() - 1
            _, rest = self.digits.divided(left, 1 << end)
            found = found + self.digits.divided(rest, 1 << start)[0] * (1 << start)
            start = end
        return found
