"""Lambdas that functions return, as objects of their own: what they have captured, where they are called, and when what
they own ends. A kernel whose threads all write to ``s[t]`` is told apart from its twin, whose threads meet."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from tests.verdicts import kind, twins

RIGHT = (VerdictKind.RACE_FREE, VerdictKind.RACY)

MADE = """
__device__ auto at(int* p) { return [p](int i) -> int& { return p[i]; }; }
__device__ auto by(int d) { return [d](int i) { return i / d; }; }
__device__ auto later(int d) { return [d] { return [d](int i) { return i / d; }; }; }
__device__ auto named(int d) { auto f = [d](int i) { return i / d; }; return f; }
__device__ auto through(int d) { return named(d); }
__device__ auto writer(int* p) { return [=](int i, int v) { p[i] = v; }; }
__device__ auto waits() { return [] { __syncthreads(); }; }
template <class F, class G> __device__ auto compose(F f, G g) { return [=](int x) { return f(g(x)); }; }
template <class F> __device__ auto twice(F f) { return [f](int x) { return f(f(x)); }; }
template <class F> __device__ void each(F f, int* p) { p[f(threadIdx.x)] = threadIdx.x; }
template <class F> __device__ void refers(F&& f, int* p) { p[f(threadIdx.x)] = threadIdx.x; }
template <class F> __device__ void constant(const F& f, int* p) { p[f(threadIdx.x)] = threadIdx.x; }
template <class F> __device__ auto same(F f) { return f; }
struct Maker {
    int d;
    __device__ auto operator()() const { return [d = d](int i) { return i / d; }; }
    __device__ auto member() const { return [this](int i) { return i / d; }; }
};
__device__ auto counts() { return [n = 0]() mutable { return ++n; }; }
"""


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("auto f = at(s); f(t) = t;", "auto f = at(s); f(t / 2) = t;"),
        ("at(s)(t) = t;", "at(s)(t / 2) = t;"),
        ("auto&& f = at(s); f(t) = t;", "auto&& f = at(s); f(t / 2) = t;"),
        ("const auto f = at(s + t); f(0) = t;", "const auto f = at(s + t / 2); f(0) = t;"),
        ("writer(s)(t, t);", "writer(s)(t / 2, t);"),
        ("s[by(1)(t)] = t;", "s[by(2)(t)] = t;"),
        ("s[later(1)()(t)] = t;", "s[later(2)()(t)] = t;"),
        ("auto f = later(1)(); s[f(t)] = t;", "auto f = later(2)(); s[f(t)] = t;"),
        ("auto f = later(1); s[f()(t)] = t;", "auto f = later(2); s[f()(t)] = t;"),
        ("s[named(1)(t)] = t;", "s[named(2)(t)] = t;"),
        ("s[through(1)(t)] = t;", "s[through(2)(t)] = t;"),
        ("s[same(by(1))(t)] = t;", "s[same(by(2))(t)] = t;"),
        ("auto f = by(1); auto g = f; s[g(t)] = t;", "auto f = by(2); auto g = f; s[g(t)] = t;"),
        ("auto f = by(1); auto& g = f; s[g(t)] = t;", "auto f = by(2); auto& g = f; s[g(t)] = t;"),
        ("each(by(1), s);", "each(by(2), s);"),
        ("refers(by(1), s);", "refers(by(2), s);"),
        ("constant(by(1), s);", "constant(by(2), s);"),
        (
            "auto dbl = [](int x) { return x * 2; }; s[compose(by(2), dbl)(t)] = t;",
            "auto dbl = [](int x) { return x * 2; }; s[compose(dbl, by(2))(t)] = t;",
        ),
        ("s[compose(by(1), by(1))(t)] = t;", "s[compose(by(1), by(2))(t)] = t;"),
        ("auto f = compose(by(1), by(1)); s[f(t)] = t;", "auto f = compose(by(1), by(2)); s[f(t)] = t;"),
        ("s[twice(by(1))(t)] = t;", "s[twice(by(2))(t)] = t;"),
        ("s[twice(twice(by(1)))(t)] = t;", "s[twice(twice(by(2)))(t)] = t;"),
        ("auto f = [g = by(1)](int i) { return g(i); }; s[f(t)] = t;",
         "auto f = [g = by(2)](int i) { return g(i); }; s[f(t)] = t;"),
        ("s[Maker{1}()(t)] = t;", "s[Maker{2}()(t)] = t;"),
        ("Maker m{1}; s[m()(t)] = t;", "Maker m{2}; s[m()(t)] = t;"),
        ("Maker m{1}; auto f = m.member(); s[f(t)] = t;", "Maker m{2}; auto f = m.member(); s[f(t)] = t;"),
        (
            "Maker m{2}; auto f = m.member(); m.d = 1; s[f(t)] = t;",
            "Maker m{2}; auto f = m(); m.d = 1; s[f(t)] = t;",
        ),
        (
            "int d = 1; auto f = by(d); d = 2; s[f(t)] = t;",
            "int d = 2; auto f = by(d); d = 1; s[f(t)] = t;",
        ),
        (
            "auto mk = [](int d) { return [d](int i) { return i / d; }; }; s[mk(1)(t)] = t;",
            "auto mk = [](int d) { return [d](int i) { return i / d; }; }; s[mk(2)(t)] = t;",
        ),
        (
            "int d = 2; auto mk = [&] { return [&](int i) { return i / d; }; }; auto f = mk(); d = 1; s[f(t)] = t;",
            "int d = 1; auto mk = [&] { return [&](int i) { return i / d; }; }; auto f = mk(); d = 2; s[f(t)] = t;",
        ),
        (
            "auto w = waits(); s[t] = t; w(); out[t] = s[63 - t];",
            "auto w = waits(); s[t] = t; out[t] = s[63 - t];",
        ),
        ("s[t] = t; waits()(); out[t] = s[63 - t];", "s[t] = t; waits(); out[t] = s[63 - t];"),
    ],
)  # fmt: skip
def test_a_lambda_that_is_returned_is_followed_to_where_it_is_called(free: str, racy: str) -> None:
    assert twins(MADE, free, racy) == RIGHT


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        (
            "auto f = counts(); f(); s[f() == 2 ? t : t / 2] = t;",
            "auto f = counts(); f(); s[f() == 1 ? t : t / 2] = t;",
        ),
        (
            "auto f = counts(); auto g = f; g(); s[f() == 1 ? t : t / 2] = t;",
            "auto f = counts(); auto g = f; g(); s[f() == 2 ? t : t / 2] = t;",
        ),
        (
            "auto f = counts(); auto& g = f; g(); s[f() == 2 ? t : t / 2] = t;",
            "auto f = counts(); auto& g = f; g(); s[f() == 1 ? t : t / 2] = t;",
        ),
        (
            "auto f = counts(); auto g = [f]() mutable { return f(); }; g(); s[f() == 1 ? t : t / 2] = t;",
            "auto f = counts(); auto g = [f]() mutable { return f(); }; g(); s[f() == 2 ? t : t / 2] = t;",
        ),
        (
            "auto f = counts(); auto g = [&f] { return f(); }; g(); s[f() == 2 ? t : t / 2] = t;",
            "auto f = counts(); auto g = [&f] { return f(); }; g(); s[f() == 1 ? t : t / 2] = t;",
        ),
        (
            "auto f = counts(); auto g = [=]() mutable { return f(); }; auto h = g; h(); g();"
            " s[g() == 2 ? t : t / 2] = t;",
            "auto f = counts(); auto g = [=]() mutable { return f(); }; auto h = g; h(); g();"
            " s[g() == 3 ? t : t / 2] = t;",
        ),
        (
            "auto f = counts(); auto g = same(f); g(); g(); s[f() == 1 ? t : t / 2] = t;",
            "auto f = counts(); auto g = same(f); g(); g(); s[f() == 3 ? t : t / 2] = t;",
        ),
        (
            "counts()(); s[counts()() == 1 ? t : t / 2] = t;",
            "counts()(); s[counts()() == 2 ? t : t / 2] = t;",
        ),
    ],
)
def test_each_copy_of_a_lambda_has_its_own_state(free: str, racy: str) -> None:
    assert twins(MADE, free, racy) == RIGHT


OWNED = """
struct Ends { int* p; int i; __device__ ~Ends() { p[i] = threadIdx.x; } };
struct Waits { int v; __device__ ~Waits() { __syncthreads(); } };
__device__ auto waits(int v) { return [w = Waits{v}] { return w.v; }; }
__device__ auto ends(int* p, int i) { return [e = Ends{p, i}] { return e.i; }; }
template <class F> __device__ int calls(const F& f) { return f(); }
"""


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("s[t] = t; { auto f = waits(1); } out[t] = s[63 - t];", "auto f = waits(1); s[t] = t; out[t] = s[63 - t];"),
        ("s[t] = t; int v = waits(1)(); out[t] = s[63 - t] + v;", "s[t] = t; out[t] = s[63 - t] + waits(1)();"),
        ("s[t] = t; int v = calls(waits(1)); out[t] = s[63 - t] + v;",
         "s[t] = t; out[t] = s[63 - t] + calls(waits(1));"),
        ("{ auto f = ends(s, t); }", "{ auto f = ends(s, t / 2); }"),
        ("int v = ends(s, t)();", "int v = ends(s, t / 2)();"),
    ],
)  # fmt: skip
def test_what_a_lambda_owns_ends_with_it(free: str, racy: str) -> None:
    assert twins(OWNED, free, racy) == RIGHT


SHARED = """
template <int N> __device__ auto array() { return []() -> int* { __shared__ int a[64]; return a; }; }
template <int N> __device__ auto outer() { return array<N + 1>(); }
__device__ auto plain() { return [](int i) { __shared__ int a[64]; a[i] = threadIdx.x; }; }
"""


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("plain()(t);", "plain()(t / 2);"),
        ("array<1>()()[t] = t;", "array<1>()()[t / 2] = t;"),
        (
            "array<1>()()[t] = t; out[t] = array<2>()()[63 - t];",
            "array<1>()()[t] = t; out[t] = array<1>()()[63 - t];",
        ),
        (
            "outer<1>()()[t] = t; out[t] = array<1>()()[63 - t];",
            "outer<1>()()[t] = t; out[t] = array<2>()()[63 - t];",
        ),
    ],
)
def test_shared_memory_of_a_lambda_belongs_to_the_instance_that_returns_it(free: str, racy: str) -> None:
    assert twins(SHARED, free, racy) == RIGHT


@pytest.mark.parametrize(
    ("prelude", "body"),
    [
        # the local variable is gone
        ("__device__ auto f(int d) { return [&](int i) { return i / d; }; }", "s[f(1)(t)] = t;"),
        ("__device__ auto f(int d) { auto g = [&d](int i) { return i / d; }; return g; }", "s[f(1)(t)] = t;"),
        ("__device__ auto f(int d) { return [&e = d](int i) { return i / e; }; }", "s[f(1)(t)] = t;"),
        (
            "__device__ auto f(int d) { auto g = [&](int i) { return i / d; };"
            " return [g](int i) { return g(i); }; }",
            "s[f(1)(t)] = t;",
        ),
        # which of them is returned is not known
        (
            "__device__ auto f(int n) { for (int i = 0; ; ++i) if (i * i >= n) return [i](int x) { return x / i; }; }",
            "s[f(2)(t)] = t;",
        ),
        # nobody calls it in sight
        ("__device__ auto f(int* p) { return [p] { p[0] = 1; }; } template <class F> __device__ void g(F f);",
         "g(f(s));"),
        ("__device__ auto f(int* p) { return [p](int i) { p[i] = 1; }; }",
         "auto a = t < 32 ? f(s) : f(s); a(t);"),
        ("__device__ auto f(int* p) { return [p](int i) { p[i] = 1; }; } template <class F> struct Box { F f; };",
         "Box<decltype(f(s))> b{f(s)}; b.f(0);"),
        ("__device__ auto f() { return [](int* p) { p[0] = 1; }; }", "void (*g)(int*) = f(); g(s);"),
    ],
)  # fmt: skip
def test_a_lambda_that_is_not_followed_is_not_passed_over(prelude: str, body: str) -> None:
    assert kind(prelude, body) is VerdictKind.UNDECIDED


def test_a_lambda_may_refer_to_what_its_function_was_given_by_reference() -> None:
    prelude = "__device__ auto f(int& d) { return [&d](int i) { return i / d; }; }"
    free = "int d = 2; auto g = f(d); d = 1; s[g(t)] = t;"
    racy = "int d = 1; auto g = f(d); d = 2; s[g(t)] = t;"
    assert twins(prelude, free, racy) == RIGHT


def test_what_a_reference_leads_to_is_captured_by_copy_where_the_lambda_is() -> None:
    free = "int& r = s[t]; auto f = [r] { return r; }; __syncthreads(); s[63 - t] = f();"
    racy = "int& r = s[t]; auto f = [&r] { return r; }; __syncthreads(); s[63 - t] = f();"
    assert twins("", free, racy) == RIGHT
    prelude = "__device__ auto f(int& r) { return [=] { return r; }; }"
    free = "auto g = f(s[t]); __syncthreads(); s[63 - t] = g();"
    racy = "auto g = [&] { return s[t]; }; __syncthreads(); s[63 - t] = g();"
    assert twins(prelude, free, racy) == RIGHT
