"""What host code says about a launch: numbers, terms, several values, and what it does not say."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.ir.nodes import LaunchSite

KERNEL = """\
{above}
__global__ void k(float* d, int n, int tile) {{
  extern __shared__ float s[];
  s[threadIdx.x] = d[n + tile];
  __syncthreads();
  d[threadIdx.x] = s[0];
}}
{below}
"""


def sites(below: str, above: str = "") -> list[LaunchSite]:
    (report,) = check(KERNEL.format(below=below, above=above)).kernels
    return list(report.kernel.launches)


def go(statements: str, above: str = "") -> list[LaunchSite]:
    return sites(f"void go(float* d, int n, int m, bool b) {{ {statements} }}", above)


def text(site: LaunchSite) -> tuple[str, ...]:
    return tuple("?" if term is None else str(term) for term in site.terms.block)


def block(statements: str, above: str = "") -> set[tuple[str, ...]]:
    """The blocks of all launches, with terms as text."""
    return {text(site) for site in go(statements, above)}


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("int t = 256; k<<<1, t>>>(d, n, m);", "256"),
        ("int t; t = 256; k<<<1, t>>>(d, n, m);", "256"),
        ("int t = 128; t *= 2; k<<<1, t>>>(d, n, m);", "256"),
        ("int t = 128; t <<= 1; k<<<1, t>>>(d, n, m);", "256"),
        ("int t = 255; t++; k<<<1, t>>>(d, n, m);", "256"),
        ("int t = 128; int u = t + t; k<<<1, u>>>(d, n, m);", "256"),
        ("const auto t = 1 << 8; k<<<1, t>>>(d, n, m);", "256"),
        ("int t{256}; k<<<1, t>>>(d, n, m);", "256"),
        ("int t = 128; { int t = 64; m = t; } k<<<1, 2 * t>>>(d, n, m);", "256"),
        ('int t = 256; printf("%d", t); cudaMalloc(&d, t); k<<<1, t>>>(d, n, m);', "256"),
        ("int t = 256; std::vector<int> v(t); k<<<1, t>>>(d, n, m);", "256"),
        ("int t = 128; int& u = t; u = 256; k<<<1, 256>>>(d, n, m);", "256"),
        ("k<<<1, std::min(512, 256)>>>(d, n, m);", "256"),
        ("int t = 256; for (int i = 0; i < n; ++i) k<<<1, t>>>(d, i, m);", "256"),
        ("int t = 256; for (int i = 0; i < n; ++i) { k<<<1, t>>>(d, i, m); other(i); }", "256"),
        ("int t = 256; auto f = [&] { k<<<1, t>>>(d, n, m); }; f();", "256"),
        ("auto f = [&](int t) { k<<<1, t>>>(d, n, m); }; f(256);", "256"),
        ("int t = 256; run([=] { k<<<1, t>>>(d, n, m); });", "256"),
        ("do { k<<<1, 256>>>(d, n, m); } while (0);", "256"),
        ("if (cudaSuccess != (k<<<1, 256>>>(d, n, m), cudaGetLastError())) return;", "256"),
        ("CHECK((k<<<1, 256>>>(d, n, m)));", "256"),
        ("int t = 512; if (n == 512 && false) t = 1; k<<<1, t / 2>>>(d, n, m);", "256"),
        ("int ts[] = {64, 256}; k<<<1, ts[1]>>>(d, n, m);", "256"),
        ("n = 256; k<<<1, n>>>(d, n, m);", "256"),
        ("if (n != 256) return; k<<<1, n>>>(d, n, m);", "256"),
        ("switch (n) { case 256: k<<<1, n>>>(d, n, m); }", "256"),
        ("if (n == 256) { k<<<1, n>>>(d, n, m); }", "256"),
        ("int t = f(n) * 32; switch (t) { case 256: k<<<1, t>>>(d, n, m); }", "256"),
        ("dim3 t(n + m); if (t.x == 64) { k<<<1, t>>>(d, n, m); }", "64"),
    ],
)
def test_a_number(statements: str, expected: str) -> None:
    assert block(statements) == {(expected, "1", "1")}


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("k<<<1, n>>>(d, n, m);", ("n", "1", "1")),
        ("k<<<1, dim3(n, 4)>>>(d, n, m);", ("n", "4", "1")),
        ("dim3 t(n, 1); k<<<1, t>>>(d, n, m);", ("n", "1", "1")),
        ("dim3 t = {32, n}; k<<<1, t>>>(d, n, m);", ("32", "n", "1")),
        ("dim3 t; t.x = n; t.y = 2; k<<<1, t>>>(d, n, m);", ("n", "2", "1")),
        ("auto t = dim3{32, 4 * (n + 1)}; k<<<1, t>>>(d, n, m);", ("32", "4 * n + 4", "1")),
        ("k<<<1, {n, m, 2}>>>(d, n, m);", ("n", "m", "2")),
        ("int t = n; n = 5; k<<<1, t>>>(d, n, m);", ("n", "1", "1")),
        ("k<<<1, min(n, 256)>>>(d, n, m);", ("min(n, 256)", "1", "1")),
        ("int t = (n + 31) / 32 * 32; k<<<1, t>>>(d, n, m);", ("32 * ((n + 31) / 32)", "1", "1")),
        ("int t = pick(n); k<<<1, t>>>(d, n, m);", ("pick(n)", "1", "1")),
        ("dim3 t = shape(n); k<<<1, t>>>(d, n, m);", ("t.x", "t.y", "t.z")),
        ("int t = 256; while (m--) { k<<<1, t>>>(d, n, m); t = pick(t); }", ("t", "1", "1")),
        ("int t = 256; pick(&t); k<<<1, t>>>(d, n, m);", ("t", "1", "1")),
        ("int t = 256; pick(t); k<<<1, t>>>(d, n, m);", ("t", "1", "1")),
        ("int t = 256; std::cin >> t; k<<<1, t>>>(d, n, m);", ("t", "1", "1")),
        ("int t = 256; int* p = &t; *p = 3; k<<<1, t>>>(d, n, m);", ("t", "1", "1")),
        ("int t = 256; auto f = [&] { t = 128; }; f(); k<<<1, t>>>(d, n, m);", ("t", "1", "1")),
        ("int t = 256; int& r = b ? t : m; r = 5; k<<<1, t>>>(d, n, m);", ("t", "1", "1")),
        ("static int t = 256; k<<<1, t>>>(d, n, m); t = 128;", ("t", "1", "1")),
        ("int t = 256; auto f = [&] { k<<<1, t>>>(d, n, m); }; later(f); t = 128;", ("t", "1", "1")),
        ('int t = 256; asm("" : "+r"(t)); k<<<1, t>>>(d, n, m);', ("t", "1", "1")),
        ("int t = 256; read(t)->x = 3; k<<<1, t>>>(d, n, m);", ("t", "1", "1")),
        ("int t = 256; again: k<<<1, t>>>(d, n, m); t = 128; if (n) goto again;", ("t", "1", "1")),
    ],
)
def test_a_term_where_no_number_is_known(statements: str, expected: tuple[str, ...]) -> None:
    (site,) = go(statements)
    assert text(site) == expected
    assert site.block is None


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("int t = b ? 256 : 128; k<<<1, t>>>(d, n, m);", {"256", "128"}),
        ("k<<<1, b ? 256 : 128>>>(d, n, m);", {"256", "128"}),
        ("int t = 256; if (b) t = 128; k<<<1, t>>>(d, n, m);", {"256", "128"}),
        (
            "int t; if (b) t = 128; else if (n > 3) t = 64; else t = 32; k<<<1, t>>>(d, n, m);",
            {"128", "64", "32"},
        ),
        ("for (int t = 32; t <= 128; t *= 2) k<<<1, t>>>(d, n, m);", {"32", "64", "128"}),
        ("for (int t : {32, 64}) k<<<1, t>>>(d, n, m);", {"32", "64"}),
        ("int ts[] = {32, 64}; for (int t : ts) k<<<1, t>>>(d, n, m);", {"32", "64"}),
        ("int ts[] = {32, 64}; k<<<1, ts[n]>>>(d, n, m);", {"32", "64"}),
        (
            "switch (n) { case 1: m = 32; break; case 2: m = 64; break; default: m = 128; } k<<<1, m>>>(d, n, m);",
            {"32", "64", "128"},
        ),
        ("auto f = [&](int t) { k<<<1, t>>>(d, n, m); }; f(256); f(128);", {"256", "128"}),
        ("int t = 256; try { t = 128; act(); } catch (...) { t = 64; } k<<<1, t>>>(d, n, m);", {"128", "64"}),
    ],
)
def test_several_values(statements: str, expected: set[str]) -> None:
    assert block(statements) == {(each, "1", "1") for each in expected}


def test_values_that_belong_together_stay_together() -> None:
    found = go("int t = 256, u = 2; if (b) { t = 128; u = 4; } k<<<u, t, t * u>>>(d, n, m);")
    assert {(site.block, site.grid, site.dynamic_bytes) for site in found} == {
        ((256, 1, 1), (2, 1, 1), 512),
        ((128, 1, 1), (4, 1, 1), 512),
    }


def test_too_many_values_are_none() -> None:
    cases = " ".join(f"case {i}: t = {32 * i + 32}; break;" for i in range(20))
    assert block(f"int t = 1; switch (n) {{ {cases} }} k<<<1, t>>>(d, n, m);") == {("t", "1", "1")}


@pytest.mark.parametrize(
    ("above", "statements", "expected"),
    [
        (
            "inline int up(int a, int b) { return (a + b - 1) / b; }",
            "k<<<up(n, 4), up(1000, 4)>>>(d, n, m);",
            {"250"},
        ),
        ("dim3 shape(int a) { return dim3(a, 2); }", "k<<<1, shape(64)>>>(d, n, m);", {"64"}),
        ("dim3 shape(int a) { return {64, 2}; }", "k<<<1, shape(64)>>>(d, n, m);", {"64"}),
        (
            "int pick(int a) { if (a > 512) return 1024; return 256; }",
            "k<<<1, pick(n)>>>(d, n, m);",
            {"1024", "256"},
        ),
        (
            "int pick(int a) { if (a > 512) return 1024; return 256; }",
            "k<<<1, pick(600)>>>(d, n, m);",
            {"1024"},
        ),
        (
            "int pick(int a) { int t = 32; if (a > 4) { t = 64; } return t; }",
            "k<<<1, pick(1)>>>(d, n, m);",
            {"32"},
        ),
        ("template <int N> int pick() { return N * 2; }", "k<<<1, pick<32>()>>>(d, n, m);", {"64"}),
    ],
)
def test_functions_of_the_file(above: str, statements: str, expected: set[str]) -> None:
    assert {found[0] for found in block(statements, above)} == expected


def facts(site: LaunchSite) -> list[str]:
    return [fact.text for fact in (*site.equalities, *site.conditions)]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("k<<<1, n>>>(d, n, m);", ["n == blockDim.x"]),
        ("k<<<n / 256, 256, m * 4>>>(d, n, m);", ["gridDim.x == n / 256"]),
        ("k<<<1, 4 * n>>>(d, n, 2);", ["tile == 2", "blockDim.x == 4 * n"]),
        ("k<<<1, m>>>(d, 2 * m, 7);", ["n == 2 * blockDim.x", "tile == 7"]),
        ("int t = pick(); k<<<1, t>>>(d, t, m);", ["n == blockDim.x"]),
        ("k<<<1, pick()>>>(d, pick(), m);", []),
        ("int t = n; n += m; k<<<1, t>>>(d, n, 1);", ["tile == 1"]),
        ("k<<<1, at>>>(d, at, m);", ["n == blockDim.x"]),
        ("k<<<1, p->x>>>(d, p->x, m);", ["n == blockDim.x"]),
        ("int t = p->x; act(); k<<<1, t>>>(d, p->x, m);", []),
        ("int t = at; ++at; k<<<1, t>>>(d, at, m);", []),
        ("k<<<1, n++>>>(d, 3, m);", ["n == 3"]),
        ("k<<<dim3(n, m), 32>>>(d, n, m);", ["n == gridDim.x", "tile == gridDim.y"]),
        (
            "k<<<1, min(n, 64)>>>(d, n, m);",
            ["blockDim.x == min(n, 64)", "blockDim.x <= 64"],
        ),
        ("float t = n; k<<<1, 32>>>(d, t, m);", []),
        ("k<<<1, n>>>(d, -1, m);", ["n == -1"]),
    ],
)
def test_equalities(statements: str, expected: list[str]) -> None:
    (site,) = go(statements, above="extern int at; struct P { int x; }; extern P* p;")
    assert facts(site) == expected


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        ("4 * m", "4 * tile"),
        ("m * sizeof(float)", "4 * tile"),
        ("4 * m * (n + 1)", "4 * n * tile + 4 * tile"),
        ("(n + m) * 4 + 128", "4 * n + 4 * tile + 128"),
    ],
)
def test_dynamic_bytes_in_words_of_the_kernel(passed: str, expected: str) -> None:
    (site,) = go(f"size_t bytes = {passed}; k<<<1, 32, bytes>>>(d, n, m);")
    assert site.dynamic_bytes is None
    assert site.dynamic is not None and site.dynamic.text == expected


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ("if (n > 1024) return;", ["n <= 1024"]),
        ("if (n > 1024 || n % 32) throw 1;", ["n <= 1024"]),
        ("if (n > 1024 || n % 32 != 0) throw 1;", ["n <= 1024", "n % 32 == 0"]),
        ('if (!(n <= 1024)) { puts(""); exit(1); }', ["n <= 1024"]),
        ("assert(n <= 512);", ["n <= 512"]),
        ('TORCH_CHECK(n <= 512 && m > 3, "no");', ["n <= 512", "tile > 3"]),
        ("CHECK_LE(n, 512);", ["n <= 512"]),
        ("if (n > 1024) n = 1024;", None),
        ("if (n > 1024 && m > 3) return;", []),
        ('if (n > 1024) puts("");', []),
        ("LOG(n < 5);", []),
        ("CHECK_LE(n, 512); n = m;", None),
        ("WARN_IF(n > 1024);", []),
    ],
)
def test_guards(guard: str, expected: list[str] | None) -> None:
    found = go(f"{guard} k<<<1, n>>>(d, n, m);")
    if expected is None:
        assert all("n <= 512" not in facts(site) for site in found)
    else:
        (site,) = found
        assert facts(site) == ["n == blockDim.x", *expected]


def test_a_guard_may_settle_a_value() -> None:
    found = go("if (n > 1024) n = 1024; k<<<1, n>>>(d, n, m);")
    assert [(text(site)[0], facts(site)) for site in found] == [
        ("1024", ["n == 1024"]),
        ("n", ["n == blockDim.x", "n <= 1024"]),
    ]


def test_powers_of_two() -> None:
    (site,) = go("int t = 32; while (t < n) t *= 2; k<<<1, t>>>(d, t, m);")
    assert facts(site) == ["n == blockDim.x", "(n & (n - 1)) == 0", "n >= 32"]
    above = "int next(int a) { int t = 1; while (t < a) t <<= 1; return t; }"
    (site,) = go("int t = next(n); k<<<1, t>>>(d, t, m);", above)
    assert "(n & (n - 1)) == 0" in facts(site)


def test_the_best_block_for_occupancy() -> None:
    (site,) = go("int t, g; cudaOccupancyMaxPotentialBlockSize(&g, &t, k, 0, 0); k<<<g, t>>>(d, t, m);")
    assert {"n == blockDim.x", "n <= 1024", "n % 32 == 0"} <= set(facts(site))


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ("void f(float* d, int t) { k<<<1, t>>>(d, 1, 2); } void g(float* d) { f(d, 256); }", {"256"}),
        (
            "void f(float* d, int t) { k<<<1, t>>>(d, 1, 2); } void g(float* d) { f(d, 256); f(d, 128); }",
            {"256", "128"},
        ),
        ("void f(float* d, int t = 64) { k<<<1, t>>>(d, 1, 2); } void g(float* d) { f(d); }", {"64"}),
        (
            "void f(float* d, int t) { k<<<1, t>>>(d, 1, 2); } void g(float* d, int u) { f(d, 2 * u); }"
            " void h(float* d) { g(d, 64); }",
            {"128"},
        ),
        ("void f(float* d, dim3 t) { k<<<1, t>>>(d, 1, 2); } void g(float* d) { f(d, dim3(32)); }", {"32"}),
        (
            "template <int T> void f(float* d) { k<<<1, T>>>(d, 1, 2); } void g(float* d) { f<64>(d); }",
            {"64"},
        ),
        (
            "template <typename F> void run(F f, int t, float* d) { f<<<1, t>>>(d, 1, 2); }"
            " void g(float* d) { run(k, 64, d); }",
            {"64"},
        ),
        (
            "void f(float* d, int t) { k<<<1, t>>>(d, 1, 2); } void g(float* d) { f(d, 256); start(f); }",
            {"256", "t"},
        ),
        (
            "void f(float* d, int& t) { k<<<1, t>>>(d, 1, 2); } void g(float* d) { int u = 32; f(d, u); }",
            {"t"},
        ),
        ("void f(float* d, int t) { k<<<1, t>>>(d, 1, 2); if (t > 32) f(d, t / 2); }", {"t"}),
        (
            "void f(float* d, int t) { k<<<1, t>>>(d, 1, 2); if (t > 32) f(d, t / 2); }"
            " void g(float* d) { f(d, 64); }",
            {"64", "t"},
        ),
        ("struct S { int t; void f(float* d) { k<<<1, t>>>(d, 1, 2); } };", {"t"}),
    ],
)
def test_arguments_along_calls(below: str, expected: set[str]) -> None:
    assert {text(site)[0] for site in sites(below)} == expected


@pytest.mark.parametrize(
    ("statements", "above", "expected"),
    [
        (
            "int t = 32; int u = pick(t); k<<<1, t>>>(d, u, m);",
            "int pick(int& t) { t = 3; return 4; }",
            {"t"},
        ),
        (
            "int t = at; int u = pick(2); k<<<1, t>>>(d, at, u);",
            "int at; int pick(int) { at = 3; return 4; }",
            {"at"},
        ),
        (
            "auto f = [&](auto& self, int t) -> void { k<<<1, t>>>(d, n, m); self(self, t / 2); }; f(f, 64);",
            "",
            {"t"},
        ),
    ],
)
def test_what_a_function_changes(statements: str, above: str, expected: set[str]) -> None:
    found = go(statements, above)
    assert {text(site)[0] for site in found} >= expected
    assert not any("n == blockDim.x" in facts(site) for site in found)


@pytest.mark.parametrize(
    ("guard", "known"),
    [
        ("if (n < 4) return;", True),
        ("if (n < 4u) return;", False),  # a negative n is a large number here
        ("if (n < sizeof(int)) return;", False),
        ("if (4 > n) return;", True),
        ("if (n * 0.5f < 4) return;", False),
    ],
)
def test_a_comparison_of_signed_and_unsigned_says_nothing(guard: str, known: bool) -> None:
    (site,) = go(f"{guard} k<<<1, n>>>(d, n, m);")
    assert any(fact.text in ("n >= 4", "4 <= n") for fact in site.conditions) == known


def test_a_pointer_that_has_the_name_of_a_kernel() -> None:
    found = sites("void go(float* d, void (*k)(float*, int, int)) { k<<<1, 32>>>(d, 1, 2); }")
    assert [site.block for site in found] == [None]


def test_other_files_may_call_it_otherwise() -> None:
    opened = "void f(float* d, int t) { k<<<1, t>>>(d, 1, 2); } void g(float* d) { f(d, 256); }"
    assert [site.open for site in sites(opened)] == [True]
    assert [site.open for site in sites(f"static {opened}")] == [False]


@pytest.mark.parametrize(
    "statements",
    [
        "void* a[] = {&d, &n, &m}; cudaLaunchKernel((void*)k, dim3(2), dim3(n, 2), a, 4 * m, 0);",
        "void* a[] = {&d, &n, &m}; cudaLaunchCooperativeKernel(k, 2, dim3(n, 2), a, 4 * m);",
        "auto f = k; f<<<2, dim3(n, 2), 4 * m>>>(d, n, m);",
        "auto f = &k; (*f)<<<2, dim3(n, 2), 4 * m>>>(d, n, m);",
        "void (*f)(float*, int, int) = k; f<<<2, dim3(n, 2), 4 * m>>>(d, n, m);",
        "cudaLaunchConfig_t c = {0}; c.gridDim = 2; c.blockDim = dim3(n, 2); c.dynamicSmemBytes = 4 * m; "
        "cudaLaunchKernelEx(&c, k, d, n, m);",
        "cudaLaunchConfig_t c = {2, dim3(n, 2), 4 * m, 0}; cudaLaunchKernelEx(&c, k, d, n, m);",
    ],
)
def test_ways_to_launch(statements: str) -> None:
    (site,) = go(statements)
    assert (text(site), site.grid) == (("n", "2", "1"), (2, 1, 1))
    assert facts(site) == ["n == blockDim.x"]
    assert site.dynamic is not None and site.dynamic.text == "4 * tile"


@pytest.mark.parametrize(
    "below",
    [
        "// void go(float* d) { k<<<1, 32>>>(d, 1, 2); }",
        "#if 0\nvoid go(float* d) { k<<<1, 32>>>(d, 1, 2); }\n#endif",
        "void go(float* d) { if (false) k<<<1, 32>>>(d, 1, 2); }",
        "void go(float* d) { return; k<<<1, 32>>>(d, 1, 2); }",
        "void go(void (*k)(float*)) { }",
    ],
)
def test_no_launch(below: str) -> None:
    assert sites(below) == []


TEMPLATE = """\
template <int N> __global__ void k(float* d, int n) {{
  __shared__ float s[N];
  s[threadIdx.x % N] = d[n];
  __syncthreads();
  d[threadIdx.x] = s[0];
}}
{below}
"""


@pytest.mark.parametrize(
    "below",
    [
        "void go(float* d) { k<32><<<1, 64>>>(d, 1); k<16><<<1, 32>>>(d, 1); }",
        "template <int M> void run(float* d) { k<M><<<1, 2 * M>>>(d, 1); }"
        " void go(float* d) { run<32>(d); run<16>(d); }",
        "template <int M> void run(float* d, int t) { k<M><<<1, t>>>(d, 1); }"
        " void go(float* d) { run<32>(d, 64); run<16>(d, 32); }",
        "void go(float* d, int n) { auto f = n == 64 ? k<32> : k<16>; f<<<1, n == 64 ? 64 : 32>>>(d, 1); }",
        "template <typename F> void run(F f, int t, float* d) { f<<<1, t>>>(d, 1); }"
        " void go(float* d) { run(k<32>, 64, d); run(k<16>, 32, d); }",
        "void go(float* d, int n) { switch (n) { case 32: k<32><<<1, 2 * n>>>(d, 1); break; "
        "case 16: k<16><<<1, 2 * n>>>(d, 1); break; } }",
        "#define CASE(N) case N: k<N><<<1, 2 * N>>>(d, 1); break;\n"
        "void go(float* d, int n) { switch (n) { CASE(32) CASE(16) } }",
        "void go(float* d) { void* a[] = {&d}; cudaLaunchKernel((void*)k<32>, 1, 64, a, 0, 0); "
        "cudaLaunchKernel((const void*)&k<16>, 1, 32, a, 0, 0); }",
        "template <int M> void run(float* d) { k<M><<<1, 2 * M>>>(d, 1); }\n"
        "template void run<32>(float*);\ntemplate void run<16>(float*);",
    ],
)
def test_launches_of_instances(below: str) -> None:
    report = check(TEMPLATE.format(below=below))
    found = {each.kernel.instance: {site.block for site in each.kernel.launches} for each in report.kernels}
    assert found == {"k<32>": {(64, 1, 1)}, "k<16>": {(32, 1, 1)}}
