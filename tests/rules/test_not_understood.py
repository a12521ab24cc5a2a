"""SMEM001: statements that the parser does not understand."""

from __future__ import annotations

from carets import expect


def test_a_statement_that_is_not_understood_is_marked() -> None:
    expect(
        """
__global__ void k(float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = (1.0f;
//^^^^^^^^^^^^^^^^^^^^^^ SMEM001 not understood
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
}
"""
    )
