"""What is wrong with a file of stubs is told with its line."""

from __future__ import annotations

import pytest

from smem_lsp.semantics.attributes import AttributeProblem, problem_of


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (
            "\n[[smem::purr]] int f(int n);",
            2,
            'f has the unknown attribute "smem::purr", did you mean "pure"?',
        ),
        ("[[smem::model(swap)]] int f(int n);", 1, 'f has the unknown attribute "smem::model", known: pure,'),
        ("[[smem::reads(q, n)]] void f(int* p, int n);", 1, "smem::reads of f names no parameter of it"),
        ("[[smem::reads]] void f(int* p, int n);", 1, "smem::reads of f names no parameter of it"),
        ("[[smem::reads(p, 2 * n)]] void f(int* p, int n);", 1, 'smem::reads of f has the count "2*n"'),
        ("[[smem::barrier(grid)]] void f();", 1, "smem::barrier of f is of no known threads"),
        ("[[smem::pure(1)]] int f(int n);", 1, "smem::pure of f takes no arguments"),
        ("[[smem::reads(p]] void f(int* p);", 1, "the attributes of f do not have the form"),
        ("[[smem::pure smem::impure]] int f(int n);", 1, "the attributes of f do not have the form"),
        ("int f(int n) { return n; }", 1, "f has a body: a file of declarations holds no code"),
        ("namespace a {\nint f(int);\nint g(int n) { return n; }\n}", 3, "g has a body"),
        ("// it\n#include <x>", 2, "#include has no meaning in a file of declarations"),
        ("struct S {\n#define N 3\nint n;\n};", 2, "#define has no meaning in a file of declarations"),
        ('extern "C" {\nint f(int);\n#if 1\n}', 3, "#if has no meaning in a file of declarations"),
        ("namespace a {\n#define N 3\n}", 2, "#define has no meaning"),
        ("struct S { int f() { return 1; } };", 1, "f has a body: a file of declarations holds no code"),
        ("struct S { S(int n) : m(n) {} int m; };", 1, "S has a body"),
        ("struct S { ~S() {} };", 1, "S has a body"),
        ("struct S { struct T { T() {} }; };", 1, "T has a body"),
        ("struct S {\n[[smem::purr]] int f(int n);\n};", 1, 'f has the unknown attribute "smem::purr"'),
        ("int f(int n)", 1, "no declaration that is understood"),
        ("nonsense here", 1, "no declaration that is understood"),
        ("{", 1, "no declaration that is understood"),
    ],
)
def test_the_first_problem_is_told(text: str, line: int, what: str) -> None:
    found = problem_of(text)
    assert isinstance(found, AttributeProblem)
    assert found.line == line
    assert found.what.startswith(what)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#pragma once\n// nothing\n",
        "[[smem::reads(p, n), smem::writes(q, some)]] void f(const int* p, int* q, int n);",
        "namespace a::b { template <class T> [[smem::pure]] T f(T value); }",
        "struct Tile;\nusing Index = int;\n[[smem::updates(p)]] __device__ void f(Tile* p, Index n);",
        'extern "C" [[smem::pure]] __device__ int f(int n);',
        "[[smem::barrier(block), smem::barrier(warp)]] void f();",
        "struct S { S(int n); ~S(); int f(int n = {3}) const; struct alignas(16) T { int a; }; };",
    ],
)
def test_declarations_are_understood(text: str) -> None:
    assert problem_of(text) is None


SAMPLE = """\
#pragma once
namespace a { namespace b {
template <class T, int N = 4> [[smem::reads(p, n), smem::barrier(block)]] T f(const T (&p)[N], int n = {3});
struct S { int x; void g() const; };
enum E { A, B = 2 };
} }
extern "C" { [[smem::pure]] __device__ int h(int (*callback)(int), ...); }
using I = int; typedef float (*F)(int); int v = 3;
"""


def test_no_text_raises() -> None:
    for end in range(len(SAMPLE) + 1):
        problem_of(SAMPLE[:end])
        problem_of(SAMPLE[end:])
        problem_of(SAMPLE[:end] + "{([<" + SAMPLE[end:])
        problem_of(SAMPLE[:end] + SAMPLE[end + 1 :])
    deep = problem_of("namespace a {" * 3_000 + "int f(int);" + "}" * 3_000)
    assert deep is not None and deep.what == "no declaration that is understood"
