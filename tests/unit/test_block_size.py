"""The block size of a launch is a fact only while no other launch is possible.

In the kernel ``a`` is overwritten in every turn by all 256 threads. With 128 threads half of its old values stay, and
they would not survive ``b`` in the same bytes.
"""

from __future__ import annotations

import pytest
from harness import merges_offered, safe_merges

from smem_lsp.engine import check

KERNEL = """\
{above}
static __global__ void k(const float* in, float* out, int n) {{
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  for (int t = 0; t < n; ++t) {{
    {fill}
    __syncthreads();
    float v = a[255 - tid];
    __syncthreads();
    b[tid] = v;
    __syncthreads();
    out[t * 256 + tid] = b[255 - tid];
    __syncthreads();
  }}
}}
{below}
"""
FILL = "a[tid] = in[tid];"
LAUNCH = "void go(const float* in, float* out, int s) { k<<<1, 256>>>(in, out, 4); }"


def kernel(below: str = LAUNCH, fill: str = FILL, above: str = "") -> str:
    return KERNEL.format(above=above, fill=fill, below=below)


def proved(text: str) -> bool:
    return safe_merges(text) != []


def go(statements: str) -> str:
    return f"void go(const float* in, float* out, int s) {{ {statements} }}"


def test_one_launch_of_a_static_kernel_is_a_fact() -> None:
    assert proved(kernel())


@pytest.mark.parametrize(
    "fill",
    [
        "if (tid < n) a[tid] = in[tid];",
        "a[tid / 2] = in[tid];",
        "a[tid & 127] = in[tid];",
        "a[tid] += in[tid];",
        "if (n > 3) a[tid] = in[tid];",
        "for (int i = tid; i < n; i += 256) a[i] = in[i];",
        "for (int i = tid; i < 256; i += 512) { if (in[i] > 0) a[i] = in[i]; }",
        "for (int i = tid; i < 255; i += 256) a[i] = in[i];",
        "for (int i = tid; i < 256; i += 256) { if (n == i) break; a[i] = in[i]; }",
        "(&a[0])[tid - 1] = in[tid];",
        "reinterpret_cast<char*>(a)[tid] = 1;",
        "if (tid < 128) a[tid] = in[tid];",
        "int i = tid; if (n) i = 0; a[i] = in[tid];",
        "if (tid > 300) return; if (tid < 200) a[tid] = in[tid];",
    ],
)
def test_a_fill_that_may_leave_a_part_is_no_full_write(fill: str) -> None:
    assert merges_offered(kernel(fill=fill)) == []


@pytest.mark.parametrize(
    "fill",
    [
        "a[255 - tid] = in[tid];",
        "a[tid ^ 1] = in[tid];",
        "for (int i = tid; i < 256; i += 256) a[i] = in[i];",
        "for (int i = tid; i < 256; i += blockDim.x) a[i] = in[i];",
        "for (int i = threadIdx.x; i <= 255; i += 128) a[i] = in[i];",
        "int i = tid; a[i] = in[i];",
    ],
)
def test_a_fill_by_all_threads_is_a_full_write(fill: str) -> None:
    assert proved(kernel(fill=fill))


SECOND = "k<<<1, 128>>>(in, out, 4)"


@pytest.mark.parametrize(
    "statement",
    [
        f"{SECOND};",
        "k<<<dim3(1), dim3(128)>>>(in, out, 4);",
        "k<<<1, s>>>(in, out, 4);",
        "::k<<<1, 128>>>(in, out, 4);",
        f"if (s) {SECOND};",
        f"for (; s; --s) {SECOND};",
        f"switch (s) {{ case 1: {SECOND}; break; }}",
        f"try {{ {SECOND}; }} catch (...) {{ }}",
        pytest.param(f"CHECK({SECOND});"),
        pytest.param(f"CHECK({SECOND})\n"),
        pytest.param(f"auto f = [&] {{ {SECOND}; }}; f();"),
        pytest.param(f"CHECK(0, [&] {{ {SECOND}; }}());"),
        pytest.param(f"s ? {SECOND} : (void)0;"),
        pytest.param(f"int e = ({SECOND}, 3);"),
        pytest.param(f"s = ({SECOND}, 2);"),
        pytest.param(f"return {SECOND};"),
        pytest.param(f"if (({SECOND}, s)) ;"),
        pytest.param(f"throw ({SECOND}, 3);"),
        pytest.param(
            f"struct L {{ static void go(const float* in, float* out) {{ {SECOND}; }} }}; L::go(in, out);"
        ),
        "auto f = k; f<<<1, 128>>>(in, out, 4);",
        "auto f = &k; (*f)<<<1, 128>>>(in, out, 4);",
        "cudaLaunchKernel((void*)k, 1, 128, arguments, 0, 0);",
    ],
)
def test_a_second_launch_of_another_size_is_seen(statement: str) -> None:
    assert not proved(kernel(go(f"k<<<1, 256>>>(in, out, 4); {statement}")))


@pytest.mark.parametrize(
    "declaration",
    [
        f"void other(const float* in, float* out) {{ {SECOND}; }}",
        pytest.param(f"struct S {{ void operator()(const float* in, float* out) {{ {SECOND}; }} }};"),
        f"struct S {{ void other(const float* in, float* out) {{ {SECOND}; }} }};",
        pytest.param(f"auto other = [](const float* in, float* out) {{ {SECOND}; }};"),
        f"TEST(Kernel, Small) {{ {SECOND}; }}",
        pytest.param(f"int started = ({SECOND.replace('in, out', '0, 0')}, 1);"),
        pytest.param("auto pointer = k;"),
        pytest.param("void (*table[])(const float*, float*, int) = {k};"),
        pytest.param("struct S { void (*f)(const float*, float*, int) = k; };"),
        pytest.param("struct S { void (*f)(const float*, float*, int); S() : f(k) { } };"),
        pytest.param("typedef void (*F)(const float*, float*, int); void run(F f = k);"),
        "template <auto K> void run() { }\nvoid x() { run<k>(); }",
        pytest.param('#include "launches.inc"'),
    ],
)
def test_a_kernel_that_is_used_elsewhere_may_be_launched_with_any_size(declaration: str) -> None:
    assert not proved(kernel(f"{LAUNCH}\n{declaration}"))


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param("int t = 256; t *= s; k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; t /= 2; k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 257; --t; k<<<1, t - 1>>>(in, out, 4);"),
        pytest.param("int t = 256; pick(&t); k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; pick(t); k<<<1, t>>>(in, out, 4);"),
        "int t = 256; if (s) t = 128; k<<<1, t>>>(in, out, 4);",
        pytest.param("int t = 256; if ((t = s)) k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; use(t = s); k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; int w = t = s; k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256, w; w = t = s; k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; int& r = t; r = s; k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; auto f = [&] { t = 128; }; f(); k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; std::cin >> t; k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; while (s--) { k<<<1, t>>>(in, out, 4); t = 128; }"),
        pytest.param("int t = 256; for (int i = 0; i < 2; ++i, t = 128) k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; for (; t > 32; t /= 2) k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; for (int t = 32; t < 512; t *= 2) k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 128; { int t = 256; use(t); } k<<<1, t>>>(in, out, 4);"),
        pytest.param("int t = 256; { auto [t, w] = pair(); k<<<1, t>>>(in, out, 4); }"),
        "int t = 256; auto f = [&](int t) { k<<<1, t>>>(in, out, 4); }; f(128);",
        pytest.param("static int t = 256; k<<<1, t>>>(in, out, 4); t = 128;"),
        "char t = 256; k<<<1, t>>>(in, out, 4);",
        "int t = s ? 256 : 128; k<<<1, t>>>(in, out, 4);",
        pytest.param("dim3 t(256); t.x /= 2; k<<<1, t>>>(in, out, 4);"),
        "dim3 t(256); t.y = s; k<<<1, t>>>(in, out, 4);",
        pytest.param("dim3 t(256); pick(t); k<<<1, t>>>(in, out, 4);"),
        "dim3 t(256); if (s) t = dim3(128); k<<<1, t>>>(in, out, 4);",
        "dim3* t = new dim3(256); k<<<1, *t>>>(in, out, 4);",
    ],
)
def test_a_variable_that_may_change_has_no_known_value(statements: str) -> None:
    assert not proved(kernel(go(statements)))


@pytest.mark.parametrize(
    "below",
    [
        pytest.param("void go(const float* in, float* out, int T) { k<<<1, T>>>(in, out, 4); }"),
        pytest.param("void go(const float* in, float* out, dim3 T) { k<<<1, T>>>(in, out, 4); }"),
        pytest.param("template <int T> void go(const float* in, float* out) { k<<<1, T>>>(in, out, 4); }"),
        pytest.param(
            "template <int T> struct S { void go(const float* in, float* out) { k<<<1, T>>>(in, out, 4); } };"
        ),
        pytest.param(
            "struct S { int T; void go(const float* in, float* out) { k<<<1, T>>>(in, out, 4); } };"
        ),
        pytest.param(
            "struct S { void go(const float* in, float* out, int T) { k<<<1, T>>>(in, out, 4); } };"
        ),
    ],
)
def test_a_parameter_hides_a_constant_of_the_file(below: str) -> None:
    assert not proved(kernel(below, above="constexpr int T = 256;"))


@pytest.mark.parametrize(
    "above", ["int T = 256;", "static int T = 256;", "const int T = pick();", "extern const int T;"]
)
def test_what_is_no_constant_has_no_known_value(above: str) -> None:
    assert not proved(kernel(go("k<<<1, T>>>(in, out, 4);"), above=above))


@pytest.mark.parametrize(
    ("above", "size"),
    [
        ("constexpr int T = 256;", "T"),
        ("const unsigned T = 128;", "T * 2"),
        ("#define T 256", "T"),
        ("enum { T = 256 };", "T"),
        ("constexpr int W = 8, L = 32;", "dim3(W * L)"),
        ("", "dim3(256, 1, 1)"),
        ("", "dim3{256}"),
    ],
)
def test_constants_of_the_file_are_known(above: str, size: str) -> None:
    assert proved(kernel(go(f"k<<<1, {size}>>>(in, out, 4);"), above=above))


@pytest.mark.parametrize(
    ("statements", "block"),
    [
        ("k<<<1, 256>>>(in, out, 4);", (256, 1, 1)),
        ("dim3 b(32, 8); k<<<1, b>>>(in, out, 4);", (32, 8, 1)),
        ("dim3 b; k<<<1, b>>>(in, out, 4);", (1, 1, 1)),
        ("const dim3 b = dim3(4, 2, 3); k<<<dim3(1, 2), b, 64>>>(in, out, 4);", (4, 2, 3)),
        ("k<<<1, s>>>(in, out, 4);", None),
        ("k<<<1, 0>>>(in, out, 4);", None),
    ],
)
def test_launches_are_read(statements: str, block: tuple[int, int, int] | None) -> None:
    (site,) = check(kernel(go(statements))).kernels[0].kernel.launches
    assert site.block == block


def test_the_bytes_of_a_launch_are_read() -> None:
    launches = go("k<<<1, 32, 4 * 64>>>(in, out, 4); k<<<1, 32, s>>>(in, out, 4); k<<<1, 32>>>(in, out, 4);")
    sites = check(kernel(launches)).kernels[0].kernel.launches
    assert [(site.dynamic_bytes, site.dynamic_expression) for site in sites] == [
        (256, "4 * 64"),
        (None, "s"),
        (0, None),
    ]


def test_launch_bounds_are_no_block_size() -> None:
    assert not proved(kernel("").replace("void k(", "void __launch_bounds__(256) k("))


@pytest.mark.parametrize(("linkage", "expected"), [("static ", True), ("", False)])
def test_other_files_may_pass_another_size(linkage: str, expected: bool) -> None:
    below = f"{linkage}void run(const float* in, float* out, int t) {{ k<<<1, t>>>(in, out, 4); }}\n"
    assert proved(kernel(f"{below}void go(const float* in, float* out) {{ run(in, out, 256); }}")) == expected
