"""Shared arrays that are declared outside functions: each kernel that names one, or calls what does, has its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from lowering.test_static_layout import shared_bytes

from smem_lsp.engine import check
from smem_lsp.source import Span
from smem_lsp.source.queries import Store

OWN = "__shared__ char a[17]; a[threadIdx.x % 17] = n; __syncthreads(); o[threadIdx.x] = a[n]"
APART = f"__global__ void apart(int* o, int n) {{ {OWN}; }}\n"
CALLS = f"__global__ void calls(int* o, int n) {{ {OWN} + helper(n); }}\n"
PLACED = "__shared__ int placed[33];\n"
HELPER = "__device__ int helper(int n) { placed[n] = n; __syncthreads(); return placed[n / 2]; }\n"
DYNAMIC = "extern __shared__ float dyn[];\n"
USES = f"__global__ void uses(int* o, int n) {{ dyn[threadIdx.x] = n; {OWN} + dyn[n]; }}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLACED + APART, {"apart": (17, True)}),
        (PLACED + HELPER + APART + CALLS, {"apart": (17, True), "calls": (149, False)}),
        (DYNAMIC + APART, {"apart": (17, True)}),
        (DYNAMIC + APART + USES, {"apart": (32, True), "uses": (32, True)}),
        (
            DYNAMIC.replace("float", "__align__(64) float") + APART + USES,
            {"apart": (32, False), "uses": (32, False)},
        ),
    ],
)
def test_only_kernels_that_name_them_are_inexact(
    text: str, expected: dict[str, tuple[int, bool]], tmp_path: Path
) -> None:
    reports = check(text, path="k.cu").kernels
    assert {r.kernel.name: (r.static_bytes, r.exact) for r in reports} == expected
    printed = shared_bytes(text, tmp_path)
    assert all(printed[name] == size for name, (size, exact) in expected.items() if exact)


def test_an_array_that_only_an_instance_uses_may_round_the_others() -> None:
    template = "template <int N> " + USES.replace("uses", "t")
    launch = "void host(int* o) { t<4><<<1, 32, 64>>>(o, 1); }\n"
    (apart, *_) = check(DYNAMIC + APART + template + launch, path="k.cu").kernels
    assert (apart.static_bytes, apart.exact) == (17, False)


RACE = """\
{declaration}
{helper}
__global__ void k(int* out) {{
  {store};
  out[threadIdx.x] = pool[31 - threadIdx.x % 32];
}}
void host(int* out) {{ k<<<1, 64, 256>>>(out); }}
"""
STORE = "pool[threadIdx.x] = threadIdx.x"


@pytest.mark.parametrize("declaration", ["extern __shared__ int pool[];", "__shared__ int pool[64];"])
@pytest.mark.parametrize(
    ("helper", "store"),
    [("", STORE), (f"__device__ void fill() {{ {STORE}; }}", "fill()")],
)
def test_a_race_in_one_is_told(declaration: str, helper: str, store: str) -> None:
    text = RACE.format(declaration=declaration, helper=helper, store=store)
    report = check(text, path="k.cu")
    (kernel,) = report.kernels
    assert [each.name for each in kernel.kernel.buffers] == ["pool"]
    assert [each.code for each in report.findings] == ["SMEM201"]


def test_a_local_name_hides_one() -> None:
    text = "extern __shared__ int pool[];\n__global__ void k(int* pool) { pool[threadIdx.x] = 1; pool[0] = 2; }\n"
    (kernel,) = check(text, path="k.cu").kernels
    assert kernel.kernel.buffers == ()


def test_one_of_a_namespace_is_found_from_inside_of_it() -> None:
    inside = "namespace a { __shared__ int pool[4]; __global__ void k(int* o) { pool[threadIdx.x] = 1; } }\n"
    outside = "__global__ void other(int* o) { pool[threadIdx.x] = 1; }\n"
    reports = check(inside + outside, path="k.cu").kernels
    assert [len(each.kernel.buffers) for each in reports] == [1, 0]


def test_its_place_is_that_of_the_text_that_is_checked() -> None:
    kernel = "__global__ void k(int* o) { pool[threadIdx.x] = 1; }\n"
    for body in (
        "",
        "",
        " __shared__ int pool2[4]; pool2[0] = 1; ",
    ):  # what a file declares is kept between the texts
        text = f"__global__ void first(int* o) {{ o[0] = 1;{body}}}\nextern __shared__ int pool[];\n{kernel}"
        placed = [
            found.kernel.places.span(each.declared)
            for found in check(text, path="k.cu").kernels
            for each in found.kernel.buffers
        ]
        start = text.index("pool[];")
        assert placed[-1] == Span(start, start + len("pool"))


OUTSIDE = "extern __shared__ int pool[];\n"
NAMES_IT = "__global__ void k(int* o) { o[0] = pool[0]; pool[threadIdx.x] = 1; }\n"


@pytest.mark.parametrize(
    "changed",
    [
        OUTSIDE + "// between\n" + NAMES_IT,
        f"{OUTSIDE}{NAMES_IT}".replace("\n", "\r\n"),
        "int x;\n" + OUTSIDE + NAMES_IT,
        "/* one */" + OUTSIDE + NAMES_IT,
        "int another;\n" + OUTSIDE.replace("int", "int  ") + NAMES_IT,
    ],
)
def test_its_place_is_that_of_the_text_after_an_edit_in_front_of_its_kernel(changed: str) -> None:
    store = Store()
    check(OUTSIDE + NAMES_IT, path="k.cu", cache=store)
    warm, cold = check(changed, path="k.cu", cache=store), check(changed, path="k.cu")
    assert warm.kernels[0].kernel.buffers == cold.kernels[0].kernel.buffers
    kernel = warm.kernels[0].kernel
    assert kernel.places.start(kernel.buffers[0].declared) == changed.index("pool")
    told = [
        [(each.code, each.message, each.span, each.related) for each in report.findings]
        for report in (warm, cold)
    ]
    assert told[0] == told[1]


def test_an_array_that_is_declared_while_a_kernel_names_something_of_its_name() -> None:
    body = "__shared__ int s[4]; s[threadIdx.x % 4] = n; __syncthreads(); o[0] = s[n];"
    kernel = f"__global__ void k(int* o, int n) {{ {body} }}\n"
    store = Store()
    check(kernel, path="k.cu", cache=store)
    for half in ("__shared_", "__shared__ int o", "__shared__ int o;"):
        text = f"{kernel}{half}\nvoid other(int n);\n"
        warm, cold = check(text, path="k.cu", cache=store), check(text, path="k.cu")
        assert warm.kernels[0].kernel.unexact == cold.kernels[0].kernel.unexact
        assert (cold.kernels[0].kernel.unexact is None) == (half == "__shared_")
