"""What definitions are called."""

from __future__ import annotations

import pytest

from smem_lsp.semantics.function_scope import symbol_of
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse


@pytest.mark.parametrize(
    ("head", "symbol"),
    [
        ("int operator+(T a, T b)", "+"),
        ("int operator()(int i)", "()"),
        ("int& operator[](int i)", "[]"),
        ("operator bool() const", "bool"),
        ("T& operator=(const T& o)", "="),
        ("T operator++(int)", "++"),
        ("int plus(int a)", ""),
    ],
)
def test_the_symbol_of_a_definition(head: str, symbol: str) -> None:
    (function,) = parse(SourceText(f"struct T {{ {head} {{ }} }};")).functions
    assert symbol_of(function) == symbol
