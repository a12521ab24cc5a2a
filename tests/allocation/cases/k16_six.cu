// K16, IREE view_like_ops: six buffers of 512 B one after the other.
static __global__ void k16(const float* in, float* out) {
  __shared__ __align__(16) float A[128];
  __shared__ __align__(16) float B[128];
  __shared__ __align__(16) float C[128];
  __shared__ __align__(16) float D[128];
  __shared__ __align__(16) float E[128];
  __shared__ __align__(16) float F[128];
  for (int i = threadIdx.x; i < 128; i += 128) A[i] = in[i];
  out[threadIdx.x] += A[(127 - threadIdx.x % 128)];
  for (int i = threadIdx.x; i < 128; i += 128) B[i] = in[i];
  out[threadIdx.x] += B[(127 - threadIdx.x % 128)];
  for (int i = threadIdx.x; i < 128; i += 128) C[i] = in[i];
  out[threadIdx.x] += C[(127 - threadIdx.x % 128)];
  for (int i = threadIdx.x; i < 128; i += 128) D[i] = in[i];
  out[threadIdx.x] += D[(127 - threadIdx.x % 128)];
  for (int i = threadIdx.x; i < 128; i += 128) E[i] = in[i];
  out[threadIdx.x] += E[(127 - threadIdx.x % 128)];
  for (int i = threadIdx.x; i < 128; i += 128) F[i] = in[i];
  out[threadIdx.x] += F[(127 - threadIdx.x % 128)];
}

void run(const float* in, float* out) {
  k16<<<1, 128>>>(in, out);
}
