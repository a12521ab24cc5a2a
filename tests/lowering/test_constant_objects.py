"""Kernels whose places depend on members of constant objects: each is told apart from its twin, whose threads meet."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE, RACY, UNDECIDED = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED

ABOVE = """
struct Opts { int tile; bool pad; };
struct Config { int dims[3]; Opts inner = {4, true}; unsigned char mask = 63; };
struct Shape { int rows, cols; constexpr int area() const { return rows * cols; } };
constexpr Opts narrow{8, false}, wide = {.tile = 64}, same{64, false};
constexpr Shape square{8, 8};
constexpr Config config{{1, 2, 64}};
constexpr Opts tuned(int n) { Opts made{n, false}; if (n > 32) made.pad = true; return made; }
constexpr int stride(const Opts& o) { return o.tile * (o.pad ? 2 : 1); }
__host__ __device__ constexpr int of(Opts o) { return o.tile; }
struct Traits { static constexpr Opts opts = {.tile = 64, .pad = true}; };
template <Opts O> struct Stride { static constexpr int value = O.pad ? 64 : 16; };
"""


def kinds(text: str) -> list[VerdictKind]:
    return [verdict.kind for facts in check(ABOVE + text).facts for verdict in facts.analysis.verdicts]


def of_body(body: str) -> VerdictKind:
    kernel = f"__global__ void k(int* out) {{ __shared__ int s[256]; int t = threadIdx.x; {body} }}\n"
    (kind,) = kinds(f"{kernel}void host(int* out) {{ k<<<1, 64>>>(out); }}")
    return kind


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("s[t % wide.tile] = t;", "s[t % narrow.tile] = t;"),
        ("s[t / config.dims[0]] = t;", "s[t / config.dims[1]] = t;"),
        ("s[t % config.dims[2]] = t;", "s[t % config.inner.tile] = t;"),
        ("s[t & config.mask] = t;", "s[t & (config.mask >> 1)] = t;"),
        ("s[t % Traits::opts.tile] = t;", "s[t % (Traits::opts.tile / 2)] = t;"),
        ("s[t % tuned(64).tile] = t;", "s[t % tuned(8).tile] = t;"),
        (
            "constexpr Opts o = tuned(64); s[t % o.tile] = t;",
            "constexpr Opts o = tuned(8); s[t % o.tile] = t;",
        ),
        ("constexpr Shape o{8, 8}; s[t % o.area()] = t;", "constexpr Shape o{8, 4}; s[t % o.area()] = t;"),
        (
            "constexpr int n = Shape{8, 8}.area(); s[t % n] = t;",
            "constexpr int n = Shape{8, 4}.area(); s[t % n] = t;",
        ),
        ("constexpr int n = stride(wide); s[t % n] = t;", "constexpr int n = stride(narrow); s[t % n] = t;"),
        ("s[t % stride(wide)] = t;", "s[t % stride(narrow)] = t;"),
        ("s[t % square.area()] = t;", "s[t % (square.area() / 2)] = t;"),
        (
            "constexpr Config c = {{1, 2, 64}}; s[t / c.dims[0]] = t;",
            "constexpr Config c = {{1, 2, 64}}; s[t / c.dims[1]] = t;",
        ),
        ("s[t / config.dims[t / 64]] = t;", "s[t / config.dims[t / 32]] = t;"),
        ("s[t % of(wide)] = t;", "s[t % of(narrow)] = t;"),
        ("Opts o = wide; s[t % o.tile] = t;", "Opts o = narrow; s[t % o.tile] = t;"),
        ("Opts o = wide; o.tile = 64; s[t % o.tile] = t;", "Opts o = wide; o.tile = 8; s[t % o.tile] = t;"),
        ("auto o = wide; s[t % o.tile] = t;", "auto o = wide; o.tile -= 1; s[t % o.tile] = t;"),
        ("const Opts& o = wide; s[t % o.tile] = t;", "const Opts& o = narrow; s[t % o.tile] = t;"),
        (
            "if constexpr (Traits::opts.pad) s[t] = t; else s[0] = t;",
            "if constexpr (wide.pad) s[t] = t; else s[0] = t;",
        ),
    ],
)
def test_members_of_constants_are_their_values(free: str, racy: str) -> None:
    assert (of_body(free), of_body(racy)) == (FREE, RACY)


BODY = "__shared__ int s[256]; int t = threadIdx.x;"
TEMPLATE = f"template <Opts O> __global__ void k(int* out) {{ {BODY} s[t % O.tile] = t; }}\n"
PADDED = f"template <Opts O> __global__ void k(int* out) {{ {BODY} s[t % Stride<O>::value] = t; }}\n"
INNER = f"template <Config C> __global__ void k(int* out) {{ {BODY} s[t % C.inner.tile] = t; }}\n"
CHOSEN = (
    f"template <Opts O> __global__ void k(int* out) {{ {BODY}"
    " if constexpr (O.pad) s[t] = t; else s[t / 2] = t; }\n"
)
HELPER = (
    "template <Opts O> __device__ void put(int* s, int t) { s[t % O.tile] = t; }\n"
    f"template <Opts O> __global__ void k(int* out) {{ {BODY} put<O>(s, t); }}\n"
)


@pytest.mark.parametrize(
    ("kernel", "free", "racy"),
    [
        (TEMPLATE, "k<wide>", "k<narrow>"),
        (TEMPLATE, "k<Opts{64, true}>", "k<Opts{8, true}>"),
        (TEMPLATE, "k<tuned(64)>", "k<tuned(8)>"),
        (TEMPLATE, "k<Traits::opts>", "k<Opts{.tile = 3}>"),
        (PADDED, "k<Opts{8, true}>", "k<Opts{8, false}>"),
        (INNER, "k<Config{{}, {64}}>", "k<config>"),
        (CHOSEN, "k<Traits::opts>", "k<wide>"),
        (HELPER, "k<wide>", "k<narrow>"),
    ],
)
def test_objects_tell_instances_of_a_template_apart(kernel: str, free: str, racy: str) -> None:
    host = f"void host(int* out) {{ {free}<<<1, 64>>>(out); {racy}<<<1, 64>>>(out); }}"
    assert kinds(kernel + host) == [FREE, RACY]


def test_equal_objects_are_one_instance() -> None:
    host = "void host(int* out) { k<wide><<<1, 64>>>(out); k<same><<<1, 64>>>(out); k<Opts{64}><<<1, 64>>>(out); }"
    assert kinds(TEMPLATE + host) == [FREE]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (TEMPLATE, UNDECIDED),
        (INNER.replace("Config", "Opts").replace("inner.", ""), UNDECIDED),
        (TEMPLATE.replace("t % O.tile", "t + O.tile"), FREE),  # whatever it is
        (TEMPLATE.replace("t % O.tile", "t / 2"), RACY),
    ],
)
def test_no_race_rests_on_members_that_nobody_gives(kernel: str, expected: VerdictKind) -> None:
    host = "Opts unseen();\nvoid host(int* out) { k<unseen()><<<1, 64>>>(out); }"
    assert kinds(kernel + host) == [expected]
