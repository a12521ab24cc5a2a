// K24: A 8192 B, B 1024 B, C 8192 B, D 128 B at 128-byte alignment. A small buffer at the bottom of the stack decides.
static __global__ void k24(const float* in, float* out) {
  __shared__ __align__(128) float A[2048];
  __shared__ __align__(128) float B[256];
  __shared__ __align__(128) float C[2048];
  __shared__ __align__(128) float D[32];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = t; i < 2048; i += 128) A[i] = in[i];
  if (t < 32) D[t] = in[t + 1];
  sum += D[0];
  __syncthreads();
  for (int i = t; i < 256; i += 128) B[i] = in[i + 2];
  sum += A[2047 - t];
  __syncthreads();
  for (int i = t; i < 2048; i += 128) C[i] = in[i + 3];
  sum += C[(t * 3) % 2048];
  __syncthreads();
  out[t] = sum + B[255 - t];
}

void run(const float* in, float* out) {
  k24<<<1, 128>>>(in, out);
}
