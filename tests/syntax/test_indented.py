"""A brace too many or too few inside a namespace or class: layout says where the functions are."""

from __future__ import annotations

import pytest
from tree_shapes import shape

from smem_lsp.source import SourceText
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
