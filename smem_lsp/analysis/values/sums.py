"""Byte counts in terms: sums of products of a kernel's symbols, as ``4·n + 8·n·m``.

A symbol is a parameter, a size of the block, or a member of a parameter; what cannot be written as a sum of these, such
as ``(n + 31) / 32``, is an atom, too. All are taken as sizes: not negative, and small enough that nothing overflows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from smem_lsp.ir.nodes import Dims, LaunchSite
from smem_lsp.ir.values import OF_ADDRESS, Const, Op, Sym, Value, Var
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import BINARY, applied
from smem_lsp.terms.operators import Operator
from smem_lsp.terms.polynomial import (
    added,
    is_nonnegative,
    number,
    of_operation,
    scaled,
)
from smem_lsp.terms.symbolic import Applied, Atom, Product, Symbol, SymbolicSum, joined, of_sum

_MOST_DEPTH = 24
_WORD = 0xFFFFFFFF


def sum_of(value: Value, assigned: Mapping[int, list[Value]], depth: int = 0) -> SymbolicSum | None:
    """A value as a sum; None: it is not the same for all threads and at all times, or too hard. ``assigned``: by
    variable, all that is ever assigned to it."""
    checkpoint()
    if depth > _MOST_DEPTH:
        return None
    if isinstance(value, Const):
        return {(): value.n} if value.n else {}
    if isinstance(value, Sym):
        return {(Symbol(value.name),): 1}
    if isinstance(value, Var):
        given = assigned.get(value.index, ())
        return sum_of(given[0], assigned, depth + 1) if len(given) == 1 else None
    if not isinstance(value, Op) or value.operator in _DATA:
        return None
    if value.operator is Operator.MEMBER:
        return _member(value, assigned)
    args = [sum_of(each, assigned, depth + 1) for each in value.args]
    known = [each for each in args if each is not None]
    return _operation(value, known) if args and len(known) == len(args) else None


_DATA = frozenset((Operator.LOAD, Operator.ELEMENT))  # another value each time that it is read, perhaps


def may_be_negative(atom: Atom) -> bool:
    """Though no symbol is?"""
    operands = atom.operands if isinstance(atom, Applied) else ()
    return any(
        n < 0 or any(map(may_be_negative, product))
        for operand in operands
        if operand.number is None  # the mask of `x & -4` does not make it negative
        for product, n in operand.products
    )


def fixed_part(value: Value, assigned: Mapping[int, list[Value]]) -> SymbolicSum:
    """What of a value is the same for all threads and at all times, where the rest is only added to it; else 0."""
    whole = sum_of(value, assigned)
    if whole is not None:
        return whole if is_nonnegative(whole) else {}
    if isinstance(value, Op) and value.operator is Operator.ADD:
        left, right = (fixed_part(each, assigned) for each in value.args)
        return added(left, right)
    if isinstance(value, Op) and value.operator is Operator.MULTIPLY:
        factors = [each.n for each in value.args if isinstance(each, Const) and each.n > 0]
        rest = [each for each in value.args if not isinstance(each, Const)]
        if len(factors) == len(rest) == 1:
            return scaled(fixed_part(rest[0], assigned), factors[0])
    return {}


def larger(a: SymbolicSum, b: SymbolicSum) -> SymbolicSum | None:
    """The larger one; None: that depends on the symbols."""
    if is_nonnegative(added(a, b, -1)):
        return a
    return b if is_nonnegative(added(b, a, -1)) else None


def total_of(sums: Iterable[SymbolicSum]) -> SymbolicSum:
    found: SymbolicSum = {}
    for each in sums:
        found = added(found, each)
    return found


def passed_by(site: LaunchSite) -> SymbolicSum | None:
    """The dynamic bytes that a launch passes, in the kernel's own terms; None: not known in terms."""
    return None if site.dynamic is None else sum_of(site.dynamic.value, {})


def sizes_of(dims: Dims) -> dict[str, int]:
    """The values of the symbols that stand for a block."""
    return dict(zip(("blockDim.x", "blockDim.y", "blockDim.z"), dims))


def number_of(total: SymbolicSum, known: Mapping[str, int]) -> int | None:
    """Its value. ``known``: by the text of an atom; None: an atom has no value."""
    found = 0
    for product, n in total.items():
        for atom in product:
            factor = _number_of_atom(atom, known)
            if factor is None:
                return None
            n *= factor
        found += n
    return found


def _number_of_atom(atom: Atom, known: Mapping[str, int]) -> int | None:
    own = known.get(text_of(atom))
    if own is not None or isinstance(atom, Symbol) or len(atom.operands) != 2:
        return own
    left, right = (number_of(dict(each.products), known) for each in atom.operands)
    if left is None or right is None or min(left, right) < 0:
        return None
    return applied(atom.operator, left, right) if atom.operator in BINARY else None


def spelled(total: SymbolicSum) -> str:
    """``4·n + 128``"""
    parts = [
        "·".join([*(() if n == 1 and texts else (f"{n:,}",)), *texts])
        for texts, n in sorted(
            ((_texts_of(product), n) for product, n in total.items()),
            key=lambda each: (not each[0], each[0]),
        )
    ]
    return " + ".join(parts).replace("+ -", "- ") or "0"


def _texts_of(product: Product) -> list[str]:
    return sorted(map(text_of, product))


def text_of(atom: Atom) -> str:
    """An atom as C spells it."""
    if isinstance(atom, Symbol):
        return atom.name
    texts = [spelled(dict(each.products)) for each in atom.operands]
    texts = [f"({text})" if len(each.products) > 1 else text for text, each in zip(texts, atom.operands)]
    operator = atom.operator
    if operator == Operator.READONLY.spelling:
        return f"{texts[0]}[{', '.join(texts[1:])}]"
    if operator.isidentifier() or operator.endswith("()"):
        return f"{operator.removesuffix('()')}({', '.join(texts)})"
    return f"({f' {operator} '.join(texts)})" if len(texts) == 2 else f"{operator}{texts[0]}"


def _member(value: Op, assigned: Mapping[int, list[Value]]) -> SymbolicSum | None:
    """``params.n`` of a parameter that is never changed."""
    path: list[str] = []
    inner: Value = value
    while isinstance(inner, Op) and inner.operator is Operator.MEMBER:
        path.insert(0, inner.name)
        inner = inner.args[0]
    given = assigned.get(inner.index, []) if isinstance(inner, Var) else []
    inner = given[0] if len(given) == 1 else inner
    return {(Symbol(".".join([inner.name, *path])),): 1} if isinstance(inner, Sym) else None


def _operation(value: Op, args: list[SymbolicSum]) -> SymbolicSum | None:
    name = value.operator
    if name is Operator.CAST:
        return args[0]
    found = of_operation(name.spelling, args, (), joined)
    if found is not None or name is Operator.MULTIPLY:
        return found
    if name is Operator.BIT_AND and args[1] == {(): _WORD}:
        return args[0]  # what an unsigned number of 32 bits is
    numbers = all(number(each, ()) is not None for each in args)
    if numbers or not value.spelling or len(args) > 2 or value.name.startswith(OF_ADDRESS):
        return None
    operator = Operator.READONLY.spelling if name is Operator.READONLY else value.spelling
    return {(Applied(operator, tuple(map(of_sum, args)), value.reading),): 1}
