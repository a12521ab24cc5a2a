"""Byte counts in terms: sums of products of a kernel's symbols, as ``4·n + 8·n·m``.

A symbol is a parameter, a size of the block, a member of a parameter, or what cannot be written as a sum of these, such
as ``(n + 31) / 32``, by its text. All are taken as sizes: not negative, and small enough that nothing overflows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from smem_lsp.ir.nodes import Dims, LaunchSite
from smem_lsp.ir.values import OF_ADDRESS, Const, Op, Operator, Sym, Value, Var
from smem_lsp.source import checkpoint
from smem_lsp.terms.polynomial import (
    added,
    evaluated,
    is_nonnegative,
    names_joined,
    number,
    of_operation,
    scaled,
)

Sum = Mapping[tuple[str, ...], int]
"""A polynomial over symbols, which are sorted in each product."""

_MOST_DEPTH = 24
_WORD = 0xFFFFFFFF


def sum_of(value: Value, assigned: Mapping[int, list[Value]], depth: int = 0) -> Sum | None:
    """A value as a sum; None: it is not the same for all threads and at all times, or too hard. ``assigned``: by
    variable, all that is ever assigned to it."""
    checkpoint()
    if depth > _MOST_DEPTH:
        return None
    if isinstance(value, Const):
        return {(): value.n} if value.n else {}
    if isinstance(value, Sym):
        return {(value.name,): 1}
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


def atoms_of(value: Value, assigned: Mapping[int, list[Value]]) -> Iterator[tuple[str, Value]]:
    """What is no sum nor product in a value that is a sum, such as ``(n + 31) / 32``: by the text that stands for it,
    in terms of parameters alone."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        checkpoint()
        each = stack.pop()
        if isinstance(each, Var):
            given = assigned.get(each.index, ())
            if len(given) == 1 and each.index not in seen:
                seen.add(each.index)
                stack.append(given[0])
        elif isinstance(each, Op):
            stack.extend(each.args)
            total = sum_of(each, assigned) if each.operator in _ATOMS else None
            plain = None if total is None else _resolved(each, assigned)
            if total is not None and plain is not None:
                for product in total if list(total.values()) == [1] else ():
                    if len(product) == 1:
                        yield product[0], plain


_ATOMS = frozenset((Operator.DIVIDE, Operator.REMAINDER, Operator.SHIFT_RIGHT, Operator.BIT_AND))
_PARTS = _ATOMS | {Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.SHIFT_LEFT, Operator.BIT_NOT}


def _resolved(value: Value, assigned: Mapping[int, list[Value]], depth: int = 0) -> Value | None:
    """A value in terms of parameters; None: it is made of something else."""
    if isinstance(value, Const | Sym):
        return value
    if isinstance(value, Var) and depth <= _MOST_DEPTH:
        given = assigned.get(value.index, ())
        return _resolved(given[0], assigned, depth + 1) if len(given) == 1 else None
    if not isinstance(value, Op) or depth > _MOST_DEPTH:
        return None
    if value.operator is Operator.MEMBER:
        member = _member(value, assigned)
        return None if member is None else Sym(next(iter(member))[0])
    args = [_resolved(each, assigned, depth + 1) for each in value.args]
    known = tuple(each for each in args if each is not None)
    if value.operator not in _PARTS or len(known) < len(args):
        return None
    return Op(value.operator, known, value.name, value.reading)


def symbols_of(value: Value) -> Iterator[str]:
    """The names of the parameters in a value."""
    if isinstance(value, Sym):
        yield value.name
    elif isinstance(value, Op):
        for each in value.args:
            yield from symbols_of(each)


def subtracts(value: Value) -> bool:
    """May it be negative though no parameter is?"""
    if not isinstance(value, Op):
        return False
    return value.operator is Operator.SUBTRACT or any(map(subtracts, value.args))


def fixed_part(value: Value, assigned: Mapping[int, list[Value]]) -> Sum:
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


def larger(a: Sum, b: Sum) -> Sum | None:
    """The larger one; None: that depends on the symbols."""
    if is_nonnegative(added(a, b, -1)):
        return a
    return b if is_nonnegative(added(b, a, -1)) else None


def total_of(sums: Iterable[Sum]) -> Sum:
    found: Sum = {}
    for each in sums:
        found = added(found, each)
    return found


def passed_by(site: LaunchSite) -> Sum | None:
    """The dynamic bytes that a launch passes, in the kernel's own terms; None: not known in terms."""
    return None if site.dynamic is None else sum_of(site.dynamic.value, {})


def sizes_of(dims: Dims) -> dict[str, int]:
    """The values of the symbols that stand for a block."""
    return dict(zip(("blockDim.x", "blockDim.y", "blockDim.z"), dims))


def number_of(total: Sum, known: Mapping[str, int]) -> int | None:
    """Its value; None: that of a symbol is not known."""
    if any(symbol not in known for product in total for symbol in product):
        return None
    return evaluated(total, known.__getitem__)


def spelled(total: Sum) -> str:
    """``4·n + 128``"""
    parts = [
        "·".join([*(() if n == 1 and product else (f"{n:,}",)), *product])
        for product, n in sorted(total.items(), key=lambda each: (not each[0], each[0]))
    ]
    return " + ".join(parts).replace("+ -", "- ") or "0"


def _member(value: Op, assigned: Mapping[int, list[Value]]) -> Sum | None:
    """``params.n`` of a parameter that is never changed."""
    path: list[str] = []
    inner: Value = value
    while isinstance(inner, Op) and inner.operator is Operator.MEMBER:
        path.insert(0, inner.name)
        inner = inner.args[0]
    given = assigned.get(inner.index, []) if isinstance(inner, Var) else []
    inner = given[0] if len(given) == 1 else inner
    return {(".".join([inner.name, *path]),): 1} if isinstance(inner, Sym) else None


def _operation(value: Op, args: list[Sum]) -> Sum | None:
    name = value.operator
    if name is Operator.CAST:
        return args[0]
    found = of_operation(name.spelling, args, (), names_joined)
    if found is not None or name is Operator.MULTIPLY:
        return found
    if name is Operator.BIT_AND and args[1] == {(): _WORD}:
        return args[0]  # what an unsigned number of 32 bits is
    numbers = all(number(each, ()) is not None for each in args)
    if numbers or not value.spelling or len(args) > 2 or value.name.startswith(OF_ADDRESS):
        return None
    texts = [f"({spelled(each)})" if len(each) > 1 else spelled(each) for each in args]
    operator = value.spelling
    if name is Operator.READONLY:
        return {(f"{texts[0]}[{', '.join(texts[1:])}]",): 1}
    if operator.isidentifier() or operator.endswith("()"):
        return {(f"{operator.removesuffix('()')}({', '.join(texts)})",): 1}
    return {(f"({f' {operator} '.join(texts)})" if len(texts) == 2 else f"{operator}{texts[0]}",): 1}
