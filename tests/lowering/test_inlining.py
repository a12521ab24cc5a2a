"""Functions of the file and lambdas are followed where they are called."""

from __future__ import annotations

import pytest
from harness import kernel_facts
from interpret import Run

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Access, Kernel, walk
from smem_lsp.source import FileReader
from tests.causes import why_fixed


def kernel_of(above: str, statements: str) -> Kernel:
    text = f"{above}\n__global__ void k(float* out, int n) {{ __shared__ float a[64]; {statements} }}\n"
    return kernel_facts(text).kernel


def touched(above: str, statements: str) -> list[str]:
    """Bytes that the thread with threadIdx.x == 5 touches when n == 3."""
    return Run(kernel_of(above, statements), {"n": 3, "blockDim.x": 256}, {"x": 5}).run()


@pytest.mark.parametrize(
    ("above", "statements", "expected"),
    [
        ("__device__ void put(float* p, int i) { p[i] = 1; }", "put(a + 2, n);", ["W a 20+4"]),
        ("__device__ void put(float p[], int i) { p[i] = 1; }", "put(a, n);", ["W a 12+4"]),
        ("__device__ void put(float (&p)[64], int i) { p[i] = 1; }", "put(a, n);", ["W a 12+4"]),
        ("__device__ void put(float& x) { x = 1; }", "put(a[n]);", ["W a 12+4"]),
        ("__device__ void put(float x) { }", "put(a[n]);", ["R a 12+4"]),
        ("template <class T> __device__ void put(T* p, int i) { p[i] = 1; }", "put(a, n);", ["W a 12+4"]),
        ("__device__ void put(float* p, int i = 4) { p[i] = 1; }", "put(a);", ["W a 16+4"]),
        ("__device__ int at(int i) { return 2 * i + 1; }", "a[at(n)] = 1;", ["W a 28+4"]),
        ("__device__ int at() { return threadIdx.x; }", "a[at()] = 1;", ["W a 20+4"]),
        ("__device__ float* at(float* p) { return p + 4; }", "at(a)[1] = 1;", ["W a 20+4"]),
        ("__device__ float& at(float* p, int i) { return p[i]; }", "at(a, 2) = 1;", ["W a 8+4"]),
        (
            "__device__ int pick(int i) { if (i > 2) return 1; return 7; }",
            "a[pick(n)] = 1; a[pick(0)] = 1;",
            ["W a 4+4", "W a 28+4"],
        ),
        (
            "__device__ int find(const float* p) {"
            "  for (int i = 0; i < 4; ++i) { for (int j = 0; j < 4; ++j) { if (i * j == 2) return i * 8 + j; } }"
            "  return 63; }",
            "a[find(a)] = 1;",
            ["W a 40+4"],
        ),
        ("__device__ void sync() { __syncthreads(); }", "sync();", ["block barrier"]),
        (
            "__device__ void inner(float* p) { p[1] = 1; } __device__ void outer(float* p) { inner(p + 1); }",
            "outer(a);",
            ["W a 8+4"],
        ),
        (
            "template <class F> __device__ void each(F f) { f(0); f(1); }",
            "each([&](int i) { a[i] = 1; });",
            ["W a 0+4", "W a 4+4"],
        ),
        (
            "__device__ void bump(int& i) { i += 2; }",
            "int i = 1; bump(i); a[i] = 1;",
            ["W a 12+4"],
        ),
        ("namespace d { __device__ void put(float* p) { p[0] = 1; } }", "d::put(a);", ["W a 0+4"]),
        (
            "struct P { static __device__ void put(float* p) { p[0] = 1; } };",
            "P::put(a);",
            ["W a 0+4"],
        ),
    ],
)
def test_a_call_is_followed(above: str, statements: str, expected: list[str]) -> None:
    assert touched(above, statements) == expected


@pytest.mark.parametrize(
    ("above", "statements", "reason"),
    [
        ("__device__ void f(float* p);", "f(a);", "the address of a escapes at line 2 (argument of f)"),
        (
            "__device__ void f(float* p) { f(p); }",
            "f(a);",
            "the address of a escapes at line 1 (argument of f)",
        ),
        (
            "template <class T> __device__ void f(T p, int) { } template <class T> __device__ void f(T p, unsigned) { }"
            "template <class T> __device__ void f(T p, long) { } template <class T> __device__ void f(T p, short) { }"
            "template <class T> __device__ void f(T p, char) { }",
            "f(a, unseen);",
            "the address of a escapes at line 2 (argument of f)",
        ),
        (
            "template <class... A, class... B> __device__ void f(A... p) { }",
            "f(a);",
            "the address of a escapes at line 2 (argument of f)",
        ),
        (
            "__device__ float* kept; __device__ void f(float* p) { kept = p; }",
            "f(a);",
            "the address of a escapes at line 1 (stored)",
        ),
    ],
)
def test_what_is_not_followed_keeps_its_buffer(above: str, statements: str, reason: str) -> None:
    assert why_fixed(kernel_of(above, statements)) == reason


def test_a_function_has_one_copy_of_its_arrays() -> None:
    above = "__device__ float sum(float x) { __shared__ float part[8]; part[0] = x; __syncthreads(); return part[1]; }"
    kernel = kernel_of(above, "a[0] = sum(1) + sum(2);")
    assert [buffer.name for buffer in kernel.buffers] == ["a", "part"]
    assert why_fixed(kernel, 1) == "part belongs to sum(), which others may call"
    assert Run(kernel).run() == [
        "W part 0+4",
        "block barrier",
        "R part 4+4",
        "W part 0+4",
        "block barrier",
        "R part 4+4",
        "W a 0+4",
    ]


def test_names_of_the_kernel_are_not_seen_in_the_function() -> None:
    above = "__device__ int n = 9; __device__ void put(float* p) { p[n] = 1; }"
    assert touched(above, "put(a);") == ["W a ?"]


class Headers(FileReader):
    """A reader with one header in memory."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, path: str) -> str | None:
        return self.text if path.endswith("tools.cuh") else None

    def search(self, name: str, including: str) -> str | None:
        return None


HEADER = """\
#pragma once
template <typename T> __device__ __forceinline__ T sum(T v, T* scratch) {
  __shared__ T total;
  scratch[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x == 0) total = scratch[0] + scratch[1];
  __syncthreads();
  return total;
}
"""


def test_a_function_of_a_header_is_followed() -> None:
    text = """\
#include "tools.cuh"
__global__ void k(float* out) {
  __shared__ float a[64];
  out[0] = sum(out[1], a);
}
"""
    kernel = check(text, path="k.cu", reader=Headers(HEADER)).kernels[0].kernel
    assert [(buffer.name, buffer.bytes) for buffer in kernel.buffers] == [("a", 256), ("total", 4)]
    assert kernel.buffers[0].fixed is None
    assert Run(kernel, {}, {"x": 0}).run() == [
        "W a 0+4",
        "block barrier",
        "R a 0+4",
        "R a 4+4",
        "W total 0+4",
        "block barrier",
        "R total 0+4",
    ]
    assert {kernel.places.line(node.line) for node in walk(kernel.body) if isinstance(node, Access)} == {4}
    assert all(node.span is None for node in walk(kernel.body) if isinstance(node, Access))


@pytest.mark.parametrize(
    ("above", "statements", "expected"),
    [
        (
            "__device__ void put(float* p, const int i = 4) { p[i] = 1; }",
            "put(a, 2); put(a);",
            ["W a 8+4", "W a 16+4"],
        ),
        (
            "__device__ void put(float* p, const bool flip = false) { if (flip) p[7] = 1; else p[1] = 1; }",
            "put(a, true); put(a);",
            ["W a 28+4", "W a 4+4"],
        ),
        (
            "__device__ void put(float* p, const bool wait = true) { p[1] = 1; if (wait) __syncthreads(); }",
            "put(a, false); put(a);",
            ["W a 4+4", "W a 4+4", "block barrier"],
        ),
        ("", "auto put = [&](int i, const int step = 2) { a[i * step] = 1; }; put(n, 4);", ["W a 48+4"]),
    ],
)
def test_a_default_argument_is_no_constant(above: str, statements: str, expected: list[str]) -> None:
    assert touched(above, statements) == expected


def test_a_default_argument_of_a_kernel_is_no_constant() -> None:
    text = (
        "__global__ void k(int* o, const int n = 4) { __shared__ int a[64]; a[n] = 1; if (n > 8) a[0] = 1; }"
    )
    assert Run(kernel_facts(text).kernel, {"n": 9}, {"x": 0}).run() == ["W a 36+4", "W a 0+4"]


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("__shared__ __align__(16) float a[3], b[3];", [(("__align__(16)",), 16), (("__align__(16)",), 16)]),
        ("__shared__ float a[3] __align__(16), b[3];", [(("__align__(16)",), 16), ((), 4)]),
        ("__shared__ float a[3], b[3] __align__(16);", [((), 4), (("__align__(16)",), 16)]),
        ("alignas(16) __shared__ float a[3];", [(("alignas(16)",), 16)]),
    ],
)
def test_attributes_belong_to_their_declarator(declaration: str, expected: list[tuple[object, int]]) -> None:
    kernel = kernel_facts(f"__global__ void k() {{ {declaration} }}").kernel
    assert [(buffer.written.attributes, buffer.align) for buffer in kernel.buffers] == expected


FEWER = "__device__ int fewer(int a, int b) { if (a < b) return a; return b; }\n"


@pytest.mark.parametrize(
    ("inner", "regular"),
    [
        ("for (int k = 0; k < n; ++k) { if (tid > k) continue; out[k] = a[k]; }", True),
        ("if (n > i) continue; out[i] = a[i];", False),
    ],
)
def test_a_continue_of_an_inner_loop_leaves_the_check_of_the_outer_one_alone(
    inner: str, regular: bool
) -> None:
    loop = f"for (int i = 0; i < fewer(n, 4); ++i) {{ {inner} }}"
    text = f"{FEWER}__global__ void k(int* out, int n) {{ __shared__ int a[64]; int tid = threadIdx.x; {loop} }}\n"
    kernel = kernel_facts(text).kernel
    assert (kernel.irregular is None) is regular


@pytest.mark.parametrize(
    ("bound", "regular"),
    [("in[n]", True), ("in[i] + n", True), ("a[n]", False), ("atomicAdd(out, 1)", False)],
)
def test_a_continue_in_front_of_a_check_that_loads(bound: str, regular: bool) -> None:
    """What the check reads of memory that is not shared is only a value."""
    loop = f"for (int i = 0; i < {bound}; ++i) {{ if (n > i) continue; out[i] = a[i]; }}"
    text = f"__global__ void k(int* out, const int* in, int n) {{ __shared__ int a[64]; {loop} }}\n"
    assert (kernel_facts(text).kernel.irregular is None) is regular
