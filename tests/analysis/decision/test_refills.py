"""Tiles that each turn of a loop fills again: two of them that take turns share their bytes with one more barrier,
where every byte that is read was written since, for the block that is stated or for every block."""

from __future__ import annotations

import math
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
    "swizzled rows": (
        "for (int j = t; j < 1024; j += 256) a[j / 32 * 32 + (j % 32 ^ j / 32 % 32)] = x[i + j];", REVERSED, "[1024]",
    ),
    "swizzled with masks": (
        "for (int j = t; j < 1024; j += blockDim.x) a[(j & ~31) + ((j & 31) ^ (j >> 5 & 31))] = x[i + j];",
        REVERSED, "[1024]",
    ),
    "swizzled vectors": (
        "reinterpret_cast<float4*>(a)[t / 8 * 8 + (t % 8 ^ t / 8 % 8)] = reinterpret_cast<const float4*>(x)[i + t];",
        REVERSED, "[1024]",
    ),
    "swizzled rows of a tile": (
        "for (int r = t / 32; r < 32; r += 8) a[r][t % 32 ^ r] = x[i + r];",
        "for (int j = 0; j < 32; ++j) s += a[t % 32][j];", "[32][32]",
    ),
    "swizzled copies": (
        "for (int j = t; j < 256; j += 256) __pipeline_memcpy_async(&a[4 * (j ^ j / 8 % 8)], x + i * 1024 + 4 * j, 16);"
        " __pipeline_commit(); __pipeline_wait_prior(0);", REVERSED, "[1024]",
    ),
    "copies in flight": (
        "__pipeline_memcpy_async(&a[t * 4], x + i * 1024 + t * 4, 16); __pipeline_commit(); __pipeline_wait_prior(0);",
        REVERSED, "[1024]",
    ),
}  # fmt: skip

MORE = {  # of which a launch with 256 threads in one axis says nothing
    "rows of warps": (
        "for (int r = t / 32; r < 32; r += blockDim.x / 32) a[r][t & 31] = x[i * 1024 + r * 32 + (t & 31)];",
        "for (int j = 0; j < 32; ++j) s += a[t % 32][j];", "[32][33]",
    ),
    "tiles in tiles": (
        "for (int r = threadIdx.y; r < 32; r += blockDim.y) "
        "for (int c = t; c < 32; c += blockDim.x) a[r][c] = x[i * 1024 + r * 32 + c];",
        "for (int j = 0; j < 32; ++j) s += a[t % 32][j];", "[32][33]",
    ),
    "one element for each thread of two axes": (
        "a[threadIdx.y][t] = x[i * 256 + threadIdx.y * 16 + t];",
        "for (int j = 0; j < 16; ++j) s += a[j][t];", "[16][16]",
    ),
    "a tail that is cut": (
        "for (int q = 0; q < 4; ++q) { const int j = q * 256 + t; if (j < 1000) a[j] = x[i * 1000 + j]; }",
        "for (int j = t; j < 1000; j += 256) s += a[999 - j];", "[1000]",
    ),
    "copies of the PTX": (
        'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: '
        '"r"((unsigned)__cvta_generic_to_shared(&a[t * 4])), "l"(x + i * 1024 + t * 4)); '
        'asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group 0;");',
        REVERSED, "[1024]",
    ),
    "a place that no formula tells": ("a[(t * 5) % 256] = x[i * 256 + t];", "s += a[(t * 5) % 256];", "[256]"),
    "two values, as the turn says": (
        "for (int j = t; j < 1024; j += 256) { if (i & 1) { a[j] = x[j]; } else { a[j] = -x[j]; } }",
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


@pytest.mark.parametrize(
    ("fill", "use", "dims"),
    [*STATED.values(), *MORE.values(), *EVERY.values()],
    ids=[f"{kind}: {name}" for kind, of in (("one", STATED), ("more", MORE), ("any", EVERY)) for name in of],
)
def test_they_do_in_every_block(fill: str, use: str, dims: str) -> None:
    text = kernel(fill, use, dims)
    found = curve(text)
    assert found[1] * 2 == found[0]
    best = check(text).facts[0].best
    assert all(each.fills or not each.assumes_shape for each in best)
    if (fill, use, dims) in EVERY.values():  # without another word
        assert not any(each.fills for each in best)


def in_dynamic(fill: str, use: str, dims: str) -> str:
    """The same kernel, with both tiles in one dynamic array."""
    whole, *rows = (int(n) for n in re.findall(r"\d+", dims))
    row = "".join(f"[{n}]" for n in rows)
    lines = ["  extern __shared__ __align__(16) float raw[];"]
    for name, at in (("a", "raw"), ("b", f"raw + {whole * math.prod(rows)}")):
        kind = f"float (*{name}){row}" if rows else f"float* {name}"
        lines.append(f"  {kind} = reinterpret_cast<float (*){row}>({at});" if rows else f"  {kind} = {at};")
    static = kernel(fill, use, dims).splitlines()
    return "\n".join([static[0], *lines, *static[3:], ""])


DYNAMIC = {  # the number of elements is bounded by nothing but a static array
    name: each
    for name, each in {**STATED, **MORE, **EVERY}.items()
    if name not in ("as many as the kernel is told",)
}


@pytest.mark.parametrize(("fill", "use", "dims"), DYNAMIC.values(), ids=DYNAMIC)
def test_ranges_of_dynamic_memory_do_too(fill: str, use: str, dims: str) -> None:
    divided = check(in_dynamic(fill, use, dims)).facts[0].dynamic_partition
    assert divided is not None
    found = {len(each.plan.barriers): each.plan.bytes for each in divided.best}
    assert found[1] * 2 == found[0]


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
    "two in one place": (STRIDED + "a[j | j / 32 % 32] = x[i * 1024 + j];", REVERSED),
    "swizzled, one left out": (STRIDED + "if (j != 77) a[j ^ j / 32 % 32] = x[i * 1024 + j];", REVERSED),
    "swizzled, as the data say": (STRIDED + "{ if (x[j] < 0.0f) continue; a[j ^ j / 32 % 32] = x[j]; }", REVERSED),
    "swizzled in each other turn": (f"if (i % 2 == 0) {{ {STRIDED}a[j ^ j / 32 % 32] = x[j]; }}", REVERSED),
    "swizzled with another number": (STRIDED + "a[j & ~(n & 1)] = x[j];", REVERSED),
    "read one further": ("a[t] = x[i];", "s += a[t + 1];"),
    "one of the two, as the data say": ("if (x[i] > 0.0f) { a[t] = 1.0f; } else { b[t] = 2.0f; }", "s += a[255 - t];"),
}  # fmt: skip


@pytest.mark.parametrize(("fill", "use"), BROKEN.values(), ids=BROKEN)
def test_what_is_not_filled_whole_keeps_its_bytes(fill: str, use: str) -> None:
    found = curve(kernel(fill, use) + _LAUNCH)
    assert set(found.values()) == {8192}


WHOLE = "for (int j = t; j < 1024; j += blockDim.x) { a[j] = x[j]; b[j] = x[j]; }\n  __syncthreads();\n"


@pytest.mark.parametrize(("fill", "use"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("launch", [_LAUNCH, ""], ids=["256 threads", "any block"])
def test_what_an_earlier_fill_has_left_is_kept(fill: str, use: str, launch: str) -> None:
    assert set(curve(kernel(fill, use, before=f"  {WHOLE}") + launch).values()) == {8192}


def test_a_fill_before_the_loop_that_is_filled_over_is_not_kept() -> None:
    before = "  for (int j = t; j < 1024; j += blockDim.x) a[j] = x[j];\n  __syncthreads();\n"
    for fill, use, _ in (EVERY["in steps"], EVERY["vectors"]):
        assert curve(kernel(fill, use, before=before))[1] == 4096


def test_no_block_fills_what_is_read() -> None:
    """Nobody ever writes the last element: what is read there is as it was, and no other tile's."""
    for fill, use in (
        BROKEN["one element is left out"],
        BROKEN["the first one is"],
        BROKEN["read one further"],
    ):
        assert set(curve(kernel(fill, use)).values()) == {8192}


def test_threads_that_are_gone_fill_nothing() -> None:
    fill = "if (i == 3 && t == 5) return;\n    for (int j = t; j < 1024; j += 256) a[j] = x[i * 1024 + j];"
    assert set(curve(kernel(fill, REVERSED)).values()) == {8192}


def test_the_block_that_a_launch_names_has_to_fill_what_is_read() -> None:
    """Blocks of 64 threads leave three quarters of each tile as they were."""
    fill, use = "for (int j = t; j < 1024; j += 256) a[j] = x[i * 1024 + j];", REVERSED
    assert curve(kernel(fill, use))[1] == 4096
    assert set(curve(kernel(fill, use) + _LAUNCH.replace("4, 256", "4, 64")).values()) == {8192}


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
