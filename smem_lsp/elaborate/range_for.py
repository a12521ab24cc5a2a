"""The range-based ``for``, written out as the standard defines it ([stmt.ranged])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree

OF_RANGES = frozenset(("begin", "end"))  # methods that the loop calls
_RANGE, _BEGIN, _END, _INDEX = "__range", "__begin", "__end", "__index"


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """``before``: runs once; ``head``: of the plain loop; ``element``: what each iteration begins with."""

    before: tree.Declaration | None
    head: tree.ForHead
    element: tree.Declaration


def over_array(head: tree.RangeFor, count: int) -> WrittenOut:
    """A loop over an array of ``count`` elements, each named by its number."""
    lo, hi = head.range.lo, head.range.hi
    before = _declared(head.range, _RANGE, ["&&"], head.range)
    element = tree.Index(lo, hi, tree.Name(lo, hi, _RANGE), tree.Name(lo, hi, _INDEX))
    return WrittenOut(before, _counting(head.range, count), _element(head, element))


def over_list(head: tree.RangeFor, items: Sequence[tree.Expr]) -> WrittenOut:
    """A loop over constants in braces, each chosen by its number."""
    lo, hi = head.range.lo, head.range.hi
    chosen = items[-1]
    for number, each in reversed([*enumerate(items[:-1])]):
        asked = tree.Binary(lo, hi, "==", tree.Name(lo, hi, _INDEX), tree.Number(lo, hi, str(number)))
        chosen = tree.Ternary(lo, hi, asked, each, chosen)
    return WrittenOut(None, _counting(head.range, len(items)), _element(head, chosen))


def over_object(head: tree.RangeFor) -> WrittenOut:
    """A loop over an object with ``begin()`` and ``end()``."""
    lo, hi = head.range.lo, head.range.hi
    before = _declared(head.range, _RANGE, ["&&"], head.range)
    begin, end = tree.Name(lo, hi, _BEGIN), tree.Name(lo, hi, _END)
    ends = tree.Declaration(
        lo,
        hi,
        ["auto"],
        [
            *_declared(head.range, _BEGIN, [], _called(head.range, "begin")).declarators,
            *_declared(head.range, _END, [], _called(head.range, "end")).declarators,
        ],
        lo,
    )
    condition = tree.Binary(lo, hi, "!=", begin, end)
    element = tree.Unary(lo, hi, "*", begin)
    step = tree.Unary(lo, hi, "++", begin)
    return WrittenOut(before, tree.ForHead(lo, hi, ends, condition, step), _element(head, element))


def _counting(at: tree.Expr, count: int) -> tree.ForHead:
    """``int __index = 0; __index < count; ++__index``"""
    lo, hi = at.lo, at.hi
    index = tree.Name(lo, hi, _INDEX)
    first = _declared(at, _INDEX, [], tree.Number(lo, hi, "0"), "int")
    condition = tree.Binary(lo, hi, "<", index, tree.Number(lo, hi, str(count)))
    return tree.ForHead(lo, hi, first, condition, tree.Unary(lo, hi, "++", index))


def _called(at: tree.Expr, method: str) -> tree.Expr:
    return tree.Call(
        at.lo, at.hi, tree.Member(at.lo, at.hi, tree.Name(at.lo, at.hi, _RANGE), ".", method), []
    )


def _declared(
    at: tree.Expr, name: str, pointers: list[str], value: tree.Expr, word: str = "auto"
) -> tree.Declaration:
    made = tree.Declarator(at.lo, at.hi, name, at.lo, pointers, [], [], False, False, value, "=")
    return tree.Declaration(at.lo, at.hi, [word], [made], at.lo)


def _element(head: tree.RangeFor, value: tree.Expr) -> tree.Declaration:
    made = [replace(each, initializer=value, style="=") for each in head.declaration.declarators]
    return replace(head.declaration, declarators=made)
