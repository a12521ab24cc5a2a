// K14, IREE disjoint: A 512 B and B 1024 B in a loop, C 128 B after it.
static __global__ void k14(const float* in, float* out, int n) {
  __shared__ __align__(16) float A[128];
  __shared__ __align__(16) float B[256];
  __shared__ __align__(16) float C[32];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) {
    A[t] = in[k + t];
    B[t] = in[k + 2 * t];
    B[t + 128] = in[k + 3 * t];
    __syncthreads();
    sum += A[127 - t] + B[(t * 3 + 1) % 256];
  }
  if (t < 32) C[t] = sum;
  __syncthreads();
  out[t] = C[31 - t % 32];
}

void run(const float* in, float* out, int n) {
  k14<<<1, 128>>>(in, out, n);
}
