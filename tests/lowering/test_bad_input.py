"""Code that has no end or no sense: what is lowered stays bounded, and what is not followed is told as unknown."""

from __future__ import annotations

import pytest
from callees.test_overloads import spots

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Kernel
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.source.budget import SECOND, Budget
from smem_lsp.syntax.parse import parse

MOST_WORK = 4 * SECOND  # units for one kernel

DEEP = "".join(f"__device__ void f{i}(float* p) {{ f{i + 1}(p + 1); f{i + 1}(p + 2); }}" for i in range(40))
CHAIN = "".join(
    f"struct C{i} {{ C{i + 1} next; __device__ C{i}(float* p) : next(p) {{}} __device__ void go() {{ next.go(); }} }};"
    for i in reversed(range(40))
)
LAST = "struct C40 { float* p; __device__ C40(float* q) : p(q) {} __device__ void go() { p[1] = 1; } };"


def kernel_of(above: str, statements: str) -> Kernel:
    """The IR alone, within the work that it may take."""
    text = f"{above}\n__global__ void k(float* out, int n) {{ __shared__ float a[64]; {statements} }}\n"
    with Budget(units=MOST_WORK):
        return build_kernels(parse(SourceText(text, "k.cu")))[-1]


@pytest.mark.parametrize(
    ("above", "statements"),
    [
        ("__device__ void f(float* p, int i) { if (i) f(p, i - 1); p[i] = 1; }", "f(a, n);"),
        (
            "__device__ void g(float* p); __device__ void f(float* p) { g(p); } __device__ void g(float* p) { f(p); }",
            "f(a);",
        ),
        ("template <int N> __device__ void f(float* p) { p[N] = 1; f<N - 1>(p); }", "f<100000>(a);"),
        ("struct L { float* p; __device__ L(float* q) : L(q + 1) {} };", "L l(a); l.p[0] = 1;"),
        ("template <class T> struct D : D<T*> { float* p; };", "D<int> d; d.p = a; d.p[0] = 1;"),
        ("template <int N> struct D : D<N + 1> { float* p; };", "D<0> d; d.p = a; d.p[0] = 1;"),
        (DEEP, "f0(a);"),
        (LAST + CHAIN, "C0 c(a); c.go();"),
        ("template <class... T> __device__ void f(T... t) { (t.put(1), ...); }", "f(a, a, a);"),
        (
            "template <class... T> struct V { float* p; __device__ V(T... t) : p(t...) {} };",
            "V<float*> v(a); v.p[0] = 1;",
        ),
        ("__device__ void f(float* p) { p[0] = 1; }", "void (*g)(float*) = f; if (n) g = nullptr; g(a);"),
        ("typedef void (*F)(float*); __device__ F table[3];", "table[n](a);"),
        ("struct T { void (*f)(float*); };", "T t; t.f(a);"),
        ("struct T { void f(float*); };", "T t; void (T::*m)(float*) = &T::f; (t.*m)(a);"),
        ("struct V { virtual __device__ void f(float* p) { p[0] = 1; } };", "V* v = (V*)out; v->f(a);"),
    ],
)
def test_what_cannot_be_followed_is_bounded_and_told(above: str, statements: str) -> None:
    kernel = kernel_of(above, statements)
    assert kernel.unknown_accesses
    assert not kernel.buffers[0].seen
    assert kernel.buffers[0].fixed is not None


@pytest.mark.parametrize(
    "above",
    [
        "struct S { S* next; float* p; __device__ void go() { p[0] = 1; next->go(); } };",
        "struct S { S s; float* p; __device__ void go() { p[0] = 1; s.go(); } };",
        "template <int N> struct M { M<N + 1> m; float* p; __device__ void go() { p[0] = 1; m.go(); } };"
        " using S = M<0>;",
    ],
)
def test_classes_that_hold_themselves_are_bounded(above: str) -> None:
    assert spots(kernel_of(above, "S s; s.p = a; s.go();"))[:1] == ["W a"]


@pytest.mark.parametrize(
    "body",
    [
        "goto in; for (int i = 0; i < n; ++i) { in: a[i] = 1; }",
        "switch (n) { case 0: do { a[0] = 1; case 1: a[1] = 2; } while (--n); }",
    ],
)
def test_jumps_into_loops_make_the_flow_unknown(body: str) -> None:
    assert kernel_of("", body).irregular is not None


def test_a_thousand_instances_of_a_helper_are_bounded() -> None:
    above = (
        "template <int N> __device__ void f(float* p) { __shared__ float own[N]; own[0] = 1; p[N] = own[0]; }"
    )
    calls = " ".join(f"f<{i}>(a);" for i in range(1, 1001))
    kernel = kernel_of(above, calls)
    assert len(kernel.buffers) == 1001
    assert len(spots(kernel)) == 3000


def test_a_table_of_pointers_leads_into_all_that_it_holds() -> None:
    kernel = kernel_of(
        "", "__shared__ float b[8]; float* t[2] = {a, b}; t[n][1] = 1; float* p = t[0]; *p = 2;"
    )
    assert spots(kernel) == ["W a", "W b", "W a", "W b"]


def test_half_typed_classes_raise_nothing() -> None:
    text = (
        "struct T { float* p; __device__ T(float* q) : p(q { } __device__ void put(int i) { p[i] = 1; };\n"
        "__global__ void k(float* o) { __shared__ float a[64]; T t(a); t.put(3); t. ; o[0] = a[1]; }\n"
    )
    for end in range(0, len(text), 7):
        assert check(text[:end]).stopped == ()
