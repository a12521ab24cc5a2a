"""What a kernel's own text says about its block, and what each thread of a known block touches."""

from __future__ import annotations

import pytest
from analysis.asking import analyse

from smem_lsp.analysis.dataflow.facts import Footprint
from smem_lsp.analysis.threads.block_shape import evidence
from smem_lsp.analysis.threads.thread_private import Footprints, find_footprints
from smem_lsp.analysis.values.block_shape import BlockShape


@pytest.mark.parametrize(
    ("statements", "upper", "sample"),
    [
        ("s[tid] = 0;", (1024, 1024, 64), (1024, 1, 1)),
        ("t[threadIdx.y][threadIdx.x] = 0;", (33, 32, 64), (32, 32, 1)),
        ("__shared__ int u[100]; u[tid] = 0;", (100, 1024, 64), (96, 1, 1)),
        ("__shared__ int u[20]; u[tid] = 0;", (20, 1024, 64), (16, 1, 1)),
        ("__shared__ int u[512]; u[tid + 256] = 0;", (256, 1024, 64), (256, 1, 1)),
        ("__shared__ int u[512]; u[2 * tid + 1] = 0;", (256, 1024, 64), (256, 1, 1)),
        ("__shared__ int u[512]; u[threadIdx.y * 32 + threadIdx.x] = 0;", (512, 16, 64), (512, 16, 1)),
        ("__shared__ int u[512]; u[tid - n] = 0;", (1024, 1024, 64), (1024, 1, 1)),
        ("__shared__ int u[512]; u[511 - tid] = 0;", (1024, 1024, 64), (1024, 1, 1)),
        ("__shared__ int u[100]; if (tid < n) u[tid] = 0;", (1024, 1024, 64), (1024, 1, 1)),
        ("__shared__ int u[100]; if (tid >= n) return; u[tid] = 0;", (1024, 1024, 64), (1024, 1, 1)),
        ("__shared__ int u[100]; for (int i = 0; i < n; ++i) u[tid] = 0;", (1024, 1024, 64), (1024, 1, 1)),
    ],
)
def test_an_unguarded_index_bounds_the_block(
    statements: str, upper: tuple[int, int, int], sample: tuple[int, int, int]
) -> None:
    found = analyse(statements)
    said = evidence(found.kernel, found.values, found.control)
    assert (said.upper, said.sample) == (upper, sample)


def test_launch_bounds_are_upper_bounds() -> None:
    found = analyse("s[tid] = 0;", attributes="__launch_bounds__(128)")
    said = evidence(found.kernel, found.values, found.control)
    assert said.upper == (128, 128, 64)
    assert said.bounded and not said.arrays


def test_an_extent_of_1024_is_evidence() -> None:
    for extent, bounded in ((1024, True), (2048, False)):
        found = analyse(f"__shared__ int u[{extent}]; u[tid] = 0;")
        assert evidence(found.kernel, found.values, found.control).bounded == bounded


def test_a_bound_names_its_array() -> None:
    found = analyse("__shared__ int u[96]; u[tid] = 0;")
    assert evidence(found.kernel, found.values, found.control).arrays == {"x": "u[96]"}


def test_a_symbolic_extent_names_the_block() -> None:
    found = analyse("__shared__ int u[BLOCK]; u[tid] = 0;", above="template <int BLOCK>")
    assert evidence(found.kernel, found.values, found.control).equal == {"x": "BLOCK"}


# ---- slots ---------------------------------------------------------------------------------------------------------


def slots_of(statements: str, dims: tuple[int, int, int] = (4, 1, 1)) -> Footprints:
    found = analyse(statements, shape=dims)
    return find_footprints(found.kernel, found.control, BlockShape(dims, "assume", fact=True), found.values)


@pytest.mark.parametrize(
    ("statements", "starts", "stride"),
    [
        ("s[tid * 2 + 1] = 0;", (1, 3, 5, 7), 0),
        ("int i = tid; i += 4; s[i] = 0;", (4, 5, 6, 7), 0),
        ("int i = 9; if (tid > 1) i = tid; s[i] = 0;", (9, 9, 2, 3), 0),
        ("t[0][tid] = 0;", (0, 1, 2, 3), 0),
        ("for (int i = tid; i < 1056; i += 4) t[i / 33][i % 33] = 0;", (0, 1, 2, 3), 4),
        ("for (int i = tid; i < n; i += blockDim.x) s[i] = 0;", (0, 1, 2, 3), 4),
        ("int i = tid; while (i < n) { s[i + 1] = 0; i += 8; }", (1, 2, 3, 4), 8),
        ("for (int j = 0; j < n; ++j) for (int i = tid; i < 8; i += 4) s[16 * j + i] = 0;", (0, 1, 2, 3), 4),
    ],
)
def test_slots(statements: str, starts: tuple[int, ...], stride: int) -> None:
    (slot,) = slots_of(statements).slots.values()
    assert slot == Footprint(starts, stride, 4)


@pytest.mark.parametrize(
    "statements",
    [
        "s[tid + n] = 0;",
        "s[tid - 1] = 0;",  # of thread 0: far outside
        "for (int i = tid; i < n; i += m) s[i] = 0;",
        "for (int i = tid; i < n; i *= 2) s[i] = 0;",
        "for (int i = tid; i < n; i += 4) s[i / 3] = 0;",
        "for (int i = 100 - tid; i > 0; i -= 4) s[i] = 0;",
    ],
)
def test_no_slot(statements: str) -> None:
    assert slots_of(statements).slots == {}


def test_a_strided_loop_covers_a_buffer() -> None:
    assert slots_of("for (int i = tid; i < 1024; i += 4) s[i] = 0;").covering
    assert slots_of("for (int i = tid; i < 1056; i += 4) t[i / 33][i % 33] = 0;").covering
    assert not slots_of("for (int i = tid; i < 1020; i += 4) s[i] = 0;").covering
    assert not slots_of("for (int i = tid; i < 1024; i += 8) s[i] = 0;").covering
