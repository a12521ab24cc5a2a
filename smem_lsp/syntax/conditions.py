"""Integer expressions of ``#if``: a small bounded evaluator, never ``eval`` on user text.

C rules with 64-bit two's complement (C++ [cpp.cond]): an identifier left over is 0, ``true`` is 1, division by
zero or anything malformed gives None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)(?:[uUlLzZ]*)\Z")
_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39, '"': 34}
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_MAX_DEPTH = 100


def parse_integer(spelling: str) -> int | None:
    """Value of an integer or character literal; None for anything else."""
    found = _NUMBER.match(spelling.replace("'", "") if spelling[:1].isdigit() else "")
    if found:
        digits = found[1]
        base = (
            16
            if digits[:2] in ("0x", "0X")
            else 2
            if digits[:2] in ("0b", "0B")
            else 8
            if digits[0] == "0"
            else 10
        )
        return int(digits if base != 8 else digits or "0", base) if digits != "0" else 0
    if spelling[:1] == "'" and spelling[-1:] == "'":
        body = spelling[1:-1]
        if len(body) == 1:
            return ord(body)
        if len(body) == 2 and body[0] == "\\":
            return _ESCAPES.get(body[1])
    return None


def wrap(value: int) -> int:
    """Two's complement of 64 bits."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    return value - (1 << 64) if value >> 63 else value


def apply_operator(operator: str, a: int, b: int) -> int | None:
    """``a operator b`` as C computes it on 64-bit integers; None when undefined (division by zero, wild shifts)."""
    if operator in ("/", "%"):
        if b == 0:
            return None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return wrap(quotient if operator == "/" else a - quotient * b)
    if operator in ("<<", ">>"):
        if not 0 <= b < 64:
            return None
        return wrap(a << b if operator == "<<" else a >> b)
    match operator:
        case "+":
            result = a + b
        case "-":
            result = a - b
        case "*":
            result = a * b
        case "&":
            result = a & b
        case "|":
            result = a | b
        case "^":
            result = a ^ b
        case "&&":
            result = int(a != 0 and b != 0)
        case "||":
            result = int(a != 0 or b != 0)
        case "==":
            result = int(a == b)
        case "!=":
            result = int(a != b)
        case "<":
            result = int(a < b)
        case "<=":
            result = int(a <= b)
        case ">":
            result = int(a > b)
        case ">=":
            result = int(a >= b)
        case _:
            return None
    return wrap(result)


def evaluate(spellings: Sequence[str]) -> int | None:
    """Value of a fully expanded ``#if`` expression, or None when it is malformed or too deep."""
    position = 0

    def peek() -> str:
        return spellings[position] if position < len(spellings) else ""

    def take() -> str:
        nonlocal position
        position += 1
        return spellings[position - 1] if position <= len(spellings) else ""

    def ternary(depth: int) -> int | None:
        if depth > _MAX_DEPTH:
            return None
        condition = binary(0, depth + 1)
        if peek() != "?":
            return condition
        take()
        yes = ternary(depth + 1)
        if take() != ":":
            return None
        no = ternary(depth + 1)
        return None if condition is None else yes if condition else no

    def binary(level: int, depth: int) -> int | None:
        if level == len(_LEVELS):
            return unary(depth)
        left = binary(level + 1, depth)
        while peek() in _LEVELS[level]:
            operator = take()
            right = binary(level + 1, depth)
            if operator == "&&" and left == 0:
                left = 0
            elif operator == "||" and left:
                left = 1
            elif left is None or right is None:
                left = None
            else:
                left = apply_operator(operator, left, right)
        return left

    def unary(depth: int) -> int | None:
        if depth > _MAX_DEPTH:
            return None
        token = take()
        if token in ("!", "not"):
            value = unary(depth + 1)
            return None if value is None else int(not value)
        if token in ("-", "+", "~"):
            value = unary(depth + 1)
            if value is None:
                return None
            return wrap(-value if token == "-" else ~value if token == "~" else value)
        if token == "(":
            value = ternary(depth + 1)
            return value if take() == ")" else None
        if token == "true":
            return 1
        if token and (token[0].isalpha() or token[0] in "_$"):
            if peek() == "(":  # an unknown function-like test such as __has_feature(x)
                nesting = 0
                while peek():
                    nesting += {"(": 1, ")": -1}.get(take(), 0)
                    if nesting == 0:
                        break
            return 0
        number = parse_integer(token)
        return None if number is None else wrap(number)

    value = ternary(0)
    return value if position == len(spellings) else None
