"""SMEM204: barriers that order nothing, by the bytes that each thread touches."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

FACT = "// smem: assume(blockDim.x == 256)\n"


def redundant_lines(text: str) -> list[int]:
    source = FACT + text
    found = [finding for finding in check(source).findings if finding.code == "SMEM204"]
    return [source.count("\n", 0, finding.span.start) + 1 for finding in found]


def members(index: str) -> str:
    return f"""__global__ void k(const float* __restrict__ in, float* __restrict__ out) {{
  __shared__ float2 s[256];
  const int t = threadIdx.x;
  s[t] = make_float2(in[t], in[t + 256]);
  __syncthreads();
  out[t] = s[{index}].x - s[{index}].y;
}}
"""


@pytest.mark.parametrize(("index", "lines"), [("t", [6]), ("t ^ 32", [])])
def test_members_of_a_thread_s_own_element(index: str, lines: list[int]) -> None:
    assert redundant_lines(members(index)) == lines


@pytest.mark.parametrize(("element", "lines"), [("4 * t + 3", [6]), ("4 * t + 4", [])])
def test_parts_of_a_vector_through_another_type(element: str, lines: list[int]) -> None:
    text = f"""__global__ void k(const float4* __restrict__ in, float* __restrict__ out) {{
  extern __shared__ __align__(16) float s[];
  const int t = threadIdx.x;
  reinterpret_cast<float4*>(s)[t] = in[t];
  __syncthreads();
  out[t] = s[{element}];
}}
"""
    assert redundant_lines(text) == lines


def test_two_names_of_dynamic_memory_are_the_same_bytes() -> None:
    text = """__global__ void k(const float* __restrict__ in, int* __restrict__ out) {
  extern __shared__ float a[];
  extern __shared__ int b[];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  out[t] = b[255 - t];
}
"""
    assert redundant_lines(text) == []


def test_the_array_of_a_helper_does_not_stand_in_the_way() -> None:
    text = """__device__ float sum(float v) {
  __shared__ float part[512];
  part[threadIdx.x] = v;
  __syncthreads();
  float r = part[threadIdx.x] + part[255 - threadIdx.x];
  __syncthreads();
  return r;
}
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  float v = s[255 - t];
  __syncthreads();
  out[t] = sum(v) + sum(v * v);
}
"""
    assert redundant_lines(text) == [16]
