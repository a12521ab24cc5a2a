"""How long objects without a name live, and of what parts objects are made: by the rules of C++, so that a barrier in a
destructor or a copy constructor stands where it runs."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from tests.verdicts import kind

TEMPORARIES = """
struct V {
  int v;
  int a[2];
  __device__ ~V() { __syncthreads(); }
  __device__ const V& me() const { return *this; }
  __device__ V& up(int d) { v += d; return *this; } __device__ operator int() const { return v; } };
struct D : V { };
struct H { const V& r; }; struct G { H h; int n; };
struct R2 { int n; V&& r; }; struct D2 : H { };
struct Z { V v; };
struct U { int n; __device__ operator V() const { return {n}; } };
struct W { int n; __device__ W(const V& v) : n(v.v) {} };
__device__ V mk() { return {1}; }
__device__ Z mz() { return {}; }
__device__ const V& pass(const V& v) { return v; }
template <class T> __device__ T&& fwd(T&& v) { return static_cast<T&&>(v); }
struct C {
  int n;
  __device__ C(int n) : n(n) {}
  __device__ C(const C& o) : n(o.n) { __syncthreads(); } __device__ C& up(int d) { n += d; return *this; } };
"""


def around(declaration: str) -> VerdictKind:
    """Of a kernel that exchanges values around a declaration: racy unless it waits there."""
    return kind(TEMPORARIES, f"s[t] = t; {declaration} o[t] = s[63 - t];")


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("const int& r = V{1}.v;", VerdictKind.UNDECIDED),
        ("auto&& r = mk().v;", VerdictKind.UNDECIDED),
        ("const int& r = V{1}.a[t & 1];", VerdictKind.UNDECIDED),
        ("const V& r = Z{}.v;", VerdictKind.RACY),
        ("auto&& r = mz().v;", VerdictKind.RACY),
        ("int r = V{1}.v;", VerdictKind.RACE_FREE),
        ("const long& r = V{1}.v;", VerdictKind.RACE_FREE),
        ("const int& r = V{1}.v + 0;", VerdictKind.RACE_FREE),
        ("const int& r = V{1};", VerdictKind.RACE_FREE),
        ("const int (&r)[2] = V{1}.a;", VerdictKind.RACY),
        ("const int& r = (0, mk().v);", VerdictKind.UNDECIDED),
        ("const V& r = static_cast<const V&>(V{1});", VerdictKind.RACY),
        ("const V& r = U{3};", VerdictKind.RACY),
        ("const W& r = V{1};", VerdictKind.RACE_FREE),
        ("const V& r{mk()};", VerdictKind.RACY),
        ("const V& r(mk());", VerdictKind.RACY),
        ("using T = const V&; T r = mk();", VerdictKind.RACY),
        ("const V& r = V{3}, &q = mk();", VerdictKind.RACY),
        ("const V& r = mk(); { auto&& q = Z{}.v; }", VerdictKind.RACE_FREE),
        ("const V (&r)[2] = {V{1}, mk()};", VerdictKind.RACY),
        ("{ const V (&r)[2] = {V{1}, mk()}; }", VerdictKind.RACE_FREE),
        ("const int& r{mk().v};", VerdictKind.UNDECIDED),
        ("const int& r = mz().v.v;", VerdictKind.UNDECIDED),
        ("int a = V{1}.v, b = 0;", VerdictKind.RACE_FREE),
        ("const V& a = mk(); int b = mk().v;", VerdictKind.RACE_FREE),
    ],
)
def test_a_reference_keeps_the_object_that_it_is_bound_to(declaration: str, expected: VerdictKind) -> None:
    """[class.temporary]/6. Compilers disagree about what a reference to a number keeps, and an element."""
    assert around(declaration) is expected


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("H h = {.r{mk()}};", VerdictKind.RACY),
        ("struct Q { const V& r = V{1}; }; Q q{};", VerdictKind.UNDECIDED),
        ("H h{V{1}};", VerdictKind.RACY),
        ("H h = {mk()};", VerdictKind.RACY),
        ("R2 h{1, mk()};", VerdictKind.RACY),
        ("G g{{V{1}}, 2};", VerdictKind.RACY),
        ("G g{V{1}, 2};", VerdictKind.RACY),
        ("H h = H{V{1}};", VerdictKind.UNDECIDED),
        ("auto h = H{mk()};", VerdictKind.UNDECIDED),
        ("const H& h = {V{1}};", VerdictKind.UNDECIDED),
        ("D2 d{{V{1}}};", VerdictKind.RACY),
        ("H h[1] = {{mk()}};", VerdictKind.RACY),
        ("{ H h{V{1}}; }", VerdictKind.RACE_FREE),
        ("H h{.r = V{1}};", VerdictKind.RACY),
        ("int q = H{V{1}}.r.v;", VerdictKind.RACE_FREE),
        ("H h{Z{}.v};", VerdictKind.RACY),
        ("H h{pass(V{1})};", VerdictKind.RACE_FREE),
        ("auto&& [x] = H{V{1}};", VerdictKind.UNDECIDED),
        ("auto&& [x, y] = mk();", VerdictKind.RACY),
    ],
)
def test_a_member_that_is_a_reference_keeps_what_it_is_bound_to(
    declaration: str, expected: VerdictKind
) -> None:
    """In braces, of a variable; compilers disagree about those of an object without a name."""
    assert around(declaration) is expected


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("const V& r = pass(V{2});", VerdictKind.RACE_FREE),
        ("const V& r = V{2}.me();", VerdictKind.RACE_FREE),
        ("auto& r = V{2}.up(1);", VerdictKind.RACE_FREE),
        ("V r = V{2};", VerdictKind.RACY),
        ("auto&& r = fwd(mk());", VerdictKind.RACE_FREE),
        ("auto r = V{2}.up(1);", VerdictKind.RACE_FREE),
        ("V r = pass(mk());", VerdictKind.RACE_FREE),
        ("C c = C{2}.up(1);", VerdictKind.RACE_FREE),
        ("auto c = C{2}.up(1);", VerdictKind.RACE_FREE),
        ("C c = C{2};", VerdictKind.RACY),
        ("auto c = C(3);", VerdictKind.RACY),
        ("const V& r = D{}.me();", VerdictKind.RACE_FREE),
    ],
)
def test_what_a_function_leads_to_is_not_kept(declaration: str, expected: VerdictKind) -> None:
    assert around(declaration) is expected


@pytest.mark.parametrize(
    "switch",
    [
        "int r = 0; switch (t & 1) for (; r < 2; ++r) { case 0: s[(t + r) % 64] = t; case 1: s[t] = 9; }",
        "switch (t & 1) if (true) { case 1: s[t / 4] = t; } else { case 0: o[t] = 1; }",
        "switch (t & 1) { if (t > 99) { case 1: s[t / 4] = t; } default: o[t] = 1; }",
        "switch (t & 1) { { case 1: s[t / 4] = t; } case 0:; }",
        "switch (t & 1) do { case 1: s[t / 4] = t; } while (false);",
        "switch (0) { if (true) { case 0: s[t / 2] = t; } }",
        "switch (t & 1) { case 0: if (false) { case 1: s[t / 4] = t; } }",
        "auto f = [&] { switch (t & 1) while (t > 99) { case 1: s[t / 4] = t; } }; f();",
    ],
)
def test_a_label_inside_another_statement_is_told(switch: str) -> None:
    """A thread jumps to it past what stands in front, whatever that would do ([stmt.switch]/5)."""
    assert kind("", switch) is VerdictKind.UNDECIDED


@pytest.mark.parametrize(
    ("switch", "expected"),
    [
        (
            "switch (t & 1) { case 1: switch (t & 2) { case 0: s[t] = 1; } break; default: s[t] = 2; }",
            "RACE_FREE",
        ),
        ("switch (t & 1) { case 1: switch (t & 2) { case 0: s[t / 8] = t; } break; default:; }", "RACY"),
        ("switch (t & 1) s[t / 2] = t;", "RACE_FREE"),
    ],
)
def test_a_label_of_an_inner_switch_is_its_own(switch: str, expected: str) -> None:
    assert kind("", switch) is VerdictKind[expected]


AGGREGATES = """
struct P { int w = 8, pad = 1; };
struct Q { int a, b = 2, c = 1; };
struct I { P p; int n; };
struct L { int a; int* q; int b; };
struct M { int v[2]; int n = 2; };
struct X { int n; __device__ X(int n) : n(n) {} };
struct Y { X x; int d = 1; };
template <class T> __device__ int at(T p, int t) { return t / p.w; }
__device__ int first(const Q& q, int t) { return t * q.b / q.c; }
__device__ P mk() { return {.pad = 3}; }
struct S { P p{.pad = 8}; };
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("P p{.pad = 2}; s[t / p.w] = t;", VerdictKind.RACY),
        ("P p{.pad = 1}; s[t / p.pad] = t;", VerdictKind.RACE_FREE),
        ("P p{.w = 1}; s[t / p.w] = t;", VerdictKind.RACE_FREE),
        ("s[at(P{.pad = 1}, t)] = t;", VerdictKind.RACY),
        ("s[at(P{.w = 1}, t)] = t;", VerdictKind.RACE_FREE),
        ("P p = {.pad = 1}; s[t / p.w] = t;", VerdictKind.RACY),
        ("auto p = P{.pad = 1}; s[t / p.w] = t;", VerdictKind.RACY),
        ("Q q{.a = 0, .c = 2}; s[t * q.b / q.c] = t;", VerdictKind.RACE_FREE),
        ("Q q{.a = 0, .c = 4}; s[t * q.b / q.c] = t;", VerdictKind.RACY),
        ("s[first({.a = 0, .c = 2}, t)] = t;", VerdictKind.RACE_FREE),
        ("s[first({.c = 4}, t)] = t;", VerdictKind.RACY),
        ("I i{.n = 1}; s[t / i.p.w] = t;", VerdictKind.RACY),
        ("I i{.p = {.pad = 1}, .n = 1}; s[t / i.p.w] = t;", VerdictKind.RACY),
        ("I i{.p{.pad = 1}}; s[t / i.p.w] = t;", VerdictKind.RACY),
        ("I i{.p = {.w = 1}}; s[t / i.p.w + i.n] = t;", VerdictKind.RACE_FREE),
        ("L l{.q = s}; l.q[t + l.a + l.b] = t;", VerdictKind.RACE_FREE),
        ("L l{.q = s, .b = 2}; l.q[t / l.b + l.a] = t;", VerdictKind.RACY),
        ("M m{.n = 4}; s[t / m.n] = t;", VerdictKind.RACY),
        ("M m{.v = {3, 4}}; s[t * m.n / 2] = t;", VerdictKind.RACE_FREE),
        ("Y y{.x = 5, .d = 2}; s[t / y.d] = t;", VerdictKind.RACY),
        ("Y y{.x = {1}}; s[t / y.x.n] = t;", VerdictKind.RACE_FREE),
        ("s[at(mk(), t)] = t;", VerdictKind.RACY),
        ("S q; s[t / q.p.pad] = t;", VerdictKind.RACY),
        ("P p; p = {.w = 1}; s[t / p.w] = t;", VerdictKind.RACE_FREE),
        ("P p; p = {.pad = 1}; s[t / p.w] = t;", VerdictKind.RACY),
        ("auto f = [](P p, int t) { return t / p.w; }; s[f({.pad = 1}, t)] = t;", VerdictKind.RACY),
        ("P p(P{.pad = 1}); s[t / p.w] = t;", VerdictKind.RACY),
        ("const P& p = {.pad = 1}; s[t / p.w] = t;", VerdictKind.RACY),
    ],
)
def test_a_designator_says_which_member_is_meant(body: str, expected: VerdictKind) -> None:
    """Those in between get what the class says, or nothing: 0 ([dcl.init.aggr]/3.2, /5)."""
    assert kind(AGGREGATES, body) is expected


BASES = """
struct A { int a; };
struct B {
  int b;
  __device__ void set(int t) { b = t; }
  __device__ B& self() { return *this; }
  __device__ B* ptr() { return this; }
};
struct B2 { int v; };
struct C : A, B {
  __device__ void own(int t) { set(t); }
  __device__ B* base() { return this; }
};
struct E { }; struct F : E, B { }; struct D : C { int d; };
struct X : A { int x; }; struct T1 : A, B2 { int own; };
__device__ void putb(B* b, int t) { b->b = t; }
__device__ void puta(A* a, int t) { a->a = t; }
__device__ void refb(B& b, int t) { b.b = t; }
__device__ int* in(B* b) { return &b->b; }
template <class U> __device__ void any(U* u, int t) { *reinterpret_cast<int*>(u) = t; }
struct H { B* p; __device__ H(B* p) : p(p) {} };
struct HB { int v; __device__ void set(int t) { v = t; } __device__ int get() const { return v; } };
struct HC : HB { int v; };
struct HD : A, HB { int v; };
template <class S> struct Crtp { int w; __device__ void put(int t) { static_cast<S*>(this)->z = t; } };
struct K : A, Crtp<K> { int z; };
struct VB { virtual __device__ int f() { return 1; } int q; }; struct VD : A, VB { };
struct V1 : A { virtual __device__ int f() { return 1; } int q; };
struct Ref { B& r; };
struct Ptr { B* p; };
__device__ B* up(C* c) { return c; }
__device__ B& upr(C& c) { return c; }
__device__ C* down(B* b) { return static_cast<C*>(b); }
__device__ void cb(void* w, int t) { static_cast<B*>(w)->b = t; }
template <class T> __device__ void call(T f, void* w, int t) { f(w, t); }
struct E1 { }; struct F1 : E1, B { };
struct Conv { B* p; __device__ operator B*() const { return p; } };
"""
SHARED = (
    "__shared__ C c[64]; __shared__ T1 e[64]; __shared__ HC h[64]; __shared__ HD g[64]; __shared__ K kk[64];"
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "int* q = reinterpret_cast<int*>(static_cast<B*>(&c[t])); *q = t; c[63 - t].b = 1;",
            VerdictKind.RACY,
        ),
        (
            "int* q = reinterpret_cast<int*>(static_cast<B*>(&c[t])); *q = t; c[63 - t].a = 1;",
            VerdictKind.RACE_FREE,
        ),
        ("putb(&c[t], t); c[63 - t].b = 1;", VerdictKind.RACY),
        ("putb(&c[t], t); c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("puta(&c[t], t); c[63 - t].a = 1;", VerdictKind.RACY),
        ("puta(&c[t], t); c[63 - t].b = 1;", VerdictKind.RACE_FREE),
        ("refb(c[t], t); c[63 - t].b = 1;", VerdictKind.RACY),
        ("B* p = &c[t]; p->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("B* p = &c[t]; p->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("B& p = c[t]; p.b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("B* p; p = &c[t]; p->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("B* p; p = &c[t]; p->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("static_cast<B&>(c[t]).b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("static_cast<B&>(c[t]).b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("*in(&c[t]) = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("*in(&c[t]) = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("any(static_cast<B*>(&c[t]), t); c[63 - t].b = 1;", VerdictKind.RACY),
        ("any(static_cast<B*>(&c[t]), t); c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("B* p = &c[t]; C* d = static_cast<C*>(p); d->a = t; c[63 - t].a = 1;", VerdictKind.RACY),
        ("B* p = &c[t]; C* d = static_cast<C*>(p); d->a = t; c[63 - t].b = 1;", VerdictKind.RACE_FREE),
        ("B* p = (B*)&c[t]; p->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("B* p = (B*)&c[t]; p->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("B* p = reinterpret_cast<B*>(&c[t]); p->b = t; c[63 - t].b = 1;", VerdictKind.RACE_FREE),
        ("B* p = reinterpret_cast<B*>(&c[t]); p->b = t; c[63 - t].a = 1;", VerdictKind.RACY),
        ("H h(&c[t]); h.p->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("H h(&c[t]); h.p->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("B* p = c + t; p->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("auto put = [](B* b, int t) { b->b = t; }; put(&c[t], t); c[63 - t].b = 1;", VerdictKind.RACY),
        ("__shared__ D d[64]; putb(&d[t], t); d[63 - t].b = 1;", VerdictKind.RACY),
        ("__shared__ D d[64]; putb(&d[t], t); d[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("B* p = &c[t]; void* w = p; static_cast<B*>(w)->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        (
            "B* p = &c[t]; void* w = &c[t]; static_cast<B*>(w)->b = t; c[63 - t].a = 1; (void)p;",
            VerdictKind.RACY,
        ),
        ("__shared__ F f[64]; putb(&f[t], t); f[63 - t].b = 1;", VerdictKind.RACY),
        ("B2* p = &e[t]; p->v = t; e[63 - t].v = 1;", VerdictKind.RACY),
        ("B2* p = &e[t]; p->v = t; e[63 - t].a = e[t].own;", VerdictKind.RACE_FREE),
        ("const auto& r = static_cast<const B&>(c[t]); o[t] = r.b; c[63 - t].b = 1;", VerdictKind.RACY),
        ("const B& r = c[t]; o[t] = r.b; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("B b = c[t]; o[t] = b.b; c[63 - t].b = 1;", VerdictKind.RACY),
        ("B b = c[t]; o[t] = b.b; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("B b{7}; static_cast<B&>(c[t]) = b; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("c[t].set(t); c[63 - t].b = 1;", VerdictKind.RACY),
        ("c[t].set(t); c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("c[t].own(t); c[63 - t].b = 1;", VerdictKind.RACY),
        ("c[t].own(t); c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("up(&c[t])->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("up(&c[t])->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("upr(c[t]).b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("upr(c[t]).b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("int* q = reinterpret_cast<int*>(&upr(c[t])); *q = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("int* q = reinterpret_cast<int*>(&upr(c[t])); *q = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("down(&c[t])->a = t; c[63 - t].a = 1;", VerdictKind.RACY),
        ("down(&c[t])->a = t; c[63 - t].b = 1;", VerdictKind.RACE_FREE),
        ("down(up(&c[t]))->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("g[t].v = t; HB& r = g[63 - t]; r.v = 1; g[63 - t].v = 3;", VerdictKind.RACY),
        ("HB& r = h[t]; r.v = t; HB& q = h[63 - t]; q.v = 1;", VerdictKind.RACY),
        ("kk[t].put(t); kk[63 - t].z = 1;", VerdictKind.RACY),
        ("kk[t].put(t); kk[63 - t].w = kk[63 - t].a;", VerdictKind.RACE_FREE),
        ("Ref r{c[t]}; r.r.b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("Ref r{c[t]}; r.r.b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("Ptr r{&c[t]}; r.p->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("Ptr r{&c[t]}; r.p->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("cb(static_cast<B*>(&c[t]), t); c[63 - t].b = 1;", VerdictKind.RACY),
        ("cb(static_cast<B*>(&c[t]), t); c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("cb(&c[t], t); c[63 - t].a = 1;", VerdictKind.RACY),
        ("cb(&c[t], t); c[63 - t].b = 1;", VerdictKind.RACE_FREE),
        ("__shared__ B bb[64]; B* p = t & 1 ? &c[t] : &bb[t]; p->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        (
            "__shared__ B bb[64]; B* p = t & 1 ? &c[t] : &bb[t]; p->b = t; c[63 - t].a = 1;",
            VerdictKind.RACE_FREE,
        ),
        (
            "__shared__ B bb[64]; (t & 1 ? static_cast<B&>(c[t]) : bb[t]).b = t; c[63 - t].b = 1;",
            VerdictKind.RACY,
        ),
        (
            "__shared__ B bb[64]; B* p = &bb[t]; if (t & 1) p = &c[t]; p->b = t; c[63 - t].a = 1;",
            VerdictKind.RACE_FREE,
        ),
        (
            "__shared__ B bb[64]; B* p = &bb[t]; if (t & 1) p = &c[t]; p->b = t; c[63 - t].b = 1;",
            VerdictKind.RACY,
        ),
        ("c[t].base()->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("c[t].base()->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("c[t].self().b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("c[t].ptr()->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("__shared__ F1 f[64]; B* p = &f[t]; p->b = t; f[63 - t].b = 1;", VerdictKind.RACY),
        ("Conv v{&c[t]}; B* p = v; p->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("Conv v{&c[t]}; B* p = v; p->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("auto up = [](C* c) -> B* { return c; }; up(&c[t])->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("auto up = [](C* c) -> B* { return c; }; up(&c[t])->b = t; c[63 - t].a = 1;", VerdictKind.RACE_FREE),
        ("auto p = dynamic_cast<B*>(&c[t]); p->b = t; c[63 - t].b = 1;", VerdictKind.RACY),
        ("const B* p = &c[t]; o[t] = p->b; c[63 - t].b = 1;", VerdictKind.RACY),
    ],
)
def test_a_base_lies_where_its_class_puts_it(body: str, expected: VerdictKind) -> None:
    """A pointer or reference to a base leads there ([conv.ptr]/3), and back ([expr.static.cast]/11); what goes through
    ``void*`` or ``reinterpret_cast`` leads where it led."""
    assert kind(BASES, f"{SHARED} {body}") is expected


@pytest.mark.parametrize(
    "body",
    [
        "__shared__ VD v[64]; VB* p = &v[t]; p->q = t; v[63 - t].q = 1;",
        "__shared__ VD v[64]; VB* p = &v[t]; p->q = t; v[63 - t].a = 1;",
        "__shared__ V1 v[64]; A* p = &v[t]; p->a = t; v[63 - t].a = 1;",
    ],
)
def test_a_base_that_lies_nobody_knows_where_is_told(body: str) -> None:
    """Virtual functions move the bases of a class."""
    assert kind(BASES, f"{SHARED} {body}") is VerdictKind.UNDECIDED


ELEMENTS = """
struct S { S() = default; __device__ S(const S&) { __syncthreads(); } };
struct T { int n; T() = default; __device__ T(const T& o) : n(o.n) { __syncthreads(); } };
struct W { S a[2]; };
struct Q { int v[2]; };
struct N { int n; };
struct Dt { int n; __device__ ~Dt() { __syncthreads(); } };
"""


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        ("S a[2]; s[t] = 2; auto f = [&a] { return sizeof a; }; (void)f;", VerdictKind.RACY),
        ("S a[2]; s[t] = 2; auto& [x, y] = a;", VerdictKind.RACY),
        ("Q q{}; auto f = [q] { return q.v[0]; }; o[0] = f();", VerdictKind.RACY),
        ("int a[2] = {}; auto [x, y] = a;", VerdictKind.RACY),
        ("N a[2] = {}; auto [x, y] = a;", VerdictKind.RACY),
        ("N a[2] = {}; auto f = [a] { return a[0].n; }; (void)f;", VerdictKind.RACY),
        ("T a; s[t] = 2; auto f = [a] { return a.n; }; (void)f;", VerdictKind.RACE_FREE),
        ("const T a; s[t] = 2; auto f = [a] { return a.n; }; (void)f;", VerdictKind.RACE_FREE),
        ("S a[2]; s[t] = 2; auto f = [b = a] { return b; };", VerdictKind.RACY),
    ],
)
def test_what_copies_no_array_of_objects_is_decided(copy: str, expected: VerdictKind) -> None:
    assert kind(ELEMENTS, f"s[t] = t; {copy} o[t] = s[63 - t];") is expected


@pytest.mark.parametrize(
    "copy",
    [
        "S a[2]; s[t] = 2; auto f = [a] { return sizeof a; }; (void)f;",
        "S a[2]; s[t] = 2; auto [x, y] = a;",
        "T a[1]; auto f = [=] { return a[0].n; }; (void)f;",
        "Dt a[1]; s[t] = 2; { auto f = [a] { return a[0].n; }; }",
        "T a[1][2]; auto f = [a] { return 1; }; (void)f;",
        "S a[2]; auto f = [=] { (void)sizeof a; return a[0], 1; }; (void)f;",
        "S a[2]; auto f = [a] { return 1; }; auto g = f; (void)g;",
        "T a[2]; auto f = [a](int i) mutable { a[0].n = i; return i; }; o[1] = f(t);",
        "const T a[2]; auto f = [a] { return a[0].n; }; (void)f;",
        "T a; auto f = [a] { return a.n; }; s[t] = 2; auto g = f; (void)g;",
        "W w; s[t] = 2; auto [x, y] = w.a;",
        "S a[2]; auto f = [a] { return 1; }; s[t] = 2; auto g = f; (void)g;",
    ],
)
def test_the_copy_of_an_array_runs_the_constructors_of_its_elements(copy: str) -> None:
    """In a capture ([expr.prim.lambda.capture]/10), a binding ([dcl.struct.bind]/1), the copy of a lambda: they are not
    followed, and told. Each of these kernels waits in one of them."""
    assert kind(ELEMENTS, f"s[t] = t; {copy} o[t] = s[63 - t];") is VerdictKind.UNDECIDED


_TUPLE = """
#include <utility>
struct Pos { int r, c; template <size_t I> __device__ int get() const { return I == 0 ? c : r; } };
"""
_MADE_ONE = """
template <> struct std::tuple_size<Pos> { static constexpr size_t value = 2; };
template <size_t I> struct std::tuple_element<I, Pos> { using type = int; };
"""


@pytest.mark.parametrize(
    "declared", ["const auto [a, b] = p;", "const auto& [a, b] = p;", "auto [a, b] = Pos{p};"]
)
def test_a_class_that_somebody_has_made_a_tuple_is_not_bound_by_its_members(declared: str) -> None:
    body = f"const Pos p{{t / 2, t % 2}}; {declared} s[a * 2 + b] = t;"
    assert kind(_TUPLE, body) is VerdictKind.RACE_FREE
    assert kind(f"{_TUPLE}{_MADE_ONE}", body) is VerdictKind.UNDECIDED
