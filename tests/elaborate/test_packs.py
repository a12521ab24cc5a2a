"""Packs: a function is what the compiler makes it for so many arguments, and where that is not known it says so."""

from __future__ import annotations

import pytest

from smem_lsp.elaborate.packs import expanded
from smem_lsp.engine import check
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import Function, parse


def function(text: str) -> Function:
    return parse(SourceText(text, "k.cu")).all_functions[0]


def written(text: str, count: int) -> str | None:
    made = expanded(function(text), count)
    return None if made is None else " ".join(made.definition.tokens.texts)


@pytest.mark.parametrize(
    ("parameters", "statement", "count", "expected"),
    [
        ("A... a", "g(a...);", 2, "g ( a__0 , a__1 ) ;"),
        ("A... a", "g(1, a...);", 0, "g ( 1 ) ;"),
        ("A... a", "g(a..., 1);", 0, "g ( 1 ) ;"),
        ("A... a", "g(h(&a)..., 1);", 2, "g ( h ( & a__0 ) , h ( & a__1 ) , 1 ) ;"),
        ("A... a", "g(a++...);", 2, "g ( a__0 ++ , a__1 ++ ) ;"),
        ("A&&... a", "g(static_cast<A&&>(a)...);", 1, "g ( static_cast < A__0 && > ( a__0 ) ) ;"),
        ("A... a", "int x[] = {0, (a + 1)...};", 2, "int x [ ] = { 0 , ( a__0 + 1 ) , ( a__1 + 1 ) } ;"),
        ("A... a", "g(sizeof...(a));", 3, "g ( 3 ) ;"),
        ("A... a", "tuple<A...> x;", 2, "tuple < A__0 , A__1 > x ;"),
        ("A... a", "(a + ...);", 3, "( a__0 + ( a__1 + ( a__2 ) ) ) ;"),
        ("A... a", "(... - a);", 3, "( ( ( a__0 ) - a__1 ) - a__2 ) ;"),
        ("A... a", "(a + ... + 7);", 2, "( a__0 + ( a__1 + ( 7 ) ) ) ;"),
        ("A... a", "(7 - ... - a);", 2, "( ( ( 7 ) - a__0 ) - a__1 ) ;"),
        ("A... a", "(7 + ... + a);", 0, "( 7 ) ;"),
        ("A... a", "((g(a), 1) && ...);", 2, "( ( g ( a__0 ) , 1 ) && ( ( g ( a__1 ) , 1 ) ) ) ;"),
        ("A... a", "(a && ...);", 0, "( true ) ;"),
        ("A... a", "(g(a), ...);", 0, "( 0 ) ;"),
        ("A... a", "(g(a), ...);", 2, "( g ( a__0 ) , ( g ( a__1 ) ) ) ;"),
    ],
)
def test_expansions_are_written_out(parameters: str, statement: str, count: int, expected: str) -> None:
    text = f"template <class... A> __device__ void f({parameters}) {{ {statement} }}"
    found = written(text, count)
    assert found is not None
    assert found.partition("{ ")[2].removesuffix(" }") == expected


def test_the_head_is_written_out() -> None:
    text = "template <class T, class... R> __device__ T f(int* s, T t, const R&... r) { return t; }"
    assert written(text, 4) == (
        "template < class T , class R__0 , class R__1 > __device__ "
        "T f ( int * s , T t , const R__0 & r__0 , const R__1 & r__1 ) { return t ; }"
    )
    assert written(text, 2) == "template < class T > __device__ T f ( int * s , T t ) { return t ; }"
    assert written(text, 1) is None
    alone = "template <class... R> __device__ int f(R... r) { return 1; }"
    assert written(alone, 0) == "__device__ int f ( ) { return 1 ; }"
    assert expanded(function(text), 3) is not None
    once = function(text)
    assert expanded(once, 3) is expanded(once, 3)


@pytest.mark.parametrize(
    "text",
    [
        "template <class... A> __device__ void f(A... a) { g(a); }",  # not C++
        "template <class... A> __device__ void f(A... a) { (a - ...); }",  # of nothing
        "template <class... A> __device__ void f(A... a, int n) { g(a...); }",
        "template <class... A, class... B> __device__ void f(A... a) { g(B()...); }",
        "__device__ void f(const char* text, ...) { g(text); }",
        "__device__ void f(int a) { g(a); }",
    ],
)
def test_what_is_not_written_out(text: str) -> None:
    assert written(text, 0) is None


def test_many_elements_are_bounded() -> None:
    text = "template <class... A> __device__ void f(A... a) { " + "g(a...); " * 1_000 + "}"
    assert written(text, 2) is None or written(text, 32) is None
    assert written(text, 33) is None


ABOVE = """
template <class... A> __device__ void put(int* s, A... a) { ((s[a] = threadIdx.x), ...); }
template <class... A> __device__ int sum(A... a) { return (a + ... + 0); }
__device__ int set(int* s, int i) { s[i] = threadIdx.x; return i; }
template <class... A> __device__ void each(int* s, A... a) { int x[] = {set(s, a)...}; }
template <class... A> __device__ void wait(A... a) { (((void)a, __syncthreads()), ...); }
__device__ int total() { return 0; }
template <class T, class... R> __device__ int total(T t, R... r) { return t + total(r...); }
template <class T> __device__ int last(T t) { return t; }
template <class T, class... R> __device__ int last(T t, R... r) { return last(r...); }
template <class... A> __device__ int count(A... a) { return sizeof...(A); }
template <class F, class... A> __device__ void call(F f, A... a) { f(a...); }
template <class F, class... A> __device__ void pass(F f, A&&... a) { f(static_cast<A&&>(a)...); }
struct Rows {
  int* p;
  template <class... A> __device__ void put(A... a) { ((p[a] = threadIdx.x), ...); }
  template <class... A> __device__ int operator()(A... a) const { return (a + ...); }
  __device__ int end(int i) const { return i; }
  template <class T, class... A> __device__ int end(T t, A... a) const { return end(a...); }
};
struct Counted { int n; template <class... A> __device__ Counted(A... a) : n(sizeof...(a)) {} };
template <class... A> __device__ int narrow(A... a) { return ((unsigned char)a + ...); }
"""


@pytest.mark.parametrize(
    ("statement", "racing"),
    [
        ("put(s, {});", ("t / 2", "t")),
        ("put(s, {});", ("t, t / 2", "t, t + 64")),
        ("s[sum({}) / 2] = t;", ("t, 0", "t, t")),
        ("each(s, {});", ("t / 2", "t")),
        ("s[63 - t] = t; wait({}); o[t] = s[t];", ("", "1")),
        ("s[total({}) / 2] = t;", ("t, 1", "t, t, 1")),
        ("s[last({})] = t;", ("t, 3", "3, t")),
        ("s[t / count({})] = t;", ("1, 2", "1")),
        ("call([&](int i, int j) {{ s[i] = j; }}, {});", ("t / 2, t", "t, t")),
        ("pass([&](int i, int j) {{ s[i] = j; }}, {});", ("t / 2, t", "t, t")),
        ("Rows r{{s}}; r.put({});", ("t / 2", "t")),
        ("Rows r{{s}}; s[r({}) / 2] = t;", ("t, 1", "t, t")),
        ("Rows r{{s}}; s[r.end({})] = t;", ("t, 1, 3", "1, 3, t")),
        ("Counted c({}); s[t / c.n] = t;", ("1, 2", "1")),
        ("s[narrow({})] = t;", ("t * 8", "t")),
    ],
)
def test_what_a_function_with_a_pack_does(statement: str, racing: tuple[str, str]) -> None:
    def verdict(arguments: str) -> str:
        body = f"__shared__ int s[512]; int t = threadIdx.x; {statement.format(arguments)}"
        (kernel,) = check(
            f"{ABOVE}__global__ void k(int* o) {{ {body} }}\nvoid host(int* o) {{ k<<<1, 64>>>(o); }}\n"
        ).kernels
        assert kernel.verdict is not None
        return kernel.verdict.kind.value

    assert [verdict(each) for each in racing] == ["racy", "race-free"]
