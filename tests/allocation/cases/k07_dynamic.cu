// K7 as it has to be written: the three tiles carved out of dynamic shared memory.
static __global__ void k07_dynamic(const float* in, float* out, int n) {
  extern __shared__ __align__(16) float smem[];
  float* A = smem;
  float* B = A + 8192;
  float* C = B + 8192;
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) {
    for (int i = t; i < 8192; i += 128) A[i] = in[k * 8192 + i];
    for (int i = t; i < 8192; i += 128) B[i] = in[k * 8192 + i];
    __syncthreads();
    for (int i = 0; i < 64; ++i) sum += A[(t + i) % 8192] * B[(t * 7 + i) % 8192];
  }
  for (int i = t; i < 16384; i += 128) C[i] = sum + i;
  __syncthreads();
  for (int i = t; i < 16384; i += 128) out[i] = C[16384 - 1 - i];
}

void run(const float* in, float* out, int n) { k07_dynamic<<<1, 128, 131072>>>(in, out, n); }
