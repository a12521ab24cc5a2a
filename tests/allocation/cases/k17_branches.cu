// K17, IREE alloc_with_if: A 512 B or B 512 B, then C 128 B. The arms of a block-uniform condition never run together;
// those of a thread's condition run at the same time.
static __global__ void k17(const float* in, float* out, int which) {
  __shared__ __align__(16) float A[128];
  __shared__ __align__(16) float B[128];
  __shared__ __align__(16) float C[32];
  const int t = threadIdx.x;
  float sum = 0.0f;
  if (which == 1) {
    A[t] = in[t];
    __syncthreads();
    sum = A[127 - t];
  } else {
    B[t] = in[t + 128];
    __syncthreads();
    sum = B[127 - t];
  }
  if (t < 32) C[t] = sum;
  __syncthreads();
  out[t] = C[31 - t % 32];
}

static __global__ void k17_divergent(const float* in, float* out, int which) {
  __shared__ __align__(16) float A[128];
  __shared__ __align__(16) float B[128];
  __shared__ __align__(16) float C[32];
  const int t = threadIdx.x;
  float sum = 0.0f;
  if (t < which) {
    A[t] = in[t];
    sum = A[127 - t];
  } else {
    B[t] = in[t + 128];
    sum = B[127 - t];
  }
  if (t < 32) C[t] = sum;
  __syncthreads();
  out[t] = C[31 - t % 32];
}

void run(const float* in, float* out, int which) {
  k17<<<1, 128>>>(in, out, which);
  k17_divergent<<<1, 128>>>(in, out, which);
}
