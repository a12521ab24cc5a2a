"""SMEM101: the declaration of a buffer that nobody uses is removed."""

from __future__ import annotations

from harness import (
    check_rewrite,
)


def test_an_unused_buffer_is_removed() -> None:
    check_rewrite(
        """
 __global__ void k(float* out) {
   __shared__ float a[256], b[256];
-  __shared__ float c[256];
   a[threadIdx.x] = 1.0f;
   __syncthreads();
   b[threadIdx.x] = a[255 - threadIdx.x];
   __syncthreads();
   out[threadIdx.x] = b[255 - threadIdx.x];
 }
""",
        code="SMEM101",
    )
