// K6, TVM matmul: A 512 B and B 512 B in the k-loop, C 1024 B after it; the loop ends in a barrier and may run zero
// times. In the second kernel A is also read before the loop, and nothing orders that before C.
static __global__ void k06(const float* in, float* out, int n) {
  __shared__ __align__(16) float A[128];
  __shared__ __align__(16) float B[128];
  __shared__ __align__(16) float C[256];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) {
    for (int i = t; i < 128; i += 128) A[i] = in[k * 128 + i];
    for (int i = t; i < 128; i += 128) B[i] = in[k * 128 + i];
    __syncthreads();
    for (int i = 0; i < 64; ++i) sum += A[(t + i) % 128] * B[(t * 7 + i) % 128];
    __syncthreads();
  }
  for (int i = t; i < 256; i += 128) C[i] = sum + i;
  __syncthreads();
  for (int i = t; i < 256; i += 128) out[i] = C[256 - 1 - i];
}

static __global__ void k06_read_before(const float* in, float* out, int n) {
  __shared__ __align__(16) float A[128];
  __shared__ __align__(16) float B[128];
  __shared__ __align__(16) float C[256];
  const int t = threadIdx.x;
  float sum = 0.0f;
  A[t] = in[t];
  __syncthreads();
  sum += A[127 - t];
  for (int k = 0; k < n; ++k) {
    for (int i = t; i < 128; i += 128) A[i] = in[k * 128 + i];
    for (int i = t; i < 128; i += 128) B[i] = in[k * 128 + i];
    __syncthreads();
    for (int i = 0; i < 64; ++i) sum += A[(t + i) % 128] * B[(t * 7 + i) % 128];
    __syncthreads();
  }
  for (int i = t; i < 256; i += 128) C[i] = sum + i;
  __syncthreads();
  for (int i = t; i < 256; i += 128) out[i] = C[256 - 1 - i];
}

void run(const float* in, float* out, int n) {
  k06<<<1, 128>>>(in, out, n);
  k06_read_before<<<1, 128>>>(in, out, n);
}
