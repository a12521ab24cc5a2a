// K11, TVM async_copy: A 512 B and B 512 B filled by cp.async. Without a wait both are in flight to the end; after
// wait_group 0 and a barrier the first is done.
#include <cuda_pipeline.h>

static __global__ void k11(const float* in, float* out) {
  __shared__ __align__(16) float A[128];
  __shared__ __align__(16) float B[128];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&A[t], &in[t], 4);
  __pipeline_commit();
  __syncthreads();
  out[t] = A[127 - t];
  __syncthreads();
  __pipeline_memcpy_async(&B[t], &in[t + 128], 4);
  __pipeline_commit();
  __syncthreads();
  out[t + 128] = B[127 - t];
}

static __global__ void k11_waited(const float* in, float* out) {
  __shared__ __align__(16) float A[128];
  __shared__ __align__(16) float B[128];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&A[t], &in[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = A[127 - t];
  __syncthreads();
  __pipeline_memcpy_async(&B[t], &in[t + 128], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t + 128] = B[127 - t];
}

void run(const float* in, float* out) {
  k11<<<1, 128>>>(in, out);
  k11_waited<<<1, 128>>>(in, out);
}
