"""Kernels that share a name: which of them a launch means."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Dims

BODY = "{ __shared__ int s[1024]; s[threadIdx.x] = 1; __syncthreads(); out[0] = s[0]; }\n"
FLOATS = f"__global__ void k(const float* in, float* out, int n) {BODY}"
HALVES = f"__global__ void k(const __half* in, __half* out, int n) {BODY}"
SHORT = f"__global__ void k(const float* in, float* out) {BODY}"
DOUBLE_N = f"__global__ void k(const float* in, float* out, float n) {BODY}"


def blocks(text: str) -> list[list[Dims | None]]:
    """The blocks of the launches of each kernel in order, of all its instances."""
    found: dict[int, list[Dims | None]] = {}
    for report in check(text).kernels:
        found.setdefault(report.kernel.span.start, []).extend(site.block for site in report.kernel.launches)
    return [found[start] for start in sorted(found)]


def test_types_and_number_of_arguments_tell_overloads_apart() -> None:
    host = (
        "void f(float* a, __half* b) { k<<<1, 32>>>(a, a, 3); k<<<1, 64>>>(b, b, 3); k<<<1, 128>>>(a, a); "
        "k<<<1, 256>>>(reinterpret_cast<const __half*>(a), reinterpret_cast<__half*>(b), 7); }"
    )

    assert blocks(FLOATS + HALVES + SHORT + host) == [[(32, 1, 1)], [(64, 1, 1), (256, 1, 1)], [(128, 1, 1)]]


def test_the_exact_type_of_a_number_tells_overloads_apart() -> None:
    host = "void f(float* a, int n) { k<<<1, 32>>>(a, a, n); k<<<1, 64>>>(a, a, 1.0f); }"

    assert blocks(FLOATS + DOUBLE_N + host) == [[(32, 1, 1)], [(64, 1, 1)]]


@pytest.mark.parametrize(
    "call",
    [
        "k<<<1, 32>>>(tensor.data(), tensor.data(), 3)",  # types that are not known
        "k<<<1, 32>>>(a, a, (short)n)",  # neither is exact
        "k<<<1, 32>>>(nullptr, nullptr, 3)",
        "k<<<1, 32>>>(0, 0, 3)",
    ],
)
def test_where_nothing_tells_them_apart_a_launch_of_each_is_not_known(call: str) -> None:
    host = f"void f(float* a, int n, Tensor tensor) {{ {call}; }}"

    assert blocks(FLOATS + (DOUBLE_N if "short" in call else HALVES) + host) == [[None], [None]]


def test_kernels_of_two_namespaces() -> None:
    kernels = f"namespace a {{ {SHORT} }} namespace b {{ {SHORT} "
    host = "void g(float* x) { k<<<1, 32>>>(x, x); } } "
    host += "void f(float* x) { a::k<<<1, 64>>>(x, x); b::k<<<1, 128>>>(x, x); }"

    assert blocks(kernels + host) == [[(64, 1, 1)], [(32, 1, 1), (128, 1, 1)]]


def test_equal_kernels_whose_namespace_is_not_named() -> None:
    kernels = f"namespace a {{ {SHORT} }} namespace b {{ {SHORT} }} using namespace b;"

    assert blocks(kernels + "void f(float* x) { k<<<1, 64>>>(x, x); }") == [[None], [None]]


def test_templates_are_told_apart_by_their_number_of_arguments() -> None:
    text = (
        f"template <typename T> __global__ void k(T* out, int n) {BODY}"
        f"template <typename T, int N> __global__ void k(T* out) {BODY}"
        "void f(float* a) { k<<<1, 32>>>(a, 3); k<float, 2><<<1, 64>>>(a); }"
    )

    assert blocks(text) == [[(32, 1, 1)], [(64, 1, 1)]]
    assert [report.kernel.instance for report in check(text).kernels] == ["k<float>", "k<float, 2>"]


def test_template_arguments_mean_no_ordinary_kernel() -> None:
    text = (
        f"template <int N> __global__ void k(float* out) {BODY}"
        f"__global__ void k(float* out) {BODY}"
        "void f(float* a) { k<2><<<1, 32>>>(a); k<<<1, 64>>>(a); }"
    )

    assert blocks(text) == [[(32, 1, 1)], [(64, 1, 1)]]


def test_a_specialization_is_launched_where_its_instance_is_named() -> None:
    text = (
        "typedef float real;\n"
        f"template <typename T> __global__ void k(const T* in, T* out) {BODY}"
        f"template <> __global__ void k(const __half* in, __half* out) {BODY}"
        f"template <> __global__ void k<real>(const float* in, float* out) {BODY}"
        "void f(float* a, __half* b, double* c) { k<__half><<<1, 32>>>(b, b); k<<<1, 64>>>(a, a); "
        "k<double><<<1, 128>>>(c, c); }"
    )

    assert blocks(text) == [[(128, 1, 1)], [(32, 1, 1)], [(64, 1, 1)]]


def test_a_specialization_that_nothing_names_has_no_launch() -> None:
    text = (
        f"template <typename T> __global__ void k(T* out) {BODY}"
        f"template <> __global__ void k(float* out) {BODY}"
        "void f(double* a) { k<<<1, 32>>>(a); }"
    )

    assert blocks(text) == [[(32, 1, 1)], []]


def test_the_launches_follow_when_an_overload_is_added() -> None:
    host = "void f(float* a, int n) { k<<<1, 32>>>(a, a, n); }"

    assert blocks(FLOATS + host) == [[(32, 1, 1)]]
    assert blocks(FLOATS + HALVES + host) == [[(32, 1, 1)], []]
    assert blocks(FLOATS + FLOATS.replace("int n", "long n") + host) == [[(32, 1, 1)], []]


def test_templates_that_only_their_constraints_tell_apart() -> None:
    text = (
        f"template <typename T, int W> __global__ std::enable_if_t<(W > 0)> k(T* out) {BODY}"
        f"template <typename T, int W> __global__ std::enable_if_t<(W == 0)> k(T* out) {BODY}"
        "void f(float* a) { k<float, 8><<<1, 32>>>(a); }"
    )

    assert blocks(text) == [[(32, 1, 1)], [(32, 1, 1)]]
