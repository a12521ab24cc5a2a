"""Does what goes through a pointer stay between two places of its array, places that are sizes in terms?

Asked is for a thread that comes to the access and touches a byte outside. The sizes are taken not to be negative, and
no number to overflow: whoever rests on the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.conditions import Condition
from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import Formula, either, negated
from smem_lsp.analysis.decision.question import Asker
from smem_lsp.analysis.values.sums import Sum, symbols_of
from smem_lsp.analysis.values.terms import Table, Term
from smem_lsp.ir.nodes import Access
from smem_lsp.ir.values import Const, Op, Sym, Value
from smem_lsp.source import record
from smem_lsp.source.regex import regex

_EFFORT = 200_000  # of one question
_MOST = (1 << 31) - 1  # bytes that do not overflow
_SYMBOL = regex(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def is_plain(total: Sum) -> bool:
    """Is it made of nothing but parameters, their members, and the size of the block?"""
    return all(_SYMBOL.fullmatch(symbol) for product in total for symbol in product)


def stays_between(
    asker: Asker, access: Access, begin: Sum, end: Sum | None, atoms: Mapping[str, Value]
) -> bool:
    """Does it touch no byte in front of ``begin``, and none from ``end`` on (None: it may), both in bytes from the
    start of the array? ``atoms``: what a name in the sums stands for, if it is no parameter. False: that is not
    proved."""
    buffer, values = asker.of.kernel.buffers[access.buffer], asker.of.values
    start, width = values.offset(access, buffer), access.width or buffer.element_bytes
    if start is None or not width or not _is_one_piece(access):
        return False
    bounds = [total for total in (begin, end) if total is not None]
    names = sorted({symbol for total in bounds for product in total for symbol in product})
    if not all(name in atoms or _SYMBOL.fullmatch(name) for name in names):
        return False
    sizes = {
        name: _value(values.table, atoms[name]) if name in atoms else values.table.sym(name) for name in names
    }
    natural = _made_of(values.table, sizes, atoms)
    terms = [_term(values.table, total, sizes) for total in bounds]
    touched = _Touched(start, width, terms, natural)
    for loose in (True, False):
        encoder = asker.encoder(loose=loose)
        asked = touched.outside(encoder, asker.of.positions[access.point].conditions)
        if asker.solve(encoder, asked, _EFFORT).outcome is solver.Outcome.NONE:
            return True
        if not encoder.loosened:
            return False
    return False


def _is_one_piece(access: Access) -> bool:
    """Does the thread touch some bytes in a row, itself, at the place that the access says?"""
    several = access.rows or access.start is not None or access.tile is not None or access.part is not None
    return not (several or access.guess or access.strayed or access.asynchronous)


def _made_of(table: Table, sizes: Mapping[str, Term], atoms: Mapping[str, Value]) -> list[Term]:
    """The sizes that stand for names, and the parameters that ``atoms`` make some of them of."""
    inner = (table.sym(each) for name in sizes if name in atoms for each in symbols_of(atoms[name]))
    return sorted({*sizes.values(), *inner}, key=lambda each: each.serial)


@record
class _Touched:
    """``width`` bytes from ``start`` on, in an array of which only those from the first of ``bounds`` on, below the
    second, if there is one, may be touched. ``sizes``: what the places are made of."""

    start: Term
    width: int
    bounds: list[Term]
    sizes: list[Term]

    def outside(self, encoder: Encoder, conditions: Iterable[Condition]) -> list[Formula]:
        """A thread that comes there, under ``conditions``, touches a byte outside of the bounds."""
        first, least, *most = (encoder.value(term, 0) for term in (self.start, *self.bounds))
        known = []
        for each in conditions:
            found = encoder.holds(each.term, 0)
            known.append(found if each.truth else negated(found))
        known += [encoder.value(each, 0) >= 0 for each in self.sizes]
        known += [each <= _MOST for each in (least, *most)]
        leaves = either(first < least, *(first + self.width > each for each in most))
        return [*known, *encoder.side, leaves]


def _term(table: Table, total: Sum, sizes: Mapping[str, Term]) -> Term:
    found = table.const(0)
    for product, count in sorted(total.items()):
        part = table.const(count)
        for symbol in product:
            part = table.op("*", part, sizes[symbol])
        found = table.op("+", found, part)
    return found


def _value(table: Table, value: Value) -> Term:
    """A value that is made of parameters."""
    if isinstance(value, Const):
        return table.const(value.n)
    if isinstance(value, Op):
        args = (_value(table, each) for each in value.args)
        return table.op(value.operator.spelling, *args, reading=value.reading)
    assert isinstance(value, Sym)
    return table.sym(value.name)
