"""Numbers that are written out in a text, which may be of any length: ``int`` raises from 4,300 digits on, and for the
digits of other scripts that ``str.isdigit`` and ``\\d`` let pass."""

from __future__ import annotations

_MOST = 20  # of the largest number of a type of CUDA, 2⁶⁴ - 1


def whole_number(digits: str) -> int | None:
    """The number that decimal digits make; None: they are none, or more than any number of a kernel has."""
    digits = digits.lstrip("0") or digits[:1]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _MOST else None
