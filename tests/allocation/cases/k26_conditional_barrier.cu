// K26: the only barrier between A and B stands under a thread's condition, or in one arm of a uniform one.
static __global__ void k26(const float* in, float* out, int n) {
  __shared__ float A[128];
  __shared__ float B[128];
  const int t = threadIdx.x;
  A[t] = in[t];
  __syncthreads();
  out[t] = A[127 - t];
  if (t < 32) __syncthreads();
  B[t] = in[t + 128];
  __syncthreads();
  out[t + 128] = B[127 - t];
}

static __global__ void k26_one_arm(const float* in, float* out, int n) {
  __shared__ float A[128];
  __shared__ float B[128];
  const int t = threadIdx.x;
  A[t] = in[t];
  __syncthreads();
  out[t] = A[127 - t];
  if (n > 0) __syncthreads();
  B[t] = in[t + 128];
  __syncthreads();
  out[t + 128] = B[127 - t];
}

void run(const float* in, float* out, int n) {
  k26<<<1, 128>>>(in, out, n);
  k26_one_arm<<<1, 128>>>(in, out, n);
}
