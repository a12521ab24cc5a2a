"""Functions that launch and that a file instantiates for others."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

KERNEL = """\
__global__ void k(int* out) {
  __shared__ int s[256];
  s[threadIdx.x % 128] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x % 128];
}
"""


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("template <int T> void g(int* p) { k<<<1, T>>>(p); } void f(int* p) { g<128>(p); }", "race-free"),
        (
            "template <int T> void g(int* p) { k<<<1, T>>>(p); } void f(int* p) { g<128>(p); }"
            " template void g<256>(int*);",
            "racy",
        ),
        (
            "template <class U, int T = 256> void g(U* p) { k<<<1, T>>>(p); } void f(int* p) { g<int, 64>(p); }"
            " template void g(int*);",
            "racy",
        ),
        (
            "template <int T> void h(int* p) { k<<<1, 2 * T>>>(p); } template <int T> void g(int* p) { h<T>(p); }"
            " void f(int* p) { g<64>(p); } template void g<128>(int*);",
            "racy",
        ),
        (
            "namespace a { template <int T> void g(int* p) { k<<<1, T>>>(p); } } void f(int* p) { a::g<64>(p); }"
            " template void a::g<256>(int*);",
            "racy",
        ),
    ],
)
def test_an_instance_launches_whoever_calls_it(host: str, kind: str) -> None:
    (kernel,) = check(f"{KERNEL}{host}\n").kernels
    assert kernel.verdict.kind.value == kind


def test_the_instances_are_seen_where_nothing_else_has_changed() -> None:
    host = "template <int T> void g(int* p) { k<<<1, T>>>(p); } void f(int* p) { g<128>(p); }"
    for more, kind in (("", "race-free"), (" template void g<256>(int*);", "racy"), ("", "race-free")):
        (kernel,) = check(f"{KERNEL}{host}{more}\n").kernels
        assert kernel.verdict.kind.value == kind
