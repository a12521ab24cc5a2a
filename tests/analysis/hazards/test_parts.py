"""Pointers that carve a buffer: none is meant to lead into the next one's part, however large a size may be."""

from __future__ import annotations

from carets import expect

RACES = ("SMEM201", "SMEM202")


def test_a_size_that_is_not_known_leads_out_of_no_part() -> None:
    expect(
        """
__global__ void k(const float* x, float* y, int n) {
  extern __shared__ float smem[];
  float* row = smem;
  float* tile = row + 32;
  int t = threadIdx.x;
  for (int i = t; i < n * n; i += 256) tile[i] = x[i];
  __syncthreads();
  for (int r = t; r < n; r += 256) {
    float v = 0;
    for (int c = 0; c < n; ++c) v += tile[r * n + c];
    row[r] = v;
  }
  __syncthreads();
  y[t] = row[t & 31];
}
void host(const float* x, float* y, int n) { k<<<1, 256, 4 * n>>>(x, y, n); }
""",
        among=RACES,
    )


def test_it_leads_anywhere_in_its_own() -> None:
    expect(
        """
__global__ void k(const float* x, float* y, int n) {
  extern __shared__ float smem[];
  float* row = smem;
  float* tile = row + 32;
  int t = threadIdx.x;
  for (int i = t; i < n * n; i += 256) tile[i] = x[i];
  __syncthreads();
  for (int r = t; r < n; r += 256) {
    float v = 0;
    for (int c = 0; c < n; ++c) v += tile[r * n + c];
    row[r] = v;
  }
  y[t] = row[(t + 32) & 63 & n];
//       ^^^^^^^^^^^^^^^^^^^^^^ SMEM201 thread 0 writes `smem[0]`
}
void host(const float* x, float* y, int n) { k<<<1, 256, 4 * n>>>(x, y, n); }
""",
        among=RACES,
    )


def test_an_index_of_another_thread_races_in_its_own_part() -> None:
    expect(
        """
__global__ void k(const float* x, float* y, int n) {
  extern __shared__ float smem[];
  float* row = smem;
  float* tile = row + 32;
  int t = threadIdx.x;
  for (int i = t; i < n; i += 256) tile[i] = x[i];
  y[t] = tile[t ^ 64];
//       ^^^^^^^^^^^^ SMEM201 thread 0 writes `smem[32]`
}
void host(const float* x, float* y, int n) { k<<<1, 256, 4 * n>>>(x, y, n); }
""",
        among=RACES,
    )


def test_a_helper_is_given_a_part() -> None:
    expect(
        """
__device__ void put(float* p, const float* x, int n) { for (int i = threadIdx.x; i < n; i += 256) p[i] = x[i]; }
__global__ void k(const float* x, float* y, int n) {
  extern __shared__ float smem[];
  float* row = smem;
  float* tile = smem + 32;
  put(row, x, n);
  put(tile, x + n, n);
}
void host(const float* x, float* y, int n) { k<<<1, 256, 4 * n>>>(x, y, n); }
""",
        among=("SMEM2",),
    )


def test_a_block_that_is_not_known_leads_out_of_no_part_that_two_warps_fit_in() -> None:
    expect(
        """
__global__ void k(const float* x, float* y) {
  __shared__ float s[2048];
  float* a = s;
  float* b = s + 64;
  int t = threadIdx.x;
  b[t] = x[t];
  y[t] = a[t];
  __syncthreads();
}
""",
        among=RACES,
    )


def test_a_view_of_another_part_shifted_by_a_few_elements_races_in_every_block() -> None:
    expect(
        """
__global__ void k(const float* x, float* y) {
  __shared__ float s[2048];
  float* a = s;
  float* b = s + 4;
  int t = threadIdx.x;
  b[t] = x[t];
  y[t] = a[t];
//       ^^^^ SMEM201 thread 28 writes `s[32]`
  __syncthreads();
}
""",
        among=RACES,
    )


def test_a_block_that_is_known_leads_into_the_next_part() -> None:
    expect(
        """
__global__ void k(const float* x, float* y) {
  __shared__ float s[2048];
  float* a = s;
  float* b = s + 64;
  int t = threadIdx.x;
  b[t] = x[t];
  y[t] = a[t];
//       ^^^^ SMEM201 thread 0 writes `s[64]`
  __syncthreads();
}
void host(const float* x, float* y) { k<<<1, 256>>>(x, y); }
""",
        among=RACES,
    )
