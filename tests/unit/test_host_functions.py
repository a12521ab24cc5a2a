"""What functions of the host return, store in their arguments and take by default, and members that are constant."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.ir.nodes import LaunchSite

KERNEL = "__global__ void k(float* d, int n) { __shared__ float s[1024]; s[threadIdx.x] = 1; d[0] = s[n]; }\n"


def sites(text: str) -> list[LaunchSite]:
    (report,) = check(KERNEL + text).kernels
    return list(report.kernel.launches)


def said(text: str) -> list[tuple[str, list[str]]]:
    """Block and equalities of each launch."""
    return [(site.block_text, [fact.text for fact in site.equalities]) for site in sites(text)]


GO = " void go(float* d, int n) "
PAIR = "std::pair<dim3, dim3> config(int n) { return "
TUPLE = "std::tuple<int, int> config(int n) { return {n, 128}; }"
STRUCT = "struct L { dim3 g, b; int bytes; };"


@pytest.mark.parametrize(
    ("text", "block", "equalities"),
    [
        # parts of what is returned
        (
            PAIR + "{n / 128, 128}; }" + GO + "{ auto [g, b] = config(n); k<<<g, b>>>(d, n); }",
            "128",
            "n / 128",
        ),
        (
            PAIR
            + "std::make_pair(dim3(n), dim3(32, 4)); }"
            + GO
            + "{ auto [g, b] = config(n); k<<<g, b>>>(d, n); }",
            "32 x 4",
            "n",
        ),
        (
            "auto config(int n) { return std::make_tuple(n, 128); }"
            + GO
            + "{ auto [g, b] = config(n); k<<<g, b>>>(d, n); }",
            "128",
            "n",
        ),
        (
            STRUCT
            + "L config(int n) { L l; l.g = dim3(n); l.b = dim3(32, 4); l.bytes = 0; return l; }"
            + GO
            + "{ const auto& [g, b, bytes] = config(n); k<<<g, b, bytes>>>(d, n); }",
            "32 x 4",
            "n",
        ),
        (TUPLE + GO + "{ auto p = config(n); k<<<std::get<0>(p), std::get<1>(p)>>>(d, n); }", "128", "n"),
        (TUPLE + GO + "{ int g, b; std::tie(g, b) = config(n); k<<<g, b>>>(d, n); }", "128", "n"),
        (
            "std::pair<int, int> config(int n) { return {n, 128}; }"
            + GO
            + "{ auto p = config(n); k<<<p.first, p.second>>>(d, n); }",
            "128",
            "n",
        ),
        # what is stored in arguments
        (
            "void config(int n, dim3& g, dim3& b) { b = dim3(32, 4); g = dim3((n + 31) / 32); }"
            + GO
            + "{ dim3 g, b; config(n, g, b); k<<<g, b>>>(d, n); }",
            "32 x 4",
            "(n + 31) / 32",
        ),
        (
            "void config(int n, dim3& g, dim3& b) { b.x = 32; b.y = 4; g.x = n; }"
            + GO
            + "{ dim3 g, b; config(n, g, b); k<<<g, b>>>(d, n); }",
            "32 x 4",
            "n",
        ),
        (
            "template <typename T> inline void config(T n, int* g, dim3* b) { *b = dim3(32, 4); *g = n; }"
            + GO
            + "{ int g; dim3 b; config(n, &g, &b); k<<<g, b>>>(d, n); }",
            "32 x 4",
            "n",
        ),
        (
            "struct L { int g; int b; }; void wider(int& n) { n *= 2; }"
            + GO
            + "{ L l{n, 64}; wider(l.b); k<<<l.g, l.b>>>(d, n); }",
            "128",
            "n",
        ),
    ],
)
def test_what_a_function_gives(text: str, block: str, equalities: str) -> None:
    whole = " x ".join([*block.split(" x "), "1", "1"][:3])
    grid = "n == gridDim.x" if equalities == "n" else f"gridDim.x == {equalities}"

    assert said(text) == [(whole, [grid])]


@pytest.mark.parametrize(
    ("tuple_size", "known"),
    [
        ("", True),
        ("namespace std { template <class T> struct tuple_size; }", True),
        ("namespace std { template <> struct tuple_size<Other> { static const int value = 2; }; }", True),
        ("namespace std { template <> struct tuple_size<L> { static const int value = 2; }; }", False),
        (
            "using M = L; namespace std { template <> struct tuple_size<M> { static const int value = 2; }; }",
            False,
        ),
        ("namespace std { template <class T> struct tuple_size<T> { static const int value = 2; }; }", False),
        ("template <> struct std::tuple_size<L> { static const int value = 2; };", False),
    ],
)
def test_what_get_tells_of_a_class_is_not_a_member_of_it(tuple_size: str, known: bool) -> None:
    config = "struct L { int g; int b; }; L config(int n) { L l; l.g = n; l.b = 64; return l; } "
    (site,) = sites(config + tuple_size + GO + "{ auto [g, b] = config(n); k<<<g, b>>>(d, n); }")

    assert site.block == ((64, 1, 1) if known else None)


@pytest.mark.parametrize(
    "config",
    [
        "void config(int n, int& b) { if (n > 64) b = 128; else b = 64; }",
        "void config(int n, int& b) { b = n > 64 ? 128 : 64; }",
        "int config(int n, int& b) { b = 64; if (n <= 64) return 1; b = 128; return 2; }",
    ],
)
def test_what_is_stored_on_different_ways(config: str) -> None:
    found = said(config + GO + "{ int b = 0; config(n, b); k<<<1, b>>>(d, n); }")

    assert sorted(block for block, _ in found) == ["128 x 1 x 1", "64 x 1 x 1"]


@pytest.mark.parametrize(
    "config",
    [
        "void config(int n, int* b) { b[0] = 64; }",
        "void config(int n, int* b) { if (b) *b = 64; }",
        "void config(int n, int* b) { other(b); }",
        "void config(int n, int& b) { other(b); }",
        "void config(int n, int& b);",
        "void config(int n, int& b) { b = n; } void config(int n, long& b) { b = 64; }",
    ],
)
def test_what_is_stored_and_not_followed(config: str) -> None:
    argument = "&b" if "*" in config else "b"
    (site,) = sites(config + GO + f"{{ int b = 32; config(n, {argument}); k<<<1, b>>>(d, 1); }}")

    assert site.block is None


def test_what_the_function_checks_of_what_it_stores() -> None:
    config = "void config(int n, int& b) { b = n; if (b > 256) throw 1; }"
    (site,) = sites(config + GO + "{ int b; config(n, b); k<<<1, b>>>(d, n); }")

    assert "n <= 256" in [fact.text for fact in site.conditions]


@pytest.mark.parametrize(
    "text",
    [
        "void run(float* d, int t = 128) { k<<<1, t>>>(d, 1); } void go(float* d) { run(d); }",
        "void run(float* d, int t = 128); void go(float* d) { run(d); }"
        " void run(float* d, int t) { k<<<1, t>>>(d, 1); }",
        "void run(float* d, dim3 t = dim3(128)) { k<<<1, t>>>(d, 1); } void go(float* d) { run(d); }",
        "struct C { void run(float* d, int t = 128); }; void C::run(float* d, int t) { k<<<1, t>>>(d, 1); }"
        " void go(C c, float* d) { c.run(d); }",
    ],
)
def test_default_arguments(text: str) -> None:
    assert said(text) == [("128 x 1 x 1", ["n == 1"])]


@pytest.mark.parametrize(
    "text",
    [
        "struct C { static constexpr int T = 128; }; void go(float* d) { k<<<1, C::T>>>(d, 1); }",
        "struct C { static constexpr int T = 128; int x; }; void go(float* d) { C c; k<<<1, c.T>>>(d, 1); }",
        "struct C { static constexpr dim3 B{128}; }; void go(float* d) { k<<<1, C::B>>>(d, 1); }",
        "struct C { static constexpr dim3 B{128}; static void go(float* d) { k<<<1, B>>>(d, 1); } };",
        "namespace a { const dim3 B(128); } void go(float* d) { k<<<1, a::B>>>(d, 1); }",
        "struct C { static dim3 b() { return dim3(128); } }; void go(float* d) { k<<<1, C::b()>>>(d, 1); }",
    ],
)
def test_constant_members(text: str) -> None:
    assert said(text) == [("128 x 1 x 1", ["n == 1"])]


def test_a_dim3_that_may_change_is_not_known() -> None:
    for declared in ("dim3 B(128);", "static dim3 B(128);", "extern const dim3 B;"):
        (site,) = sites(declared + " void go(float* d) { k<<<1, B>>>(d, 1); }")
        assert site.block is None, declared


LAUNCH = "cudaLaunchKernel((const void*)k, dim3(1), dim3(64), {}, 0, 0);"


@pytest.mark.parametrize(
    ("statements", "equalities"),
    [
        ("int n = 5; void* args[] = {&d, &n}; " + LAUNCH.format("args"), ["n == 5"]),
        ("int n = 5; void* args[] = {(void*)&d, (void*)&n}; " + LAUNCH.format("&args[0]"), ["n == 5"]),
        ("int n = 5; void* args[2]; args[0] = &d; args[1] = &n; " + LAUNCH.format("args"), ["n == 5"]),
        ("int n = 5; std::array<void*, 2> args = {&d, &n}; " + LAUNCH.format("args.data()"), ["n == 5"]),
        ("int n = 5; void* args[] = {&d, &n}; n = 6; " + LAUNCH.format("args"), ["n == 6"]),
        ("int n = 5; void* args[] = {&d, &n}; other(args); " + LAUNCH.format("args"), []),
        ("int n = 5; void* args[] = {&d, &n}; void** p = args; " + LAUNCH.format("args"), []),
        ("int n = 5; void* args[] = {&d, &n}; *(int*)args[1] = 7; " + LAUNCH.format("args"), []),
        ("int n = 5; other((void*)&n); k<<<1, 64>>>(d, n);", []),
        ("int n = 5; other(reinterpret_cast<void*>(&n)); k<<<1, 64>>>(d, n);", []),
        ("int n = 5; int m = (n) & n; k<<<1, 64>>>(d, n);", ["n == 5"]),
    ],
)
def test_numbers_behind_addresses(statements: str, equalities: list[str]) -> None:
    assert said(f"void go(float* d) {{ {statements} }}") == [("64 x 1 x 1", equalities)]
