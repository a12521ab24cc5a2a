"""Which tile a matrix descriptor names: the bytes that the address in it was made from.

``desc = (address & 0x3FFFF) >> 4 | stride << 32``: what the fields make of it is a question of the instruction that
reads it (PTX ISA, "Shared Memory Matrix Layout"); that it begins in the tile whose address went in is what its author
means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from smem_lsp.analysis.values.extents import Extent
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access
from smem_lsp.ir.values import OF_ADDRESS
from smem_lsp.source import checkpoint
from smem_lsp.terms.intervals import INFINITE
from smem_lsp.terms.language import Op, Term


def described(
    values: ValueFacts, bounds: Callable[[Access], Bounds], accesses: Iterable[Access]
) -> Mapping[int, Extent]:
    """Access through a descriptor (its point) -> (first byte, end byte) that the address in it may be of. Without those
    of which that is not known."""
    found: dict[int, Extent] = {}
    for access in accesses:
        checkpoint()
        address = _address(values.moved[access.point][0]) if access.point in values.moved else None
        if address is not None and address.known:
            low, high = bounds(access).interval(address)
            if low >= 0 and high < INFINITE:
                found[access.point] = low, high + 1
    return found


def _address(term: Term) -> Term | None:
    """The address that a number is made of; None: it is no such number, or not made of one alone."""
    if not isinstance(term, Op):
        return None
    if term.operator.startswith(OF_ADDRESS):
        return _address(term.args[0]) or term.args[0]
    found = [each for each in map(_address, term.args) if each is not None]
    return found[0] if len(found) == 1 else None
