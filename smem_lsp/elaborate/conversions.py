"""The conversions between numbers that C++ makes without being asked, and those that a cast asks for, as data.

C++ standard, [conv.prom], [conv.integral], [conv.fpint], [conv.double], [conv.bool]. Which types an operator converts
its operands to, [expr.arith.conv], stands in ``semantics.arithmetic``.
"""

from __future__ import annotations

import enum

from smem_lsp.semantics.types import Scalar, Type, plain_type, scalar_of
from smem_lsp.source import record


class NumberConversion(enum.Enum):
    """What becomes of a number in another type."""

    SAME = enum.auto()  # the type holds each value of the other one
    CUT = enum.auto()  # an integer modulo 2**bits, with the sign that the bits then say
    TRUTH = enum.auto()  # is it not 0?
    TO_REAL = enum.auto()  # an integer as a number with a point
    OF_REAL = enum.auto()  # a number with a point without what stands behind the point
    BETWEEN_REALS = enum.auto()
    UNKNOWN = enum.auto()  # one of the types is not known, or is no type of numbers


@record
class Conversion:
    """From one type to another; None: not known, or no type of numbers."""

    effect: NumberConversion
    given: Scalar | None
    wanted: Scalar | None


def conversion(given: Type | None, wanted: Type | None) -> Conversion:
    """What happens to a value of type ``given`` where one of type ``wanted`` is initialised with it or assigned it."""
    one, other = _number(given), _number(wanted)
    return Conversion(_effect(one, other), one, other)


def bits_of(kind: Scalar) -> int:
    """How many bits an integer type has."""
    return kind.bits or 8 * kind.size


def range_of(kind: Scalar) -> tuple[int, int]:
    """The least and the largest value of an integer type."""
    if kind.kind == "bool":
        return 0, 1
    bits = bits_of(kind)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind.signed else (0, (1 << bits) - 1)


def is_integer(kind: Scalar | None) -> bool:
    """Is it an integer type, ``bool`` included?"""
    return kind is not None and kind.kind in ("int", "bool")


def _number(kind: Type | None) -> Scalar | None:
    found = scalar_of(plain_type(kind))
    return found if found is not None and found.kind in ("int", "bool", "float") else None


def _effect(given: Scalar | None, wanted: Scalar | None) -> NumberConversion:
    if given is None or wanted is None:
        return NumberConversion.UNKNOWN
    if given == wanted:
        return NumberConversion.SAME
    if wanted.kind == "bool":
        return NumberConversion.TRUTH
    if wanted.kind == "float":
        return NumberConversion.BETWEEN_REALS if given.kind == "float" else NumberConversion.TO_REAL
    if given.kind == "float":
        return NumberConversion.OF_REAL
    (low, high), (least, most) = range_of(given), range_of(wanted)
    return NumberConversion.SAME if least <= low and high <= most else NumberConversion.CUT
