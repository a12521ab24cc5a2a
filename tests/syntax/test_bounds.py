"""Hostile and huge texts cost a bounded amount of work, counted in tokens and remembered values, not in seconds."""

from __future__ import annotations

import pytest

from smem_lsp.source import SourceText
from smem_lsp.source.queries import KEPT
from smem_lsp.syntax import blocks, lexer, preprocessed_regions
from smem_lsp.syntax.lexer import regions
from smem_lsp.syntax.parse import parse

KERNEL = "__global__ void k{}(float* p) {{\n  {}\n}}\n"


def joined_tokens(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Tokens of all blocks that are made for a text, every attempt counted."""
    made = 0
    original = blocks._block

    def counting(text: str, tokens: lexer.Tokens, *rest: object) -> blocks.SourceBlock:
        nonlocal made
        made += len(tokens)
        return original(text, tokens, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(blocks, "_block", counting)
    parse(SourceText(text))
    return made


def test_ten_megabytes_are_read_in_pieces_and_forgotten_again() -> None:
    one = "".join(KERNEL.format(i, f"p[{i}] = {i} + 1;  // " + "x" * 150) for i in range(5_000))
    text = one * (10_000_000 // len(one) + 1)
    unit = parse(SourceText(text))
    assert len(unit.functions) == 5_000 * (len(text) // len(one))
    assert 0 < KEPT.bytes <= 2.1 * KEPT.most


@pytest.mark.parametrize(
    "text",
    [
        KERNEL.format(0, "(" * 10_000),
        KERNEL.format(0, "p[0] = " + "(" * 10_000 + "1" + ")" * 10_000 + ";"),
        KERNEL.format(0, "{" * 10_000 + "p[0] = 1;" + "}" * 10_000),
        KERNEL.format(0, "p[0] = 1 + p[1]; " * 12_000),
        "\0" * 100_000,
        KERNEL.format(0, "p[0] = 1;\0 p[1] = 2;"),
    ],
    ids=["open brackets", "nested brackets", "nested braces", "one long line", "only NULs", "a NUL"],
)
def test_a_hostile_text_has_its_tokens_and_an_answer(text: str) -> None:
    unit = parse(SourceText(text))
    for function in unit.functions:
        assert function.body.statements is not None
    tokens = unit.preprocessed.tokens
    assert all(text.startswith(each, at) for each, at in zip(tokens.texts, tokens.offsets))


@pytest.mark.parametrize(
    "piece",
    [
        "int a[] = {{\n}\n",  # a brace is left open in each
        "x\n{\n}\n",  # no piece ends a declaration
        "void f() { {\n}\n",
        "__global__ void k() {\n  (\n}\n",
        "namespace a {\nvoid f() {\n}\n",
    ],
)
def test_pieces_that_stay_open_are_not_read_again_and_again(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = piece * 2_000
    tokens = len(lexer.lex(text))
    assert joined_tokens(text, monkeypatch) <= 40 * tokens  # n log n, not n * n


def test_an_open_parenthesis_joins_few_regions() -> None:
    text = KERNEL.format(0, "f(p") + "".join(KERNEL.format(i, "p[0] = 1;") for i in range(1, 1_000))
    assert len(regions(text)) == 1_000


def test_few_versions_of_a_table_are_kept() -> None:
    first = preprocessed_regions.MacroVersion()
    last = [first.after(((f"N{i}", None),)) for i in range(1_000)][-1]
    assert first.after((("N999", None),)) is last
    assert len(first._following) <= preprocessed_regions._FOLLOWING
