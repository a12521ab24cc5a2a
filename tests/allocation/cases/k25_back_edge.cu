// K25: A and B take turns in a loop with one barrier between them. B of this turn meets A of the next one: sharing
// needs a second barrier, at the end of the loop.
static __global__ void k25(const float* in, float* out, int n) {
  __shared__ float A[128];
  __shared__ float B[128];
  const int t = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    A[t] = in[k + t];
    __syncthreads();
    float a = A[127 - t];
    __syncthreads();
    B[t] = a;
    __syncthreads();
    out[k + t] = B[(t + 1) % 128];
  }
}

void run(const float* in, float* out, int n) {
  k25<<<1, 128>>>(in, out, n);
}
