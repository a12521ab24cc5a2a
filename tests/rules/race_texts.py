"""Kernels with a race whose accesses stand in functions, in a header, in members and in tiles."""

from __future__ import annotations

from dataclasses import dataclass, field

from smem_lsp.source import FileReader

REDUCE = """\
#pragma once
template <typename T>
__device__ __forceinline__ void put(T* slots, int warp, T v) {
  slots[warp] = v;
}

template <typename T>
__device__ __forceinline__ T block_sum(T v, T* slots) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  if (lane == 0) put(slots, warp, v);
  __syncthreads();
  T r = 0;
  for (int i = 0; i < 8; ++i) r += slots[i];
  return r;
}
"""

TWICE = """\
#include "reduce.cuh"
__global__ void twice(const float* in, float* out) {
  __shared__ float slots[8];
  float a = block_sum(in[threadIdx.x], slots);
  float b = block_sum(in[threadIdx.x] * 2, slots);
  out[threadIdx.x] = a + b;
}
void host(const float* in, float* out) { twice<<<1, 256>>>(in, out); }
"""


@dataclass
class Headers(FileReader):
    """A reader that has these files, by name."""

    texts: dict[str, str] = field(default_factory=dict)

    def read(self, path: str) -> str | None:
        return self.texts.get(path.rpartition("/")[2])

    def search(self, name: str, including: str) -> str | None:
        return name if name in self.texts else None


def kernel(body: str, declared: str = "", launch: str = "k<<<1, 256>>>(in, out, n);") -> str:
    """A kernel of 256 threads with this body, from line 2 on, behind what is ``declared``."""
    return (
        f"{declared}__global__ void k(const float* in, float* out, int n) {{\n{body}}}\n"
        f"void host(const float* in, float* out, int n) {{ {launch} }}\n"
    )
