"""A variable hides a type of the same name: what is done with it is an access, however the name is known outside."""

from __future__ import annotations

import pytest
from harness import kernel_facts

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Access, walk

OUTSIDE = """\
struct row { float v; };
template <class P> struct tile { P p; };
struct Copy { __device__ static void one(float const& s, float& d) { d = s; } };
__device__ void all(float const* s, float& d) { d = s[0]; }
"""


def reads(body: str, above: str = "") -> int:
    text = f"{OUTSIDE}{above}__global__ void k(float* out, int n) {{ float r; {body} out[0] = r; }}\n"
    accesses = (node for node in walk(kernel_facts(text).kernel.body) if isinstance(node, Access))
    return sum(access.kind.reads for access in accesses)


@pytest.mark.parametrize(
    "body",
    [
        "__shared__ float row[64]; Copy::one(row[0], r);",
        "__shared__ float row[64]; all(row, r);",
        "__shared__ float a[64]; float* const row = a; all(row, r);",
        "__shared__ float a[64]; float* __restrict__ row = a; Copy::one(row[1], r);",
        "__shared__ float tile[64]; Copy::one(tile[n], r);",
        "__shared__ float a[64]; int n2 = 1, row = 2; Copy::one(a[row], r);",
        "__shared__ float a[64]; for (int row = 0; row < n; ++row) Copy::one(a[row], r);",
    ],
)
def test_a_local_variable(body: str) -> None:
    assert reads(body) == 1


def test_a_parameter() -> None:
    for declared in ("float const* const row", "const float* __restrict__ row", "float row[]"):
        above = f"__device__ void first({declared}, float& d) {{ Copy::one(row[0], d); }}\n"
        assert reads("__shared__ float a[64]; first(a, r);", above) == 1


def test_a_type_that_nothing_hides() -> None:
    body = (
        "__shared__ float a[64]; const row* p = reinterpret_cast<const row*>(a); r = p[1].v + sizeof(row[2]);"
    )
    assert reads(body) == 1
    assert reads("__shared__ row a[64]; row b = a[1], *c = &a[2]; r = b.v + c->v;") == 2


def test_a_qualified_name_is_not_hidden() -> None:
    text = (
        "namespace a { template <typename T, int N> __global__ void q(T* p) {\n"
        "__shared__ T s[N]; s[0] = 1; p[0] = s[0]; } }\n"
        "void f(float* q) { a::q<float, 64><<<1, 32>>>(q); }\n"
    )
    assert 256 in [facts.static_bytes for facts in check(text).facts]
