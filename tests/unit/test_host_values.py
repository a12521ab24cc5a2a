"""What host code says about a launch: numbers, terms, several values, and what it does not say."""

from __future__ import annotations

import pytest

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.ir.nodes import LaunchSite
from smem_lsp.source import FileReader

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
        ("int t = 256; [&] { k<<<1, t>>>(d, n, m); }(); t = 128;", "256"),
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
        ("int t = 256; if (b) goto out; return; out: k<<<1, t>>>(d, n, m);", "256"),
        ("if (n == 256) goto out; return; out: k<<<1, n>>>(d, n, m);", "256"),
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
        ("int t = 256; later([&] { k<<<1, t>>>(d, n, m); }); t = 128;", ("t", "1", "1")),
        ('int t = 256; asm("" : "+r"(t)); k<<<1, t>>>(d, n, m);', ("t", "1", "1")),
        ("int t = 256; read(t)->x = 3; k<<<1, t>>>(d, n, m);", ("t", "1", "1")),
        ("int t = 256; again: k<<<1, t>>>(d, n, m); t = 128; if (n) goto again;", ("t", "1", "1")),
        ("goto test; go: k<<<1, n>>>(d, n, m); test: if (m) goto go;", ("?", "?", "?")),
        ("if (n == 4) goto go; goto test; go: k<<<1, n>>>(d, n, m); test: if (m) goto go;", ("n", "1", "1")),
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


@pytest.mark.parametrize(
    "condition", ["b", "!b", "d == nullptr", "n > 3", "p->big", "x.on && b", "n < 4u", "r > 2.5f"]
)
def test_a_condition_that_is_asked_twice_has_one_answer(condition: str) -> None:
    above = "struct P { bool big; }; extern P* p; struct X { bool on; };"
    before = f"X x; float r = get(); int t = 64; if ({condition}) {{ t = 512; }}"
    after = f"if (!({condition})) k<<<1, t>>>(d, n, m);"
    assert [site.block for site in go(f"{before} {after}", above)] == [(64, 1, 1)]
    found = go(f"{before} change(b, d, n, x, r); {after}", above)
    assert {site.block for site in found} == {(64, 1, 1), (512, 1, 1)}
    assert {site.variants for site in found} == {2}


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
        ("int& r = m; int t = m; m = 5; k<<<1, t>>>(d, m, 1);", ["tile == 1"]),
        ("static int a; int t = a; a += 5; k<<<1, t>>>(d, a, 1);", ["tile == 1"]),
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
        ("if (n > 1024 || n % 32) throw 1;", ["n <= 1024", "n % 32 == 0"]),
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
            {"3"},
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
    pointer = "void go(float* d, void (*k)(float*, int, int)) { k<<<1, 32>>>(d, 1, 2); }"
    assert sites(pointer) == []
    assert [site.block for site in sites(pointer + "void call(float* d) { go(d, k); }")] == [(32, 1, 1)]


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


@pytest.mark.parametrize(
    "ask",
    [
        "int m = 0; cudaDeviceGetAttribute(&m, cudaDevAttrMaxSharedMemoryPerBlockOptin, n);",
        "int m; if (b) n = 1; cudaDeviceGetAttribute(&m, cudaDevAttrMaxSharedMemoryPerBlockOptin, n);",
    ],
)
def test_an_attribute_of_the_device_is_a_number_on_each_target(ask: str) -> None:
    launch = "k<<<1, 256, m>>>(d, n, n);"
    found = sites(f"void go(float* d, int n, bool b) {{ {ask} {launch} }}")
    assert {str(site.terms.dynamic) for site in found} == {"cudaDevAttrMaxSharedMemoryPerBlockOptin"}
    text = KERNEL.format(above="", below=f"void go(float* d, int n, bool b) {{ {ask} {launch} }}")
    (report,) = check(text, config=Config(arch=("sm_80", "sm_90"))).kernels
    assert [(row.arch, row.blocks_before) for row in report.occupancy] == [("sm_80", 1), ("sm_90", 1)]


def test_half_of_the_limit_leaves_room_for_two_blocks() -> None:
    ask = "int m; cudaDeviceGetAttribute(&m, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0);"
    below = f"void go(float* d, int n) {{ {ask} k<<<1, 256, m / 4>>>(d, n, n); }}"
    (report,) = check(KERNEL.format(above="", below=below), config=Config(arch=("sm_90",))).kernels
    assert [row.blocks_before for row in report.occupancy] == [3]  # each takes 1 KiB more


def test_a_long_chain_of_else_ifs_is_followed() -> None:
    cases = " else ".join(
        f"if (n == {n} && m > {n}) k<<<1, {32 * (n % 8 + 1)}, 64>>>(d, n, m);" for n in range(120)
    )
    found = go(cases)
    assert len(found) >= 120
    assert {site.dynamic_bytes for site in found} == {64}
    assert {site.threads for site in found} == {32 * n for n in range(1, 9)}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("const int& a, int t", "256"),
        ("int const& a, const int& t", "256"),
        ("const int& a, int& t", "t"),
        ("const int* a, int t", "256"),
        ("int* t, const int& a", "256"),
        ("const int& a, ...", "t"),
        ("bool b, int& t = 3 > 4 ? m : n", "t"),
    ],
)
def test_a_reference_to_const_leaves_a_variable_as_it_is(parameters: str, expected: str) -> None:
    above = f"bool checked({parameters});"
    found = go("int t = 256; if (checked(n, t)) k<<<1, t>>>(d, n, m);", above)
    assert {str(site.terms.block[0]) for site in found} == {expected}


def test_a_long_function_is_followed_on_one_path() -> None:
    choices = "".join(f"if (n == {i}) m = {i}; " for i in range(7))
    long = "other(m + n + 1, m + n + 2, m + n + 3);" * 60
    (site,) = go(
        f"dim3 t(128, 2); {choices} {long} k<<<1, t>>>(d, n, m);", "void other(int a, int b, int c);"
    )

    assert (site.block, site.open) == ((128, 2, 1), False)


def test_of_a_function_that_is_too_long_the_first_launches_are_known() -> None:
    long = "other(m + n + 1, m + n + 2, m + n + 3);" * 2_000
    first, last = go(
        f"k<<<1, 128>>>(d, n, m); {long} k<<<1, 64>>>(d, n, m);", "void other(int a, int b, int c);"
    )

    assert (first.block, first.open, last.block) == ((128, 1, 1), True, None)


class Header(FileReader):
    """A reader with one header in memory."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, path: str) -> str | None:
        return self.text if path.endswith("sizes.h") else None

    def search(self, name: str, including: str) -> str | None:
        return None


@pytest.mark.parametrize(
    ("header", "block"),
    [
        ("template <typename T> inline T blocks(T n, T each) { return n; }", (128, 2, 1)),
        ("int blocks(int, int);", (128, 2, 1)),
        ("int blocks(int n, unsigned& each);", None),
        ("int blocks(int, int); int blocks(long n, unsigned* each);", None),
        ("template <typename... T> int blocks(T&&... all);", None),
        ("#define blocks(n, each) (each = n)", None),
        ("int others(int, int);", (128, 2, 1)),  # it is declared elsewhere, and a size is meant as a number
    ],
)
def test_a_function_of_a_header_may_change_what_it_takes_by_reference(
    header: str, block: tuple[int, int, int] | None
) -> None:
    text = '#include "sizes.h"\n' + KERNEL.format(
        above="",
        below="void go(float* d, int n, int m) { dim3 t(128, 2); int b = blocks(n, t.x); k<<<b, t>>>(d, n, m); }",
    )
    (report,) = check(text, path="k.cu", reader=Header(header)).kernels

    assert [site.block for site in report.kernel.launches] == [block]


@pytest.mark.parametrize("passed", ["t", "&t.x", "s"])
def test_a_function_that_nothing_declares_may_change_a_variable(passed: str) -> None:
    (site,) = go(f"dim3 t(128, 2); int s = 128; int b = blocks(n, {passed}); t.x = s; k<<<b, t>>>(d, n, m);")
    assert site.block is None


OPEN = """\
template <unsigned W, int H, typename T> __global__ void k(T* d) {{
  __shared__ T s[W * H];
  s[threadIdx.y * W + threadIdx.x] = d[0];
}}
{below}
"""


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        (
            "template <int D, typename T> void go(T* d) { constexpr unsigned X = D / 4; dim3 b(X, 128 / X); "
            "k<X, 128 / X, T><<<1, b>>>(d); }",
            ["W == blockDim.x", "H == blockDim.y"],
        ),
        (
            "template <int D, typename T> void go(T* d) { auto f = k<D, D / 2, T>; f<<<1, dim3(D, D / 2)>>>(d); }",
            ["W == blockDim.x", "H == blockDim.y"],
        ),
        (
            "template <int D, typename T> void go(T* d) { k<D, 4, T><<<1, 2 * D>>>(d); }",
            ["blockDim.x == 2 * W"],
        ),
        ("template <int D, typename T> void go(T* d, int n) { k<D, 4, T><<<1, n>>>(d); }", []),
    ],
)
def test_template_arguments_tell_the_block_of_a_template_without_instance(
    below: str, expected: list[str]
) -> None:
    (report,) = check(OPEN.format(below=below), path="k.cuh").kernels
    (site,) = report.kernel.launches

    assert [fact.text for fact in site.equalities] == expected


def test_a_template_that_only_a_template_without_instance_calls() -> None:
    below = (
        "template <typename T> static void go(T* d, unsigned y) {\n  dim3 block(32, y);\n"
        "  switch (y) { case 8: j<8><<<1, block>>>(d); break; case 1: j<1><<<1, block>>>(d); break; }\n}\n"
        "template <typename T> void outer(T* d) { unsigned y = pick(d); go<T>(d, y); }\n"
    )
    text = (
        "template <int Y> __global__ void j(float* d) { __shared__ float s[32 * Y]; s[0] = d[0]; }\n" + below
    )
    assert {r.kernel.instance: [s.block for s in r.kernel.launches] for r in check(text).kernels} == {
        "j<8>": [(32, 8, 1)],
        "j<1>": [(32, 1, 1)],
    }


def test_a_number_of_the_host_is_told_from_the_kernels() -> None:
    """The host's n is the block, the kernel's is half of it."""
    (site,) = go("k<<<1, n>>>(d, n / 2, m);")
    assert site.block_text == "the launch's n x 1 x 1"
    assert "n == blockDim.x / 2" in [fact.text for fact in site.equalities]
    (site,) = go("k<<<1, n>>>(d, n, m);")
    assert site.block_text == "n x 1 x 1"


def test_a_check_of_what_the_block_is_bounds_the_block() -> None:
    (site,) = go("int t = 32 * m / n; if (t > 512) return; k<<<1, t>>>(d, n, 3);")

    assert "blockDim.x <= 512" in [fact.text for fact in site.conditions]


def test_two_numbers_that_are_computed_alike_are_equal() -> None:
    (site,) = go("int t = f(m) / 2; k<<<1, t / 3>>>(d, n, t / 3);")

    assert "tile == blockDim.x" in [fact.text for fact in site.equalities]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("k<<<1, 32 * m>>>(d, n, 1);", ["blockDim.x % 32 == 0"]),
        ("k<<<1, dim3(m, 32 * f(n) + 64)>>>(d, n, 1);", ["blockDim.y % 32 == 0"]),
        ("k<<<1, 32 * m + 1>>>(d, n, 1);", []),
        ("if (m <= 8) k<<<1, 32 * m + 1>>>(d, n, 1);", ["blockDim.x <= 257"]),
        ("if (m > 8) k<<<1, 32 - m>>>(d, n, 1);", []),
        ("int t; do { t = f(m); m++; } while (t > 16); k<<<1, t + 1>>>(d, n, 1);", ["blockDim.x <= 17"]),
        ("int t; do { t = f(m); if (t == n) break; } while (t > 16); k<<<1, t + 1>>>(d, n, 1);", []),
    ],
)
def test_what_a_computed_block_tells(statements: str, expected: list[str]) -> None:
    (*_, site) = go(statements)
    facts = [fact.text for fact in site.conditions if "blockDim" in fact.text]
    assert facts == expected


@pytest.mark.parametrize("words", ["dim3 const", "const dim3", "dim3", "static dim3 const"])
def test_qualifiers_of_a_block(words: str) -> None:
    assert block(f"{words} t(std::min(n, 64)); k<<<1, t>>>(d, n, m);") == {("min(n, 64)", "1", "1")}


@pytest.mark.parametrize(
    "statements",
    [
        "void* a[] = {&d, &n, &m}; cuLaunchKernel(k, 2, 1, 1, n, 2, 1, 4 * m, 0, a, 0);",
        "void* a[] = {&d, &n, &m}; cuLaunchKernel((CUfunction)k, 2, 1, 1, n, 2, 1, 4 * m, stream, a, nullptr);",
        "void* a[] = {&d, &n, &m}; cudaLaunchConfig_t c = {0}; c.gridDim = 2; c.blockDim = dim3(n, 2); "
        "c.dynamicSmemBytes = 4 * m; cudaLaunchKernelExC(&c, (void*)k, a);",
        "void* a[] = {&d, &n, &m}; cudaLaunchConfig_t c = {2, dim3(n, 2), 4 * m, 0}; "
        "cudaLaunchKernelExC(&c, (const void*)&k, a);",
    ],
)
def test_launches_by_an_array_of_addresses(statements: str) -> None:
    (site,) = go(statements)
    assert (text(site), site.grid) == (("n", "2", "1"), (2, 1, 1))
    assert facts(site) == ["n == blockDim.x"]
    assert site.dynamic is not None and site.dynamic.text == "4 * tile"


@pytest.mark.parametrize("asked", ['"k"', '"_Z1kPfii"'])
@pytest.mark.parametrize("getter", ["cuModuleGetFunction", "cuLibraryGetKernel"])
def test_a_kernel_that_the_driver_looks_up(getter: str, asked: str) -> None:
    found = f"CUfunction f; {getter}(&f, module, {asked});"
    (site,) = go(f"{found} void* a[] = {{&d, &n, &m}}; cuLaunchKernel(f, 2, 1, 1, n, 2, 1, 4 * m, 0, a, 0);")
    assert (text(site), site.grid) == (("n", "2", "1"), (2, 1, 1))
    assert facts(site) == ["n == blockDim.x"]


@pytest.mark.parametrize("asked", ['"other"', '"_ZN1n1kEv"', "name", '"k" "2"', '"_Z9kPf"'])
def test_a_kernel_that_is_looked_up_by_another_name(asked: str) -> None:
    found = f"CUfunction f; cuModuleGetFunction(&f, module, {asked});"
    assert (
        go(f"{found} void* a[] = {{&d, &n, &m}}; cuLaunchKernel(f, 2, 1, 1, n, 2, 1, 4 * m, 0, a, 0);") == []
    )


@pytest.mark.parametrize(
    "statements",
    [
        "std::visit([&](auto wide) { k<<<2, 128>>>(d, n, m); }, choice);",
        "std::visit([=](auto wide) { constexpr bool W = wide; k<<<2, 128>>>(d, n, m); }, choice, other);",
        "const int t = 128; std::visit([&](auto wide) { k<<<2, t>>>(d, n, m); }, choice);",
    ],
)
def test_launches_in_a_visitor(statements: str) -> None:
    assert block(statements) == {("128", "1", "1")}


FORWARDED = "template <class K, class... A> void launch(K f, dim3 g, dim3 b, A&&... a) {"


@pytest.mark.parametrize(
    ("wrapper", "call"),
    [
        (f"{FORWARDED} f<<<g, b>>>(std::forward<A>(a)...); }}", "launch(k, 1, 128, d, n, 7);"),
        (
            "template <class K, class... A> void launch(K f, int b, A... a) { f<<<1, b>>>(a...); }",
            "launch(k, 128, d, n, 7);",
        ),
        (
            "template <class... A> void launch(void (*f)(A...), int b, A... a) { f<<<1, b>>>(a...); }",
            "launch(&k, 128, d, n, 7);",
        ),
        (
            "template <int N, class K, class... A> void inner(K f, A&&... a) { f<<<1, N>>>(std::forward<A>(a)...); }\n"
            "template <class K, class... A> void launch(K f, A&&... a) { inner<128>(f, std::forward<A>(a)...); }",
            "launch(k, d, n, 7);",
        ),
    ],
)
def test_a_wrapper_that_passes_a_pack_on(wrapper: str, call: str) -> None:
    (site,) = go(call, wrapper)
    assert site.block == (128, 1, 1)
    assert [None if term is None else str(term) for term in site.terms.arguments] == [None, "n", "7"]


def test_what_a_pack_holds_is_not_known_behind_another_use() -> None:
    wrapper = (
        "template <class K, class... A> void launch(K f, int b, A... a) { change(a...); f<<<1, b>>>(a...); }"
    )
    (site,) = go("launch(k, 128, d, n, 7);", wrapper)
    assert site.block == (128, 1, 1)
    assert site.terms.arguments == (None, None, None)


def test_a_pair_of_extents() -> None:
    pair = "std::pair<dim3, dim3> shapes(int n) { return {dim3(n), dim3(128)}; }"
    assert block("auto c = shapes(n); k<<<c.first, c.second>>>(d, n, m);", pair) == {("128", "1", "1")}


SHAPE = "struct Shape { int threads = 128; int blocks; dim3 block; };"


@pytest.mark.parametrize(
    ("statements", "above"),
    [
        ("Shape c; k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{}; k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c = {128, n}; k<<<c.blocks, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{n, n, dim3(128)}; k<<<c.blocks, c.block>>>(d, n, m);", SHAPE),
        ("Shape c{.blocks = n}; k<<<c.blocks, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{.threads = (64 * 2), .blocks = n}; k<<<c.blocks, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{64, n}; c.threads = 128; k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{128, n}; const Shape e = c; k<<<1, e.threads>>>(d, n, m);", SHAPE),
        ("Shape c{128, n}; run(c, d, n, m);", f"{SHAPE} RUN"),
        ("run({128, n}, d, n, m);", f"{SHAPE} RUN"),
        (
            "Shape c = of(n); k<<<1, c.threads>>>(d, n, m);",
            f"{SHAPE} Shape of(int n) {{ return {{128, n}}; }}",
        ),
        (
            "auto c = of(n); k<<<1, c.threads>>>(d, n, m);",
            f"{SHAPE} Shape of(int n) {{ Shape c; c.threads = 128; c.blocks = n; return c; }}",
        ),
    ],
)
def test_members_of_an_object(statements: str, above: str) -> None:
    run = "static void run(const Shape& c, float* d, int n, int m) { k<<<1, c.threads>>>(d, n, m); }"
    declared = "__global__ void k(float* d, int n, int tile);"
    (site,) = go(statements, above.replace("RUN", f"{declared} {run}"))
    assert site.block == (128, 1, 1)


@pytest.mark.parametrize(
    ("statements", "above"),
    [
        ("Shape c{128}; change(c); k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{128}; change(&c); k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{128}; auto& r = c; r.threads = n; k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{128}; auto* p = &c.threads; *p = n; k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{128}; std::cin >> c.threads; k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{128}; c.grow(); k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{128}; auto f = [&] { c.threads = n; }; f(); k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("static Shape c{128}; k<<<1, c.threads>>>(d, n, m); c.threads = n;", SHAPE),
        ("Shape c{128}; if (b) c = other(); k<<<1, c.threads>>>(d, n, m);", SHAPE),
        ("Shape c{128}; while (m--) { k<<<1, c.threads>>>(d, n, m); c.threads /= 2; }", SHAPE),
        ("Shape c; k<<<1, c.threads>>>(d, n, m);", "struct Shape { int threads = 128; Shape(); };"),
        ("Shape c; k<<<1, c.threads>>>(d, n, m);", "struct Shape { int threads; };"),
        (
            "Shape c{}; k<<<1, c.threads>>>(d, n, m);",
            "struct B { int x; }; struct Shape : B { int threads = 128; };",
        ),
        (
            "Shape c{.blocks = 128}; k<<<1, c.threads>>>(d, n, m);",
            "struct Shape { int threads = size(); int blocks; };",
        ),
        (
            "Shape c = of(n); k<<<1, c.threads>>>(d, n, m);",
            f"{SHAPE} Shape of(int n) {{ Shape c; change(c); return c; }}",
        ),
    ],
)
def test_members_that_are_not_known(statements: str, above: str) -> None:
    assert None in {site.block for site in go(statements, above)}


def test_a_launch_configuration_with_designators() -> None:
    config = "cudaLaunchConfig_t c{.blockDim = 128, .dynamicSmemBytes = 64};"
    (site,) = go(f"{config} cudaLaunchKernelEx(&c, k, d, n, m);")
    assert (site.block, site.grid, site.dynamic_bytes) == ((128, 1, 1), None, 64)


SWITCH = """\
#define SWITCH(COND, NAME, ...) \\
  [&] { if (COND) { constexpr bool NAME = true; return __VA_ARGS__(); } \\
        else { constexpr bool NAME = false; return __VA_ARGS__(); } }()
"""


def test_lambdas_that_are_called_where_they_stand_run_once() -> None:
    inner = "[&] { constexpr int t = A ? 256 : 128; dim3 block(t); k<<<1, block>>>(d, n, m); }"
    for depth, name in enumerate("EDCBA", 1):
        inner = f"[&] {{ SWITCH(n > {depth}, {name}, {inner}); }}"
    assert block(f"({inner})();", SWITCH) == {("256", "1", "1"), ("128", "1", "1")}


@pytest.mark.parametrize(
    ("statements", "blocks"),
    [
        (
            "int t = 64; do { if (b) { t = 128; continue; } return; } while (0); k<<<1, t>>>(d, n, m);",
            {"128"},
        ),
        ("int t = 64; for (;;) { if (b) { t = 128; break; } } k<<<1, t>>>(d, n, m);", {"128"}),
        ("for (;;) { printf(name); } k<<<1, 64>>>(d, n, m);", set()),
        ("do { ++n; } while (true); k<<<1, 64>>>(d, n, m);", set()),
        ("for (;;) { std::act(); } k<<<1, 64>>>(d, n, m);", set()),
        ("for (;;) { if (act()) ++n; } k<<<1, 64>>>(d, n, m);", set()),
        ("for (;;) { act(); } k<<<1, 64>>>(d, n, m);", {"64"}),  # may be a macro that breaks
        ("do { act(); } while (true); k<<<1, 64>>>(d, n, m);", {"64"}),
        ("switch (int t = n; t) { case 64: k<<<1, t>>>(d, n, m); }", {"64"}),
        ("if (b) goto in; return; { in: k<<<1, 64>>>(d, n, m); }", {"64"}),
        ("if (b) goto in; return; if (n) { act(); } else { in: k<<<1, 64>>>(d, n, m); }", {"64"}),
        ("int t = 64; while (int t = n) { act(); } k<<<1, t>>>(d, n, m);", {"64"}),
        ("for (; int t = n;) k<<<1, t>>>(d, n, m);", {"n"}),
        ("auto go = [&](int t) { k<<<1, t>>>(d, n, m); }; for (int i = 0; i < n; go(64)) ++i;", {"64"}),
    ],
)
def test_jumps_and_the_ends_of_loops(statements: str, blocks: set[str]) -> None:
    assert block(statements) == {(each, "1", "1") for each in blocks}


def test_what_a_function_has_stored_where_it_returns_nothing() -> None:
    above = "void set(int& x, bool b) { x = 64; if (b) return; x = 128; }"
    found = go("int t; set(t, b); k<<<1, t>>>(d, n, m);", above)
    assert {text(site) for site in found} == {("64", "1", "1"), ("128", "1", "1")}


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("std::vector<int> v(t);", True),
        ("std::vector<std::vector<int>> v(t);", True),
        ("std::pair<int, std::vector<int>> v(t, 1);", True),
        ("std::vector<int>::size_type v(t);", True),
        ("Held<std::int32_t> v(t);", False),  # its class may keep a reference
        ("bool q = std::y > foo(t);", False),  # it compares
        ("bool q = n < std::y > foo(t);", False),
        ("std::foo(t);", False),
    ],
)
def test_classes_of_the_library_keep_no_references_to_numbers(statement: str, kept: bool) -> None:
    expected = "64" if kept else "t"
    assert block(f"int t = 64; {statement} k<<<1, t>>>(d, n, m);") == {(expected, "1", "1")}
