// K19, IREE shared_reuse_scf_for: 32768 B, then a loop with 16384 B twice. Over 48 KiB as it stands.
static __global__ void k19(const float* in, float* out, int n) {
  __shared__ __align__(16) float A[8192];
  __shared__ __align__(16) float B[4096];
  __shared__ __align__(16) float C[4096];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = t; i < 8192; i += 128) A[i] = in[i];
  __syncthreads();
  for (int i = 0; i < 64; ++i) sum += A[(t * 61 + i) % 8192];
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    for (int i = t; i < 4096; i += 128) B[i] = in[k + i];
    for (int i = t; i < 4096; i += 128) C[i] = in[k + 2 * i];
    __syncthreads();
    sum += B[4095 - t] * C[t * 17 % 4096];
    __syncthreads();
  }
  out[t] = sum;
}

void run(const float* in, float* out, int n) {
  k19<<<1, 128>>>(in, out, n);
}
