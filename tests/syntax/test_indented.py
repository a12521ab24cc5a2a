"""A brace too many or too few inside a namespace or class: layout says where the functions are."""

from __future__ import annotations

import pytest
from tree_shapes import shape

from smem_lsp.source import SourceText
from smem_lsp.syntax import lexer
from smem_lsp.syntax.parse import parse

LINES = """\
namespace a {
  __global__ void k1() {
    if (x) {
      a();
    }
    b();
  }

  template <class T>
  __global__ void k2() {
    for (;;) {
      c();
    }
    d();
  }

  struct S {
    __device__ void m1() {
      e();
    }
    __device__ void m2() {
      f();
    }
  };
}
__global__ void k3() {
  g();
}
""".splitlines()
BODIES = {
    "k1": "if [x] { a(); } b();",
    "k2": "for [-; -; -] { c(); } d();",
    "m1": "e();",
    "m2": "f();",
    "k3": "g();",
}
HEADS = {"k1": 1, "k2": 9, "m1": 17, "m2": 20, "k3": 25}


def read(lines: list[str]) -> tuple[dict[str, str], set[str]]:
    """The body of each function, and the functions that were repaired."""
    functions = parse(SourceText("\n".join(lines) + "\n")).functions
    bodies = {
        f.name: " ".join(shape(f.body, node) for node in f.body.statements.statements) for f in functions
    }
    return bodies, {f.name for f in functions if f.body.repaired}


def touched(line: int) -> str:
    return max((name for name, head in HEADS.items() if head <= line), key=HEADS.__getitem__)


def test_without_an_edit_nothing_is_repaired() -> None:
    assert read(LINES) == (BODIES, set())


@pytest.mark.parametrize("line", [i for i, text in enumerate(LINES) if text.strip() == "}" and text != "}"])
def test_a_closing_brace_that_is_missing_costs_one_function(line: int) -> None:
    bodies, repaired = read(LINES[:line] + LINES[line + 1 :])
    name = touched(line)
    assert bodies.keys() == BODIES.keys()
    assert {key: body for key, body in bodies.items() if key != name} == {
        key: body for key, body in BODIES.items() if key != name
    }
    assert repaired == {name}


@pytest.mark.parametrize(("line", "name"), [(4, "k1"), (3, "k1"), (11, "k2")])
def test_a_closing_brace_too_many_costs_one_function(line: int, name: str) -> None:
    bodies, repaired = read([*LINES[:line], "    }", *LINES[line:]])
    assert repaired == {name}
    assert {key: body for key, body in bodies.items() if key != name} == {
        key: body for key, body in BODIES.items() if key != name
    }
    assert bodies[name].endswith(BODIES[name].rpartition("} ")[2])


def test_an_opening_brace_that_is_missing_costs_one_function() -> None:
    bodies, repaired = read([line.replace("if (x) {", "if (x)") for line in LINES])
    assert repaired == {"k1"}
    assert bodies["k1"].endswith("b();")
    assert bodies.keys() == BODIES.keys()


MIXED = """\
namespace a {
template <int N>
#if __CUDA_ARCH__ >= 520
    __launch_bounds__(N, 2)
#endif
    __global__ void k1() {
        b();
    }

    __global__ void k2() {
        c();
    }
}
"""


def test_a_head_that_starts_in_column_0_above_an_indented_body() -> None:
    found = parse(SourceText(MIXED, "a.cu")).functions
    assert [
        (each.name, MIXED.count("\n", 0, each.span.start), MIXED.count("\n", 0, each.span.end))
        for each in found
    ] == [
        ("k1", 1, 7),
        ("k2", 9, 11),
    ]


def test_a_brace_too_many_in_a_body_whose_head_starts_in_column_0() -> None:
    text = "__global__ void k1() {\n    if (x) {\n    }\n    }\n    b();\n}\n__global__ void k2() {\n}\n"
    found = parse(SourceText(text, "a.cu")).functions
    assert [(each.name, text.count("\n", 0, each.span.end)) for each in found] == [("k1", 5), ("k2", 7)]


def blocks(text: str) -> list[str]:
    """What is read alone, each in one line."""
    placed = parse(SourceText(text)).blocks
    ends = [each.start for each in placed[1:]] + [len(text)]
    return [" ".join(text[each.start : end].split()) for each, end in zip(placed, ends)]


def test_each_definition_of_an_indented_namespace_is_read_alone() -> None:
    assert blocks("\n".join(LINES) + "\n") == [
        "namespace a { __global__ void k1() { if (x) { a(); } b(); }",
        "template <class T> __global__ void k2() { for (;;) { c(); } d(); }",
        "struct S { __device__ void m1() { e(); } __device__ void m2() { f(); } };",
        "}",
        "__global__ void k3() { g(); }",
    ]


@pytest.mark.parametrize("was", ["a();", "b();", "c();", "d();", "e();", "f();", "g();"])
@pytest.mark.parametrize("now", ["{} // remark", "\n\n{}", "h();\n{}"])
def test_a_key_changes_one_block(was: str, now: str) -> None:
    text = "\n".join(LINES) + "\n"
    before = {id(each.block) for each in parse(SourceText(text)).blocks}
    after = [
        id(each.block) in before for each in parse(SourceText(text.replace(was, now.format(was)))).blocks
    ]
    assert len(after) == len(before) and after.count(False) == 1


def functions(text: str) -> list[list[str]]:
    """The names of the functions of each block that has any."""
    found = (
        [each.definition.name for each in placed.block.functions] for placed in parse(SourceText(text)).blocks
    )
    return [names for names in found if names]


@pytest.mark.parametrize(
    "text",
    [
        "namespace a\n{\n  namespace b {\n    void f() {\n    }\n    void g() {\n    }\n  }\n}\n",
        'extern "C" {\n  void f() {\n  }\n  void g() {\n  }\n}\n',
        "namespace a { // of a\n\tvoid f() {\n\t}\n\tvoid g() {\n\t}\n} // namespace a\n",
        "namespace a {\ntemplate <class T,\n  class U>\n  void f() {\n  }\n  void g() {\n  }\n}\n",
        "namespace a {\n#define N 3\n// A remark.\n/*\n}\n*/\n  void f() {\nlog();\n  }\n  void g() {\n  }\n}\n",
        "namespace a {\n  int n;\n} // namespace a\nvoid f() {\n  {\n  }\n}\nvoid g() {\n}\n",
    ],
)
def test_what_is_around_definitions_tells_how_far_out_they_end(text: str) -> None:
    assert functions(text) == [["f"], ["g"]]


@pytest.mark.parametrize(
    "text",
    [
        "namespace a {\n  void f() {\n  {\n  }\n  }\n  void g() {\n  }\n}\n",  # its body is not indented
        "namespace a {\n  void f() {\n    {\n  }\n  __device__ void g() {\n  }\n}\n",  # one too few
        "namespace a {\n  void f() {\n    }\n    h();\n  }\n  void g() {\n  }\n}\n",  # and too many
        "namespace a {\n  void f() {\n  }\n  void g() {\n    }\n    h();\n  }\n}\n",
        "namespace a {\n  struct A {\n  }\n  b;\n  void f() {\n  }\n  void g() {\n  }\n}\n",  # a name follows
    ],
)
def test_definitions_that_cannot_be_told_apart_by_their_ends_are_read_together(text: str) -> None:
    assert functions(text) == [["f", "g"]]


def test_a_template_is_one_where_nothing_follows_it() -> None:
    unit = parse(
        SourceText("namespace a {\n  template <class T> class A;\n#if 0\n  }\n#endif\n  int n;\n}\n")
    )
    assert "A" in unit.symbols.templates


def test_what_stands_behind_an_end_does_not_tell_where_it_is() -> None:
    """The `}` of a directive that goes on stands in front of the first definition."""
    start = "namespace a {\n#define G void g() { \\\n  }\n"
    one, other = (f"{start} namespace {end}\n  G\n}}\n" for end in ("{", "b"))
    found = [(at, region.text) for at, region in lexer.regions(other, lexer.regions(one))]
    assert found == [(at, region.text) for at, region in lexer.regions(other)]
