"""Numbers that are known but for a multiple, and what operators make of them (Granger, "Static analysis of arithmetical
congruences").

``(n, 0)`` is the number ``n``; ``(n, m)`` is one of ``n``, ``n + m``, ``n + 2 * m`` and so on, none of them negative.
"""

from __future__ import annotations

from math import gcd

from smem_lsp.source.integers import MOST_SHIFTED

Number = tuple[int, int]


def of_two(name: str, one: Number, other: Number) -> Number | None:
    """What an operator makes of two numbers, of which one at least is known but for a multiple; None: anything."""
    (a, m), (b, n) = one, other
    divisor = gcd(m, n)
    if name == "+":
        return (a + b, divisor) if a + b >= 0 else None
    if name == "-":
        return (a - b, m) if not n and a >= b else None
    if name in ("==", "!="):
        return (int(name == "!="), 0) if (a - b) % divisor else None
    if a < 0 or b < 0:
        return None
    if name == "*":
        return a * b, gcd(m * n, a * n, b * m)
    if name in ("^", "|"):
        low = divisor & -divisor  # the bits below are known
        return (a ^ b if name == "^" else a | b) % low, low
    return None if n else _by(name, one, b)


def _by(name: str, one: Number, by: int) -> Number | None:
    """One of some numbers and a number."""
    a, m = one
    if name in ("<<", ">>"):
        if by > MOST_SHIFTED:
            return None
        if name == "<<":
            return a << by, m << by
        name, by = "/", 1 << by
    if name == "&":
        return None if m % (1 << by.bit_length()) else (a & by, 0)
    if name == "/":
        return (a // by, m // by) if by and m % by == 0 else None
    if name == "%" and by:
        left = gcd(m, by)
        return a % left, 0 if left == by else left
    return None


def widened(each: Number, first: Number, modulus: int) -> Number | None:
    """What is kept of a number that every iteration of a loop makes larger. ``first``: what it was in the first one."""
    (n, m), (start, _) = each, first
    m = gcd(m, modulus)
    return None if min(n, start) < 0 or n < start else (start + (n - start) % m, m)
