"""``const`` and ``volatile`` are parts of types ([basic.type.qualifier]), and decide which function is called."""

from __future__ import annotations

import pytest
from which_is_called import PLAIN, RACING, cases, verdict_in_file


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; struct B { A a; }; struct C { B b; };
> const C c{}; c.b.a.f();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } };
struct B { mutable A a; };
struct C { B b; };
> const C c{}; c.b.a.f();

struct A; void f(A&); void f(const A&);
struct A { int i;
void g() const; void h(); }; void f(A&) { OTHER; } void f(const A&) { CALLED; }
void A::g() const { f(*this); } void A::h() { f(*this); }
> A a{}; a.g();

struct A; void f(A&); void f(const A&);
struct A { int i;
void g() const; void h(); }; void f(A&) { CALLED; } void f(const A&) { OTHER; }
void A::g() const { f(*this); } void A::h() { f(*this); }
> A a{}; a.h();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
> A a{}; auto g = [a]() { a.f(); }; g();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } };
> A a{}; auto g = [a]() mutable { a.f(); }; g();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } };
> A a{}; auto g = [&a]() { a.f(); }; g();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
> const A a{}; auto g = [&]() { a.f(); }; g();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } };
> const A a{}; auto g = [b = a]() mutable { b.f(); }; g();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
> const A a{}; auto g = [a]() mutable { a.f(); }; g();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
> const A a{}; auto g = [&b = a]() { b.f(); }; g();

struct A { int i; void f() { OTHER; } void f() const { CALLED; }
void g() const { auto h = [this]() { f(); }; h(); } };
> A a{}; a.g();

struct A { int i; void f() { CALLED; } void f() const { OTHER; }
void g() { auto h = [this]() { f(); }; h(); } };
> A a{}; a.g();

struct A { int i; void f() { OTHER; } void f() const { CALLED; }
void g() { auto h = [*this]() { f(); }; h(); } };
> A a{}; a.g();

struct A { int i; void f() { CALLED; } void f() const { OTHER; }
void g() { auto h = [*this]() mutable { f(); }; h(); } };
> A a{}; a.g();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
template <class T> struct H { T p;
void go() { p.f(); } };
> H<const A> h{}; h.go();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; template <class T> void g(T& x) { x.f(); }
> const A a{}; g(a);

struct A { int i; void f() { CALLED; } void f() const { OTHER; } }; template <class T> void g(T& x) { x.f(); }
> A a{}; g(a);

struct A { int i; void f() { CALLED; } void f() const { OTHER; } }; template <class T> void g(T x) { x.f(); }
> const A a{}; g(a);

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; template <class T> void g(T* x) { x->f(); }
> const A a{}; g(&a);

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
template <class T> void g(T* x) { T y = *x; y.f(); }
> const A a{}; g(&a);

template <class T> struct rem { using type = T; }; template <class T> struct rem<const T> { using type = T; };
struct A { int i; void f() { CALLED; } void f() const { OTHER; } };
template <class T> void g(T* x) { typename rem<T>::type y = *x; y.f(); }
> const A a{}; g(&a);

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; template <class T> void g(T&& x) { x.f(); }
> const A a{}; g(a);

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; template <class T> void g(T& x) { x.f(); }
> A a{}; g<const A>(a);

struct A { int i; void f() { CALLED; } void f() const { OTHER; } };
template <class T> void g(const T& x) { x.f(); }
> A a{}; g<A&>(a);

template <class T> struct isc { static constexpr int value = 0; };
template <class T> struct isc<const T> { static constexpr int value = 1; };
template <class T> void g(T& x) { if constexpr (isc<T>::value) { CALLED; } else { OTHER; } }
> const int a = 3; g(a);

template <class T> struct isc { static constexpr int value = 0; };
template <class T> struct isc<const T> { static constexpr int value = 1; };
template <class T> void g(T& x) { if constexpr (isc<T>::value) { OTHER; } else { CALLED; } }
> int a = 3; g(a);

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
> A a{}; const A& r = a; decltype(r) b = a; b.f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
> A a{}; static_cast<const A&>(a).f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
> A a{}; ((const A&)a).f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; const A g() { return A{}; }
> g().f();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } }; A g() { return A{}; }
> g().f();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } }; const A g() { return A{}; }
> auto x = g(); x.f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; const A g() { return A{}; }
> auto&& x = g(); x.f();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } }; auto g(const A& a) { return a; }
> A a{}; g(a).f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
> const A a{}; A b{}; (b, a).f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
> A const a{}; a.f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
> A a{}; A const& r = a; r.f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; struct B { A const a{}; };
> B b{}; b.a.f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; struct B { A a; }; struct C : B {};
> const C c{}; c.a.f();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } }; struct B { mutable A a; }; struct C : B {};
> const C c{}; c.a.f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; struct B { A a; void g() const { a.f(); } };
> B b{}; b.g();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } }; struct B { A a; void g() { a.f(); } };
> B b{}; b.g();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } };
struct B { A& a;
void g() const { a.f(); } };
> A a{}; B b{a}; b.g();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } };
struct B { mutable A a;
void g() const { a.f(); } };
> B b{}; b.g();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
struct B { A a;
void g() const { this->a.f(); } };
> B b{}; b.g();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } }; struct B { A a; void g() { this->a.f(); } };
> B b{}; b.g();

struct A { int i; operator int() { OTHER; return 1; } operator int() const { CALLED; return 1; } };
> const A a{}; int x = a;

struct A { int i; operator int() { CALLED; return 1; } operator int() const { OTHER; return 1; } };
> A a{}; int x = a;

struct A { int i; A() = default; A(A& a) : i(a.i) { CALLED; } A(const A& a) : i(a.i) { OTHER; } };
> A a; A b = a;

struct A { int i; A() = default; A(A& a) : i(a.i) { OTHER; } A(const A& a) : i(a.i) { CALLED; } };
> A a; const A& c = a; A b(c);

struct A { int i; A& operator=(A& a) { OTHER; return *this; } A& operator=(const A& a) { CALLED;
return *this; } };
> A a{}, b{}; const A& c = b; a = c;

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
struct B { A a; A& get() { return a; }
const A& get() const { return a; } };
> const B b{}; b.get().f();

struct A { int i; void f() { CALLED; } void f() const { OTHER; } };
struct B { A a; A& get() { return a; }
const A& get() const { return a; } };
> B b{}; b.get().f();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } };
struct B { A a;
void g() const { auto h = [&] { a.f(); }; h(); } };
> B b{}; b.g();

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; void g(const A a) { a.f(); }
> g(A{});

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; void g(const A& a) { a.f(); }
> g(A{});

struct A { int i; void f() { CALLED; } void f() const { OTHER; } }; void g(A&& a) { a.f(); }
> g(A{});

struct A { int i; void f() { OTHER; } void f() const { CALLED; } }; void g(const A&& a) { a.f(); }
> g(A{});

template <class T> struct W { static constexpr int value = 1; };
template <class T> struct W<const T> { static constexpr int value = 2; };
> if (W<const int>::value == 2) { CALLED; } else { OTHER; }

template <class T> struct W { static constexpr int value = 1; };
template <class T> struct W<T*> { static constexpr int value = 2; };
template <class T> struct W<const T*> { static constexpr int value = 3; };
> if (W<int* const>::value == 1) { CALLED; } else { OTHER; }

struct A { void f() const { OTHER; } void f() { CALLED; } };
struct H { mutable A a; };
> const H h{}; h.a.f();

struct A { void f() const { OTHER; } void f() { CALLED; } };
struct H { mutable A a; void g() const { a.f(); } };
> const H h{}; h.g();

struct A { void f() const { OTHER; } void f() { CALLED; } };
struct H { A& a; };
> A a; const H h{a}; h.a.f();

struct A { void f() const { OTHER; } void f() { CALLED; } };
struct H { A& a; void g() const { a.f(); } };
> A a; const H h{a}; h.g();

struct A { }; void f(const A&) { OTHER; } void f(A&) { CALLED; }
struct H { A& a; void g() const { f(a); } };
> A a; const H h{a}; h.g();

struct A { }; void f(const A&) { OTHER; } void f(A&) { CALLED; }
struct H { A& a; };
> A a; const H h{a}; f(h.a);

struct A { }; void f(const A&) { OTHER; } void f(A&) { CALLED; }
struct H { mutable A a; };
> const H h{}; f(h.a);

struct A { }; int operator+(const A&, int) { OTHER; return 0; } int operator+(A&, int) { CALLED; return 0; }
struct H { A& a; };
> A a; const H h{a}; h.a + 1;

struct A { }; int operator+(const A&, int) { OTHER; return 0; } int operator+(A&, int) { CALLED; return 0; }
struct H { mutable A a; };
> const H h{}; h.a + 1;

struct A { }; int operator+(const A&, int) { OTHER; return 0; } int operator+(A&, int) { CALLED; return 0; }
struct H { mutable A a[2]; };
> const H h{}; h.a[1] + 1;

struct A { }; void f(const A&) { OTHER; } void f(A&) { CALLED; }
struct H { static A a; };
A H::a;
> const H h{}; f(h.a);

void f(const int*) { CALLED; } void f(int*) { OTHER; }
struct H { int a[2]; };
> const H h{}; f(h.a);

void f(const int*) { OTHER; } void f(int*) { CALLED; }
struct H { mutable int a[2]; };
> const H h{}; f(h.a);

void f(const int*) { OTHER; } void f(int*) { CALLED; }
struct H { int* a; };
> const H h{gp}; f(h.a);

void f(const int&) { OTHER; } void f(int&) { CALLED; }
struct H { int* a; };
> const H h{gp}; f(*h.a);

void f(const int&) { OTHER; } void f(int&) { CALLED; }
struct H { int* a; };
> const H h{gp}; f(h.a[1]);

void f(const int&) { OTHER; } void f(int&) { CALLED; }
struct H { int* a; void g() const { f(*a); f(a[0]); } };
> const H h{gp}; h.g();

void f(const int&) { OTHER; } void f(int&) { CALLED; }
typedef int* P;
> const P p = gp; f(p[2]);

void f(const int&) { CALLED; } void f(int&) { OTHER; }
typedef const int C; typedef C* P;
> P p = gp; f(p[2]);

struct A { void f() & { CALLED; } void f() && { OTHER; } };
struct H { A& a; };
> A a; H{a}.a.f();

struct A { void f() & { OTHER; } void f() && { CALLED; } };
struct H { A a; };
> H{}.a.f();

struct A { void f() & { CALLED; } void f() && { OTHER; } };
struct H { A& a; };
> A a; H h{a}; static_cast<H&&>(h).a.f();

struct A { void f() const { CALLED; } void f() { OTHER; } };
> A a; auto l = [a]() { a.f(); }; l();

struct A { void f() const { OTHER; } void f() { CALLED; } };
> A a; auto l = [a]() mutable { a.f(); }; l();

struct A { void f() const { OTHER; } void f() { CALLED; } };
> A a; auto l = [&a]() { a.f(); }; l();

struct A { void f() const { CALLED; } void f() { OTHER; } };
> const A a; auto l = [&]() { a.f(); }; l();

struct A { void f() const { CALLED; } void f() { OTHER; } };
> A a; auto l = [b = a]() { b.f(); }; l();

struct A { void f() const { CALLED; } void f() { OTHER; } void g() const { auto l = [=]() { f(); }; l(); } };
> A a; a.g();

struct A { void f() const { CALLED; } void f() { OTHER; } void g() { auto l = [*this]() { f(); }; l(); } };
> A a; a.g();

struct A { void f() const { OTHER; } void f() { CALLED; } };
> A c; auto& d = c; d.f();

struct A { void f() const { CALLED; } void f() { OTHER; } };
> const A c; auto&& d = c; d.f();

struct A { void f() const { CALLED; } void f() { OTHER; } };
struct H { A a; int b; };
> const H h{}; auto& [x, y] = h; x.f();

struct A { void f() const { CALLED; } void f() { OTHER; } };
> A a; const A b; (a, b).f();

struct X { void m() { OTHER; } void m() const { CALLED; } }; struct H { const X c; };
> H h{}; h.c.m();

struct X { }; void f(X&) { OTHER; } void f(const X&) { CALLED; } struct H { const X c; };
> H h{}; f(h.c);

struct X { void m() { OTHER; } void m() const { CALLED; } };
struct H { const X c;
void g() { c.m(); this->c.m(); } };
> H h{}; h.g();

struct X { }; void f(X&) { OTHER; } void f(const X&) { CALLED; } struct H { const X& c; };
> X x; H h{x}; f(h.c);

struct X { }; void f(X&) { OTHER; } void f(const X&) { CALLED; } struct H { X const c[2]; };
> H h{}; f(h.c[1]);

struct X { }; void f(X&) { OTHER; } void f(const X&) { CALLED; } struct J { X x; }; struct H { const J c; };
> H h{}; f(h.c.x);

struct X { }; int operator+(X&, int) { OTHER; return 0; } int operator+(const X&, int) { CALLED; return 0; }
struct H { const X c; };
> H h{}; h.c + 1;

void f(int&) { OTHER; } void f(const int&) { CALLED; } struct H { const int c; };
> H h{1}; f(h.c);

void f(int*) { OTHER; } void f(const int*) { CALLED; } struct H { const int c[2]; };
> H h{1}; f(h.c); f(&h.c[0]);

struct X { void m() { OTHER; } void m() const { CALLED; } }; const X mk() { return X(); }
> mk().m();

struct X { const X operator+(int) const { return X(); } void m() { OTHER; } void m() const { CALLED; } };
> X x; (x + 1).m();

struct X { void m() { OTHER; } void m() const { CALLED; } }; auto mk() -> const X { return X(); }
> mk().m();

struct X { void m() { OTHER; } void m() const { CALLED; } }; using CX = const X; CX mk() { return X(); }
> mk().m();

struct X { void m() { OTHER; } void m() const { CALLED; } }; template<class T> struct V { T v; };
> V<const X> v{}; v.v.m();

struct X { void m() { OTHER; } void m() const { CALLED; } }; template<class T> void g(T& x) { x.m(); }
> const X v{}; g(v);

struct X { void m() { OTHER; } void m() const { CALLED; } }; template<class T> void g(T* x) { x->m(); }
> const X v{}; g(&v);

struct X { void m() { OTHER; } void m() const { CALLED; } }; using CX = const X;
> CX v{}; v.m();

struct X { void m() { OTHER; } void m() const { CALLED; } }; typedef const X CX; struct H { CX c; };
> H v{}; v.c.m();

struct X { void m() { OTHER; } void m() const { CALLED; } }; typedef const X& CX; void g(CX x) { x.m(); }
> X v{}; g(v);

struct X { void m() { OTHER; } void m() const { CALLED; } }; template<class T> using CX = const T;
> X v{}; CX<X>& r = v; r.m();

struct X { void m() { OTHER; } void m() const { CALLED; } };
> X v{}; static_cast<const X&>(v).m(); ((const X&)v).m();

struct X { int i; void m() { OTHER; } void m() const { CALLED; } }; static const X gx{};
> gx.m();

struct X { int i; void m() { OTHER; } void m() const { CALLED; } };
> X a{}; const X& r = a; auto l = [r]() mutable { r.m(); }; l();

struct X { int i; void m() { OTHER; } void m() const { CALLED; } }; struct H { X a; int b; };
> H h{}; const auto [x, y] = h; x.m();

struct X { int i; void m() { OTHER; } void m() const { CALLED; } }; struct H { X a; int b; };
> H h{}; const auto& [x, y] = h; x.m();

struct X { int i; void m() { OTHER; } void m() const { CALLED; } }; struct H { const X a; int b; };
> H h{}; auto [x, y] = h; x.m();

struct X { int i; void m() { OTHER; } void m() const { CALLED; } const X& me() { return *this; }
X& me2() const { return const_cast<X&>(*this); } };
> X x{}; x.me().m();

struct X { int i; void m() { OTHER; } void m() const { CALLED; } void g() const { auto* q = this; q->m(); } };
> X x{}; x.g();
"""
    ),
)
def test_qualifiers_decide_which_function_is_called(declared: str, call: str) -> None:
    assert verdict_in_file(declared, call, PLAIN, RACING) == "race-free"
    assert verdict_in_file(declared, call, RACING, PLAIN) == "racy"
