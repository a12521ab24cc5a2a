"""The types of calls that no declaration says: of functions with ``auto``, of lambdas, of the user's literals. Which
of two functions gets the result depends on them, and what is computed of it."""

from __future__ import annotations

import pytest
from which_is_called import cases, right

from smem_lsp.engine import check

_DEDUCED = r"""
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
__device__ auto f(int x) { return x * 2u; }
> k(f(t), s, t);

void k(int, TO) CALLED
void k(unsigned, TO) OTHER
__device__ auto f(int x) { return x * 2; }
> k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned char, TO) CALLED
__device__ auto f(int x) { unsigned char c = x; return c; }
> k(f(t), s, t);

void k(int, TO) CALLED
void k(unsigned char, TO) OTHER
__device__ auto f(int x) { unsigned char c = x; return +c; }
> k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
__device__ auto f(int n) { if (n <= 0) return 0u; return f(n - 1) + 1; }
> k(f(3), s, t);

enum class E { A, B };
void k(E, TO) CALLED
void k(int, TO) OTHER
__device__ auto f(int x) { return x ? E::A : E::B; }
> k(f(t), s, t);

struct C { int v; }; struct B { int v; };
void k(C, TO) CALLED
void k(B, TO) OTHER
__device__ auto f(int x) { return C{x}; }
> k(f(t), s, t);

template <class T> __device__ auto f(T x) { return x * x; }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(f(3u + t), s, t);

template <class T> __device__ auto f(T x) { return x * x; }
void k(int, TO) CALLED
void k(short, TO) OTHER
> k(f((short)t), s, t);

template <int N> __device__ auto f() { if constexpr (N > 2) return 1u; else return 1; }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(f<3>(), s, t);

template <int N> __device__ auto f() { if constexpr (N > 2) return 1u; else return 1; }
void k(int, TO) CALLED
void k(unsigned, TO) OTHER
> k(f<1>(), s, t);

void k(int&, TO) CALLED
void k(int&&, TO) OTHER
__device__ auto& f(int& x) { return x; }
> int a = t; k(f(a), s, t);

void k(unsigned&, TO) OTHER
void k(unsigned&&, TO) CALLED
__device__ auto f(unsigned& x) { return x; }
> unsigned a = t; k(f(a), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> auto f = [](int x) { return x * 2u; }; k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> auto f = [](auto x) { return x * 2; }; k(f(1u + t), s, t);

void k(int, TO) CALLED
void k(unsigned, TO) OTHER
> auto f = [](auto x) { return x * 2; }; k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned char, TO) CALLED
> auto f = [=](int x) -> unsigned char { return x + t; }; k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned char, TO) CALLED
> unsigned char c = t; auto f = [c]() { return c; }; k(f(), s, t);

void k(int, TO) OTHER
void k(unsigned char, TO) CALLED
> unsigned char c = t; auto f = [&]() { return c; }; auto g = [&](int x) { return f(); }; k(g(1), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k([](int x) { return x + 1u; }(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
template <class F> __device__ auto call(F f, int x) { return f(x); }
> k(call([](int x) { return x + 1u; }, t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
struct Fn { unsigned b; __device__ auto operator()(int x) const { return x + b; } };
> Fn f; f.b = 3; k(f(t), s, t);

void k(int, TO) CALLED
void k(unsigned, TO) OTHER
struct Fn { int b; __device__ auto operator()(int x) const { return x + b; } };
> Fn f; f.b = 3; k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
struct Fn { template <class T> __device__ auto operator()(T x) const { return x + x; } };
> Fn f; k(f(1u), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
struct M { unsigned v; __device__ auto get() const { return v; }
__device__ auto twice() const { return get() * 2; } };
> M m; m.v = t; k(m.twice(), s, t);

struct V { int x; }; __device__ auto operator+(V a, V b) { return (unsigned)(a.x + b.x); }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> V a, b; a.x = t; b.x = 1; k(a + b, s, t);

struct V { int x; __device__ auto operator-() const { return (short)-x; } };
void k(int, TO) OTHER
void k(short, TO) CALLED
> V a; a.x = t; k(-a, s, t);

struct V { int x; __device__ auto operator[](int i) const { return (unsigned char)(x + i); } };
void k(int, TO) OTHER
void k(unsigned char, TO) CALLED
> V a; a.x = t; k(a[1], s, t);

__device__ auto g(int x) { return (unsigned char)x; }
__device__ auto f(int x) { auto y = g(x); return y; }
void k(int, TO) OTHER
void k(unsigned char, TO) CALLED
> k(f(t), s, t);

__device__ auto g(int x) { return (unsigned char)x; }
__device__ auto f(int x) { auto y = g(x) + 0; return y; }
void k(int, TO) CALLED
void k(unsigned char, TO) OTHER
> k(f(t), s, t);

__device__ unsigned g(int x) { return x; } __device__ unsigned g(float x) { return x; }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> auto y = g(t); k(y, s, t);

__device__ unsigned char g(int x) { return x; } __device__ int g(float x) { return x; }
void k(int, TO) OTHER
void k(unsigned char, TO) CALLED
> auto y = g(t); k(y, s, t);

__device__ unsigned char g(int x) { return x; } __device__ int g(float x) { return x; }
void k(int, TO) OTHER
void k(unsigned char, TO) CALLED
__device__ auto f(int x) { for (int i = 0; i < 3; ++i) { if (x == i) return g(x); } return g(1); }
> k(f(t), s, t);

__device__ auto f(int x) -> decltype(x + 1u) { return x; }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(f(t), s, t);

__device__ auto f(int x) { switch (x) { case 1: return 1ull; default: return 2ull; } }
void k(int, TO) OTHER
void k(unsigned long long, TO) CALLED
> k(f(t), s, t);

__device__ auto f(int x) { using u = unsigned; u y = x; return y; }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(f(t), s, t);

__device__ auto f(int x) { struct L { unsigned q; }; L l; l.q = x; return l.q; }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> unsigned u = t; auto f = [u](int x) mutable { ++u; return u + x; }; k(f(1), s, t);

void k(int, TO) OTHER
void k(float, TO) CALLED
__device__ auto f(int x) { return x * 0.5f; }
> k(f(t), s, t);

void k(double, TO) CALLED
void k(float, TO) OTHER
__device__ auto f(float x) { return x * 0.5; }
> k(f(t), s, t);

void k(bool, TO) CALLED
void k(int, TO) OTHER
__device__ auto f(int x) { return x > 3; }
> k(f(t), s, t);

void k(bool, TO) CALLED
void k(int, TO) OTHER
> auto f = [](int x) { return x > 3 && x < 9; }; k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
__device__ auto f(int x) { auto g = [](int y) { return y + 1u; }; return g(x); }
> k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
__device__ auto f(int x) { auto g = [&](auto y) { return y + x; }; return g(1u); }
> k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
template <class T> struct W { T v; __device__ auto get() const { return v; } };
> W<unsigned> w; w.v = 1; k(w.get(), s, t);

void k(int, TO) CALLED
void k(unsigned, TO) OTHER
template <class T> struct W { T v; __device__ auto operator*() const { return v; } };
> W<int> w; w.v = 1; k(*w, s, t);

void k(int, TO) OTHER
void k(unsigned short, TO) CALLED
template <class T> __device__ auto narrow(int x) { return T(x); }
> k(narrow<unsigned short>(t), s, t);

void k(int, TO) OTHER
void k(long, TO) CALLED
template <class T> __device__ auto f(T x) { if constexpr (sizeof(T) == 8) return x; else return (int)x; }
> k(f(3l), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> auto f = [](int x) { if (x > 2) return 3u; else return unsigned(x); }; auto y = f(t); k(y, s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
__device__ auto sum() { return 0; }
template <class A, class... R> __device__ auto sum(A a, R... r) { return a + sum(r...); }
> k(sum(1u, 2, 3), s, t);

struct V { int x; }; __device__ unsigned operator<(V a, V b) { return a.x < b.x; }
void k(bool, TO) OTHER
void k(unsigned, TO) CALLED
> V a, b; a.x = t; b.x = 1; k(a < b, s, t);

struct V { int x; __device__ unsigned operator!() const { return x; } };
void k(bool, TO) OTHER
void k(unsigned, TO) CALLED
> V a; a.x = t; k(!a, s, t);

struct V { int x; }; __device__ auto operator==(V a, V b) { return (short)(a.x - b.x); }
void k(bool, TO) OTHER
void k(short, TO) CALLED
> V a, b; a.x = t; b.x = 1; auto q = a == b; k(q, s, t);

struct V { int x; }; __device__ auto operator&&(V a, V b) { return (short)(a.x - b.x); }
void k(bool, TO) OTHER
void k(short, TO) CALLED
> V a, b; a.x = t; b.x = 1; k(a && b, s, t);

struct V { int x; }; __device__ unsigned operator,(V a, V b) { return a.x; }
void k(V, TO) OTHER
void k(unsigned, TO) CALLED
> V a, b; a.x = t; b.x = 1; k((a, b), s, t);

__device__ auto f(int x) { return x; } __device__ auto f(unsigned x) { return x; }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(true ? f(2u) : f(1), s, t);

__device__ unsigned short f(int x) { return x; } __device__ unsigned short f(float x) { return x; }
void k(int, TO) OTHER
void k(unsigned short, TO) CALLED
> k(true ? f(2) : f(1.f), s, t);

template <class F> struct Hold { F f; __device__ auto operator()(int x) const { return f(x); } };
struct A { __device__ unsigned operator()(int x) const { return x; } };
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> Hold<A> h; k(h(t), s, t);

template <class T> struct Tr { using type = T; }; template <> struct Tr<int> { using type = unsigned; };
template <class T> __device__ auto f(T x) { return typename Tr<T>::type(x); }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(f(t), s, t);

template <class T> __device__ auto f(T x) { typename T::t y = x.v; return y; }
struct Q { using t = unsigned; int v; };
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> Q q; q.v = t; k(f(q), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> unsigned u = t; auto f = [v = u + 1]() { return v; }; k(f(), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> int u = t; { unsigned u = t; auto f = [&]() { return u; }; k(f(), s, t); }

void k(int, TO) CALLED
void k(unsigned, TO) OTHER
> unsigned x = 1; auto f = [&](int x) { return x; }; k(f(t), s, t);

void k(int, TO) CALLED
void k(unsigned, TO) OTHER
> unsigned x = 1; auto f = [&](int y) { int x = y; return x; }; k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> auto f = [](int y) { for (unsigned i = 0; i < 4; ++i) if (i == y) return i; return 7u; }; k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> auto f = [](auto y) { using T = decltype(y); return T(3); }; k(f(1u), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> auto f = [](auto y, auto z) { return y * z; }; k(f(1, 2u), s, t);

void k(int, TO) OTHER
void k(long, TO) CALLED
> auto f = [](auto y) { return sizeof(y) > 4 ? y : y + 1; }; k(f(3L), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
template <class T> __device__ T id(T x) { return x; }
> auto f = [](auto y) { return id(y); }; k(f(3u), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
template <class T> __device__ T id(T x) { return x; }
> k(id(id<unsigned>(t)), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
template <class T> __device__ auto mk() { return T{}; }
> k(mk<unsigned>(), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
template <class T, class U> __device__ auto mk(U x) { return (T)x; }
> k(mk<unsigned>(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
struct S2 { template <class T> __device__ auto mk(int x) { return (T)x; } };
> S2 z; k(z.mk<unsigned>(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
struct S2 { static __device__ auto mk(int x) { return (unsigned)x; } };
> k(S2::mk(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
struct B2 { unsigned m; __device__ auto g() { return m; } }; struct D2 : B2 {
__device__ auto h() { return g(); } };
> D2 z; z.m = t; k(z.h(), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
struct B2 { int m; __device__ auto g() { return m; } }; struct D2 : B2 { unsigned m;
__device__ auto h() { return m; } };
> D2 z; z.m = t; k(z.h(), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
__device__ auto f(int x) { static const unsigned tab[3] = {1, 2, 3}; return tab[x]; }
> k(f(t & 1), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
__device__ auto f(const unsigned* p) { return *p; }
> unsigned a[2]; a[0] = 1; k(f(a), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
__device__ auto f(const unsigned* p) { return p[1]; }
> unsigned a[2]; a[1] = 1; k(f(a), s, t);

void k(int, TO) OTHER
void k(long, TO) CALLED
__device__ auto f(const unsigned* p, const unsigned* q) { return p - q; }
> unsigned a[2]; k(f(a, a), s, t);

void k(int, TO) CALLED
void k(unsigned, TO) OTHER
__device__ auto f(int x) { auto y = x; auto z = y + 1u; y = z; return y; }
> k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
__device__ auto f(int x) { unsigned y = 1; return y += x; }
> k(f(t), s, t);

void k(int, TO) OTHER
void k(unsigned char, TO) CALLED
__device__ auto f(int x) { unsigned char y = 1; return y++; }
> k(f(t), s, t);

void k(int, TO) CALLED
void k(unsigned char, TO) OTHER
__device__ auto f(int x) { unsigned char y = 1; return -y; }
> k(f(t), s, t);

void k(int, TO) CALLED
void k(unsigned char, TO) OTHER
__device__ auto f(int x) { unsigned char y = 1; return y << 1; }
> k(f(t), s, t);

void k(int, TO) CALLED
void k(unsigned, TO) OTHER
struct Bf { unsigned b : 3; }; __device__ auto f(Bf x) { return x.b + 1; }
> Bf b; b.b = 1; k(f(b), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
struct Bf { unsigned b : 3; }; __device__ auto f(Bf x) { return x.b; }
> Bf b; b.b = 1; k(f(b), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
template <class F, class G> __device__ auto comp(F f, G g) { return [=](int x) { return f(g(x)); }; }
> auto c = comp([](int x) { return x + 1u; }, [](int x) { return x; }); k(c(t), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> auto f = [] { return 1u; }; auto g = [&f] { return f(); }; auto h = [g] { return g(); }; k(h(), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
enum class E2 : unsigned { A }; __device__ auto f(E2 e) { return static_cast<unsigned>(e); }
> k(f(E2::A), s, t);

enum E3 { X3, Y3 }; __device__ auto operator|(E3 a, E3 b) { return E3(int(a) | int(b)); }
void k(int, TO) OTHER
void k(E3, TO) CALLED
> k(X3 | Y3, s, t);

enum E3 { X3, Y3 }; __device__ auto operator+(E3 a, int b) { return (unsigned)(int(a) + b); }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(X3 + 1, s, t);

__device__ auto f(int x) { return x; } __device__ auto f(double x) { return x; }
void k(int, TO) OTHER
void k(double, TO) CALLED
> k(f(t) + f(1.5), s, t);

__device__ decltype(auto) f(unsigned* p) { return *p; }
void k(unsigned&, TO) CALLED
void k(unsigned&&, TO) OTHER
> unsigned a = 1; k(f(&a), s, t);

__device__ decltype(auto) f(unsigned* p) { return p[0] + 1; }
void k(unsigned&, TO) OTHER
void k(unsigned&&, TO) CALLED
> unsigned a = 1; k(f(&a), s, t);

struct H { unsigned u; __device__ decltype(auto) g() { return (u); }
__device__ decltype(auto) h() { return u; } };
void k(unsigned&, TO) OTHER
void k(unsigned&&, TO) CALLED
> H a; a.u = 1; k(a.h(), s, t);

__device__ auto&& f(unsigned& u) { return u; }
void k(unsigned&, TO) CALLED
void k(unsigned&&, TO) OTHER
> unsigned a = 1; k(f(a), s, t);

void k(unsigned&, TO) CALLED
void k(unsigned&&, TO) OTHER
> unsigned a = 1; auto f = [&]() -> auto& { return a; }; k(f(), s, t);

void k(unsigned&, TO) CALLED
void k(unsigned&&, TO) OTHER
> unsigned a = 1; auto f = [&]() -> decltype(auto) { return (a); }; k(f(), s, t);

void k(int, TO) OTHER
void k(unsigned short, TO) CALLED
__device__ auto f(int x) { if (x > 1) { auto y = (unsigned short)x; return y; }
else { const unsigned short z = 1; return z; } }
> k(f(t), s, t);

template <int N> struct Fact { static
__device__ auto v() { if constexpr (N == 0) return 1u; else return N * Fact<N - 1>::v(); } };
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(Fact<3>::v(), s, t);

template <int N> __device__ auto fac() { if constexpr (N == 0) return 1u; else return N * fac<N - 1>(); }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(fac<3>(), s, t);

void k(int, TO) CALLED
void k(unsigned, TO) OTHER
template <class T> __device__ auto f(T a, T b) -> decltype(a + b) { return a + b; }
> k(f((short)1, (short)2), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
template <class T> __device__ auto f(T a) -> T { return a; }
> k(f(1u), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
__device__ auto f(int a) -> unsigned { return a; } __device__ auto f(float a) -> int { return a; }
> k(f(1), s, t);

void k(int, TO) OTHER
void k(unsigned, TO) CALLED
template <unsigned (*P)(int)> __device__ auto ap(int x) { return P(x); }
__device__ unsigned g(int x) { return x; }
> k(ap<g>(t), s, t);
"""
_LITERALS = r"""
__device__ constexpr unsigned operator""_u(unsigned long long x) { return x; }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> k(3_u, s, t);

__device__ constexpr auto operator""_u(unsigned long long x) { return (unsigned char)x; }
void k(int, TO) OTHER
void k(unsigned char, TO) CALLED
> k(3_u, s, t);

__device__ constexpr int operator""_u(long double x) { return x; }
void k(int, TO) CALLED
void k(double, TO) OTHER
> k(3.5_u, s, t);

__device__ constexpr unsigned operator""_u(char x) { return x; }
void k(char, TO) OTHER
void k(unsigned, TO) CALLED
> k('c'_u, s, t);

__device__ constexpr unsigned long operator""_u(const char* p, size_t n) { return n; }
void k(unsigned long, TO) CALLED
void k(const char*, TO) OTHER
> k("abc"_u, s, t);

template <char... C> __device__ constexpr unsigned operator""_u() { return sizeof...(C); }
void k(unsigned, TO) CALLED
void k(int, TO) OTHER
> k(123_u, s, t);

namespace lits { __device__ unsigned operator""_u(unsigned long long x) { return x; } }
void k(int, TO) OTHER
void k(unsigned, TO) CALLED
> using namespace lits; k(3_u, s, t);
"""


@pytest.mark.parametrize(("declared", "call"), cases(_DEDUCED))
def test_the_type_of_a_call_is_that_of_what_it_returns(declared: str, call: str) -> None:
    assert right(declared, call)


@pytest.mark.parametrize(("declared", "call"), cases(_LITERALS))
def test_a_literal_with_a_suffix_has_the_type_of_its_operator(declared: str, call: str) -> None:
    assert right(declared, call)


_KERNEL = """
__shared__ int s[64];
{above}
__global__ void k(int n) {{ const int t = threadIdx.x; {statements} }}
void host() {{ k<<<1, 64>>>(3); }}
"""


def _verdict(above: str, statements: str) -> str:
    above = above.replace("RACES", "{ s[threadIdx.x / 2] = threadIdx.x; return 1; }")
    (kernel,) = check(
        _KERNEL.format(above=above.replace("PLAIN", "{ return 1; }"), statements=statements)
    ).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


_WHOLE = '__device__ int operator""_u(unsigned long long)'
_POINT = '__device__ int operator""_u(long double)'
_RAW = '__device__ int operator""_u(const char*)'
_STRING = '__device__ int operator""_u(const char*, size_t)'
_CHARACTER = '__device__ int operator""_u(char)'


@pytest.mark.parametrize(
    ("called", "other", "statement"),
    [
        (_WHOLE, _RAW, "3_u;"),
        (_WHOLE, _POINT, "3_u;"),
        (_POINT, _WHOLE, "3.5_u;"),
        (_POINT, _RAW, "1e3_u;"),
        (_RAW, _WHOLE, "3.5_u;"),
        (_RAW, _POINT, "0x3_u;"),
        (_STRING, _RAW, '"3"_u;'),
        (_STRING, _RAW, '"3" "4"_u;'),
        (_CHARACTER, _WHOLE, "'c'_u;"),
        (_CHARACTER, _STRING, r"'\\n'_u;"),
        (_WHOLE, _CHARACTER, "1'000_u + 0x1F_u;"),
        (_WHOLE, _POINT, "auto f = [] { return 3_u; }; f();"),
    ],
)
def test_a_literal_calls_the_operator_that_takes_it(called: str, other: str, statement: str) -> None:
    assert _verdict(f"{called} RACES {other} PLAIN", statement) != "race-free"
    assert _verdict(f"{other} RACES {called} PLAIN", statement) == "race-free"


def test_a_literal_runs_where_a_default_argument_is_asked_for() -> None:
    above = f"{_WHOLE} RACES __device__ int g(int x = 4_u) {{ return x; }}"
    assert _verdict(above, "g();") == "racy"
    assert _verdict(above, "g(2);") == "race-free"


def test_a_literal_of_a_pack_is_said_not_to_be_followed() -> None:
    assert _verdict('template <char... C> __device__ int operator""_u() RACES', "12_u;") == "undecided"


@pytest.mark.parametrize(
    ("above", "made"),
    [
        ('__device__ int operator""_q(unsigned long long n) { return n * 2; }', "t / 2_q - 5u"),
        ("__device__ auto f(int x) { return x / 4 - 5u; }", "f(t)"),
        (
            "__device__ unsigned f(int x) { return x / 4; } __device__ unsigned f(float x) { return x; }",
            "f(t) - 5",
        ),
        ("template <class T> __device__ auto f(T x) { return x / 4; }", "f((unsigned)t) - 5"),
        (
            "struct F { unsigned by; __device__ auto operator()(int x) const { return x / 4 - by; } };",
            "F{5}(t)",
        ),
        ("", "[](int x) { return x / 4 - 5u; }(t)"),
        ("__device__ auto f(int x) { auto y = [](auto z) { return z / 4; }; return y(x) - 5u; }", "f(t)"),
    ],
)
def test_a_result_wraps_as_its_type_does(above: str, made: str) -> None:
    """Each thread has a number below 0 of an ``unsigned``: shifted, it is 15 in all of them."""
    assert _verdict(above, f"if (t < 16) s[({made}) >> 28] = t;") == "racy"
    assert _verdict(above, f"if (t < 16) s[t + (({made}) >> 28)] = t;") == "race-free"
    assert _verdict(above, f"auto x = {made}; if (t < 16) s[x >> 28] = t;") == "racy"
    assert _verdict(above, f"if (t < 16) s[t + (({made}) > 20 ? 0 : 16)] = t;") == "race-free"


@pytest.mark.parametrize("at", ["(t / 4 - q) >> 28", "(t / 4 - q) % 8", "t + (t / 4 - q) / 4"])
def test_where_a_type_is_not_known_no_proof_rests_on_it(at: str) -> None:
    """Nothing in sight says what the type is."""
    assert _verdict("", f"const unseen_t q = 5; if (t < 16) s[{at}] = t;") == "undecided"


@pytest.mark.parametrize(
    "made", ["450 * -f(t)", "f(t) - 2", "~f(t)", "(n ? 0 : f(t)) - 2", "n ? f(t) - 2 : f(t) - 3"]
)
def test_what_is_made_of_a_result_has_the_type_that_it_says(made: str) -> None:
    """Below 0 a signed number would be: all threads write the last element."""
    assert _verdict("__device__ auto f(int x) { return 1u; }", f"s[({made}) >> 26] = t;") == "racy"


def test_both_arms_say_the_type_of_a_condition_that_is_known() -> None:
    """-93 is large as the ``unsigned long long`` that the other arm makes of it."""
    above = "__device__ auto f(int x) { return x + 1u; }"
    assert _verdict(above, "s[(6 ? 7ll - 100 : f(t) | 2ull) > 100 ? t : 0] = t;") == "race-free"
