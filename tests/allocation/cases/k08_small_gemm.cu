// K8: the 64 x 64 tile of table 1.4, 16384 B three times: the same blocks with and without reuse.
static __global__ void k08(const float* in, float* out, int n) {
  __shared__ __align__(16) float A[4096];
  __shared__ __align__(16) float B[4096];
  __shared__ __align__(16) float C[4096];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) {
    for (int i = t; i < 4096; i += 128) A[i] = in[k * 4096 + i];
    for (int i = t; i < 4096; i += 128) B[i] = in[k * 4096 + i];
    __syncthreads();
    for (int i = 0; i < 64; ++i) sum += A[(t + i) % 4096] * B[(t * 7 + i) % 4096];
  }
  for (int i = t; i < 4096; i += 128) C[i] = sum + i;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) out[i] = C[4096 - 1 - i];
}

void run(const float* in, float* out, int n) {
  k08<<<1, 128>>>(in, out, n);
}
