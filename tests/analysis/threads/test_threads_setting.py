"""``threads = 256`` tells how many threads a block has, not how they stand."""

from __future__ import annotations

from carets import expect

from smem_lsp import check
from smem_lsp.config import Config

RACES = ("SMEM201", "SMEM205", "SMEM402")
THREADS_256 = Config(threads=256)


def test_the_arrays_tell_the_shape() -> None:
    expect(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float m[16][16];
  m[threadIdx.y][threadIdx.x] = in[threadIdx.x];
  out[threadIdx.y] = m[threadIdx.x][threadIdx.y];
//                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM201 with the 16×16 block that --threads states
}
""",
        among=RACES,
        config=THREADS_256,
    )


def test_where_they_do_not_nothing_is_claimed_of_256_in_a_row() -> None:
    text = """\
__global__ void k(const float* in, float* out) {
  __shared__ float m[32][32];
  m[threadIdx.y][threadIdx.x] = in[threadIdx.x];
  out[threadIdx.y] = m[threadIdx.x][threadIdx.y];
}
"""
    found = [each for each in check(text, config=THREADS_256).findings if each.code in RACES]
    assert [each.code for each in found if "256" in each.message] == []


def test_an_assumed_x_is_no_shape_where_y_is_read() -> None:
    expect(
        """
__global__ void k(const float* in, float* out) {
  // smem: assume(blockDim.x == 256)
  __shared__ float m[16][16];
  m[threadIdx.y][threadIdx.x] = in[threadIdx.x];
  out[threadIdx.y] = m[threadIdx.x][threadIdx.y];
}
""",
        among=("SMEM402",),
    )


def test_one_axis_is_a_shape() -> None:
    expect(
        """
__global__ void k(float* o) {
  __shared__ float s[64];
  s[threadIdx.x] = 1;
//^^^^^^^^^^^^^^ SMEM402 thread 64 writes `s[64]`
  o[0] = s[0];
//       ^^^^ SMEM201 thread 0 writes `s[0]`
}
""",
        among=RACES,
        config=THREADS_256,
    )
