// K2, nvFuser NeedsReorderedPush: A 20 B dies where C 24 B begins, B 24 B lives across both.
static __global__ void k02(const float* in, float* out) {
  __shared__ __align__(16) float A[5];
  __shared__ __align__(16) float B[6];
  __shared__ __align__(16) float C[6];
  const int t = threadIdx.x;
  if (t < 5) A[t] = in[t];
  if (t < 6) B[t] = in[t + 5];
  out[t] += A[(t + 1) % 5];
  if (t < 6) C[t] = in[t + 11];
  out[t] += B[(t + 1) % 6] + C[(t + 2) % 6];
}

static __global__ void k02_barrier(const float* in, float* out) {
  __shared__ __align__(16) float A[5];
  __shared__ __align__(16) float B[6];
  __shared__ __align__(16) float C[6];
  const int t = threadIdx.x;
  if (t < 5) A[t] = in[t];
  if (t < 6) B[t] = in[t + 5];
  out[t] += A[(t + 1) % 5];
  __syncthreads();
  if (t < 6) C[t] = in[t + 11];
  out[t] += B[(t + 1) % 6] + C[(t + 2) % 6];
}

void run(const float* in, float* out) {
  k02<<<1, 128>>>(in, out);
  k02_barrier<<<1, 128>>>(in, out);
}
