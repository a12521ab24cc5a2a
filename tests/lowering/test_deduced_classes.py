"""Objects whose class template is named without its arguments, and members that are pointers by substitution: a kernel
whose threads all write to ``s[t]`` is told apart from its twin, whose threads meet."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from tests.verdicts import kind

CLASSES = """
template <class T> struct View {
  T* p;
  __device__ View(T* p) : p(p) {}
  __device__ T& operator[](int i) const { return p[i]; }
};
template <class A, class B> struct Pair { A a; B b; __device__ Pair(A a, B b) : a(a), b(b) {} };
template <class T> struct Listed { T v; int k = 1; };
template <class T> Listed(T) -> Listed<T>;
template <class T> struct Narrow { T v; };
template <class T> Narrow(T) -> Narrow<unsigned char>;
template <class T> struct Box { T i; __device__ Box(T i) : i(i) {} __device__ int get() const { return i; } };
template <class T = int> struct Default { T v = 2; };
template <class T> struct Two { int v; __device__ Two(T a) : v(a) {} __device__ Two(T a, T b) : v(b) {} };
template <class T> struct Lock { T& m; __device__ Lock(T& m) : m(m) { m.enter(); } __device__ ~Lock() { m.leave(); } };
struct Barrier { __device__ void enter() { } __device__ void leave() { __syncthreads(); } };
template <class T> struct Other {
  T v;
  __device__ Other(T v) : v(v) {}
  template <class U> __device__ Other(U u, int k) : v(k) {}
};
template <class P> struct Shifted {
  P p;
  int by;
  __device__ Shifted(P p, int by) : p(p), by(by) {}
  __device__ auto& at(int i) const { return p[i + by]; }
};
template <class T> struct Walk {
  using pointer = T*;
  pointer p;
  __device__ Walk(pointer p) : p(p) {}
  __device__ T& operator*() const { return *p; }
};
using Address = int*;
struct Named { Address p; int k; };
template <class A, class B> struct Both { A x; B y; };
"""


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("View v(s); v[t] = t;", "View v(s); v[t / 2] = t;"),
        ("Pair p(t, s); p.b[p.a] = t;", "Pair p(t / 2, s); p.b[p.a] = t;"),
        ("Listed g{t}; s[g.v / g.k] = t;", "Listed g{t / 2}; s[g.v / g.k] = t;"),
        ("Narrow n{256 + t}; s[n.v] = t;", "Narrow n{256 + t / 2}; s[n.v] = t;"),
        ("s[Box(t).get()] = t;", "s[Box(t / 2).get()] = t;"),
        ("auto w = Box(t); s[w.i] = t;", "auto w = Box(t / 2); s[w.i] = t;"),
        ("Box w(t); Box x(w); s[x.i] = t;", "Box w(t / 2); Box x = w; s[x.i] = t;"),
        ("const Box w{t}; s[w.get()] = t;", "const Box w{t / 2}; s[w.get()] = t;"),
        ("Two p(t / 2, t); s[p.v] = t;", "Two p(t, t / 2); s[p.v] = t;"),
        ("Default<> d{1}; s[t / d.v] = t;", "Default d; s[t / d.v] = t;"),
        (
            "Barrier m; { Lock l(m); s[t] = t; } o[t] = s[63 - t];",
            "Barrier m; { Lock l(m); } s[t] = t; o[t] = s[63 - t];",
        ),
    ],
)
def test_the_arguments_of_a_class_template_are_deduced(free: str, racy: str) -> None:
    assert (kind(CLASSES, free), kind(CLASSES, racy)) == (VerdictKind.RACE_FREE, VerdictKind.RACY)


@pytest.mark.parametrize("declaration", ["Other p(t, 2);", "Box p([] { return 1; });"])
def test_what_is_not_deduced_is_not_taken_for_nothing(declaration: str) -> None:
    assert kind(CLASSES, f"{declaration} s[t] = t;") is VerdictKind.UNDECIDED


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("Both<int, int*> p{t, s}; p.y[p.x] = t;", "Both<int, int*> p{t / 2, s}; p.y[p.x] = t;"),
        ("Named p{s, t}; p.p[p.k] = t;", "Named p; p.p = s + t / 2; p.p[0] = t;"),
        ("Walk<int> p(s + t); *p = t;", "Walk<int> p(s + t / 2); *p = t;"),
        ("Shifted<int*> w(s, t); w.at(0) = t;", "Shifted<int*> w(s, t / 2); w.at(0) = t;"),
        (
            "Shifted<int*> w(s, t / 2); Shifted<int*> v(s, t); w = v; w.at(0) = t;",
            "Shifted<int*> w(s, t / 2); Shifted<int*> v = w; v.at(0) = t;",
        ),
        (
            "Both<int*, int*> p{s, s + 32}; if (t < 32) { p.x[t] = 1; p.y[t] = 2; }",
            "Both<int*, int*> p{s, s + 31}; if (t < 32) { p.x[t] = 1; p.y[t] = 2; }",
        ),
    ],
)
def test_a_member_is_a_pointer_by_its_type(free: str, racy: str) -> None:
    assert (kind(CLASSES, free), kind(CLASSES, racy)) == (VerdictKind.RACE_FREE, VerdictKind.RACY)
