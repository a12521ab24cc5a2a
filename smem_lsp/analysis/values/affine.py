"""Normal form of terms: a constant plus coefficients times atoms, the coefficients polynomials over symbols.

Division, remainder, shifts and masks by constants become the atoms ``x / k`` and ``x % k`` where ``x`` is provably not
negative, and ``k * (x / k) + x % k`` is ``x`` again. Two terms with the same form are equal for all values; the form is
about integers without bounds, so who proves something with it has to know that nothing wraps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.terms import Const, Op, Opaque, Sym, Table, Term
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_MAX_MONOMIALS = 64

# what is multiplied: symbols by name, in order, and at most one thing that is no symbol
Monomial = tuple[tuple[str, ...], Term | None]
_Sum = dict[Monomial, int]
_ONE: Monomial = ((), None)


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """A normal form; those of one ``Forms`` are equal when they are the same object."""

    coefficients: Mapping[Monomial, int]

    @property
    def constant(self) -> int:
        return self.coefficients.get(_ONE, 0)

    def coefficient(self, atom: Term | None) -> Mapping[tuple[str, ...], int]:
        """The polynomial in front of ``atom``, None being 1: product of symbols -> number."""
        return {symbols: n for (symbols, other), n in self.coefficients.items() if other is atom}

    @property
    def atoms(self) -> frozenset[Term]:
        return frozenset(atom for _, atom in self.coefficients if atom is not None)


@dataclass(slots=True)
class Forms:
    """The normal forms of the terms of one table."""

    table: Table
    bounds: Bounds
    _of: dict[Term, Affine] = field(default_factory=dict)
    _forms: dict[tuple[tuple[Monomial, int], ...], Affine] = field(default_factory=dict)

    def linear(self, term: Term) -> Affine:
        checkpoint()
        found = self._of.get(term)
        if found is None:
            found = self._of[term] = self._interned(self._sum(term))
        return found

    def equal(self, a: Term, b: Term) -> bool:
        """Do both have one form?"""
        return a is b or self.linear(a) is self.linear(b)

    def difference(self, a: Term, b: Term) -> int | None:
        """``a - b`` when it is a constant."""
        out = dict(self.linear(a).coefficients)
        _add(out, self.linear(b).coefficients, -1)
        return out.get(_ONE, 0) if not out.keys() - {_ONE} else None

    def canonical(self, term: Term) -> Term:
        """The term of the normal form: one for all terms that are equal by form."""
        return self._term(self.linear(term).coefficients)

    def divided(self, term: Term, n: int, *, turned: bool = True) -> tuple[Term, Term] | None:
        """(whole, rest): ``term`` is ``n * whole + rest``, with a rest from 0 to ``n - 1``; None: not known.
        ``turned``:
        a part of the rest may be too large by itself, as ``x`` is that is ``k * (x / k) + x % k``."""
        whole, rest = self._split(term, n)
        if turned and not self._below(rest, n):
            whole, rest = self._turned(whole, rest, n)
        return (self._term(whole), self._term(rest)) if self._below(rest, n) else None

    def _below(self, rest: _Sum, n: int) -> bool:
        low, high = self.bounds.interval(self._term(rest))
        return low >= 0 and high < n

    def _turned(self, whole: _Sum, rest: _Sum, n: int) -> tuple[_Sum, _Sum]:
        """``c * x`` of the rest as ``n * (x / k) + c * (x % k)`` where ``n`` is ``c * k``."""
        whole, rest = dict(whole), dict(rest)
        for (symbols, atom), c in list(rest.items()):
            if symbols or atom is None or c < 0 or n % c or self.bounds.interval(atom)[0] < 0:
                continue
            if self.bounds.interval(atom)[1] * c >= n:
                del rest[symbols, atom]
                k = self.table.const(n // c)
                _add(whole, self.linear(self.table.op("/", atom, k)).coefficients, 1)
                _add(rest, _scaled(self.linear(self.table.op("%", atom, k)).coefficients, c), 1)
        return whole, rest

    def _interned(self, total: _Sum) -> Affine:
        key = tuple(sorted(total.items(), key=_order))
        found = self._forms.get(key)
        if found is None:
            found = self._forms[key] = Affine(dict(key))
        return found

    def _term(self, total: Mapping[Monomial, int]) -> Term:
        made: Term | None = None
        for (symbols, atom), n in sorted(total.items(), key=_order):
            checkpoint()
            if not symbols and atom is None:
                continue
            factors = [self.table.sym(name) for name in symbols] + ([] if atom is None else [atom])
            part = factors[0]
            for factor in factors[1:]:
                part = self.table.op("*", part, factor)
            part = self.table.op("*", part, self.table.const(n))
            made = part if made is None else self.table.op("+", made, part)
        constant = self.table.const(total.get(_ONE, 0))
        return constant if made is None else self.table.op("+", made, constant)

    def _sum(self, term: Term) -> _Sum:
        if isinstance(term, Const):
            return {_ONE: term.n} if term.n else {}
        if isinstance(term, Sym):
            return {((term.name,), None): 1}
        if not isinstance(term, Op):
            return {((), term): 1}
        name = term.operator
        if name == "neg":
            return _scaled(self.linear(term.args[0]).coefficients, -1)
        if len(term.args) == 2:
            a, b = term.args
            if name in ("+", "-"):
                out = dict(self.linear(a).coefficients)
                _add(out, self.linear(b).coefficients, 1 if name == "+" else -1)
                return self._rejoined(out)
            if name == "*":
                product = self._product(self.linear(a).coefficients, self.linear(b).coefficients)
                return self._rebuilt(term) if product is None else product
            if isinstance(b, Const):
                found = self._by_constant(name, a, b.n)
                if found is not None:
                    return found
        return self._rebuilt(term)

    def _rebuilt(self, term: Op) -> _Sum:
        """The same operation on normal forms."""
        made = self.table.op(term.operator, *(self.canonical(arg) for arg in term.args), reading=term.reading)
        if isinstance(made, Op):
            return {((), made): 1}
        return {((), term): 1} if isinstance(made, Opaque) else self._sum(made)

    def _by_constant(self, name: str, a: Term, n: int) -> _Sum | None:
        if name == "<<" and 0 <= n < 32:
            return _scaled(self.linear(a).coefficients, 1 << n)
        if name == "^" and n == 1 and self.bounds.interval(a) in ((0, 1), (0, 0), (1, 1)):
            out: _Sum = {_ONE: 1}
            _add(out, self.linear(a).coefficients, -1)
            return out
        if name in (">>", "&"):
            if name == ">>" and 0 <= n < 32:
                name, n = "/", 1 << n
            elif name == "&" and n > 0 and n & (n + 1) == 0:
                name, n = "%", n + 1
        if name not in ("/", "%") or n <= 0 or self.bounds.interval(a)[0] < 0:
            return None
        return self._quotient(a, n) if name == "/" else self._remainder(a, n)

    def _split(self, a: Term, n: int) -> tuple[_Sum, _Sum]:
        """``a`` as ``n * first + second``, where the second has coefficients below ``n``."""
        whole: _Sum = {}
        rest: _Sum = {}
        for monomial, coefficient in self.linear(a).coefficients.items():
            quotient, remainder = divmod(coefficient, n)
            if quotient:
                whole[monomial] = quotient
            if remainder:
                rest[monomial] = remainder
        return whole, rest

    def _quotient(self, a: Term, n: int) -> _Sum:
        whole, rest = self._split(a, n)
        if not rest:
            return whole
        low, high = self.bounds.interval(self._term(rest))
        if low >= 0 and high < n:
            return whole
        if low >= 0 and self.bounds.interval(self._term(whole))[0] >= 0:
            out = whole
            _add(out, {((), self._atom("/", self._term(rest), n)): 1}, 1)
            return out
        return {((), self._atom("/", self.canonical(a), n)): 1}

    def _remainder(self, a: Term, n: int) -> _Sum:
        flipped = self._flipped(a, n)
        if flipped is not None:
            return flipped
        whole, rest = self._split(a, n)
        if not rest:
            return {}
        term = self._term(rest)
        low, high = self.bounds.interval(term)
        if low < 0 or (whole and self.bounds.interval(self._term(whole))[0] < 0):
            term = self.canonical(a)
            low, high = self.bounds.interval(term)
        if low >= 0 and high < n:
            return dict(self.linear(term).coefficients)
        return {((), self._atom("%", term, n)): 1}

    def _flipped(self, a: Term, n: int) -> _Sum | None:
        """``(p + 1) % 2`` with p one of {0, 1} is ``1 - p``."""
        form = dict(self.linear(a).coefficients)
        if n != 2 or form.pop(_ONE, 0) != 1 or self.bounds.interval(self._term(form)) != (0, 1):
            return None
        out: _Sum = {_ONE: 1}
        _add(out, form, -1)
        return out

    def _atom(self, name: str, a: Term, n: int) -> Term:
        """``a / n`` or ``a % n`` of something not negative; nested ones become one."""
        if isinstance(a, Op) and a.operator in ("/", "%") and isinstance(a.args[1], Const):
            inner = a.args[1].n
            if name == a.operator == "/":
                return self.table.op("/", a.args[0], self.table.const(inner * n))
            if name == a.operator == "%" and inner % n == 0:
                return self.table.op("%", a.args[0], self.table.const(n))
        return self.table.op(name, a, self.table.const(n))

    def _product(self, a: Mapping[Monomial, int], b: Mapping[Monomial, int]) -> _Sum | None:
        if len(a) * len(b) > _MAX_MONOMIALS:
            return None
        out: _Sum = {}
        for (left, atom), m in a.items():
            checkpoint()
            for (right, other), n in b.items():
                if atom is not None and other is not None:
                    return None
                key = (tuple(sorted(left + right)), atom if other is None else other)
                _add(out, {key: m * n}, 1)
        return out

    def _rejoined(self, total: _Sum) -> _Sum:
        """``k * c * (x / k) + c * (x % k)`` as ``c * x``."""
        for (symbols, atom), c in list(total.items()):
            if not (isinstance(atom, Op) and atom.operator == "%" and isinstance(atom.args[1], Const)):
                continue
            x, k = atom.args[0], atom.args[1]
            quotient = (symbols, self.table.op("/", x, k))
            if total.get(quotient) != c * k.n:
                continue
            rest = dict(total)
            del rest[symbols, atom], rest[quotient]
            scaled = self._product(self.linear(x).coefficients, {(symbols, None): c})
            if scaled is not None:
                _add(rest, scaled, 1)
                return self._rejoined(rest)
        return total


def _order(item: tuple[Monomial, int]) -> tuple[int, tuple[str, ...]]:
    (symbols, atom), _ = item
    return (0 if atom is None else atom.serial), symbols


def _add(out: _Sum, other: Mapping[Monomial, int], factor: int) -> None:
    for monomial, n in other.items():
        total = out.get(monomial, 0) + factor * n
        if total:
            out[monomial] = total
        else:
            out.pop(monomial, None)


def _scaled(form: Mapping[Monomial, int], factor: int) -> _Sum:
    return {monomial: factor * n for monomial, n in form.items()} if factor else {}
