// K9, TVM simple_alloc_no_reuse: A 512 B and B 512 B in one statement.
static __global__ void k09(const float* in, float* out) {
  __shared__ float A[128];
  __shared__ float B[128];
  const int t = threadIdx.x;
  A[t] = in[t], B[t] = in[t + 128];
  __syncthreads();
  out[t] = A[127 - t] + B[(t + 5) % 128];
}

void run(const float* in, float* out) {
  k09<<<1, 128>>>(in, out);
}
