"""Operators on whole numbers compute what a C++ compiler computes, and are related as the table says."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import pytest
import toolchain
from store import compiled

from smem_lsp.source.integers import (
    ABSORBING,
    BINARY,
    COMMUTATIVE,
    COMPARISONS,
    INFIX,
    MIRRORED,
    NEGATED,
    NEUTRAL,
    NUMERIC,
    OPERATORS,
    TRUTHS,
    UNARY,
    applied,
    in_64_bits,
)

NUMBERS = (0, 1, 2, 3, 7, 31, 32, 63, 64, 1000, -1, -2, -3, -8, -33, -1000)
SIGNS = {"neg": "-", "~": "~", "!": "!"}


def test_they_are_those_of_cpp(tmp_path: Path) -> None:
    """On signed numbers of 64 bits, shifts of negative numbers too, wherever C++ gives a value."""
    compiler = toolchain.require(toolchain.cxx(), "g++ is needed")
    pairs = [
        (name, a, b)
        for name, a, b in product(sorted(INFIX), NUMBERS, NUMBERS)
        if not (name in ("/", "%") and not b) and not (name in ("<<", ">>") and not 0 <= b < 64)
    ]
    single = list(product(sorted(UNARY), NUMBERS))
    texts = [f"{a}L {name} {b}L" for name, a, b in pairs] + [f"{SIGNS[name]}({n}L)" for name, n in single]
    prints = "".join(f'  std::printf("%lld\\n", (long long)({text}));\n' for text in texts)
    (tmp_path / "values.cpp").write_text(f"#include <cstdio>\nint main() {{\n{prints}}}\n")
    command = [compiler, "-w", "-O0", "-std=c++20", "-fwrapv", "values.cpp", "-o", "values"]
    assert compiled(command, tmp_path, ("values",)).code == 0
    program = tmp_path / "values"
    program.chmod(0o755)
    told = subprocess.run([program], capture_output=True, check=True, timeout=60).stdout.split()
    found = [applied(*each) for each in pairs] + [UNARY[name](n) for name, n in single]
    for text, mine, real in zip(texts, found, map(int, told), strict=True):
        assert mine is not None and in_64_bits(mine) == real, text


def test_what_has_no_value() -> None:
    for name, a, b in (("/", 1, 0), ("%", 1, 0), ("<<", 1, 64), ("<<", 1, -1), (">>", 1, 64), ("?:", 1, 1)):
        assert applied(name, a, b) is None


def test_numbers_have_no_bounds() -> None:
    assert applied("+", (1 << 64) - 1, 1) == 1 << 64 and applied("max", 1 << 64, 0) == 1 << 64
    assert in_64_bits(1 << 64) == 0 and in_64_bits(1 << 63) == -(1 << 63)


@pytest.mark.parametrize("name", sorted(COMPARISONS))
def test_comparisons_are_related(name: str) -> None:
    for a, b in product(NUMBERS, NUMBERS):
        assert BINARY[name](a, b) == BINARY[MIRRORED[name]](b, a)
        assert BINARY[name](a, b) != BINARY[NEGATED[name]](a, b)


def test_every_operator_has_its_place() -> None:
    assert NUMERIC | TRUTHS | UNARY.keys() | {"min", "max", "?:"} == OPERATORS
    for name, a, b in product(TRUTHS & BINARY.keys(), NUMBERS, NUMBERS):
        assert applied(name, a, b) in (0, 1)


def test_operands_that_decide_or_change_nothing() -> None:
    for name, n in product(BINARY, NUMBERS):
        if name in NEUTRAL:
            assert applied(name, n, NEUTRAL[name]) == n
            assert name not in COMMUTATIVE or applied(name, NEUTRAL[name], n) == n
        if name in ABSORBING:
            assert applied(name, n, ABSORBING[name]) == ABSORBING[name] == applied(name, ABSORBING[name], n)
    for name in BINARY:
        turned = all(applied(name, a, b) == applied(name, b, a) for a, b in product(NUMBERS, NUMBERS))
        assert turned == (name in COMMUTATIVE)
