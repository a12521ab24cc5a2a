"""Intervals: the least and the largest number that a value may be, and what operators make of them.

Both ends belong to an interval. Operators are those of C on numbers without bounds, as ``source/integers.py`` has them;
what an operator has no value for is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from smem_lsp.source.integers import MOST_SHIFTED

INFINITE = 1 << 64  # at or beyond it: unbounded
Interval = tuple[int, int]

ANY: Interval = (-INFINITE, INFINITE)


def of_one(name: str, a: Interval) -> Interval:
    """What an operator makes of one number."""
    if name == "neg":
        return -a[1], -a[0]
    return _difference((-1, -1), a) if name == "~" else _opposite(a) if name == "!" else ANY


def of_two(name: str, a: Interval, b: Interval, *, signed: bool = False) -> Interval:
    """What an operator makes of two numbers. ``signed``: it reads them as numbers with a sign; else it is not known
    what those that round make of negative ones."""
    computes = _OF_INTEGERS.get(name)
    if computes is None and b[0] >= 0:
        if a[0] >= 0:
            computes = _OF_NATURALS.get(name)
        elif signed:
            computes = _OF_SIGNED.get(name)
    return ANY if computes is None else computes(a, b)


def narrowed(a: Interval, name: str, b: Interval) -> Interval:
    """What is left of ``a`` where a comparison with ``b`` holds: where none can, the least is more than the largest.
    Another operator leaves all."""
    (low, high), (least, most) = a, b
    if name in ("<", "<="):
        high = min(high, most - (name == "<" and most < INFINITE))
    elif name in (">", ">="):
        low = max(low, least + (name == ">" and least > -INFINITE))
    elif name == "==":
        low, high = max(low, least), min(high, most)
    elif name == "!=" and least == most:
        low, high = low + (low == least), high - (high == most)
    return low, high


def wrapped(a: Interval, mask: int) -> Interval:
    """As an unsigned type reads it that makes ``mask`` of -1."""
    if a[0] >= 0:
        return a
    return (a[0] + mask + 1, a[1] + mask + 1) if -mask <= a[0] and a[1] < 0 else (0, mask)


def all_ones(n: int) -> int:
    """The largest number with as many bits."""
    return (1 << n.bit_length()) - 1 if n < INFINITE else INFINITE


def _truth(a: Interval) -> Interval:
    if a == (0, 0):
        return 0, 0
    return (1, 1) if a[0] > 0 or a[1] < 0 else (0, 1)


def _opposite(a: Interval) -> Interval:
    low, high = _truth(a)
    return 1 - high, 1 - low


def _less(a: Interval, b: Interval) -> Interval:
    return int(a[1] < b[0]), int(a[0] < b[1])


def _equal(a: Interval, b: Interval) -> Interval:
    same = a == b and a[0] == a[1]
    return int(same), int(a[0] <= b[1] and b[0] <= a[1])


def _sum(a: Interval, b: Interval) -> Interval:
    """What is unbounded stays so, whatever is taken away from it."""
    low = a[0] + b[0] if a[0] > -INFINITE and b[0] > -INFINITE else -INFINITE
    return low, a[1] + b[1] if a[1] < INFINITE and b[1] < INFINITE else INFINITE


def _difference(a: Interval, b: Interval) -> Interval:
    return _sum(a, (-b[1], -b[0]))


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _smaller(a: Interval, b: Interval) -> Interval:
    return min(a[0], b[0]), min(a[1], b[1])


def _larger(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), max(a[1], b[1])


def _masked(a: Interval, b: Interval) -> Interval:
    """``a & b``, which is not negative if either side is not."""
    for side, mask in ((a, b), (b, a)):
        if _rounds_down(mask) and side[0] >= 0 and side[1] < INFINITE:
            return side[0] & mask[0], side[1] & mask[0]
    highs = [side[1] for side in (a, b) if side[0] >= 0]
    return (0, min(highs)) if highs else ANY


def _rounds_down(mask: Interval) -> bool:
    """Is it one negative number that masks all but the lowest bits: down to a multiple of a power of two?"""
    low, high = mask
    return low == high < 0 and -low & -low - 1 == 0


def _quotient(a: Interval, b: Interval) -> Interval:
    return (a[0] // max(b[1], 1), a[1] // max(b[0], 1)) if a[1] < INFINITE else (0, INFINITE)


def _remainder(a: Interval, b: Interval) -> Interval:
    if b[1] <= 0:
        return ANY
    return a if a[1] < b[0] else (0, min(a[1], b[1] - 1))


def _shifted_right(a: Interval, b: Interval) -> Interval:
    return (
        (a[0] >> min(b[1], MOST_SHIFTED), a[1] >> min(b[0], MOST_SHIFTED))
        if a[1] < INFINITE
        else (0, INFINITE)
    )


def _shifted_left(a: Interval, b: Interval) -> Interval:
    least, most = (max(min(end, MOST_SHIFTED), 0) for end in b)
    return a[0] << (least if a[0] >= 0 else most), a[1] << (most if a[1] >= 0 else least)


def _bits_of_either(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), all_ones(max(a[1], b[1]))


def _bits_of_one(a: Interval, b: Interval) -> Interval:
    return 0, all_ones(max(a[1], b[1]))


def _signed_quotient(a: Interval, b: Interval) -> Interval:
    return _quotients(a[0], b)[0], _quotients(a[1], b)[1]


def _quotients(n: int, by: Interval) -> Interval:
    """``n / d`` for all ``d`` that are not 0."""
    if abs(n) >= INFINITE:
        return (0, n) if n > 0 else (n, 0)
    ends = [abs(n) // max(end, 1) * (1 if n >= 0 else -1) for end in by]
    return min(ends), max(ends)


def _signed_remainder(a: Interval, b: Interval) -> Interval:
    most = max(b[1] - 1, 0)
    return max(a[0], -most), min(max(a[1], 0), most)


def _signed_shifted_right(a: Interval, b: Interval) -> Interval:
    least, largest = min(b[0], MOST_SHIFTED), min(b[1], MOST_SHIFTED)
    low = a[0] >> least if a[0] > -INFINITE else -INFINITE
    return low, a[1] >> (least if a[1] >= 0 else largest) if a[1] < INFINITE else INFINITE


_Transfer = Mapping[str, Callable[[Interval, Interval], Interval]]

_OF_INTEGERS: _Transfer = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "<<": _shifted_left,
    "min": _smaller,
    "max": _larger,
    "&": _masked,
    "<": _less,
    ">": lambda a, b: _less(b, a),
    "<=": lambda a, b: _opposite(_less(b, a)),
    ">=": lambda a, b: _opposite(_less(a, b)),
    "==": _equal,
    "!=": lambda a, b: _opposite(_equal(a, b)),
    "&&": lambda a, b: _smaller(_truth(a), _truth(b)),
    "||": lambda a, b: _larger(_truth(a), _truth(b)),
}
_OF_NATURALS: _Transfer = {
    "/": _quotient,
    "%": _remainder,
    ">>": _shifted_right,
    "|": _bits_of_either,
    "^": _bits_of_one,
}
_OF_SIGNED: _Transfer = {
    "/": _signed_quotient,
    "%": _signed_remainder,
    ">>": _signed_shifted_right,
}
