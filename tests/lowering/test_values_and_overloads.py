"""What a value is and which function is meant, where the language decides it silently: a kernel whose threads all write
to ``s[t]`` is told apart from its twin, whose threads meet."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from tests.verdicts import kind, twins

RIGHT = (VerdictKind.RACE_FREE, VerdictKind.RACY)


@pytest.mark.parametrize(
    ("prelude", "free", "racy"),
    [
        (
            "",
            "long long n = 1 << 30; s[n < 0 ? t / 2 : t] = t;",
            "long long n = 1 << 31; s[n < 0 ? t / 2 : t] = t;",
        ),
        (
            "",
            "int b = 31; long long n = 1ll << b; s[n < 0 ? t / 2 : t] = t;",
            "int b = 31; long long n = 1 << b; s[n < 0 ? t / 2 : t] = t;",
        ),
        (
            "",
            "int b = 31; int m = 1 << b; s[m > 0 ? t / 2 : t] = t;",
            "int b = 31; int m = 1 << b; long long n = m; s[n < 0 ? t / 2 : t] = t;",
        ),
        (
            "",
            "int b = 31; unsigned long long n = 3u << b; s[n >> 32 ? t / 2 : t] = t;",
            "int b = 31; unsigned long long n = 1 << b; s[n >> 32 ? t / 2 : t] = t;",
        ),
        (
            "__device__ long long f(int b) { return 5 << b; }",
            "s[f(28) < 0 ? t / 2 : t] = t;",
            "s[f(29) < 0 ? t / 2 : t] = t;",
        ),
        (
            "template <int B> __device__ long long f() { return 1 << B; }",
            "s[f<30>() < 0 ? t / 2 : t] = t;",
            "s[f<31>() < 0 ? t / 2 : t] = t;",
        ),
        (
            "",
            "int b = t % 31; long long n = 1 << b; s[n < 0 ? 0 : t] = t;",
            "int b = t % 32; long long n = 1 << b; s[n < 0 ? 0 : t] = t;",
        ),
        ("", "s[((1 << 31) | 1ll) > 0 ? t / 2 : t] = t;", "s[((1 << 31) | 1ll) < 0 ? t / 2 : t] = t;"),
    ],
    ids=["constant", "variable", "kept", "unsigned", "function", "template", "of-threads", "operand"],
)
def test_a_shift_to_the_left_stays_in_the_type_of_its_left_operand(
    prelude: str, free: str, racy: str
) -> None:
    assert twins(prelude, free, racy) == RIGHT


@pytest.mark.parametrize(
    ("prelude", "holds"),
    [
        ("constexpr float eps = 0.f;", "eps == 0"),
        ("constexpr float eps = 0.1f;", "eps > 0.1"),
        ("struct A { static constexpr double low = -1.5; };", "A::low < -1"),
        ("const float two = 2, half = 1 / two;", "half == 0.5f"),
        ("constexpr float f(float x) { return x * 2; }\nconstexpr float four = f(2);", "four == 4"),
        ("constexpr int n = 2.75 * 4;", "n == 11"),
        ("template <class T> struct L { static constexpr T init = T(-1); };", "L<float>::init < 0"),
        ("template <class T> constexpr T init = T(1) / 4;", "init<float> > 0"),
        ("namespace n { constexpr float big = 16777217; }", "n::big == 16777216"),
        ("struct O { static constexpr float e = 1e-3f; };", "O::e > 0 && O::e < 1"),
        ("", "1e-3f"),
    ],
)
def test_a_constant_with_a_point_has_the_value_that_its_type_holds(prelude: str, holds: str) -> None:
    body = "s[t] = t; if (%s) __syncthreads(); out[t] = s[63 - t];"
    assert twins(prelude, body % holds, body % f"!({holds})") == RIGHT


def test_each_instance_has_its_own_constant_with_a_point() -> None:
    prelude = """struct A { static constexpr float i = 0.f; }; struct B { static constexpr float i = 1.f; };
    template <class Op> __device__ int at(int t) { return Op::i > 0 ? t / 2 : t; }"""
    assert twins(prelude, "s[at<A>(t)] = t;", "s[at<B>(t)] = t;") == RIGHT


def test_no_race_rests_on_a_constant_whose_value_is_not_known() -> None:
    body = "s[t] = t; if (%s) __syncthreads(); out[t] = s[63 - t];"
    prelude = "constexpr float third = 1.f / 3;"
    undecided = VerdictKind.UNDECIDED
    assert twins(prelude, body % "third > 0", body % "third < 0") == (undecided, undecided)


@pytest.mark.parametrize(
    ("prelude", "free", "racy"),
    [
        (
            "__device__ int f(unsigned t) { unsigned b = t >>= 1; return b; }",
            "s[f(2 * t)] = t;",
            "s[f(t)] = t;",
        ),
        ("", "int u = 2 * t; s[(u /= 2)] = t;", "int u = t; s[u /= 2] = t;"),
        (
            "",
            "int u = 2 * t, v; v = u >>= 1; u = 0; s[v] = t;",
            "int u = t, v; v = u >>= 1; u = t; s[v] = t;",
        ),
        (
            "struct W { int b, a; __device__ W(int t) : b(t >>= 1), a(t) {} };",
            "W w(2 * t); s[w.a] = t;",
            "W w(t); s[w.b] = t;",
        ),
        (
            "struct P { int x; };",
            "P p{2 * t}; int v = p.x >>= 1; p.x = 0; s[v] = t;",
            "P p{t}; int v = p.x >>= 1; p.x = t; s[v] = t;",
        ),
    ],
    ids=["result", "index", "assigned-again", "initializer", "member"],
)
def test_an_assignment_is_what_it_has_assigned(prelude: str, free: str, racy: str) -> None:
    assert twins(prelude, free, racy) == RIGHT


BASE = """
typedef int I; using P = const int*;
struct A {
  __device__ virtual int f(PARAMETERS) BEHIND { return t / 2; }
  __device__ int g(int t) BEHIND { int z = 0; (void)z; return f(ARGUMENTS); }
};
struct B : A { __device__ int f(OWN) { return t; } };
"""


def overridden(parameters: str, behind: str, arguments: str, own: str) -> VerdictKind:
    prelude = BASE.replace("PARAMETERS", parameters).replace("BEHIND", behind).replace("ARGUMENTS", arguments)
    return kind(prelude.replace("f(OWN)", f"f({own}"), "B b; s[b.g(t)] = t;")


@pytest.mark.parametrize(
    ("parameters", "behind", "arguments", "overrides", "other"),
    [
        ("int t", "", "t", "const int t)", "int t) volatile"),
        ("int t", "", "t", "I t)", "int t) &"),
        ("int t", "const volatile", "t", "signed t) volatile const", "int t) const"),
        ("int t, const int* p", "", "t, &z", "int t, P const p)", "int t, int* p)"),
        ("int t, int p[4]", "", "t, &z", "int t, int* p)", "int t, int** p)"),
        ("int t, const int& p", "", "t, z", "int t, int const& p)", "int t, const int&& p)"),
    ],
)
def test_what_overrides_has_the_same_types_and_qualifiers(
    parameters: str, behind: str, arguments: str, overrides: str, other: str
) -> None:
    found = tuple(overridden(parameters, behind, arguments, own) for own in (overrides, other))
    assert found == RIGHT


def test_the_final_overrider_may_be_hidden() -> None:
    prelude = """struct A {
      __device__ virtual int f(int t) { return t / 2; }
      __device__ int g(int t) { return f(t); }
    };
    struct M : A { __device__ int f(int t) { return %s; } };
    struct B : M { __device__ int f(unsigned t) { return 0; } };"""
    body = "B b; s[b.g(t)] = t;"
    assert (kind(prelude % "t", body), kind(prelude % "t / 2", body)) == RIGHT


def test_a_function_that_is_not_virtual_is_the_one_of_the_class_that_is_seen() -> None:
    prelude = """struct A {
      __device__ virtual int f(int t) { return 0; }
      __device__ int f(unsigned t) { return %s; }
      __device__ int g(unsigned t) { return f(t); }
    };
    struct B : A { __device__ int f(unsigned t) { return %s; } };"""
    body = "B b; s[b.g(t)] = t;"
    assert (kind(prelude % ("t", "0"), body), kind(prelude % ("0", "t"), body)) == RIGHT


ADDRESSED = """
__device__ int f(int);
__device__ int f(int t) { return t; }
__device__ int f(unsigned t) { return t / 2; }
__device__ int f(int t, int d) { return t / d; }
template <class T> __device__ int h(T t) { return sizeof(T) == 4 ? t : t / 2; }
using Fn = int (*)(unsigned);
typedef int (*Gn)(int);
struct A {
  __device__ static int f(int t) { return t; }
  __device__ static int f(unsigned t) { return t / 2; }
};
__device__ int by_int(int (*g)(int), int t) { return g(t); }
__device__ int by_unsigned(int (*g)(unsigned), int t) { return g(t); }
__device__ int by_alias(Fn g, int t) { return g(t); }
__device__ int by_two(int (*g)(int, int), int t, int d) { return g(t, d); }
__device__ int by_reference(int (&g)(const int), unsigned t) { return g(t); }
__device__ int unsigned_by_reference(int (&g)(unsigned u), int t) { return g(t); }
template <int (*G)(unsigned)> __device__ int constant(int t) { return G(t); }
template <Gn G> __device__ int constant_alias(unsigned t) { return G(t); }
template <class F> __device__ int any(F f, int t) { return f(t); }
"""


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("int (*g)(int) = f; s[g(t)] = t;", "int (*g)(unsigned) = f; s[g(t)] = t;"),
        ("s[by_int(f, t)] = t;", "s[by_unsigned(f, t)] = t;"),
        ("s[by_int(&f, t)] = t;", "s[by_unsigned(&f, t)] = t;"),
        ("s[by_two(f, t, 1)] = t;", "s[by_two(f, t, 2)] = t;"),
        ("s[by_reference(f, t)] = t;", "s[unsigned_by_reference(f, t)] = t;"),
        ("int (*g)(int) = A::f; s[g(t)] = t;", "int (*g)(unsigned) = &A::f; s[g(t)] = t;"),
        ("Gn g = f; s[g(t)] = t;", "s[by_alias(f, t)] = t;"),
        ("s[constant_alias<f>(t)] = t;", "s[constant<f>(t)] = t;"),
        ("s[any(h<int>, t)] = t;", "s[any(h<short>, t)] = t;"),
    ],
)
def test_the_type_of_the_pointer_says_which_function_it_leads_to(free: str, racy: str) -> None:
    assert twins(ADDRESSED, free, racy) == RIGHT


@pytest.mark.parametrize(
    "body",
    [
        "int (*g)(short) = h; s[g(t)] = t;",
        "int (*g)(unsigned); g = f; s[g(t)] = t;",
    ],
)
def test_a_pointer_to_one_of_several_functions_is_not_guessed(body: str) -> None:
    assert kind(ADDRESSED, body) is VerdictKind.UNDECIDED


ARRAYS = """
using Row = int[4];
struct P { int a[4]; };
__device__ int by_reference(int (&a)[4], int t) { return t; }
__device__ int by_reference(const int (&a)[4], int t) { return t / 2; }
__device__ int by_alias(Row& a, int t) { return t; }
__device__ int by_alias(const Row& a, int t) { return t / 2; }
__device__ int by_bound(int (&a)[4], int t) { return t; }
__device__ int by_bound(int (&a)[5], int t) { return t / 2; }
__device__ int or_template(int (&a)[4], int t) { return t; }
template <class T> __device__ int or_template(const T& a, int t) { return t / 2; }
__device__ int or_pointer(int (&a)[4], int t) { return t; }
__device__ int or_pointer(const int* a, int t) { return t / 2; }
__device__ int of_number(int& a, int t) { return t; }
__device__ int of_number(const int& a, int t) { return t / 2; }
__device__ int through(int (&a)[4], int t) { return by_reference(a, t); }
__device__ int through_constant(const int (&a)[4], int t) { return by_reference(a, t); }
"""


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("by_reference(l, t)", "by_reference(c, t)"),
        ("by_alias(l, t)", "by_alias(c, t)"),
        ("by_bound(l, t)", "by_bound(m, t)"),
        ("or_template(l, t)", "or_template(c, t)"),
        ("or_template(p.a, t)", "or_template(q.a, t)"),
        ("or_pointer(l, t)", "or_pointer(c, t)"),
        ("by_reference(r, t)", "by_reference(cr, t)"),
        ("of_number(r[0], t)", "of_number(cr[0], t)"),
        ("through(l, t)", "through_constant(l, t)"),
    ],
)
def test_an_array_is_constant_where_its_elements_are(free: str, racy: str) -> None:
    body = """const int c[4] = {}; int l[4] = {}, m[5] = {}; P p{}; const P q{};
    int (&r)[4] = l; const int (&cr)[4] = l; s[%s] = t;"""
    assert twins(ARRAYS, body % free, body % racy) == RIGHT


def test_a_reference_to_what_is_constant_is_constant() -> None:
    assert (
        twins(
            ARRAYS,
            "int l = 0; int& r = l; s[of_number(r, t)] = t;",
            "int l = 0; const int& r = l; s[of_number(r, t)] = t;",
        )
        == RIGHT
    )


INSTANCES = """
template <class T> struct M {
  __device__ static T* get() { __shared__ T b[64]; return b; }
  __device__ static T* again() { return get(); }
};
template <int N> struct Later { __device__ static int* get(); };
template <int N> __device__ int* Later<N>::get() { __shared__ int b[64]; return b; }
template <class T> struct Outer {
  struct Inner { __device__ static int* get() { __shared__ int b[64]; return b; } };
};
template <class T> __device__ T* of() { return M<T>::get(); }
struct Plain {
  __device__ static int* get() { __shared__ int b[64]; return b; }
  template <class T> __device__ static int* each() { __shared__ int b[64]; return b; }
};
__device__ int* through(int* (*f)()) { return f(); }
using I = int;
"""
GENERIC = "auto f = [](auto z) { __shared__ int b[64]; return b + 0 * z; };"


@pytest.mark.parametrize(
    ("two", "one"),
    [
        (("M<int>::get()", "M<unsigned>::get()"), ("M<int>::get()", "M<I>::get()")),
        (("M<int>::again()", "M<unsigned>::get()"), ("M<int>::again()", "M<int>::get()")),
        (("of<int>()", "of<unsigned>()"), ("of<int>()", "M<int>::get()")),
        (("Later<1>::get()", "Later<2>::get()"), ("Later<1>::get()", "Later<2 - 1>::get()")),
        (
            ("Outer<int>::Inner::get()", "Outer<long>::Inner::get()"),
            ("Outer<int>::Inner::get()", "Outer<int>::Inner::get()"),
        ),
        (("Plain::get()", "Plain::each<int>()"), ("Plain::get()", "through(Plain::get)")),
        (("f(1)", "f(1u)"), ("f(1)", "f(2)")),
    ],
)
def test_each_instance_has_its_own_static_array(two: tuple[str, str], one: tuple[str, str]) -> None:
    body = GENERIC + "%s[t] = t; %s[63 - t] = t;"
    assert twins(INSTANCES, body % two, body % one) == RIGHT


def test_an_array_of_an_instance_that_is_not_known_is_not_taken_for_another_one() -> None:
    body = "M<int>::get()[t] = t; through(M<int>::get)[63 - t] = t;"
    assert kind(INSTANCES, body) is not VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        (
            "int r = 5; for (int j = 0; j < 2; ++j) r /= 2; s[t / r] = t;",
            "int r = 9; for (int j = 0; j < 2; ++j) r /= 2; s[t / r] = t;",
        ),
        (
            "int r = 1; for (int j = 0; j < 3; ++j) r = r * 2 - 1; s[t / r] = t;",
            "int r = 1; for (int j = 0; j < 3; ++j) r = r * 2 + 1; s[t / r] = t;",
        ),
    ],
)
def test_a_constant_is_known_behind_a_loop_of_few_turns(free: str, racy: str) -> None:
    assert twins("", free, racy) == RIGHT


def test_a_number_that_may_wrap_is_not_taken_for_one_that_does_not() -> None:
    body = "unsigned r = 0x80000000u; for (int j = 0; j < 2; ++j) r *= 2; s[r ? t / 2 : t] = t;"
    assert kind("", body) is not VerdictKind.RACY


CLASSES = """
struct Plain { int v; };
struct Made { int v; __device__ Made(int x) : v(x) {} };
struct Turns { int v; __device__ operator Plain() const { return Plain{v}; } };
struct Number { int v; __device__ operator int() const { return v; } };
__device__ int operator+(Plain a, int k) { return a.v / 2; }
__device__ int f(Plain a) { return a.v / 2; }
__device__ int f(Made b) { return b.v; }
"""


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("Number n{t}; s[n + 0] = t;", "Turns c{t}; s[c + 0] = t;"),
        ("s[f(t)] = t;", "s[f(Plain{t})] = t;"),
    ],
)
def test_no_function_is_called_whose_parameter_nothing_makes(free: str, racy: str) -> None:
    assert twins(CLASSES, free, racy) == RIGHT
