"""Which blocks, of which grid, a kernel is tried with when no launch of it is in sight."""

from __future__ import annotations

import pytest
from carets import expect

TRANSPOSE = """\
__global__ void k(const float* in, float* out, int n) {{
  __shared__ float tile[32][33];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
  {between}
  out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
{mark}
}}
"""

LANES = """\
__global__ void k(const float* in, float* out) {{
  __shared__ float s[64];
  const int lane = threadIdx.x;
  s[lane] = in[lane];
  s[lane + 32] = in[lane + 32];
  {between}
  out[lane] = s[63 - lane];
{mark}
}}
"""

WHOLE = """\
__global__ void k(const float* in, float* out) {{
  extern __shared__ float s[];
  s[threadIdx.x] = *in;
  {between}
  *out = s[blockDim.x - 1 - threadIdx.x];
{mark}
}}
"""

SUMS = """\
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(const float* in, float* out) {{
  __shared__ float s[32];
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  const int t = threadIdx.x;
  float sum = in[t];
  for (int i = 1; i < 32; i *= 2) sum += warp.shfl_down(sum, i);
  if (warp.thread_rank() == 0) s[{number}] = sum;
  {between}
  if (warp.thread_rank() < blockDim.x / 32) sum = s[warp.thread_rank()];
{mark}
  block.sync();
  out[t] = sum;
}}
"""

BOUNDED = """\
__global__ void __launch_bounds__(64) k(const float4* in, float* out, int n) {{
  __shared__ float4 s[64];
  for (int i = 0; i < n; ++i) {{
    __syncthreads();
    s[threadIdx.y * 32 + threadIdx.x] = in[i * 64 + threadIdx.y * 32 + threadIdx.x];
    {between}
    out[i * 64 + threadIdx.y * 32 + threadIdx.x] = s[63 - threadIdx.y * 32 - threadIdx.x].x;
{mark}
  }}
}}
"""

PARTS = """\
__global__ void k(const float* in, float* out, int width, int rows, int columns) {{
  __shared__ float s[1024];
  const int row = blockIdx.x * width + threadIdx.x / columns;
  s[threadIdx.x] = in[threadIdx.x];
  {between}
  if (row >= rows) return;
  out[threadIdx.x] = s[threadIdx.x ^ 32];
{mark}
  __syncthreads();
  s[threadIdx.x] = 0;
}}
"""

ELEMENTS = """\
template <typename T>
__global__ void k(const T* in, T* out) {{
  __shared__ T s[256];
  const int t = threadIdx.x;
  s[t] = in[t];
  {between}
  out[t] = s[{read}];
{mark}
  __syncthreads();
  s[t] = in[0];
}}
"""


RACES = ("SMEM201", "SMEM205")
BARRIER = "__syncthreads();"


def test_rows_and_columns_without_any_barrier_race() -> None:
    mark = "//                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM201"
    expect(TRANSPOSE.format(between="", mark=mark), among=RACES)
    expect(TRANSPOSE.format(between=BARRIER, mark=""), among=RACES)


def test_lanes_that_are_kept_in_order_are_one_warp() -> None:
    expect(LANES.format(between="__syncwarp();", mark=""), among=RACES)


def test_elements_for_each_of_so_many_threads_want_a_barrier() -> None:
    expect(
        """
template <typename T>
__global__ void k(const T* in, T* out) {
  __shared__ T s[256];
  const int t = threadIdx.x;
  s[t] = in[t];
  out[t] = s[255 - t];
//         ^^^^^^^^^^ SMEM201
  s[t] = in[0];
//^^^^ SMEM201
}
""",
        among=RACES,
    )


@pytest.mark.parametrize(
    ("array", "write", "read"),
    [
        ("__shared__ float s[64]", "s[t] = in[t]; s[t + 32] = in[t + 32];", "s[t] + s[t + 32]"),
        (
            "__shared__ float s[64]",
            "s[t] = 0; for (int i = 0; i < 64; i += 32) s[t + i] = in[t + i];",
            "s[t + 32]",
        ),
        ("extern __shared__ float s[]", "s[t] = in[t]; s[t + 32] = in[t + 32];", "s[t] + s[t + 32]"),
        (
            "__shared__ float s[8][8]",
            "s[threadIdx.y][t] = in[t]; s[threadIdx.y + 4][t] = in[t + 8];",
            "s[threadIdx.y + 4][t]",
        ),
    ],
)
def test_a_block_for_which_the_array_is_too_small_is_not_tried(array: str, write: str, read: str) -> None:
    body = f"{array}; const int t = threadIdx.x; {write} out[t] = {read};"
    expect(f"__global__ void k(const float* in, float* out) {{ {body} }}", among=RACES)


def test_an_array_without_an_extent_says_nothing_of_the_block() -> None:
    expect(WHOLE.format(between="", mark="//       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM205"), among=RACES)
    expect(WHOLE.format(between=BARRIER, mark=""), among=RACES)


def test_warps_that_are_counted_in_x_stand_in_a_row() -> None:
    mark = "//                                                ^^^^^^^^^^^^^^^^^^^^^ SMEM201"
    expect(SUMS.format(between="", number="t / 32", mark=mark), among=RACES)
    expect(SUMS.format(between="block.sync();", number="t / 32", mark=""), among=RACES)


def test_warps_that_the_block_counts_may_stand_in_rows_of_32_threads() -> None:
    expect(SUMS.format(between="", number="warp.meta_group_rank()", mark=""), among=RACES)


def test_launch_bounds_of_a_block_with_rows() -> None:
    mark = (
        "//                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM201"
    )
    expect(BOUNDED.format(between="", mark=mark), among=RACES)
    expect(BOUNDED.format(between=BARRIER, mark=""), among=RACES)


def test_the_first_block_where_another_one_has_nothing_to_do() -> None:
    mark = "//                   ^^^^^^^^^^^^^^^^^^^ SMEM201"
    expect(PARTS.format(between="", mark=mark), among=RACES)
    expect(PARTS.format(between=BARRIER, mark=""), among=RACES)


def test_elements_of_a_size_that_is_not_known() -> None:
    mark = "//         ^^^^^^^^^^ SMEM201 thread 0 writes `s[0]` (line 5), thread 255 reads it (line 7)"
    expect(ELEMENTS.format(between="", read="255 - t", mark=mark), among=RACES)
    expect(ELEMENTS.format(between="", read="t", mark=""), among=RACES)
    expect(ELEMENTS.format(between=BARRIER, read="255 - t", mark=""), among=RACES)
