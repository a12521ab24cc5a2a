"""Which definitions are operators, and which of them are no members."""

from __future__ import annotations

import pytest

from smem_lsp.elaborate import operators
from smem_lsp.semantics.types import Record
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse
from smem_lsp.unit.unit_facts import survey_file


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
    assert operators.symbol_of(function) == symbol


def test_friends_are_found_beside_their_class_alone() -> None:
    text = (
        "struct T { friend int operator+(T a, int b) { return 1; } int operator+(float b) { return 2; } };"
        " struct D : T {}; struct U { friend int operator+(U a, int b) { return 3; } };"
        " namespace n { int operator+(T a, T b) { return 4; } } int T::operator+(char c) { return 5; }"
    )
    unit = parse(SourceText(text))
    scope = survey_file(unit).constants

    def found(name: str) -> list[str]:
        record = scope.meaning((name,), (None,))
        assert isinstance(record, Record)
        free = operators.free_candidates(unit.functions, [record], unit.symbols.types)
        return [" ".join(each.body.tokens.texts) for each in free]

    assert found("D") == ["return 1 ;", "return 4 ;"]
    assert found("U") == ["return 3 ;", "return 4 ;"]
