"""A warp's own number through a shuffle, as kernels that want it in a uniform register write it."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_FRAME = """
template <typename T>
__device__ T first(unsigned mask, T value, int lane, int width = 32) {{
  return __shfl_sync(mask, value, lane, width);
}}
__global__ void k(float* out, const float* in) {{
  __shared__ float s[32];
  const int warp = {warp};
  if (threadIdx.x % 32 == 0) s[warp] = in[warp];
  {sync}
  out[threadIdx.x] = s[warp];
}}
void host(float* out, const float* in) {{ k<<<1, {block}>>>(out, in); }}
"""


def _verdict(warp: str, *, sync: str = "__syncwarp();", block: str = "128") -> str:
    (kernel,) = check(_FRAME.format(warp=warp, sync=sync, block=block)).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    "warp",
    [
        "__shfl_sync(0xffffffff, threadIdx.x / 32, 0)",
        "__shfl_sync(~0u, threadIdx.x >> 5, 0)",
        "__shfl_sync(-1, threadIdx.x / 32, 0, 32)",
        "__shfl_xor_sync(0xffffffff, threadIdx.x / 32, 5)",
        "first(0xffffffff, threadIdx.x / 32, 0)",
    ],
)
def test_the_number_of_the_warp(warp: str) -> None:
    assert _verdict(warp) == "race-free"
    assert _verdict(warp, sync="") != "race-free"
    assert _verdict(warp, block="dim3(64, 2)") != "race-free"  # two warps have each number


def test_rows_that_are_no_warps() -> None:
    """In a block of 48 by 2 a warp has threads of two rows: what it gets from lane 0 is not its own quotient."""
    assert _verdict("__shfl_sync(0xffffffff, threadIdx.x / 32, 0)", block="dim3(48, 2)") != "race-free"


def test_another_group_than_a_warp() -> None:
    assert _verdict("__shfl_sync(0xffffffff, threadIdx.x / 16, 0)") != "racy"
    assert _verdict("__shfl_sync(0xffffffff, threadIdx.x / 16, 0) / 2") != "racy"
