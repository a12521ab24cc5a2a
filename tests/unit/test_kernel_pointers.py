"""Launches through pointers that may point to one of many kernels, and through tables of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lsp.engine import check
from smem_lsp.environment import DiskReader
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


@pytest.mark.parametrize(
    "launch",
    [
        "F f = k<1>; void go(float* d) { f<<<1, 128>>>(d); }",
        "F f = k<1>; void go(float* d) { ((F)f)<<<1, 128>>>(d); }",
        "F f = k<1>; void go(float* d, void** a) { cudaLaunchKernel((void*)f, 1, 128, a, 0, 0); }",
        "namespace n { extern F f; } void go(float* d) { n::f<<<1, 128>>>(d); }",
        "struct H { F f; void go(float* d); }; void H::go(float* d) { f<<<1, 128>>>(d); }",
    ],
)
def test_a_pointer_that_is_not_local_may_be_of_any_kernel(launch: str) -> None:
    known = "typedef void (*F)(float*); void first(float* d, F* g) { k<1><<<1, 1>>>(d); *g = k<1>; } "

    assert {name: set(found) for name, found in blocks(known + launch).items()} == {"k<1>": {(1, 1, 1), None}}


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

    assert found == {"k<1>": [None], "k<2>": [None]}


# ---- tables of structs -----------------------------------------------------------------------------------------------

ENTRY = "struct Entry { void (*f)(float*); int threads = 96; };\n"
ROWS = "{{k<1>, 32}, {&k<2>, 64}, {k<3>}}"


@pytest.mark.parametrize(
    "table",
    [
        f"static const Entry table[] = {ROWS};\n",
        f"const std::vector<Entry> table = {ROWS};\n",
        f"constexpr std::array<Entry, 3> table = {{{ROWS}}};\n",
        "const Entry table[3] = {{.f = k<1>, .threads = 32}, {.f = k<2>, .threads = 64}, {.f = k<3>}};\n",
    ],
)
@pytest.mark.parametrize("local", [False, True])
def test_tables_of_structs(table: str, local: bool) -> None:
    inside, outside = (table, "") if local else ("", table)
    known = {"k<1>": [(32, 1, 1)], "k<2>": [(64, 1, 1)], "k<3>": [(96, 1, 1)]}
    for loop in (
        "for (auto& e : table) e.f<<<1, e.threads>>>(d);",
        "for (const Entry& e : table) { auto f = e.f; f<<<1, e.threads>>>(d); }",
        "for (auto [f, t] : table) f<<<1, t>>>(d);",
        "auto e = table[n]; e.f<<<1, e.threads>>>(d);",
    ):
        text = f"{ENTRY}{outside}void go(float* d, int n) {{ {inside} {loop} }}"
        assert blocks(text) == known, loop
    text = f"{ENTRY}{outside}void go(float* d, int n) {{ {inside} table[1].f<<<1, table[1].threads>>>(d); }}"
    assert {name: found for name, found in blocks(text).items() if found} == {"k<2>": [(64, 1, 1)]}


def test_a_long_table_tells_what_its_rows_share() -> None:
    rows = ", ".join(f"{{k<{n}>, {32 * n}}}" for n in range(1, 9))
    more = ", ".join(f"{{k<{n}>, 32}}" for n in range(1, 9))
    loop = "for (auto& e : table) e.f<<<1, e.threads>>>(d);"
    for given, expected in ((f"{rows}, {{k<8>, 32}}", None), (f"{more}, {{k<8>, 32}}", (32, 1, 1))):
        text = f"{ENTRY}static const Entry table[] = {{{given}}};\nvoid go(float* d) {{ {loop} }}"
        assert blocks(text) == {f"k<{n}>": [expected] for n in range(1, 9)}


# ---- pointers that are not followed ----------------------------------------------------------------------------------

ONE = "__global__ void {}(float* d{}) {{ __shared__ float s[256]; s[threadIdx.x] = 1; d[0] = s[0]; }}\n"
FOUR = (
    ONE.format("one", "") + ONE.format("two", "") + ONE.format("other", ", int n") + ONE.format("asked", "")
)


@pytest.mark.parametrize(
    "launch",
    [
        "f<<<1, 256>>>(d);",
        "(*f)<<<1, 256>>>(d);",
        "void* args[] = {&d}; cudaLaunchKernel((void*)f, 1, 256, args, 0, 0);",
        "cudaLaunchConfig_t c = {1, 256}; cudaLaunchKernelEx(&c, f, d);",
    ],
)
def test_every_kernel_with_an_address_may_be_launched(launch: str) -> None:
    text = f"""{FOUR}
std::map<int, void (*)(float*)> known = {{{{1, one}}, {{2, &two}}}};
void go(float* d, int n) {{
  cudaFuncSetAttribute(asked, cudaFuncAttributeMaxDynamicSharedMemorySize, n);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, (const void*)asked, 128, 0);
  asked<<<1, 128>>>(d);
  auto f = known[n];
  {launch}
}}
void elsewhere(float* d) {{ auto f = other; one<<<1, 64>>>(d); f<<<1, 32>>>(d, 1); }}
"""
    found = {each.kernel.name: [s.block for s in each.kernel.launches] for each in check(text).kernels}

    assert found["one"] == [None, (64, 1, 1)] or found["one"] == [(64, 1, 1), None]
    assert found["two"] == [None]
    assert found["asked"] == [(128, 1, 1)]
    assert (32, 1, 1) in found["other"]


def test_a_launcher_of_a_header_that_nobody_calls_launches_nothing(tmp_path: Path) -> None:
    (tmp_path / "launch.h").write_text("template <typename F> void launch(F f, int n) { f<<<1, n>>>(0); }\n")
    text = f'#include "launch.h"\n{FOUR}void go(float* d) {{ auto f = one; f<<<1, 64>>>(d); }}\n'
    report = check(text, path=str(tmp_path / "a.cu"), reader=DiskReader())

    assert [[s.block for s in each.kernel.launches] for each in report.kernels] == [[(64, 1, 1)], [], [], []]
