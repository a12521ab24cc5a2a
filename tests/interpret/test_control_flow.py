"""Which statements run one after another: read with a domain that knows nothing but what has been run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from smem_lsp.config import Config
from smem_lsp.engine.contexts import read_alone
from smem_lsp.interpret.frame import Frame, Tokens, TooMuch
from smem_lsp.interpret.interpreter import Interpreter, LoopStatement
from smem_lsp.source import SourceText
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


class _Trace:
    """The calls that a path has run, in order, and where its scopes ended."""

    def __init__(self, steps: tuple[str, ...] = ()) -> None:
        self.steps = steps

    def copy(self) -> _Trace:
        return _Trace(self.steps)


class _Tracer(Interpreter[_Trace, str]):
    """A loop has no iteration or one; a handler is entered at the start of its ``try``."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.frame = Frame(function.body)
        self.ended: list[_Trace] = []

    def joined(self, paths: Iterable[_Trace]) -> list[_Trace]:
        return list({path.steps: path for path in paths}.values())

    def _run(self, paths: list[_Trace], node: tree.Expr | tree.Declaration) -> list[_Trace]:
        texts = self.frame.body.tokens.texts[self.frame.base + node.lo : self.frame.base + node.hi]
        for path in paths:
            path.steps += ("".join(texts).removesuffix("()"),)
        return paths

    def evaluated(
        self, paths: list[_Trace], expr: tree.Expr, span: Tokens, *, condition: bool
    ) -> list[_Trace]:
        return self._run(paths, expr)

    def declared(self, paths: list[_Trace], declaration: tree.Declaration, span: Tokens) -> list[_Trace]:
        for each in declaration.declarators:
            self.frame.blocks[-1][each.name] = each.name
        return self._run(paths, declaration)

    def close_scope(self, paths: Sequence[_Trace], place: Tokens) -> None:
        self._gone(paths, -1)
        super().close_scope(paths, place)

    def leave_scopes(self, paths: Sequence[_Trace], depth: int, place: Tokens) -> None:
        self._gone(paths, depth)

    def _gone(self, paths: Sequence[_Trace], depth: int) -> None:
        for block in self.frame.blocks[depth:]:
            for path in paths:
                path.steps += tuple(f"~{name}" for name in block)

    def sides(
        self, paths: list[_Trace], condition: Any, head: Tokens, node: tree.Statement
    ) -> tuple[list[_Trace], list[_Trace]]:
        return self.either(paths), self.either(paths)

    def iterations(self, paths: list[_Trace], loop: LoopStatement) -> list[_Trace]:
        begun, after = (paths, []) if loop.once else self.goes_on(paths, loop)
        ended, left = self.iteration(begun, loop)
        return self.joined([*after, *left, *([] if loop.endless else ended)])

    def selected(
        self, paths: list[_Trace], subject: Any, node: tree.Switch, label: tree.CaseLabel | None
    ) -> list[_Trace]:
        return self.either(paths)

    def handled(self, paths: list[_Trace], node: tree.Try, handler: tree.Statement) -> list[_Trace]:
        return self.statement(paths, handler)

    def returned(self, paths: list[_Trace], node: tree.JumpStatement) -> None:
        self._gone(paths, 1)
        self.ended += paths

    def constant(self, condition: tree.Expr) -> int | None:
        return int(condition.text) if isinstance(condition, tree.Number) else None


def traces(statements: str) -> set[str]:
    """What the paths through these statements run."""
    text = f"__global__ void k() {{}}\nvoid go(int n) {{ {statements} }}"
    unit = read_alone(SourceText(text, "a.cu"), None, Config(), None).unit
    (function,) = (each for each in unit.functions if each.name == "go")
    tracer = _Tracer(function)
    tracer.ended += tracer.block([_Trace()], function.body.statements)
    assert len(tracer.frame.blocks) == 1 and tracer.level == 0
    assert not (tracer.frame.breaks or tracer.frame.continues or tracer.frame.conditions)
    return {" ".join(path.steps) for path in tracer.ended}


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("a(); b();", {"a b"}),
        ("if (c()) a(); b();", {"c a b", "c b"}),
        ("if (c()) a(); else if (d()) b(); else e();", {"c a", "c d b", "c d e"}),
        ("if (c()) return; b();", {"c", "c b"}),
        ("int x; { int y; a(); } b();", {"intx inty a ~y b ~x"}),
        ("if (int x = c()) return; b();", {"intx ~x", "intx ~x b"}),
        ("while (c()) { int x; if (d()) break; a(); } b();", {"c b", "c intx d ~x b", "c intx d a ~x b"}),
        ("do { int x; if (c()) continue; a(); } while (0); b();", {"intx c ~x b", "intx c a ~x b"}),
        ("for (int i; c(); ++i) a(); b();", {"inti c a ++i ~i b", "inti c ~i b"}),
        ("for (;;) { if (c()) break; a(); } b();", {"c b"}),
        ("for (; c(); d()) { if (e()) continue; a(); } b();", {"c b", "c e d b", "c e a d b"}),
        ("while (1) a(); b();", set()),
        ("for (;;) { if (c()) break; STOP(); } b();", {"b", "c b", "c STOP b"}),
        ("while (1) { if (c()) STOP(); } b();", {"b", "c b", "c STOP b"}),
        ("while (1) { MACRO(n) } b();", {"b", "MACRO(n) b"}),
        (
            "switch (s()) { case 1: a(); case 2: b(); break; default: d(); } e();",
            {"s a b e", "s b e", "s d e"},
        ),
        ("switch (s()) { case 1: { int x; break; } } e();", {"s intx ~x e", "s e"}),
        ("try { a(); } catch (int e) { b(); } catch (...) { c(); } d();", {"a d", "b d", "c d"}),
        ("if (c()) goto out; a(); out: b();", {"c b", "c a b"}),
        ("if (c()) goto in; return; { in: b(); }", {"c", "c b"}),
        ("goto in; if (c()) { a(); in: b(); } d();", {"b d"}),
        ("return; a();", {""}),
    ],
)
def test_the_paths_through(statements: str, expected: set[str]) -> None:
    assert traces(statements) == expected


@pytest.mark.parametrize(
    "statements", ["again: a(); goto again;", "switch (s()) { case 1: if (c()) { case 2: a(); } }"]
)
def test_what_a_domain_is_asked_to_give_up(statements: str) -> None:
    with pytest.raises(TooMuch):
        traces(statements)


def test_what_is_nested_too_deeply_is_not_followed() -> None:
    assert traces("{" * 60 + "a();" + "}" * 60) == {"a"}
    with pytest.raises(TooMuch):
        traces("{" * 200 + "a();" + "}" * 200)
