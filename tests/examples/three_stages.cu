// Three filters in a row over one segment of a signal. Each stage leaves its result in shared memory for the next, and
// none of them looks back further than one stage. Six blocks of 256 threads fill a multiprocessor of sm_120.
#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int COARSE = 7 * THREADS;  // floats of each stage
constexpr int MIDDLE = 8 * THREADS;
constexpr int FINE = 9 * THREADS;

__global__ void __launch_bounds__(THREADS, 6) three_stages(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float coarse[COARSE];
  __shared__ float middle[MIDDLE];
  __shared__ float fine[FINE];
  const int t = threadIdx.x;

  for (int i = t; i < COARSE; i += THREADS) coarse[i] = in[blockIdx.x * COARSE + i];
  __syncthreads();

  float level = 0.0f;
  for (int i = 0; i < 7; ++i) level += coarse[(t + i * 31) % COARSE];
  for (int i = t; i < MIDDLE; i += THREADS) middle[i] = level * (i + 1);
  __syncthreads();

  float slope = 0.0f;
  for (int i = 0; i < 8; ++i) slope += middle[(t + i * 37) % MIDDLE];
  for (int i = t; i < FINE; i += THREADS) fine[i] = slope - level * i;
  __syncthreads();

  float result = 0.0f;
  for (int i = 0; i < 9; ++i) result += fine[(t + i * 41) % FINE];
  out[blockIdx.x * THREADS + t] = result;
}

void filter(const float* in, float* out, int segments, cudaStream_t stream) {
  three_stages<<<segments, THREADS, 0, stream>>>(in, out);
}
