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


def test_a_statement_that_lacks_its_semicolon_is_marked() -> None:
    expect(
        """
__global__ void k(float* out, int n) {
  __shared__ float a[256];
  float sum = 0
//^^^^^^^^^^^^^ SMEM001 has no `;`
  for (int i = 0; i < n; ++i) sum += i;
  a[threadIdx.x] = sum + out[
//^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM001 not understood
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x] + n
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM001 has no `;`
  __syncthreads();
  if (n > 3) return n +
//                  ^^^ SMEM001 not understood
  __syncthreads();
}
"""
    )
