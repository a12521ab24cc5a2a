"""Objects of classes in sight: members that are pointers, methods, constructors, and where they stop being followed."""

from __future__ import annotations

import pytest
from callees.test_overloads import kernel_of, spots, touched

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from tests.causes import unknown

CLASSES = """
template <int M> struct Tile {
  float* base;
  __device__ Tile() : base(nullptr) {}
  template <class T> __device__ Tile(T* base) : base((float*)base) {}
  __device__ void put(int i, float v) { base[i] = v; }
  __device__ void twice(int i) { put(i, 1); put(i + 1, 2); }
  template <int S> __device__ int at(int i) { return i * S; }
  __device__ void move(int n) { base += n; }
  __device__ float* ptr() { return base; }
};
template <> struct Tile<9> { float* base; __device__ void put(int i, float v) { base[i + 1] = v; } };
struct Two { float* p; float* q; __device__ void swap() { float* t = p; p = q; q = t; } };
struct Nest {
  Tile<1> t; int n;
  __device__ Nest(float* x, int n) : t(x), n(n) {}
  __device__ void go() { t.put(n, 1); }
};
struct Fn { float* p; __device__ void operator()(int i) const { p[i] = 1; } };
struct Base { float* p; __device__ void set(int i) { p[i] = 1; } };
struct Derived : Base { int k; };
struct Bound { float (&r)[64]; __device__ Bound(float (&x)[64]) : r(x) {} __device__ void set(int i) { r[i] = 1; } };
struct Half { int shift = 2; float* p; };
struct Cell { float x; __device__ void set(float v) { x = v; } };
struct Mine {
  float* p; float x[4];
  __device__ void put(int i) { this->p[i] = 1; }
  __device__ void own(int i) { this->x[i] = 1; (*this).x[0] = 2; }
  __device__ void all() { this->own(1); }
};
__device__ void use(Tile<3>* t, int i) { t->put(i, 1); }
__device__ void bump(int* i) { *i += 2; }
__device__ void copied(Tile<3> t, int i) { t.move(4); t.put(i, 1); }
__device__ void moved(Tile<3>& t, int i) { t.move(i); }
template <class X> __device__ void any(X t, int i) { t.put(i, 1); }
"""


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("Tile<3> t(a); t.put(n, 1);", ["W a 12+4"]),
        ("Tile<3> t{a + 1}; t.put(n, 1);", ["W a 16+4"]),
        ("Tile<3> t = Tile<3>(a); t.put(n, 1);", ["W a 12+4"]),
        ("auto t = Tile<3>(a); t.ptr()[n] = 1;", ["W a 12+4"]),
        ("Tile<3> t(a); t.twice(n);", ["W a 12+4", "W a 16+4"]),
        ("Tile<3> t(a + 2); t.put(t.template at<4>(n), 1);", ["W a 56+4"]),
        ("Tile<3> t; t.base = a + 4; t.put(n, 1);", ["W a 28+4"]),
        ("Tile<9> t; t.base = a; t.put(n, 1);", ["W a 16+4"]),
        ("Tile<3> t(a); for (int i = 0; i < 2; ++i) { t.put(0, 1); t.move(4); }", ["W a 0+4", "W a 16+4"]),
        ("Two w{a, a + 8}; w.swap(); w.p[n] = 1;", ["W a 44+4"]),
        ("Nest x(a, n); x.go();", ["W a 12+4"]),
        ("Fn f{a}; f(n);", ["W a 12+4"]),
        ("Derived d; d.p = a; d.set(n);", ["W a 12+4"]),
        ("Bound r(a); r.set(n);", ["W a 12+4"]),
        ("Half h; h.p = a; h.p[h.shift] = 1;", ["W a 8+4"]),
        ("__shared__ Cell c[4]; c[n].set(1);", ["W c 12+4"]),
        # this
        ("Mine m; m.p = a; m.put(n);", ["W a 12+4"]),
        ("__shared__ Mine m; m.own(n);", ["W m 20+4", "W m 8+4"]),
        ("__shared__ Mine m; m.all();", ["W m 12+4", "W m 8+4"]),
        # handed on
        ("Tile<3> t(a); use(&t, n);", ["W a 12+4"]),
        ("Tile<3> t(a); copied(t, n); t.put(0, 1);", ["W a 28+4", "W a 0+4"]),
        ("Tile<3> t(a); moved(t, n); t.put(0, 1);", ["W a 12+4"]),
        ("Tile<3> t(a); any(t, n);", ["W a 12+4"]),
        ("Tile<3> t(a); auto u = t; u.move(2); t.put(n, 1);", ["W a 12+4"]),
        ("Tile<3> t(a); Tile<3> u(a + 8); t = u; t.put(n, 1);", ["W a 44+4"]),
        ("Tile<3> t(a); auto f = [&](int i) { t.move(i); }; f(n); t.put(0, 1);", ["W a 12+4"]),
        ("Tile<3> t(a); auto f = [=](int i) { t.put(i, 1); }; t.move(9); f(n);", ["W a 12+4"]),
        ("int i = 1; bump(&i); a[i] = 1;", ["W a 12+4"]),
        ("int i = 1; auto& j = i; bump(&j); a[i] = 1;", ["W a 12+4"]),
    ],
)
def test_methods_and_members_are_followed(statements: str, expected: list[str]) -> None:
    kernel = kernel_of(CLASSES, statements)
    assert touched(CLASSES, statements) == expected
    assert all(buffer.seen for buffer in kernel.buffers)
    assert not unknown(kernel)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("Tile<3> t(a); keep(t); t.put(n, 1);", ["X a", "W a"]),
        ("Tile<3> t(a); keep(&t); t.put(n, 1);", ["X a", "W a"]),
        ("Tile<3> t(a); out[0] = *(float*)&t;", ["X a"]),
        ("Tile<3> t(a); auto f = [&] { t.put(n, 1); }; keep(f);", []),
        ("Nest x(a, n); keep(x.t);", ["X a"]),
        ("Tile<3> t[2] = {a, a}; t[n].put(1, 2);", ["X a", "X a", "X a", "X a"]),
        ("Tile<3>* t = new Tile<3>(a); t->put(n, 1);", []),
    ],
)
def test_what_an_object_holds_escapes_with_it(statements: str, expected: list[str]) -> None:
    kernel = kernel_of(CLASSES, statements)
    assert spots(kernel) == expected
    assert kernel.buffers[0].fixed is not None
    assert not kernel.buffers[0].seen
    assert kernel.unknown_accesses


def test_an_object_that_something_unknown_may_have_changed_points_anywhere() -> None:
    assert touched(CLASSES, "Tile<3> t(a); keep(&t); t.put(n, 1);") == ["X a ?", "W a ?"]


def test_a_temporary_of_its_own_class_keeps_what_its_constructor_gets() -> None:
    text = """\
template <unsigned N> struct Queue {
  unsigned* p;
  __device__ Queue(unsigned* p) : p(p) {}
  __device__ static Queue make(unsigned* p) { p[threadIdx.x] = 1; return Queue(p); }
  __device__ unsigned pop() { return p[1]; }
};
__global__ void k(unsigned* out) {
  __shared__ unsigned s[64];
  auto queue = Queue<8>::make(s);
  __syncthreads();
  out[threadIdx.x] = queue.pop();
}
"""
    assert [finding.code for finding in check(text).findings] == []


MADE = """
struct Plain {{ float x, y, z; Plain() = default; __device__ Plain(float a) : x(a), y(a), z(a) {{}} }};
struct Defaulted {{
  float x, y, z; Defaulted() = default; __device__ Defaulted(float a) : x(a), y(a), z(a) {{}}
  __device__ Defaulted(const Defaulted&) = default; __device__ Defaulted& operator=(const Defaulted&) = default;
}};
template <class T> struct Any {{
  T x, y, z; Any() = default; Any(Any const&) = default;
  template <class U> __device__ Any(Any<U> const& o) : x(o.x), y(o.y), z(o.z) {{}}
}};
struct Large {{ float x, y, z, m[30]; int a, b, c, d, e, f, g, h, i, j, k, l, n, o, p, q, r, s, t, u, v, w;
  Large() = default; __device__ Large(float a) : x(a) {{}} }};
__global__ void k(const {type}* in, float* out) {{
  __shared__ {type} kept[64];
  kept[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  {copy}
  out[threadIdx.x] = c.x;
}}
void h(const {type}* in, float* out) {{ k<<<1, 64>>>(in, out); }}
"""


@pytest.mark.parametrize("copied", ["Plain", "Defaulted", "Any<float>", "Large"])
@pytest.mark.parametrize("copy", ["const {} c = kept[63 - threadIdx.x];", "{} c(kept[63 - threadIdx.x]);"])
def test_an_object_that_is_copied_from_shared_memory_is_read(copied: str, copy: str) -> None:
    (kernel,) = check(MADE.format(type=copied, copy=copy.format(copied))).kernels
    assert kernel.verdict.kind is VerdictKind.RACE_FREE


PAIR = """
template <class D, class A> struct Two {
  A a, b;
  __device__ Two() {}
  __device__ Two(D v) : a(v), b(v) {}
  __device__ Two& operator+=(const Two& o) { a += o.a; b += o.b; return *this; }
};
__device__ float over_warp(float v) { return v + __shfl_xor_sync(~0u, v, 1); }
template <class D, class A> __device__ Two<D, A> over_warp(Two<D, A> v) {
  v.a = over_warp(v.a);
  v.b = over_warp(v.b);
  return v;
}
template <class T> __device__ T reduce(T sum) {
  __shared__ T kept[32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) kept[threadIdx.x / 32] = sum;
  BETWEEN
  return over_warp(kept[threadIdx.x % 32]);
}
__global__ void k(float* out) { out[threadIdx.x] = reduce(Two<float, float>(out[threadIdx.x])).a; }
void h(float* out) { k<<<1, 1024>>>(out); }
"""


@pytest.mark.parametrize(
    ("between", "expected"), [("__syncthreads();", VerdictKind.RACE_FREE), ("", VerdictKind.RACY)]
)
def test_an_object_that_is_passed_by_value_is_read(between: str, expected: VerdictKind) -> None:
    (kernel,) = check(PAIR.replace("BETWEEN", between)).kernels
    assert kernel.verdict.kind is expected
