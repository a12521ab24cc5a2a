"""Integer expressions of ``#if``: a small bounded evaluator, never ``eval`` on user text.

C rules in 64-bit two's complement (C++ [cpp.cond]): a remaining identifier is 0, ``true`` is 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.source.integers import TRUTHS, applied, in_64_bits
from smem_lsp.source.queries import remembered
from smem_lsp.source.regex import regex

_NUMBER = regex(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)(?:[uUlLzZ]*)\Z")
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
_STRENGTH = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}
_UNARY = frozenset(("!", "-", "+", "~", "not", "compl"))
_SPELLED_OUT = {"and": "&&", "or": "||", "bitand": "&", "bitor": "|", "xor": "^", "not_eq": "!="}
_MAX_DEPTH = 100  # nested parentheses
_MAX_TOKENS = 20_000
_MAX_DIGITS = 64
_ALL_BITS = (1 << 64) - 1
_MAX_SIGNED = (1 << 63) - 1


def parse_integer(spelling: str) -> int | None:
    """Value of an integer or character literal; None for anything else."""
    found = _NUMBER.match(spelling.replace("'", "") if spelling[:1].isdigit() else "")
    if found:
        digits = found[1]
        if len(digits) > _MAX_DIGITS:
            return None
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
        return _escaped(body[1:]) if body[:1] == "\\" else None
    return None


def _escaped(body: str) -> int | None:
    """The character behind a backslash ([lex.ccon])."""
    if _OCTAL.fullmatch(body):
        return int(body, 8)
    found = _HEXADECIMAL.fullmatch(body)
    return int(found[1], 16) if found else _ESCAPES.get(body)


_OCTAL = regex(r"[0-7]{1,3}")
_HEXADECIMAL = regex(r"(?:x|u(?=.{4}$)|U(?=.{8}$))([0-9a-fA-F]{1,8})")


@remembered(most=8192)
def _evaluated(spellings: tuple[str, ...]) -> tuple[int | None, tuple[str, ...]]:
    """The value, and the names that count in it."""
    reader = _Reader(spellings)
    try:
        value = reader.conditional(0, wanted=True)
    except _Malformed:
        return None, spellings
    return (value[0], tuple(reader.names)) if reader.at == len(spellings) else (None, spellings)


def evaluate(spellings: Sequence[str]) -> int | None:
    """Value of a fully expanded ``#if`` expression; None if it is malformed, undefined, too deep or too long.

    C++ [cpp.cond]: operands have 64 bits, unsigned if either is; an unevaluated operand (after ``0 &&``, say) may
    divide by zero.
    """
    return _evaluated(tuple(spellings))[0] if len(spellings) <= _MAX_TOKENS else None


def counting_names(spellings: Sequence[str]) -> tuple[str, ...]:
    """The words of a fully expanded ``#if`` expression on whose values it rests: of ``1 || N > 2`` none. All of them
    where it has no value."""
    return _evaluated(tuple(spellings))[1] if len(spellings) <= _MAX_TOKENS else tuple(spellings)


class _Malformed(Exception):
    """Not an expression, or one without a value."""


_Value = tuple[int, bool]  # the value, is it unsigned


class _Reader:
    """Reads an expression by precedence climbing and computes it on the way."""

    __slots__ = ("at", "names", "spellings")

    def __init__(self, spellings: tuple[str, ...]) -> None:
        self.spellings = spellings
        self.at = 0
        self.names: list[str] = []  # that count

    def _peek(self) -> str:
        return self.spellings[self.at] if self.at < len(self.spellings) else ""

    def _take(self, wanted: str = "") -> str:
        token = self._peek()
        if not token or (wanted and token != wanted):
            raise _Malformed
        self.at += 1
        return token

    def conditional(self, depth: int, *, wanted: bool) -> _Value:
        """``wanted`` False: skip the expression, its value does not matter."""
        if depth > _MAX_DEPTH:
            raise _Malformed
        condition = self._binary(0, depth, wanted=wanted)
        if self._peek() != "?":
            return condition
        self._take()
        yes = self.conditional(depth + 1, wanted=wanted and condition[0] != 0)
        self._take(":")
        no = self.conditional(depth + 1, wanted=wanted and condition[0] == 0)
        chosen = yes if condition[0] else no
        return _converted(chosen[0], yes[1] or no[1])

    def _binary(self, level: int, depth: int, *, wanted: bool) -> _Value:
        left = self._unary(depth, wanted=wanted)
        while True:
            operator = _SPELLED_OUT.get(self._peek(), self._peek())
            strength = _STRENGTH.get(operator, -1)
            if strength < level:
                return left
            self._take()
            skips = (operator == "&&" and not left[0]) or (operator == "||" and bool(left[0]))
            evaluated = wanted and not skips
            right = self._binary(strength + 1, depth, wanted=evaluated)
            if skips:
                left = int(operator == "||"), False
            elif evaluated:
                left = _apply(operator, left, right)
            else:
                left = 0, left[1] or right[1]

    def _unary(self, depth: int, *, wanted: bool) -> _Value:
        operators: list[str] = []
        while self._peek() in _UNARY:
            operators.append(self._take())
        value = self._primary(depth, wanted=wanted)
        for operator in reversed(operators):
            match operator:
                case "!" | "not":
                    value = int(value[0] == 0), False
                case "-":
                    value = _converted(-value[0], value[1])
                case "~" | "compl":
                    value = _converted(~value[0], value[1])
        return value

    def _primary(self, depth: int, *, wanted: bool) -> _Value:
        token = self._take()
        if token == "(":
            value = self.conditional(depth + 1, wanted=wanted)
            self._take(")")
            return value
        if token == "true":
            return 1, False
        if token[0].isalpha() or token[0] in "_$":
            self.names += (token,) if wanted else ()
            if self._peek() == "(":  # an unknown function-like test such as __is_target(x)
                self._pass_over_parentheses()
            return 0, False
        number = parse_integer(token)
        if number is None:
            raise _Malformed
        unsigned = token[0].isdigit() and ("u" in token.lower() or number > _MAX_SIGNED)
        return _converted(number, unsigned)

    def _pass_over_parentheses(self) -> None:
        nesting = 0
        while True:
            nesting += {"(": 1, ")": -1}.get(self._take(), 0)
            if nesting == 0:
                return


def _converted(value: int, unsigned: bool) -> _Value:
    return (value & _ALL_BITS, True) if unsigned else (in_64_bits(value), False)


def _apply(operator: str, left: _Value, right: _Value) -> _Value:
    a, b = left[0], right[0]
    shifts = operator in ("<<", ">>")
    unsigned = left[1] or (right[1] and not shifts)
    if unsigned and not shifts:
        a, b = a & _ALL_BITS, b & _ALL_BITS
    value = applied(operator, a, b)
    if value is None:
        raise _Malformed
    return _converted(value, unsigned and operator not in TRUTHS)
