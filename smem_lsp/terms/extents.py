"""How large the numbers get that an expression makes of threads, constants and what is free, in unbounded arithmetic.

What is not known - a parameter, what is loaded, a counter - is taken to be small here: an expression that leaves its
type even so is one that is meant to wrap, or to lose bits. Whether the others wrap depends on numbers that nobody
knows; that they do not is assumed.
"""

from __future__ import annotations

from typing import NamedTuple

from smem_lsp.source.integers import MOST_SHIFTED, TRUTHS, UNARY
from smem_lsp.terms.bit_functions import MOST
from smem_lsp.terms.intervals import ANY, of_one, of_two, wrapped
from smem_lsp.terms.operators import OperandType

_LARGEST = 1 << 128  # beyond every type
_SMALL = 1023  # what is free is at most that
_SIZE = 1024  # threads of a block along one axis


class Extent(NamedTuple):
    """The least and the largest number. ``certain``: nothing that is free has a part in it."""

    low: int
    high: int
    certain: bool = True


FREE = Extent(0, _SMALL, False)
WIDE = Extent(0, (1 << 31) - 1, False)  # of a parameter, if it is as large as an ``int`` holds
THREAD = Extent(0, _SIZE - 1)
TRUTH = Extent(0, 1)
_RANGES = {
    OperandType.INT: (-(1 << 31), (1 << 31) - 1),
    OperandType.UNSIGNED: (-(1 << 32), (1 << 32) - 1),
    OperandType.LONG: (-(1 << 63), (1 << 63) - 1),
    OperandType.UNSIGNED_LONG: (-(1 << 64), (1 << 64) - 1),
}


def of_symbol(name: str) -> Extent:
    """Of a parameter, or of the size of the block."""
    return Extent(1, _SIZE) if name.startswith("blockDim.") else FREE


def of_operation(
    operator: str, args: tuple[Extent, ...], reading: OperandType = OperandType.UNKNOWN
) -> Extent:
    """The extent of what an operator, as C spells it, makes of operands of these extents. ``reading``: as what it reads
    them."""
    if operator in TRUTHS:
        return TRUTH
    if operator == "?:":
        return either(args[1], args[2])
    if operator in MOST:
        return Extent(0, MOST[operator])
    if len(args) == 1:
        return Extent(*of_one(operator, args[0][:2]), args[0].certain) if operator in UNARY else FREE
    if len(args) != 2:
        return FREE
    one, other = (_read(each, reading) for each in args)
    found = _of_two(operator, one, args[1] if operator == ">>" else other)
    return Extent(max(found.low, -_LARGEST), min(found.high, _LARGEST), found.certain)


def leaves(extent: Extent, reading: OperandType) -> bool:
    """Are there numbers in it that a type does not hold? An unsigned one holds them but for a multiple of 2**bits,
    which who reads it adds to a negative number."""
    if reading is OperandType.UNKNOWN:
        return False
    low, high = _RANGES[reading]
    return extent.low < low or extent.high > high


def bits_of(reading: OperandType) -> int:
    return 32 if reading in (OperandType.INT, OperandType.UNSIGNED) else 64


def _read(extent: Extent, reading: OperandType) -> Extent:
    """As an operator reads it: an unsigned type makes a large number of one below 0. What is free is taken not to get
    there."""
    if reading.mask is None or extent.low >= 0:
        return extent
    if extent.certain:
        return Extent(*wrapped(extent[:2], reading.mask))
    return Extent(0, max(extent.high, _SMALL), False)


def either(a: Extent, b: Extent) -> Extent:
    """Of a number that is one of two."""
    return Extent(min(a.low, b.low), max(a.high, b.high), a.certain and b.certain)


def _of_two(operator: str, a: Extent, b: Extent) -> Extent:
    if operator == "&":
        return _masked(a, b)
    if operator in ("/", "%") and b.low <= 0:
        return FREE
    if operator in ("<<", ">>") and not (b.certain and b.low >= 0 and b.high <= MOST_SHIFTED):
        return FREE if operator == "<<" else Extent(min(a.low, 0), max(a.high, 0), a.certain)
    found = of_two(operator, a[:2], b[:2])
    return FREE if found == ANY else Extent(*found, a.certain and b.certain)


def _masked(a: Extent, b: Extent) -> Extent:
    """``a & b``: no more than either that is not negative."""
    natural = [each for each in (a, b) if each.low >= 0]
    if not natural:
        return FREE
    sure = [each.high for each in natural if each.certain]
    return Extent(0, min(sure) if sure else min(each.high for each in natural), bool(sure))
