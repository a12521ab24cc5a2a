"""Loops that go on until a counter meets a number, ``for (p = begin; p != end; ++p)``, as ones that stay below it.

A counter ``i`` that begins with ``b`` and moves by ``c`` meets ``e`` for the first time in iteration ``(e - b) / c``,
where that is a whole number that is not negative. In all iterations before it is on one side of ``e``, so ``i != e`` is
``i < e``, or ``i > e`` where ``c`` is negative, in each that is run: in integers without bounds, and exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from smem_lsp.analysis.values.value_facts import LoopFacts
from smem_lsp.source import checkpoint
from smem_lsp.terms.language import Const, LoopVar, Op, OpaqueTerm, Term, TermTable, parts_of
from smem_lsp.terms.operators import OperandType
from smem_lsp.terms.polynomial import added, scaled
from smem_lsp.terms.sums_of_products import polynomial_of

_Product = tuple[Term, ...]  # in the order of their creation; empty: 1
_Polynomial = Mapping[_Product, int]


def in_order(table: TermTable, loop: LoopFacts) -> LoopFacts:
    """The loop with ``<`` or ``>`` for ``!=``, where both are the same."""
    head = loop.head
    if not isinstance(head, Op) or head.operator != "!=" or loop.once:
        return loop
    rises = _rises(head, loop)
    if rises is None:
        return loop
    found = [_compared(table, each, "<" if rises else ">") for each in (loop.first, head, loop.again)]
    first, head_, again = found
    if first is None or head_ is None or again is None:
        return loop
    return replace(loop, first=first, head=head_, again=again)


def _rises(head: Op, loop: LoopFacts) -> bool | None:
    """Is the left side below the right one until they are equal, or above it? None: not known."""
    left, right = (_polynomial(each) for each in head.args)
    found = None if left is None or right is None else _moving(added(left, right, -1), loop)
    if found is None:
        return None
    start, step = found
    if not step or any(n % step for n in start.values()):
        return None
    atoms = {each for product in start for each in product}
    ends = all(n // -step > 0 for n in start.values()) and all(each.natural for each in atoms)
    return step > 0 if ends and all(_is_fixed(each, loop.begins) for each in atoms) else None


def _moving(difference: _Polynomial, loop: LoopFacts) -> tuple[_Polynomial, int] | None:
    """What a difference begins with, and what each iteration adds to it; None: not the same each time."""
    step, start = 0, difference
    for moves in loop.recurrences:
        product: _Product = (moves.atom,)
        if any(moves.atom in each and each != product for each in difference):
            return None
        times = difference.get(product, 0)
        if not times:
            continue
        by = moves.by.n if isinstance(moves.by, Const) else None
        init = _polynomial(moves.init)
        if moves.kind != "affine" or by is None or init is None:
            return None
        step += times * by
        start = added({each: n for each, n in start.items() if each != product}, scaled(init, times))
    return start, step


def _is_fixed(term: Term, begins: int) -> bool:
    """Is it the same in all iterations? ``begins``: the last term in front of the loop."""
    return all(each.serial <= begins or not isinstance(each, OpaqueTerm | LoopVar) for each in parts_of(term))


def _compared(table: TermTable, condition: Term, operator: str) -> Term | None:
    """A condition of the loop with another operator; a number is what it is."""
    if isinstance(condition, Const):
        return condition
    if not isinstance(condition, Op) or condition.operator != "!=":
        return None
    return table.op(operator, *condition.args, reading=OperandType.LONG)


def _polynomial(term: Term) -> _Polynomial | None:
    checkpoint()
    return polynomial_of(term, lambda atom: {(atom,): 1}, _joined)


def _joined(one: _Product, other: _Product) -> _Product:
    return tuple(sorted((*one, *other), key=lambda each: each.serial))
