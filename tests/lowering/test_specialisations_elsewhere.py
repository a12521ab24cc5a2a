"""Explicit specialisations that are only declared ([temp.expl.spec]), and default arguments, which mean what they do
where they are declared ([dcl.fct.default]/5)."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

OWN, HALF = "S[threadIdx.x] = 1;", "S[threadIdx.x / 2] = threadIdx.x;"


def verdicts(declared: str, statements: str) -> list[str]:
    """With a BODY that makes no race, and with one that does."""
    found = []
    for body, other in ((OWN, HALF), (HALF, OWN)):
        text = f"__shared__ int S[64];\n{declared}\n__global__ void k(int* gp) {{ {statements} }}\n"
        text = text.replace("BODY", body).replace("OTHER", other).replace("void ", "__device__ void ")
        text = text.replace("int g(", "__device__ int g(").replace("__global__ __device__", "__global__")
        (report,) = check(f"{text}int main() {{ k<<<1, 64>>>(nullptr); }}").kernels
        assert report.verdict is not None
        found.append(report.verdict.kind.value)
    return found


FREE = "template <class T> void f(T) { BODY } template <class T> void of(T t) { f(t); }"
MEMBER = """
template <class T> struct A { void f() { BODY } static void s() { BODY } void g() { f(); }
  template <class U> void m(U) { BODY } };
struct C { template <class U> void m(U) { BODY } };
"""


@pytest.mark.parametrize(
    ("declared", "statements"),
    [
        (f"{FREE} template <> void f<int>(int);", "f(3);"),
        (f"{FREE} template <> void f<int>(int);", "f<int>(3);"),
        (f"{FREE} template <> void f(int);", "f(3);"),
        (f"{FREE} template <> void f<int>(int);", "of(3);"),
        (f"namespace n {{ {FREE} template <> void f<int>(int); }}", "n::f(3);"),
        (f"namespace n {{ {FREE} }} template <> void n::f<int>(int);", "n::f(3);"),
        ("template <int n> void f() { BODY } template <> void f<3>();", "f<3>();"),
        ("template <class T> void f(T*) { BODY } template <> void f<int>(int*);", "f(gp);"),
        (f"{MEMBER} template <> void A<int>::f();", "A<int> a; a.f();"),
        (f"{MEMBER} template <> void A<int>::f();", "A<int> a; a.g();"),
        (f"{MEMBER} template <> void A<int>::s();", "A<int>::s();"),
        (f"{MEMBER} template <> template <> void A<int>::m<int>(int);", "A<int> a; a.m(3);"),
        (f"{MEMBER} template <> template <> void A<int>::m(int);", "A<int> a; a.m(3);"),
        (f"{MEMBER} template <> void C::m<int>(int);", "C c; c.m(3);"),
    ],
)
def test_what_another_file_defines_is_not_followed(declared: str, statements: str) -> None:
    assert verdicts(declared, statements) == ["undecided", "undecided"]


@pytest.mark.parametrize(
    ("declared", "statements"),
    [
        (f"{FREE} template <> void f<int>(int);", "f(3.0f);"),
        (f"{FREE} template <> void f<int>(int);", "f<float>(3);"),
        (f"{FREE} template <> void f<int>(int);", "of(3.0f);"),
        (f"{FREE.replace('BODY', 'OTHER')} template <> void f<int>(int) {{ BODY }}", "of(3);"),
        ("template <int n> void f() { BODY } template <> void f<3>();", "f<4>();"),
        ("template <class T> void f(T*) { BODY } template <> void f<float>(float*);", "f(gp);"),
        (f"{MEMBER} template <> void A<int>::f();", "A<float> a; a.f();"),
        (f"{MEMBER} template <> void A<int>::f();", "A<int>::s();"),
        (
            "template <class T> void f(T) { OTHER } template <> void f<int>(int);"
            " template <> void f<int>(int) { BODY }",
            "f(3);",
        ),
        (
            "template <class T> void f(T) { OTHER } template <> void f<float>(float);"
            " template <> void f<int>(int) { BODY }",
            "f(3);",
        ),
    ],
)
def test_one_for_other_arguments_or_with_a_definition_is_no_matter(declared: str, statements: str) -> None:
    assert verdicts(declared, statements) == ["race-free", "racy"]


@pytest.mark.parametrize(
    ("declared", "statements", "known"),
    [
        ("int g(int) { BODY return 1; } void f(int x = g(3)); void f(int x) {}", "f();", True),
        (
            "int g(double) { BODY return 1; } void f(int x = g(3)) {} int g(int) { OTHER return 1; }",
            "f();",
            True,
        ),
        (
            "int g(double) { BODY return 1; } void f(int x = g(3)); int g(int) { OTHER return 1; } void f(int x) {}",
            "f();",
            False,
        ),
        (
            "int g(int) { BODY return 1; }"
            " namespace n { void f(int x = g(3)); int g(int) { OTHER return 1; } void f(int x) {} }",
            "n::f();",
            False,
        ),
        (
            "namespace n { int g(int) { BODY return 1; } void f(int x = g(3)); } int g(int) { OTHER return 1; }"
            " void n::f(int x) {}",
            "n::f();",
            True,
        ),
        ("int g(int); void f(int x = g(3)); int g(int) { BODY return 1; } void f(int x) {}", "f();", True),
    ],
)
def test_a_default_argument(declared: str, statements: str, known: bool) -> None:
    """What is declared in between may hide what is meant: it is not followed then."""
    assert verdicts(declared, statements) == (["race-free", "racy"] if known else ["undecided", "undecided"])
