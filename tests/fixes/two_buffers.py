"""The kernel that most tests of merges begin with, and what its merge looks like."""

from __future__ import annotations

TWO_BUFFERS = """\
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[256];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
"""
TWO_BUFFERS_MERGED = TWO_BUFFERS.replace(
    "  __shared__ float red[256];",
    "  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);"
    "  // shares tile's bytes: tile is dead by then\n"
    '  static_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");',
)
