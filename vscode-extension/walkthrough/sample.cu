// A sample for smem-lsp: one block smooths a row of numbers and finds its largest value.
// Two things are wrong with its shared memory. The walkthrough shows both.
#include <cuda_runtime.h>

constexpr int THREADS = 256;
constexpr int POINTS = 4096;
constexpr int PEAKS = 2048;

__global__ void __launch_bounds__(THREADS) smooth(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float signal[POINTS];
  __shared__ float peaks[PEAKS];  // 1. its bytes could be those of `signal`
  const int t = threadIdx.x;

  for (int i = t; i < POINTS; i += THREADS) signal[i] = in[blockIdx.x * POINTS + i];
  // 2. a barrier is missing here: other threads write what the loop below reads

  float mean[PEAKS / THREADS];
  for (int i = 0; i < PEAKS / THREADS; ++i) {
    const int at = 2 * (t + i * THREADS);
    mean[i] = 0.5f * (signal[at] + signal[at + 1]);
  }
  __syncthreads();

  for (int i = 0; i < PEAKS / THREADS; ++i) peaks[t + i * THREADS] = mean[i];
  __syncthreads();

  for (int half = PEAKS / 2; half > 0; half /= 2) {
    for (int i = t; i < half; i += THREADS) peaks[i] = fmaxf(peaks[i], peaks[i + half]);
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = peaks[0];
}

void largest_of_each_block(const float* in, float* out, int blocks, cudaStream_t stream) {
  smooth<<<blocks, THREADS, 0, stream>>>(in, out);
}
