"""The tables of the parser, and that its loop over them gives what Lark's own loop gives."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lark import Lark, Transformer
from lark.exceptions import UnexpectedInput
from lark.lexer import Lexer

from smem_lsp.source import SourceText
from smem_lsp.syntax import grammar, tree
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.build import TreeBuilder
from smem_lsp.syntax.chunker import cut
from smem_lsp.syntax.classify import Classifier
from smem_lsp.syntax.grammar_tokens import GrammarToken, NotRead
from smem_lsp.syntax.lookahead import Lookahead
from smem_lsp.syntax.parse import Body, parse
from smem_lsp.syntax.tables import STARTS

KERNELS = sorted((Path(__file__).parents[1] / "kernels").glob("*.cu"))


def expressions(body: Body) -> list[list[GrammarToken]]:
    """The marks of the expression statements of a body."""
    found: list[list[GrammarToken]] = []
    stack: list[tree.Statement] = [body.statements]
    while stack:
        node = stack.pop()
        if isinstance(node, tree.Block):
            stack += node.statements
        elif isinstance(node, tree.For | tree.While | tree.Switch | tree.DoWhile):
            stack.append(node.body)
        elif isinstance(node, tree.ExpressionStatement):
            lo, hi = node.chunk
            kinds, texts = body.tokens.kinds[lo:hi], body.tokens.texts[lo:hi]
            classifier = Classifier(Lookahead(kinds, texts, match_brackets(kinds), body.symbols))
            try:
                classifier.expression(0, hi - lo)
            except NotRead:
                continue
            found.append(classifier.marks)
    return found


class Marks(Lexer):
    """Passes marks on to the parser."""

    __future_interface__ = 1

    def __init__(self, _: object) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
        yield from map(borrowed, lexer_state.text)


class LarksMark(GrammarToken):
    """A mark with what Lark copies from the last one to its end mark."""

    start_pos = end_pos = line = column = end_line = end_column = None


def borrowed(mark: GrammarToken) -> Any:
    return LarksMark(mark.type, mark.lo, mark.hi, mark.text)


class LarksBuilder(TreeBuilder, Transformer[Any, Any]):
    """What makes the nodes, as Lark wants it."""


@pytest.fixture(scope="module")
def larks() -> Lark:
    text = (Path(__file__).parents[2] / "grammar" / "cuda.lark").read_text("utf-8")
    builder = LarksBuilder(visit_tokens=False)
    return Lark(text, parser="lalr", lexer=Marks, start=list(STARTS), transformer=builder)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.name)
def test_the_trees_of_a_file_are_larks_trees(path: Path, larks: Lark) -> None:
    for function in parse(SourceText(path.read_text("utf-8"))).functions:
        body = function.body
        marks = cut(body.ahead, 0, len(body.tokens), body.line_start).marks
        assert repr(grammar.parse("statements", marks)) == read(larks, "statements", marks)
        for chunk in expressions(body):
            assert repr(grammar.parse("expression", chunk)) == read(larks, "expression", chunk)


def read(larks: Lark, start: str, marks: Sequence[GrammarToken]) -> str:
    given: Any = marks
    return repr(larks.parse(given, start=start)).replace("LarksMark", "GrammarToken")


@pytest.mark.parametrize("kinds", [["NAME", "NAME"], ["LP"], ["NAME", "SIGN"], ["RP"], []])
def test_marks_that_do_not_fit_are_refused_as_lark_refuses_them(kinds: list[str], larks: Lark) -> None:
    marks = marks_of(kinds)
    with pytest.raises(grammar.GrammarRefused):
        grammar.parse("expression", marks)
    with pytest.raises(UnexpectedInput):
        read(larks, "expression", marks)


def marks_of(kinds: Sequence[str]) -> list[GrammarToken]:
    return [GrammarToken(kind, i, i + 1, kind) for i, kind in enumerate(kinds)]


WHOLE = "OPEN CHUNK_EXPR SEMI IF COND OPEN CLOSE ELSE SEMI FOR HEAD CHUNK_DECL SEMI CLOSE".split()


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_one_that_is_fed_mark_by_mark_takes_what_lark_takes(length: int, larks: Lark) -> None:
    other: Any = larks.parse_interactive(start="statements")
    parser = grammar.Repairing()
    for mark in marks_of(WHOLE[:length]):
        parser.feed(mark)
        other.feed_token(borrowed(mark))
    kinds = {*WHOLE, "$END", "RP", "WHILE", "DO", "CATCH", "COLON"}
    assert {kind for kind in kinds if parser.accepts(kind)} == other.accepts() & kinds
    for kind in kinds - other.accepts():
        with pytest.raises(grammar.GrammarRefused):
            grammar.parse("statements", marks_of([*WHOLE[:length], kind]))


def test_one_that_is_fed_goes_on_after_a_mark_that_it_refuses() -> None:
    parser = grammar.Repairing()
    *most, last = marks_of(["IF", "COND", "SEMI", "$END"])
    for mark in most[:2]:
        parser.feed(mark)
    with pytest.raises(grammar.GrammarRefused):
        parser.feed(last)
    parser.feed(most[2])
    assert repr(parser.feed(last)) == repr(grammar.parse("statements", most))


def test_the_tables_are_kept_and_a_damaged_file_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grammar, "cache_folder", lambda: tmp_path)
    first = grammar.load()
    (kept,) = tmp_path.iterdir()
    known = kept.read_bytes()
    monkeypatch.setattr(grammar, "made", None)  # not once more
    assert grammar.load() == first

    monkeypatch.undo()
    monkeypatch.setattr(grammar, "cache_folder", lambda: tmp_path)
    tables = json.loads(known.partition(b"\n")[2])
    actions = tables["states"][0]
    at = known.index(b'"states":[[') + len(b'"states":[[')
    for damaged in (
        known[:-9],
        b"{}",
        known.replace(b'"ends"', b'"nods"'),
        with_checksum({**tables, "states": [[actions[0], len(tables["states"]), *actions[2:]]]}),
        known[:at] + bytes([known[at] ^ 1]) + known[at + 1 :],  # another digit
    ):
        assert damaged != known
        kept.write_bytes(damaged)
        assert grammar.load() == first  # in whichever order Lark had them
        assert kept.read_bytes() == known


def with_checksum(tables: object) -> bytes:
    text = json.dumps(tables).encode()
    return b"%x\n%b" % (zlib.crc32(text), text)


def test_a_folder_where_the_tables_should_be_costs_time_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grammar, "cache_folder", lambda: tmp_path)
    first = grammar.load()
    (kept,) = tmp_path.iterdir()
    kept.unlink()
    kept.mkdir()
    assert grammar.load() == first
    assert list(tmp_path.iterdir()) == [kept]  # and nothing that was begun
