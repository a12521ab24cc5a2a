"""The expressions of ``#if``: C++ arithmetic on 64 bits, and never an exception."""

from __future__ import annotations

import pytest

from smem_lsp.source.budget import SECOND, Budget
from smem_lsp.syntax.conditions import evaluate
from smem_lsp.syntax.lexer import lex_macro


def value(expression: str) -> int | None:
    return evaluate(lex_macro(expression)[1])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1 + 2 * 3 - 4 / 2", 5),
        ("(1 + 2) * 3", 9),
        ("10 % 4 << 1 | 1 ^ 3 & 2", 7),
        ("1 < 2 == 1", 1),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("~0", -1),
        ("!!5", 1),
        ("- - 3", 3),
        ("not 0 and (0 or 1)", 1),
        ("0x10 + 010 + 0b11 + 1'000", 16 + 8 + 3 + 1000),
        ("'a' == 97", 1),
        ("'\\n'", 10),
        ("'\\x02'", 2),
        ("'\\101'", 65),
        ("'\\u0041'", 65),
        ("'\\0'", 0),
        ("'\\x4g'", None),
        ("100L == 100ull", 1),
        ("1 ? 2 : 3 ? 4 : 5", 2),
        ("0 ? 2 : 0 ? 4 : 5", 5),
        ("-1 < 0u", 0),
        ("-1 > 0u", 1),
        ("-1 >> 1", -1),
        ("0u - 1 == 18446744073709551615", 1),
        ("0xFFFFFFFFFFFFFFFF > 0", 1),
        ("9223372036854775807 + 1", -9223372036854775808),
        ("1 << 63 >> 63", -1),
        ("(2 || 1 / 0) && !(0 && 1 % 0)", 1),
        ("1 ? 3 : 1 / 0", 3),
        ("(0 ? -1 : 0u) == 0", 1),
        ("unknown + true - false", 1),
        ("__is_target(a, (b)) || 4", 1),
    ],
)
def test_values(expression: str, expected: int) -> None:
    assert value(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "(1",
        "1)",
        "1 2",
        "1 / 0",
        "5 % 0u",
        "1 << 64",
        "1 << -1",
        "1 ? 2",
        "f(",
        '"a"',
        "1.5",
        "= 1",
        "08",
    ],
)
def test_no_value(expression: str) -> None:
    assert value(expression) is None


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 100_000 + "1" + ")" * 100_000,
        "!" * 100_000 + "1",
        "1" + " + 1" * 100_000,
        "9" * 100_000,
        "1 << 99999999999999999999",
        "1 ? " * 50_000 + "1",
    ],
)
def test_bounded(expression: str) -> None:
    words = lex_macro(expression)[1]
    with Budget(units=SECOND):
        evaluate(words)
