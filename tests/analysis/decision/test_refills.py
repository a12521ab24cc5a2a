"""Tiles that each turn of a loop fills again: two of them that take turns share their bytes with one more barrier,
where every byte that is read was written since, for the block that is stated or for every block."""

from __future__ import annotations

import re

import pytest

from smem_lsp.engine import check

pytest.importorskip("z3")

_KERNEL = """__global__ void k(const float* x, float* y, int n, int m) {{
  __shared__ __align__(16) float a{dims};
  __shared__ __align__(16) float b{dims};
  const int t = threadIdx.x;
  float s = 0.0f;
{before}  for (int i = 0; i < m; ++i) {{
    {fill}
    __syncthreads();
    {use}
    __syncthreads();
    {fill_b}
    __syncthreads();
    {use_b}
  }}
{behind}  y[blockIdx.x * blockDim.x + t] = s;
}}
"""
_LAUNCH = "void go(const float* x, float* y, int n, int m) { k<<<4, 256>>>(x, y, n, m); }\n"
REVERSED = "for (int j = t; j < 1024; j += 256) s += a[1023 - j];"
IN_ANY = "for (int j = t; j < 1024; j += blockDim.x) s += a[1023 - j];"


def kernel(fill: str, use: str, dims: str = "[1024]", *, before: str = "", behind: str = "") -> str:
    fill_b, use_b = (re.sub(r"\ba\b", "b", each) for each in (fill, use))
    return _KERNEL.format(
        fill=fill, use=use, fill_b=fill_b, use_b=use_b, dims=dims, before=before, behind=behind
    )


def curve(text: str) -> dict[int, int]:
    """Added barriers -> bytes."""
    facts = check(text).facts[0]
    return {len(each.plan.barriers): each.plan.bytes for each in facts.best}


STATED = {  # a launch says that the block has 256 threads
    "each thread one": ("a[t] = x[i * 256 + t];", "s += a[255 - t];", "[256]"),
    "in steps": ("for (int j = t; j < 1024; j += 256) a[j] = x[i * 1024 + j];", REVERSED, "[1024]"),
    "unrolled": ("for (int q = 0; q < 4; ++q) a[q * 256 + t] = x[i * 1024 + q];", REVERSED, "[1024]"),
    "four neighbours": ("for (int q = 0; q < 4; ++q) a[t * 4 + q] = x[i * 1024 + q];", REVERSED, "[1024]"),
    "four statements": (
        "a[t * 4] = x[i]; a[t * 4 + 1] = x[i + 1]; a[t * 4 + 2] = x[i + 2]; a[t * 4 + 3] = x[i + 3];",
        REVERSED, "[1024]",
    ),
    "vectors": (
        "reinterpret_cast<float4*>(a)[t] = reinterpret_cast<const float4*>(x)[i * 256 + t];", REVERSED, "[1024]",
    ),
    "read as vectors": (
        "for (int j = t; j < 1024; j += 256) a[j] = x[i * 1024 + j];",
        "s += reinterpret_cast<const float4*>(a)[255 - t].x;", "[1024]",
    ),
    "rows with a pad": (
        "a[t / 32][t % 32] = x[i * 256 + t];", "for (int j = 0; j < 8; ++j) s += a[j][t % 32];", "[8][33]",
    ),
    "rows in steps": (
        "for (int r = t / 32; r < 32; r += blockDim.x / 32) a[r][t % 32] = x[i * 1024 + r];",
        "for (int j = 0; j < 32; ++j) s += a[t % 32][j];", "[32][33]",
    ),
    "turned over": (
        "for (int q = 0; q < 4; ++q) a[(t % 64) * 4 + q][t / 64] = x[i + q];",
        "for (int j = 0; j < 256; ++j) s += a[j][t % 4];", "[256][5]",
    ),
    "zeros behind the end": (
        "for (int j = t; j < 1024; j += 256) { if (i * 1024 + j < n) a[j] = x[i * 1024 + j]; else a[j] = 0.0f; }",
        REVERSED, "[1024]",
    ),
    "a choice of values": (
        "for (int j = t; j < 1024; j += 256) a[j] = i * 1024 + j < n ? x[i * 1024 + j] : 0.0f;", REVERSED, "[1024]",
    ),
    "one end for both": (
        "if (t < n) a[t] = x[i * n + t];", "for (int j = 0; j < min(n, 256); ++j) s += a[j];", "[1024]",
    ),
    "copies in flight": (
        "__pipeline_memcpy_async(&a[t * 4], x + i * 1024 + t * 4, 16); __pipeline_commit(); __pipeline_wait_prior(0);",
        REVERSED, "[1024]",
    ),
}  # fmt: skip

EVERY = {  # of any block
    "each thread one": ("a[t] = x[i * blockDim.x + t];", "s += a[blockDim.x - 1 - t];", "[1024]"),
    "in steps": ("for (int j = t; j < 1024; j += blockDim.x) a[j] = x[i * 1024 + j];", IN_ANY, "[1024]"),
    "in rows": (
        "for (int j = t; j < 1024; j += blockDim.x) a[j / 32][j % 32] = x[i * 1024 + j];",
        "for (int j = 0; j < 32; ++j) s += a[t % 32][j];", "[32][33]",
    ),
    "vectors": (
        "for (int j = t; j < 256; j += blockDim.x) "
        "reinterpret_cast<float4*>(a)[j] = reinterpret_cast<const float4*>(x)[i * 256 + j];",
        IN_ANY, "[1024]",
    ),
    "as many as the kernel is told": (
        "for (int j = t; j < n; j += blockDim.x) a[j] = x[i * n + j];",
        "for (int j = 0; j < n; ++j) s += a[j];", "[1024]",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("fill", "use", "dims"), STATED.values(), ids=STATED)
def test_two_tiles_share_with_one_barrier(fill: str, use: str, dims: str) -> None:
    found = curve(kernel(fill, use, dims) + _LAUNCH)
    assert found[1] * 2 == found[0]


@pytest.mark.parametrize(("fill", "use", "dims"), EVERY.values(), ids=EVERY)
def test_they_do_in_every_block(fill: str, use: str, dims: str) -> None:
    text = kernel(fill, use, dims)
    found = curve(text)
    assert found[1] * 2 == found[0]
    assert not any(each.assumes_shape for each in check(text).facts[0].best)


STRIDED = "for (int j = t; j < 1024; j += 256) "
BROKEN = {
    "one element is left out": ("for (int j = t; j < 1023; j += 256) a[j] = x[i * 1024 + j];", REVERSED),
    "the first one is": ("for (int j = t + 1; j < 1024; j += 256) a[j] = x[i * 1024 + j];", REVERSED),
    "in steps that are too long": ("for (int j = t; j < 1024; j += 257) a[j] = x[i * 1024 + j];", REVERSED),
    "read before": (f"if (i > 0) s += a[t];\n    __syncthreads();\n    {STRIDED}a[j] = x[i * 1024 + j];", REVERSED),
    "where the data say so": (STRIDED + "if (x[j] > 0.0f) a[j] = x[i * 1024 + j];", REVERSED),
    "only up to the end": (STRIDED + "if (i * 1024 + j < n) a[j] = x[i * 1024 + j];", REVERSED),
    "as many as another number": (
        "for (int j = t; j < n; j += 256) a[j] = x[i * n + j];", "for (int j = 0; j < m; ++j) s += a[j];"
    ),
    "in the first turn": (f"if (i == 0) {{ {STRIDED}a[j] = x[i * 1024 + j]; }}", REVERSED),
    "a slice in each turn": ("a[(i % 4) * 256 + t] = x[i * 1024 + t];", REVERSED),
    "until the data end it": (STRIDED + "{ if (x[j] < 0.0f) break; a[j] = x[i * 1024 + j]; }", REVERSED),
    "where the data point": (STRIDED + "a[(int)x[j]] = x[i * 1024 + j];", REVERSED),
    "by half of the threads": (f"if (t < 128) {{ {STRIDED}a[j] = x[i * 1024 + j]; }}", REVERSED),
    "read one further": ("a[t] = x[i];", "s += a[t + 1];"),
    "one of the two, as the data say": ("if (x[i] > 0.0f) { a[t] = 1.0f; } else { b[t] = 2.0f; }", "s += a[255 - t];"),
}  # fmt: skip


@pytest.mark.parametrize(("fill", "use"), BROKEN.values(), ids=BROKEN)
def test_what_is_not_filled_whole_keeps_its_bytes(fill: str, use: str) -> None:
    found = curve(kernel(fill, use) + _LAUNCH)
    assert set(found.values()) == {8192}


def test_what_is_read_behind_the_loop_is_kept() -> None:
    fill = "for (int j = t; j < 1024; j += 256) a[j] = x[i * 1024 + j];"
    behind = "  __syncthreads();\n  s += a[255 - t] + b[255 - t];\n"
    assert set(curve(kernel(fill, REVERSED, behind=behind) + _LAUNCH).values()) == {8192}


def test_a_turn_that_fills_nothing_keeps_what_the_turn_before_has_filled() -> None:
    """A tile that is filled for the next turn is held over the back edge."""
    fill = "s += a[255 - t];\n    __syncthreads();\n    a[t] = x[i];"
    assert set(curve(kernel(fill, "s += a[t];") + _LAUNCH).values()) == {8192}


def test_a_read_that_no_barrier_orders_does_not_count_on_other_threads() -> None:
    fill = "a[t] = x[i];\n    s += a[t ^ 1];"
    assert set(curve(kernel(fill, "s += a[t];") + _LAUNCH).values()) == {8192}
    own = "a[t] = x[i];\n    s += a[t];"
    assert curve(kernel(own, "s += a[t];") + _LAUNCH)[0] == 4096
