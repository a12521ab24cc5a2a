"""Does what goes through a pointer stay between two places of its array, places that are sizes in terms?

Asked is for a thread that comes to the access and touches a byte outside. The sizes are taken not to be negative, and
no number to overflow: whoever rests on the answer says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smem_lsp.analysis.decision import solver
from smem_lsp.analysis.decision.conditions import Condition
from smem_lsp.analysis.decision.encoding import Encoder
from smem_lsp.analysis.decision.formulas import Formula, either, negated
from smem_lsp.analysis.decision.question import RaceQueries
from smem_lsp.ir.nodes import Access
from smem_lsp.source import record
from smem_lsp.source.regex import regex
from smem_lsp.terms.language import Term, TermTable
from smem_lsp.terms.symbolic import Atom, Symbol, SymbolicSum, symbols_of

_EFFORT = 200_000  # of one question
_MOST = (1 << 31) - 1  # bytes that do not overflow
_SYMBOL = regex(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def is_plain(total: SymbolicSum) -> bool:
    """Is it made of nothing but parameters, their members, and the size of the block?"""
    return all(isinstance(atom, Symbol) and _is_spelled(atom) for product in total for atom in product)


def stays_between(asker: RaceQueries, access: Access, begin: SymbolicSum, end: SymbolicSum | None) -> bool:
    """Does it touch no byte in front of ``begin``, and none from ``end`` on (None: it may), both in bytes from the
    start of the array? False: that is not proved."""
    buffer, values = asker.of.kernel.buffers[access.buffer], asker.of.values
    start, width = values.offset(access, buffer), access.width or buffer.element_bytes
    if start is None or not width or not _is_one_piece(access):
        return False
    bounds = [total for total in (begin, end) if total is not None]
    sizes = _sizes(values.table, bounds)
    if sizes is None:
        return False
    terms = [_term(values.table, total) for total in bounds]
    touched = _TouchedArray(start, width, terms, sizes)
    for loose in (True, False):
        encoder = asker.encoder(loose=loose)
        asked = touched.outside(encoder, asker.of.positions[access.point].conditions)
        if asker.solve(encoder, asked, _EFFORT).outcome is solver.Satisfiability.NONE:
            return True
        if not encoder.loosened:
            return False
    return False


def _is_one_piece(access: Access) -> bool:
    """Does the thread touch some bytes in a row, itself, at the place that the access says?"""
    several = access.rows or access.start is not None or access.tile is not None or access.part is not None
    return not (several or access.guess or access.strayed or access.asynchronous)


def _sizes(table: TermTable, bounds: Sequence[SymbolicSum]) -> list[Term] | None:
    """The parameters and the atoms that sums are made of, all of them sizes; None: a solver has no term for one."""
    names = {symbol for total in bounds for symbol in symbols_of(total)}
    atoms = {atom for total in bounds for product in total for atom in product}
    if not all(map(_is_spelled, names)) or not all(map(_has_term, atoms)):
        return None
    return sorted({_of_atom(table, each) for each in (*names, *atoms)}, key=lambda each: each.serial)


def _is_spelled(symbol: Symbol) -> bool:
    return _SYMBOL.fullmatch(symbol.name) is not None


_OPERATORS = frozenset(("/", "%", ">>", "&", "<<", "~"))


def _has_term(atom: Atom) -> bool:
    if isinstance(atom, Symbol):
        return True
    inner = (each for operand in atom.operands for product, _ in operand.products for each in product)
    return atom.operator in _OPERATORS and all(map(_has_term, inner))


@record
class _TouchedArray:
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


def _term(table: TermTable, total: SymbolicSum) -> Term:
    found = table.const(0)
    for product, count in sorted(total.items(), key=repr):
        part = table.const(count)
        for atom in product:
            part = table.op("*", part, _of_atom(table, atom))
        found = table.op("+", found, part)
    return found


def _of_atom(table: TermTable, atom: Atom) -> Term:
    if isinstance(atom, Symbol):
        return table.sym(atom.name)
    operands = (_term(table, dict(each.products)) for each in atom.operands)
    return table.op(atom.operator, *operands, reading=atom.reading)
