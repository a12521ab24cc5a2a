// K10, TVM simple_alloc_reuse: A 512 B, then B 512 B. Only where each thread keeps to its own element no barrier is
// needed; in the second kernel a thread reads what another one wrote.
static __global__ void k10(const float* in, float* out) {
  __shared__ float A[128];
  __shared__ float B[128];
  const int t = threadIdx.x;
  A[t] = in[t];
  for (int i = 0; i < 8; ++i) A[t] = A[t] * 1.5f + in[i];
  out[t] = A[t];
  B[t] = in[t + 128];
  for (int i = 0; i < 8; ++i) B[t] = B[t] * 2.5f + in[i];
  out[t + 128] = B[t];
}

static __global__ void k10_shared(const float* in, float* out) {
  __shared__ float A[128];
  __shared__ float B[128];
  const int t = threadIdx.x;
  A[t] = in[t];
  __syncthreads();
  out[t] = A[127 - t];
  B[t] = in[t + 128];
  __syncthreads();
  out[t + 128] = B[127 - t];
}

void run(const float* in, float* out) {
  k10<<<1, 128>>>(in, out);
  k10_shared<<<1, 128>>>(in, out);
}
