"""Numbers as terms: what a launch passes, where it is no constant, and what a kernel makes of its sizes.

A term is a polynomial over atoms: symbols, which are numbers that somebody has, and operations that are not
multiplied out. Equal terms are equal numbers, as long as host arithmetic does not overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from smem_lsp.source import record
from smem_lsp.source.integers import applied
from smem_lsp.terms import polynomial
from smem_lsp.terms.operators import OperandType


@record
class Symbol:
    """A number that host code has. Two with one ``name``, its spelling, are the same number if their ``version`` is the
    same, too."""

    name: str
    version: int = 0

    def __str__(self) -> str:
        return self.name


@record
class Applied:
    """``operator`` applied to operands: one of C, or ``min`` and ``max``; in kernels a function ``f()``, or what stands
    in an array, too. ``reading``: the type of the operands of an operator in ``READS``."""

    operator: str
    operands: tuple[SymbolicTerm, ...]
    reading: OperandType = field(default=OperandType.UNKNOWN, compare=False)

    def __str__(self) -> str:
        if self.operator in ("min", "max"):
            return f"{self.operator}({', '.join(map(str, self.operands))})"
        return f" {self.operator} ".join(_operand(operand) for operand in self.operands)


Atom = Symbol | Applied
Product = tuple[Atom, ...]  # sorted; empty: 1
SymbolicSum = Mapping[Product, int]
"""A polynomial over atoms: a term on the way."""


@record(deep=True)
class SymbolicTerm:
    """The sum of products with their coefficients, sorted; no coefficient is 0."""

    products: tuple[tuple[Product, int], ...]

    @property
    def number(self) -> int | None:
        """Its value, if it is a constant."""
        if not self.products:
            return 0
        (product, count), *more = self.products
        return None if product or more else count

    @property
    def symbol(self) -> Symbol | None:
        """The symbol that it is."""
        if len(self.products) == 1 and self.products[0][1] == 1 and len(self.products[0][0]) == 1:
            atom = self.products[0][0][0]
            return atom if isinstance(atom, Symbol) else None
        return None

    @property
    def symbols(self) -> frozenset[Symbol]:
        """All symbols in it."""
        return frozenset(symbols_of(dict(self.products)))

    def __str__(self) -> str:
        """As C spells it: ``4 * tile + 32``."""
        if not self.products:
            return "0"
        text = ""
        for product, count in sorted(self.products, key=lambda each: (not each[0], each[1] < 0)):
            alone = len(product) == 1 and abs(count) == 1
            factors = [_factor(atom, alone, alone and len(self.products) == 1) for atom in product]
            if abs(count) != 1 or not factors:
                factors.insert(0, str(abs(count)))
            sign = ("-" if count < 0 else "") if not text else (" - " if count < 0 else " + ")
            text += sign + " * ".join(factors)
        return text


def constant(n: int) -> SymbolicTerm:
    return SymbolicTerm(((((), n)),) if n else ())


def named(name: str, version: int = 0) -> SymbolicTerm:
    """The term of one symbol."""
    return _of_atom(Symbol(name, version))


def plus(left: SymbolicTerm, right: SymbolicTerm, *, times: int = 1) -> SymbolicTerm | None:
    """``left + times * right``; None if it is too long."""
    return _made(polynomial.added(dict(left.products), dict(right.products), times))


def multiplied(left: SymbolicTerm, right: SymbolicTerm) -> SymbolicTerm | None:
    """``left * right``; None if it is too long."""
    return _made(polynomial.multiplied(dict(left.products), dict(right.products), joined))


def divided(term: SymbolicTerm, by: SymbolicTerm) -> SymbolicTerm | None:
    """The quotient of an exact division by a single product; None: it is not exact."""
    return _made(polynomial.divided(dict(term.products), dict(by.products)))


def apply(operator: str, left: SymbolicTerm, right: SymbolicTerm) -> SymbolicTerm | None:
    """``left operator right`` in C's integers, ``min`` or ``max``; None if it has no value that is known to exist."""
    a, b = left.number, right.number
    found = polynomial.of_operation(operator, (dict(left.products), dict(right.products)), (), joined)
    if found is not None or operator == "*":
        return _made(found)
    if (operator in ("min", "max") and left == right) or (operator == "/" and b == 1):
        return left
    if a is not None and b is not None:
        return _folded(operator, a, b)
    if operator in ("/", "%") and b == 0:
        return None
    if operator not in _APPLIED:
        return None
    if operator in ("min", "max"):
        left, right = sorted((left, right), key=lambda term: (term.number is not None, repr(term)))
    return _of_atom(Applied(operator, (left, right)))


_APPLIED = frozenset(("/", "%", "<<", ">>", "&", "|", "^", "min", "max"))


def _folded(operator: str, a: int, b: int) -> SymbolicTerm | None:
    if operator not in _APPLIED or (min(a, b) < 0 and operator not in ("min", "max")):  # depends on the types
        return None
    found = applied(operator, a, b)
    return None if found is None else constant(found)


def replaced(term: SymbolicTerm, symbols: Mapping[Symbol, SymbolicTerm]) -> SymbolicTerm | None:
    """The term with symbols replaced by terms; None if it is too long or has no value."""
    if not symbols or symbols.keys().isdisjoint(term.symbols):
        return term
    return _substituted(term, lambda atom: _replaced_atom(atom, symbols))


def rewritten(term: SymbolicTerm, known: Mapping[SymbolicTerm, SymbolicTerm]) -> SymbolicTerm | None:
    """The term with all that is ``known`` replaced, the largest parts first; None if a symbol is left, or if it is too
    long or has no value."""
    if term in known or term.number is not None:
        return known.get(term, term)
    return _substituted(term, lambda atom: _rewritten_atom(atom, known))


def _substituted(term: SymbolicTerm, value: Callable[[Atom], SymbolicTerm | None]) -> SymbolicTerm | None:
    """With each atom replaced by a term; None: one has no value, or it is too long."""

    def products_of(atom: Atom) -> SymbolicSum | None:
        found = value(atom)
        return None if found is None else dict(found.products)

    return _made(polynomial.substituted(dict(term.products), products_of, (), joined))


def _rewritten_atom(atom: Atom, known: Mapping[SymbolicTerm, SymbolicTerm]) -> SymbolicTerm | None:
    found = known.get(_of_atom(atom))
    if found is not None or isinstance(atom, Symbol):
        return found
    return _applied(atom, [rewritten(operand, known) for operand in atom.operands])


def _replaced_atom(atom: Atom, symbols: Mapping[Symbol, SymbolicTerm]) -> SymbolicTerm | None:
    if isinstance(atom, Symbol):
        return symbols.get(atom) or _of_atom(atom)
    return _applied(atom, [replaced(operand, symbols) for operand in atom.operands])


def _applied(atom: Applied, operands: Sequence[SymbolicTerm | None]) -> SymbolicTerm | None:
    """An operation of other operands; None: one is missing, or the operator is none of two."""
    known = [each for each in operands if each is not None]
    return apply(atom.operator, *known) if len(known) == len(operands) == 2 else None


def _of_atom(atom: Atom) -> SymbolicTerm:
    return SymbolicTerm((((atom,), 1),))


def of_sum(total: SymbolicSum) -> SymbolicTerm:
    return SymbolicTerm(tuple(sorted(total.items(), key=repr) if len(total) > 1 else total.items()))


def joined(one: Product, other: Product) -> Product:
    """The product of two products."""
    return tuple(sorted((*one, *other), key=repr)) if one and other else one or other


def _made(counts: Mapping[Product, int] | None) -> SymbolicTerm | None:
    if counts is None or len(counts) > polynomial.MOST_PRODUCTS:
        return None
    return of_sum(counts)


def symbols_of(total: SymbolicSum) -> Iterator[Symbol]:
    """All symbols in a polynomial."""
    for product in total:
        for atom in product:
            if isinstance(atom, Symbol):
                yield atom
            else:
                for operand in atom.operands:
                    yield from symbols_of(dict(operand.products))


def _operand(term: SymbolicTerm) -> str:
    if term.symbol is not None:
        return _closed(term.symbol.name)
    return str(term) if term.number is not None else f"({term})"


def compared(term: SymbolicTerm) -> str:
    """The text of one side of a comparison."""
    text = str(term)
    return f"({text})" if any(f" {sign} " in text for sign in ("&", "|", "^", "<<", ">>")) else text


def _factor(atom: Atom, alone: bool, whole: bool) -> str:
    """``alone``: the only factor of its product; ``whole``: of the term."""
    if isinstance(atom, Symbol):
        return atom.name if whole else _closed(atom.name)
    open_ = whole or atom.operator in ("min", "max") or (alone and atom.operator in ("/", "%"))
    return str(atom) if open_ else f"({atom})"


def _closed(text: str) -> str:
    """``text``, in parentheses if it may not be an operand of a product as it is."""
    depth = 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == " " and not depth:
            return f"({text})"
    return text
