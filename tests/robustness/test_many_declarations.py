"""Very many overloads, classes, members and methods: read in work that grows with their number, and no wrong answer."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.source.budget import SECOND, Budget

COUNT = 1_500
TWICE = "s[{} / 2] = threadIdx.x;"
ONCE = "s[{}] = threadIdx.x;"


def overloads(count: int) -> str:
    each = "".join(
        f"struct T{i} {{ int v; }};\n__device__ int f(T{i} a) {{ return a.v; }}\n" for i in range(count)
    )
    return f"{each}__device__ int f(int a) {{ return a; }}\n"


def chain(count: int) -> str:
    """Each calls the next one, and the last the first."""
    each = "".join(f"__device__ int g{i}(int a, int n);\n" for i in range(count))
    calls = "".join(
        f"__device__ int g{i}(int a, int n) {{ return n ? g{(i + 1) % count}(a, n - 1) : a; }}\n"
        for i in range(count)
    )
    return f"{each}{calls}__device__ int f(int a) {{ return a; }}\n"


def members(count: int) -> str:
    """More than are followed of one object: then its value is not known."""
    each = "".join(f"  int m{i};\n" for i in range(count))
    return f"struct C {{\n{each}  int v;\n}};\n__device__ int f(int a) {{ C c; c.v = a; return c.v; }}\n"


def methods(count: int) -> str:
    each = "".join(f"  __device__ int f{i}(int x) {{ return x; }}\n" for i in range(count))
    return f"struct C {{\n{each}}};\n__device__ int f(int a) {{ C c; return c.f7(a); }}\n"


@pytest.mark.parametrize("above", [overloads, chain, members, methods])
def test_they_are_read(above: object) -> None:
    assert callable(above)
    for statement, expected in ((ONCE, "race-free"), (TWICE, "racy")):
        text = (
            f"{above(COUNT)}__global__ void k(int* o) {{\n  __shared__ int s[64];\n"
            f"  int t = threadIdx.x;\n  {statement.format('f(t)')}\n  __syncthreads();\n"
            "  o[threadIdx.x] = s[63 - threadIdx.x];\n}\n"
            "void host(int* o) { k<<<1, 64>>>(o); }\n"
        )
        with Budget(units=2 * SECOND):
            (kernel,) = check(text).kernels
        assert kernel.verdict is not None
        assert kernel.verdict.kind.value == ("undecided" if above is members else expected)
