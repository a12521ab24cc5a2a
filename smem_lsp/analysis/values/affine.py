"""Normal form of terms: a constant plus coefficients times atoms, the coefficients polynomials over symbols.

Division, remainder, shifts and masks by constants become the atoms ``x / k`` and ``x % k`` where ``x`` is provably not
negative, and ``k * (x / k) + x % k`` is ``x`` again. Two terms with the same form are equal for all values; the form is
about integers without bounds, so who proves something with it has to know that nothing wraps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Const, LoopVar, Op, OpaqueTerm, Sym, Term, TermTable, Thread
from smem_lsp.terms.polynomial import added, multiplied, names_joined, number, of_operation, split

# what is multiplied: symbols by name, in order, and at most one thing that is no symbol
Monomial = tuple[tuple[str, ...], Term | None]
_Polynomial = Mapping[Monomial, int]
_ONE: Monomial = ((), None)


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """A normal form; those of one ``Forms`` are equal when they are the same object."""

    coefficients: _Polynomial

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

    table: TermTable
    bounds: Bounds
    _of: dict[Term, Affine] = field(default_factory=dict)
    _forms: dict[tuple[tuple[Monomial, int], ...], Affine] = field(default_factory=dict)

    def linear(self, term: Term) -> Affine:
        checkpoint()
        found = self._of.get(term)
        if found is None:
            found = self._of[term] = self._interned(term.fold(self))
        return found

    def equal(self, a: Term, b: Term) -> bool:
        """Do both have one form?"""
        return a is b or self.linear(a) is self.linear(b)

    def difference(self, a: Term, b: Term) -> int | None:
        """``a - b`` when it is a constant."""
        out = added(self.linear(a).coefficients, self.linear(b).coefficients, -1)
        return number(out, _ONE)

    def canonical(self, term: Term) -> Term:
        """The term of the normal form: one for all terms that are equal by form."""
        return self._term(self.linear(term).coefficients)

    def divided(self, term: Term, n: int, *, turned: bool = True) -> tuple[Term, Term] | None:
        """(whole, rest): ``term`` is ``n * whole + rest``, with a rest from 0 to ``n - 1``; None: not known.
        ``turned``:
        a part of the rest may be too large by itself, as ``x`` is that is ``k * (x / k) + x % k``."""
        whole, rest = split(self.linear(term).coefficients, n)
        if turned and not self._below(rest, n):
            whole, rest = self._turned(whole, rest, n)
        return (self._term(whole), self._term(rest)) if self._below(rest, n) else None

    def _below(self, rest: _Polynomial, n: int) -> bool:
        low, high = self.bounds.interval(self._term(rest))
        return low >= 0 and high < n

    def _turned(self, whole: _Polynomial, rest: _Polynomial, n: int) -> tuple[_Polynomial, _Polynomial]:
        """``c * x`` of the rest as ``n * (x / k) + c * (x % k)`` where ``n`` is ``c * k``."""
        for (symbols, atom), c in list(rest.items()):
            if symbols or atom is None or c < 0 or n % c or self.bounds.interval(atom)[0] < 0:
                continue
            if self.bounds.interval(atom)[1] * c >= n:
                k = self.table.const(n // c)
                whole = added(whole, self.linear(self.table.op("/", atom, k)).coefficients)
                rest = added(rest, {(symbols, atom): -c})
                rest = added(rest, self.linear(self.table.op("%", atom, k)).coefficients, c)
        return whole, rest

    def _interned(self, total: _Polynomial) -> Affine:
        key = tuple(sorted(total.items(), key=_order))
        found = self._forms.get(key)
        if found is None:
            found = self._forms[key] = Affine(dict(key))
        return found

    def _term(self, total: _Polynomial) -> Term:
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

    def constant(self, term: Const) -> _Polynomial:
        return {_ONE: term.n} if term.n else {}

    def symbol(self, term: Sym) -> _Polynomial:
        return {((term.name,), None): 1}

    def thread(self, term: Thread) -> _Polynomial:
        return {((), term): 1}

    def loop_variable(self, term: LoopVar) -> _Polynomial:
        return {((), term): 1}

    def opaque(self, term: OpaqueTerm) -> _Polynomial:
        return {((), term): 1}

    def operation(self, term: Op) -> _Polynomial:
        name = term.operator
        found: _Polynomial | None = None
        if name in ("+", "-", "*", "neg", "<<"):
            args = [self.linear(each).coefficients for each in term.args]
            found = of_operation(name, args, _ONE, _joined)
        elif len(term.args) == 2 and isinstance(term.args[1], Const):
            found = self._by_constant(name, term.args[0], term.args[1].n)
        if found is None:
            return self._rebuilt(term)
        return self._rejoined(found) if name in ("+", "-") else found

    def _rebuilt(self, term: Op) -> _Polynomial:
        """The same operation on normal forms."""
        made = self.table.op(term.operator, *(self.canonical(arg) for arg in term.args), reading=term.reading)
        if isinstance(made, Op):
            return {((), made): 1}
        return {((), term): 1} if isinstance(made, OpaqueTerm) else made.fold(self)

    def _by_constant(self, name: str, a: Term, n: int) -> _Polynomial | None:
        if name == "^" and n == 1 and self.bounds.interval(a) in ((0, 1), (0, 0), (1, 1)):
            return added({_ONE: 1}, self.linear(a).coefficients, -1)
        if name in (">>", "&"):
            if name == ">>" and 0 <= n < 32:
                name, n = "/", 1 << n
            elif name == "&" and n > 0 and n & (n + 1) == 0:
                name, n = "%", n + 1
        if name not in ("/", "%") or n <= 0 or self.bounds.interval(a)[0] < 0:
            return None
        return self._quotient(a, n) if name == "/" else self._remainder(a, n)

    def _quotient(self, a: Term, n: int) -> _Polynomial:
        whole, rest = split(self.linear(a).coefficients, n)
        if not rest:
            return whole
        low, high = self.bounds.interval(self._term(rest))
        if low >= 0 and high < n:
            return whole
        if low >= 0 and self.bounds.interval(self._term(whole))[0] >= 0:
            return added(whole, {((), self._atom("/", self._term(rest), n)): 1})
        return {((), self._atom("/", self.canonical(a), n)): 1}

    def _remainder(self, a: Term, n: int) -> _Polynomial:
        flipped = self._flipped(a, n)
        if flipped is not None:
            return flipped
        whole, rest = split(self.linear(a).coefficients, n)
        if not rest:
            return {}
        term = self._term(rest)
        low, high = self.bounds.interval(term)
        if low < 0 or (whole and self.bounds.interval(self._term(whole))[0] < 0):
            term = self.canonical(a)
            low, high = self.bounds.interval(term)
        if low >= 0 and high < n:
            return self.linear(term).coefficients
        return {((), self._atom("%", term, n)): 1}

    def _flipped(self, a: Term, n: int) -> _Polynomial | None:
        """``(p + 1) % 2`` with p one of {0, 1} is ``1 - p``."""
        form = dict(self.linear(a).coefficients)
        if n != 2 or form.pop(_ONE, 0) != 1 or self.bounds.interval(self._term(form)) != (0, 1):
            return None
        return added({_ONE: 1}, form, -1)

    def _atom(self, name: str, a: Term, n: int) -> Term:
        """``a / n`` or ``a % n`` of something not negative; nested ones become one."""
        if isinstance(a, Op) and a.operator in ("/", "%") and isinstance(a.args[1], Const):
            inner = a.args[1].n
            if name == a.operator == "/":
                return self.table.op("/", a.args[0], self.table.const(inner * n))
            if name == a.operator == "%" and inner % n == 0:
                return self.table.op("%", a.args[0], self.table.const(n))
        return self.table.op(name, a, self.table.const(n))

    def _rejoined(self, total: _Polynomial) -> _Polynomial:
        """``k * c * (x / k) + c * (x % k)`` as ``c * x``."""
        for (symbols, atom), c in list(total.items()):
            if not (isinstance(atom, Op) and atom.operator == "%" and isinstance(atom.args[1], Const)):
                continue
            x, k = atom.args[0], atom.args[1]
            quotient = (symbols, self.table.op("/", x, k))
            if total.get(quotient) != c * k.n:
                continue
            digits: _Polynomial = {(symbols, atom): c, quotient: c * k.n}
            factor: _Polynomial = {(symbols, None): c}
            rest = added(total, digits, -1)
            whole = multiplied(self.linear(x).coefficients, factor, _joined)
            if whole is not None:
                return self._rejoined(added(rest, whole))
        return total


def _order(item: tuple[Monomial, int]) -> tuple[int, tuple[str, ...]]:
    (symbols, atom), _ = item
    return (0 if atom is None else atom.serial), symbols


def _joined(one: Monomial, other: Monomial) -> Monomial | None:
    """The product of two; None: each has something in it that is no symbol."""
    (left, atom), (right, more) = one, other
    if atom is not None and more is not None:
        return None
    return names_joined(left, right), atom if more is None else more
