// C = A * B for row-major single precision matrices whose sides are multiples of 32.
//
// A block of 256 threads computes one 32 x 32 tile of C. A thread keeps four rows of one column in registers, so its
// own results are 32 floats apart in a row of C: the tile goes through shared memory once more and leaves as float4.
#include <cuda_runtime.h>

constexpr int TILE = 32;
constexpr int THREADS = 256;
constexpr int ROWS = TILE * TILE / THREADS;  // rows per thread

__global__ void __launch_bounds__(THREADS) gemm(const float* __restrict__ A, const float* __restrict__ B,
                                                float* __restrict__ C, int n, int k) {
  __shared__ float As[TILE][TILE];
  __shared__ float Bs[TILE][TILE];
  __shared__ float Cs[TILE][TILE];

  const int col = threadIdx.x % TILE;
  const int row = threadIdx.x / TILE * ROWS;
  const int tile_row = blockIdx.y * TILE;
  const int tile_col = blockIdx.x * TILE;

  float sum[ROWS] = {};
  for (int step = 0; step < k; step += TILE) {
    for (int i = 0; i < ROWS; ++i) {
      As[row + i][col] = A[(tile_row + row + i) * k + step + col];
      Bs[row + i][col] = B[(step + row + i) * n + tile_col + col];
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < TILE; ++p) {
      for (int i = 0; i < ROWS; ++i) sum[i] += As[row + i][p] * Bs[p][col];
    }
    __syncthreads();
  }

  for (int i = 0; i < ROWS; ++i) Cs[row + i][col] = sum[i];
  __syncthreads();
  const int out_row = threadIdx.x / 8;
  const int out_col = threadIdx.x % 8 * 4;
  float4 quad;
  quad.x = Cs[out_row][out_col];
  quad.y = Cs[out_row][out_col + 1];
  quad.z = Cs[out_row][out_col + 2];
  quad.w = Cs[out_row][out_col + 3];
  *reinterpret_cast<float4*>(&C[(tile_row + out_row) * n + tile_col + out_col]) = quad;
}

void multiply(const float* A, const float* B, float* C, int m, int n, int k, cudaStream_t stream) {
  gemm<<<dim3(n / TILE, m / TILE), THREADS, 0, stream>>>(A, B, C, n, k);
}
