"""Constants of floating-point types, as numbers: each is the value that its type holds.

C++ standard, [lex.fcon], [conv.double], [conv.fpint], with the formats of IEEE 754: ``float`` has 24 bits, ``double``
53. A decimal that is too close to halfway between two numbers of ``float`` is not known.
"""

from __future__ import annotations

import math
import struct

from smem_lsp.semantics.types import FLOAT, Scalar

Ratio = tuple[int, int]  # numerator and denominator, a power of two

EXACT_BITS = 24  # of float: integers of so many bits are among its numbers


def literal_ratio(text: str) -> Ratio | None:
    """The value of a floating-point literal in the type that its suffix says; None: it is none, infinite or not
    known."""
    digits = text.replace("'", "").rstrip("lL")
    hexadecimal = text[:2].lower() == "0x"
    narrow = digits[-1:] in ("f", "F") and (not hexadecimal or "p" in digits.lower())
    digits = digits[:-1] if narrow else digits
    try:
        number = float.fromhex(digits) if hexadecimal else float(digits)
        if not narrow:
            return number.as_integer_ratio()
        below, above = (_in_float(math.nextafter(number, to)) for to in (-math.inf, math.inf))
        exact = _in_float(number)
        return exact.as_integer_ratio() if exact == number or below == above else None
    except (ValueError, OverflowError):
        return None


def in_type(known: Ratio, kind: Scalar) -> Ratio | None:
    """A number rounded to the nearest of a floating-point type, a tie to the even one; None: it is not known, or is
    infinite. ``known``: an integer, or a number of ``double``."""
    numerator, denominator = known
    try:
        if denominator == 1:
            return _in_bits(numerator, EXACT_BITS if kind == FLOAT else 53), 1
        number = numerator / denominator
        if number.as_integer_ratio() != known:
            return None
        return (_in_float(number) if kind == FLOAT else number).as_integer_ratio()
    except OverflowError:
        return None


def _in_float(number: float) -> float:
    (found,) = struct.unpack("<f", struct.pack("<f", number))
    return float(found)


def _in_bits(n: int, bits: int) -> int:
    """An integer with no more than this many bits in front of its zeros."""
    lost = abs(n).bit_length() - bits
    if lost <= 0:
        return n
    unit = 1 << lost
    whole, rest = divmod(abs(n), unit)
    up = 2 * rest > unit or (2 * rest == unit and whole % 2 == 1)
    return (whole + up) * unit * (1 if n > 0 else -1)
