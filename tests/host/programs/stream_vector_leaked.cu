#include <cuda_runtime.h>
#include <vector>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host(float* p, int n) {
  std::vector<cudaStream_t> streams(n);
  for (auto& s : streams) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);  // SMEM601
  for (int i = 0; i < n; ++i) fill<<<1, 32, 0, streams[i]>>>(p + 32 * i);
  for (auto s : streams) cudaStreamSynchronize(s);
}
void program() { host(nullptr, 3); }
