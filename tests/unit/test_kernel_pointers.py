"""Launches through pointers that may point to one of many kernels, and through tables of them."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Dims

KERNEL = "template <int N> __global__ void k(float* d) { __shared__ float s[N]; s[threadIdx.x % N] = 1; d[0] = s[0]; }"


def blocks(text: str) -> dict[str | None, list[Dims | None]]:
    """The blocks of the launches of each instance."""
    report = check(f"{KERNEL}\n{text}")
    return {each.kernel.instance: [site.block for site in each.kernel.launches] for each in report.kernels}


def every(*numbers: int, block: Dims | None = (128, 1, 1)) -> dict[str | None, list[Dims | None]]:
    return {f"k<{n}>": [block] for n in numbers}


PICK = """\
typedef void (*F)(float*);
F pick(int n) {
#define CASE(N) if (n == N) return k<N>;
  CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
  return NULL;
}
"""


@pytest.mark.parametrize(
    "launch",
    [
        "void go(float* d, int n) { F f = pick(n); f<<<1, 128>>>(d); }",
        "void go(float* d, int n) { auto f = pick(n); if (!f) return; f<<<1, 128>>>(d); }",
        "void go(float* d, int n) { void* a[] = {&d}; cudaLaunchKernel((void*)pick(n), 1, 128, a, 0, 0); }",
    ],
)
def test_more_kernels_than_paths(launch: str) -> None:
    assert blocks(PICK + launch) == every(*range(1, 9))


def test_a_pointer_that_many_branches_set() -> None:
    cases = " ".join(f"case {n}: f = k<{n}>; break;" for n in range(1, 9))
    text = (
        f"void go(float* d, int n) {{ void (*f)(float*) = k<1>; switch (n) {{ {cases} }} f<<<1, 128>>>(d); }}"
    )

    assert blocks(text) == every(*range(1, 9))


TABLE = "constexpr auto table = std::array{k<1>, k<2>, k<3>, k<4>};\n"


@pytest.mark.parametrize(
    ("launch", "instances"),
    [
        ("void go(float* d, int n) { table[n - 1]<<<1, 128>>>(d); }", (1, 2, 3, 4)),
        ("void go(float* d, int n) { auto f = table[n]; f<<<1, 128>>>(d); }", (1, 2, 3, 4)),
        ("void go(float* d) { table[2]<<<1, 128>>>(d); }", (3,)),
        ("void go(float* d, int n) { if (n >= 2) { auto f = table[n]; f<<<1, 128>>>(d); } }", (3, 4)),
        ("void go(float* d, int n) { if (n > 2) return; table[n - 1]<<<1, 128>>>(d); }", (1, 2)),
        ("void go(float* d, int n) { if (n == 3) table[n - 1]<<<1, 128>>>(d); }", (3,)),
    ],
)
def test_tables_of_kernels(launch: str, instances: tuple[int, ...]) -> None:
    found = blocks(TABLE + launch)

    assert found == {f"k<{n}>": [(128, 1, 1)] if n in instances else [] for n in (1, 2, 3, 4)}


@pytest.mark.parametrize(
    "table",
    [
        "static void (*const table[])(float*) = {k<1>, k<2>, k<3>, k<4>};\n",
        "void (* const table[4])(float*) = {&k<1>, &k<2>, &k<3>, &k<4>};\n",
        "static const Kernel table[] = {(Kernel)k<1>, (Kernel)k<2>, (Kernel)k<3>, (Kernel)k<4>};\n",
    ],
)
def test_ways_to_declare_a_table(table: str) -> None:
    assert blocks(table + "void go(float* d, int n) { table[n]<<<1, 128>>>(d); }") == every(1, 2, 3, 4)


@pytest.mark.parametrize(
    "table",
    [
        "void (*table[])(float*) = {k<1>, k<2>};\n",  # anybody may store others there
        "static void (*table[2][1])(float*) = {{k<1>}, {k<2>}};\n",
        "static Pair table[] = {Pair(k<1>, k<2>), 0};\n",
    ],
)
def test_tables_that_are_not_followed(table: str) -> None:
    found = blocks(table + "void go(float* d, int n) { table[n]<<<1, 128>>>(d); }")

    assert found == {"k<1>": [], "k<2>": []}
