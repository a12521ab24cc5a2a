"""The parsing loop gives what Lark's own loop gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from lark.exceptions import UnexpectedInput

from smem_lsp.source import SourceText
from smem_lsp.syntax import grammar, tree
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.chunker import cut
from smem_lsp.syntax.classify import Classifier
from smem_lsp.syntax.grammar_tokens import GrammarToken, NotRead
from smem_lsp.syntax.lookahead import Lookahead
from smem_lsp.syntax.parse import Body, parse

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


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.name)
def test_the_trees_of_a_file_are_larks_trees(path: Path) -> None:
    lark = grammar.parser()
    for function in parse(SourceText(path.read_text("utf-8"))).functions:
        body = function.body
        marks = cut(body.ahead, 0, len(body.tokens), body.line_start).marks
        assert repr(grammar.parse("statements", marks)) == repr(lark.parse(marks, start="statements"))
        for chunk in expressions(body):
            assert repr(grammar.parse("expression", chunk)) == repr(lark.parse(chunk, start="expression"))


@pytest.mark.parametrize("kinds", [["NAME", "NAME"], ["LP"], ["NAME", "SIGN"], ["RP"], []])
def test_marks_that_do_not_fit_are_refused_as_lark_refuses_them(kinds: list[str]) -> None:
    marks = [GrammarToken(kind, i, i + 1, kind) for i, kind in enumerate(kinds)]
    for parse_ in (grammar.parse, lambda start, m: grammar.parser().parse(m, start=start)):
        with pytest.raises(UnexpectedInput):
            parse_("expression", marks)
