"""Function islands: where definitions begin and end, also while braces are missing."""

from __future__ import annotations

import pytest

from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import Function, parse


def functions(text: str) -> list[Function]:
    return parse(SourceText(text)).functions


def names(text: str) -> list[str]:
    return [function.name for function in functions(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void f() {}", ["f"]),
        ("void f(); void g(int a, int b = h(2)) { }", ["g"]),
        ("__global__ void k() {} static __device__ int d() { return 1; }", ["k", "d"]),
        ("template <class T, int N = (3 > 2)> __global__ void k(T* p) { }", ["k"]),
        ("__global__ void __launch_bounds__(256, 2) k() { }", ["k"]),
        ("__global__ __launch_bounds__(256) void k() { }", ["k"]),
        ("auto f(int a) -> decltype(a) { return a; }", ["f"]),
        ("int f() const noexcept(true) { }", ["f"]),
        ("struct S { S(int a) : x(a), y{a} { } void m() { } int x = 3; }; void g() { }", ["S", "m", "g"]),
        ("namespace a::b { namespace { void f() { } } } void g() { }", ["f", "g"]),
        ('extern "C" { __global__ void k() { } }', ["k"]),
        ("enum class E { A, B }; int table[] = {1, 2}; void f() { }", ["f"]),
        ("auto lambda = [] { return 1; }; void f() { }", ["f"]),
        ("#define KERNEL(name) __global__ void name()\nKERNEL(k) { }", ["k"]),
    ],
)
def test_definitions_are_found(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_a_call_operator_is_a_function() -> None:
    assert len(functions("struct S { void operator()(int i) { k<<<1, i>>>(); } };")) == 1


def test_a_kernel_is_known_by_its_specifier() -> None:
    text = "template <int N>\n__global__ void __launch_bounds__(N) k(float* out) { out[0] = 1; }\n"
    (kernel,) = functions(text)
    assert kernel.is_kernel
    assert kernel.island.template
    assert text[kernel.name_span.start : kernel.name_span.end] == "k"
    assert text[kernel.span.start : kernel.span.end] == text.rstrip("\n")


def test_enclosing_scopes_are_known() -> None:
    (function,) = functions("namespace a { namespace { struct S { void f() { } }; } }")
    assert function.island.enclosing == ("a", "", "S")


# ---- repair ------------------------------------------------------------------------------------------------


def test_a_missing_brace_does_not_swallow_the_next_kernel() -> None:
    text = """\
__global__ void first(float* out) {
  if (out) {
    out[0] = 1;
}

__global__ void second(float* out) {
  out[1] = 2;
}
"""
    first, second = functions(text)
    assert (first.name, second.name) == ("first", "second")
    assert (first.island.repaired, second.island.repaired) == (True, False)
    assert text[first.span.end - 1] == "}"


def test_a_brace_too_many_costs_one_function() -> None:
    text = """\
__global__ void first(float* out) {
  if (out) }
    out[0] = 1;
  }
}

__global__ void second(float* out) {
  out[1] = 2;
}
"""
    assert names(text) == ["first", "second"]
    assert functions(text)[1].island.repaired is False


def test_a_kernel_at_the_end_may_be_unfinished() -> None:
    (kernel,) = functions("__global__ void k(float* out) {\n  out[0] = 1;\n")
    assert kernel.island.repaired
    assert kernel.body.tokens.texts[-1] == ";"


def test_unbalanced_brackets_stay_inside_their_function() -> None:
    text = "__global__ void a() {\n  f((1;\n}\n__global__ void b() {\n  g(2);\n}\n"
    assert names(text) == ["a", "b"]
    assert functions(text)[1].body.tokens.texts == ["g", "(", "2", ")", ";"]


def test_a_function_that_is_not_indented_is_found() -> None:
    assert names("namespace n {\n__global__ void a() {\nf();\n}\nvoid b() {\n}\n}\n") == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void",
        "__global__ void k(",
        "__global__ void k()",
        "template <",
        "k() {",
        "(){",
        "struct S {",
    ],
)
def test_the_beginning_of_a_definition_is_no_error(text: str) -> None:
    assert len(functions(text)) <= 1


def test_a_macro_in_column_0_begins_the_next_function() -> None:
    text = """\
#define DEVICE __device__ inline
namespace n {
__device__ int one(int a) { return a; }
DEVICE int two(int a) { return a; }
}
DEVICE int three(int a) { return a; }
"""
    unit = parse(SourceText(text))
    assert [(each.name, each.island.enclosing) for each in unit.functions] == [
        ("one", ("n",)),
        ("two", ("n",)),
        ("three", ()),
    ]
    assert not any(each.island.repaired for each in unit.functions)
