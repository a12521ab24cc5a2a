"""Where an access takes a part of a parameter, ``hidden / heads``, that part is ordinarily a number like others."""

from __future__ import annotations

from smem_lsp.engine import check

KERNEL = """
__global__ void k(float4* out, const float4* in, int heads, int length, int hidden) {
  __shared__ float4 s[3072];
  const int part = hidden / heads;
  const int row = (threadIdx.y >> 1) + threadIdx.z * (blockDim.y >> 1);
  const int offset = (row % blockDim.y) * part;
  s[threadIdx.x + offset + (row / blockDim.y + (threadIdx.y % 2) * blockDim.z) * hidden] =
      in[threadIdx.x + offset * length];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
"""


def test_no_kernel_is_racy_for_parts_that_are_smaller_than_a_row() -> None:
    (kernel,) = check(KERNEL).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value == "undecided"


def test_where_the_part_does_not_count_it_is() -> None:
    text = KERNEL.replace("* part", "* 0 * part").replace("* hidden]", "* 0 * hidden]")
    (kernel,) = check(text.replace("in[threadIdx.x + offset * length]", "in[threadIdx.z]")).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value == "racy"
