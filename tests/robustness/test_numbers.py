"""Numbers without end, and the digits of other scripts: wherever a text has a number, it may be one that no type holds.

`int` raises for more than 4,300 digits, and for `²`, which `str.isdigit` takes for a digit.
"""

from __future__ import annotations

import pytest

from smem_lsp.cli.errors import UsageError
from smem_lsp.cli.server import _address
from smem_lsp.engine import check
from smem_lsp.rules.padding import wider
from smem_lsp.source.digits import whole_number

NUMBERS = {
    "long": "9" * 5_000,
    "hexadecimal": "0x" + "f" * 5_000,
    "superscript": "²",
    "arabic": "٣",
    "zero": "0",
    "largest": str(2**64 - 1),
}
IN_KERNELS = (
    "__shared__ float t[{}]; t[0] = 1;",
    "__shared__ float t[32][32 + {}]; t[threadIdx.x][0] = 1;",
    "alignas({}) __shared__ char t[3]; t[0] = 1;",
    "s[{}] = 1;",
    "for (int i = 0; i < {}; i += {}) {{ s[i % {}] = 1; __syncthreads(); }}",
    'asm volatile("cp.async.wait_group {};");',
    'asm volatile("bar.sync {}, {};");',
    'asm volatile("barrier.cta.sync %0, %1;" :: "n"({}), "r"({}));',
    'asm volatile("ld.shared.u32 %0, [%1+{}];" : "=r"(n) : "r"(n));',
    "__pipeline_wait_prior({});",
    "cp_async_wait_group<{}>();",
    "switch (n) {{ case {}: s[0] = 2; }}",
    "n = __shfl_sync({}, n, {});",
    "__syncwarp({});",
    "n = 1 << {}; n = -{} / {};",
    "s[0] = {}.{}f; s[0] = 1e{};",
    "named_barrier<{}>::sync();",
)
AROUND = (
    "#define N {}\n#if N > {}\n#endif",
    "#line {}",
    "// smem: assume(blockDim.x == {})",
    "// smem: assume(blockDim.x == {}, blockDim.y == 2)",
    "// smem: dynamic_bytes = {}",
    "// smem: ignore-file[SMEM{}]",
    "template <int M> __global__ void m(float* g) {{ __shared__ float s[M]; s[0] = g[0]; }}\n"
    "void more(float* g) {{ m<{}><<<1, {}>>>(g); }}",
    "extern __shared__ float d[];\n__global__ void e(float* g) {{ d[threadIdx.x] = g[0]; }}\n"
    "void more(float* g) {{ e<<<{}, dim3({}, 2), {} * sizeof(float)>>>(g); }}",
    'void more(CUfunction* f, CUmodule m) {{ cuModuleGetFunction(f, m, "_Z{}kPf"); }}',
    "void more() {{ cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, {} * 4); }}",
)


def text(around: str = "", inside: str = "") -> str:
    return (
        f"{around}\n__global__ void k(float* g, int n) {{\n  __shared__ float s[256];\n  {inside}\n"
        "  s[threadIdx.x] = g[0];\n}\nvoid run(float* g) { k<<<1, 256>>>(g, 1); }\n"
    )


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("place", [*IN_KERNELS, *AROUND])
def test_a_number_that_is_none_costs_nothing_else(place: str, number: str) -> None:
    written = place.replace("{}", NUMBERS[number]).format()
    report = check(text(inside=written) if place in IN_KERNELS else text(around=written), path="k.cu")
    assert not [each.words for each in report.stopped if each.report]
    assert "k" in {each.kernel.name for each in report.kernels}


@pytest.mark.parametrize("sizes", [(1_025,), (100_000_000,), (2**64 - 1,), (1_024, 1_024, 64), (32, 32, 2)])
def test_no_block_is_tried_that_no_device_runs(sizes: tuple[int, ...]) -> None:
    """Each thread of one takes memory."""
    said = [f"blockDim.{axis} == {size}" for axis, size in zip("xyz", sizes)]
    said_otherwise = " || ".join(each.replace("==", "!=") for each in said)
    for around, inside in (
        (f"// smem: assume({', '.join(said)})", ""),
        ("", f"assert({' && '.join(said)});"),
        ("", f"if ({said_otherwise}) return;"),
        ("", f"__builtin_assume({' && '.join(said)});"),
    ):
        written = text(around, inside).replace("void run", "// void run")
        first, declared, asserted = written.partition("  __shared__ float s[256];\n")
        report = check(f"{first}{asserted.replace('  s[', declared + '  s[')}", path="k.cu")
        (kernel,) = report.facts
        assert not kernel.shapes


@pytest.mark.parametrize(
    ("digits", "number"),
    [
        ("0", 0),
        ("0012", 12),
        ("18446744073709551615", 2**64 - 1),
        ("0" * 5_000, 0),
        ("0" * 5_000 + "7", 7),
        ("9" * 21, None),
        ("", None),
        ("-1", None),
        ("²", None),
        ("٣", None),
        ("1_000", None),
        (" 1", None),
    ],
)
def test_whole_numbers(digits: str, number: int | None) -> None:
    assert whole_number(digits) == number


def test_what_stands_in_other_places() -> None:
    assert wider("N + 1", 2) == "N + 3"
    assert wider(f"N + {'9' * 5_000}", 2) == f"N + {'9' * 5_000} + 2"
    with pytest.raises(UsageError, match="HOST:PORT"):
        _address(f"127.0.0.1:{'9' * 5_000}")
    assert _address("127.0.0.1:00080") == ("127.0.0.1", 80)
