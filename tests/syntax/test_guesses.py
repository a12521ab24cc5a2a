"""Where C++ needs to know what a name is: what is known decides, else what is likely, and then the kernel says so."""

from __future__ import annotations

import pytest
from tree_shapes import shape, spelled

from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, parse


def body_of(statements: str, parameters: str = "", before: str = "") -> Body:
    unit = parse(SourceText(f"{before}\n__global__ void k({parameters}) {{\n{statements}\n}}\n"))
    return unit.functions[-1].body


def last(body: Body) -> str:
    return shape(body, body.statements.statements[-1])


def guessed(body: Body) -> set[str]:
    """The names in doubt, once every statement was asked for."""
    for node in body.statements.statements:
        shape(body, node)
    return set().union(*body.guessed.values())


def is_complete(source: str) -> bool:
    (kernel,) = build_kernels(parse(SourceText(source)))
    return kernel.complete


@pytest.mark.parametrize(
    ("statement", "expected", "doubts"),
    [
        # (x)(y) and (x) - y: nobody says what x is
        ("r = (x)(y);", "(r = x(y));", {"x"}),
        ("r = (x) - y;", "(r = (x - y));", {"x"}),
        ("r = (x) * y;", "(r = (x * y));", {"x"}),
        ("r = (x) & y;", "(r = (x & y));", {"x"}),
        ("r = (foo_t) - y;", "(r = c<foo_t>((-y)));", {"foo_t"}),
        ("r = (A<3>)(y);", "(r = c<A<>>(y));", {"A"}),
        ("r = (a::B<3>)(y);", "(r = c<a::B<>>(y));", {"B"}),
        ("q = num<3>(z); r = (num<3>)(y);", "(r = c<num<>>(y));", {"num"}),  # no declaration
        # one reading only
        ("r = (foo_t)(y);", "(r = c<foo_t>(y));", set()),
        ("r = (x)y;", "(r = c<x>(y));", set()),
        ("r = (x)3;", "(r = c<x>(3));", set()),
        ("r = (x*)y;", "(r = c<x*>(y));", set()),
        ("r = (x) / y;", "(r = (x / y));", set()),
        ("r = (x) + (int)y;", "(r = (x + c<int>(y)));", {"x"}),
        ("r = (x.y) - z;", "(r = (x.y - z));", set()),
        # lists or comparisons
        ("f(a < b, c > (d));", "f(a<>(d));", {"a"}),
        ("f(a < b, c > d);", "f((a < b), (c > d));", set()),
        ("f(a<1, 2>(d));", "f(a<>(d));", set()),
        ("r = a<b, c>(d);", "(r = a<>(d));", set()),
        ("r = a < b && c > (d);", "(r = ((a < b) && (c > d)));", set()),
        ("r = a < b ? c : d > e;", "(r = ((a < b) ? c : (d > e)));", set()),
        ("r = is_x<A && B>::value;", "(r = is_x::value<>);", set()),
        ("r = i < n >> 1;", "(r = (i < (n >> 1)));", set()),
        ("k2<<<g, a < b ? 1 : 2>>>(x);", "k2<<<g, ((a < b) ? 1 : 2)>>>(x);", set()),
        # declarations or expressions
        ("a * b;", "a: *b;", {"a"}),
        ("a * b = c;", "a: *b = c;", set()),
        ("a & b;", "(a & b);", set()),
        ("Is_Q && !Share;", "(Is_Q && (!Share));", set()),
        ("if (a * b) f();", "if [(a * b)] f();", set()),
        ("if (a & b) f();", "if [(a & b)] f();", set()),
        ("while (a * b && c) f();", "while [((a * b) && c)] f();", set()),
        ("if (T* b = c) f();", "if [T: *b = c] f();", set()),
        # attributes that nobody defines
        ("__shared__ ALIGN(16) float t[4];", "__shared__ float: t[4];", {"ALIGN"}),
        ("SHARED float t[4];", "SHARED float: t[4];", {"SHARED"}),
        ("__shared__ MY_ATTR T t;", "__shared__ MY_ATTR T: t;", {"MY_ATTR", "T"}),
    ],
)
def test_reading_and_doubts(statement: str, expected: str, doubts: set[str]) -> None:
    body = body_of(statement)
    assert last(body) == expected
    assert guessed(body) == doubts


@pytest.mark.parametrize(
    ("statement", "parameters", "before", "expected"),
    [
        ("r = (x) - y;", "int x", "", "(r = (x - y));"),
        ("r = (x)(y);", "void (*x)(int)", "", "(r = x(y));"),
        ("int i = 0; r = (i) & 3;", "", "", "(r = (i & 3));"),
        ("r = (N) - 1;", "", "template <int N>", "(r = (N - 1));"),
        ("r = (T) - 1;", "", "template <class T>", "(r = c<T>((-1)));"),
        ("f(i < n, j > (m));", "int i, int j", "", "f((i < n), (j > m));"),
        ("f(g < n, j > (m));", "", "template <int A, int B> int g(int);", "f(g<>(m));"),
        ("r = (x_t) - 1;", "int x_t", "", "(r = (x_t - 1));"),
        # what something else is declared with
        ("num q[2]; r = (num)(y);", "", "", "(r = c<num>(y));"),
        ("const a::num q = y; r = (a::num)(y);", "", "", "(r = c<a::num>(y));"),
        ("a::num<T> q; r = (a::num<T>)(y) * z;", "int y", "", "(r = (c<a::num<>>(y) * z));"),
        ("r = (at::opmath_type<T>)(y);", "", "", "(r = c<at::opmath_type<>>(y));"),
    ],
)
def test_a_declaration_in_sight_removes_the_doubt(
    statement: str, parameters: str, before: str, expected: str
) -> None:
    body = body_of(statement, parameters, before)
    assert last(body) == expected
    assert guessed(body) == set()


@pytest.mark.parametrize(
    "statement",
    [
        "s[(x)(y)] = 1;",
        "SHARED float t[4];",
        "int n = 1\n  s[0] = 2;",  # its `;` is missing
        "int n = 1\n  __syncthreads();",
        "FOR_EACH(i, 4) { s[i] = 1; }",
        "CHECK(s[0])\n  s[1] = 2;",
        "UNROLL\n  for (int i = 0; i < 4; ++i) s[i] = 1;",
        "if (x) { s[0] = 1;",
    ],
)
def test_a_kernel_with_a_guess_is_partial(statement: str) -> None:
    source = "__global__ void k(int y) {{\n  __shared__ float s[4];\n  {}\n}}\n"
    assert is_complete(source.format("s[y] = 1;"))
    assert not is_complete(source.format(statement))


def test_what_a_guessed_statement_names_is_withheld() -> None:
    source = (
        "__global__ void k(int y) { __shared__ float s[4]; __shared__ float t[4]; s[(x)(y)] = 1; t[y] = 2; }"
    )
    (kernel,) = build_kernels(parse(SourceText(source)))
    assert [bool(buffer.fixed) for buffer in kernel.buffers] == [True, False]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("LOOP(i, n) { a(); b(); }\nc();", ["macro LOOP { a(); b(); }", "c();"]),
        ("LOOP(i, n) a();\nc();", ["macro LOOP;", "a();", "c();"]),
        ("LOOP(i, n)\n  for (;;) a();\nc();", ["macro LOOP;", "for [-; -; -] a();", "c();"]),
        ("CHECK(x)\nint y = 3;\nc();", ["macro CHECK;", "int: y = 3;", "c();"]),
        ("CHECK(x)\nreturn;", ["macro CHECK;", "return;"]),
        ("PRAGMA_UNROLL\nfor (;;) a();", ["macro PRAGMA_UNROLL;", "for [-; -; -] a();"]),
        ("BEGIN_SCOPE\nif (x) a();\nEND_SCOPE\nwhile (x) b();", ["macro BEGIN_SCOPE;", "if [x] a();"]),
        ("if (x) LOOP(i, n) { a(); } else b();", ["if [x] macro LOOP { a(); } else b();"]),
        ("CALL(x);\na();", ["CALL(x);", "a();"]),
    ],
)
def test_a_macro_that_is_not_in_sight_swallows_nothing(statements: str, expected: list[str]) -> None:
    body = body_of(statements)
    found = [shape(body, node) for node in body.statements.statements]
    assert found[: len(expected)] == expected
    assert not body.failed


def test_a_missing_semicolon_is_a_guess_and_no_repair() -> None:
    body = body_of("a = 1\nb = 2;")
    first, second = body.statements.statements
    assert isinstance(first, tree.ExpressionStatement)
    assert (shape(body, first), shape(body, second)) == ("(a = 1);", "(b = 2);")
    assert set(body.guessed) == {first.chunk}
    assert not body.repaired


@pytest.mark.parametrize(
    "statement",
    [
        "extern __shared__ __align__(alignof(Storage<A, B>))\n    uint8_t raw[];",
        "__shared__\n  float\n  raw[4];",
        "__attribute__((aligned(16))) __shared__\n  Tile<A, B>\n  raw[4];",
        "__shared__ typename Scan<A>::TempStorage\n  raw;",
    ],
)
def test_a_declaration_goes_on_over_line_ends(statement: str) -> None:
    body = body_of(f"{statement}\n  a();")
    declared, call = body.statements.statements
    assert shape(body, declared).startswith(("extern __shared__", "__shared__"))
    assert " raw" in shape(body, declared)
    assert shape(body, call) == "a();"
    assert not body.guessed


def test_a_pragma_out_of_a_macro_is_no_statement() -> None:
    before = '#define UNROLL #pragma unroll 4\n#define UNROLL2 _Pragma("unroll 2")'
    body = body_of("UNROLL\n  for (;;) a();\n  UNROLL2\n  for (;;) b();\n  UNROLL2 c();", before=before)
    found = [shape(body, node) for node in body.statements.statements]
    assert found == ["for [-; -; -] a();", "for [-; -; -] b();", "c();"]
    assert not (body.macros or body.failed or body.guessed)


def test_shapes_spell_what_a_range_for_initialises() -> None:
    body = body_of("for (int i = 0; auto x : xs) a();")
    (loop,) = body.statements.statements
    assert isinstance(loop, tree.For)
    assert spelled(body.chunk("for_head", loop.head)) == "int: i = 0; auto: x : xs"


@pytest.mark.parametrize(
    "parameter", ["float* __restrict__ x", "float *const x", "T const x", "T* __restrict__ const x"]
)
def test_a_qualified_parameter_is_a_value(parameter: str) -> None:
    body = body_of("float* r = (float*)(x) + 3 * n;", f"{parameter}, int n")
    assert guessed(body) == set()


def test_a_type_with_a_qualifier_in_front_is_none() -> None:
    assert guessed(body_of("r = (x) - y;", "const x, int y")) == {"x"}
