// K3, nvFuser PromoteReuseMultipleDownstream: A 28 B, B 32 B, C 36 B one after the other.
static __global__ void k03(const float* in, float* out) {
  __shared__ __align__(16) float A[7];
  __shared__ __align__(16) float B[8];
  __shared__ __align__(16) float C[9];
  for (int i = threadIdx.x; i < 7; i += 128) A[i] = in[i];
  out[threadIdx.x] += A[(6 - threadIdx.x % 7)];
  for (int i = threadIdx.x; i < 8; i += 128) B[i] = in[i];
  out[threadIdx.x] += B[(7 - threadIdx.x % 8)];
  for (int i = threadIdx.x; i < 9; i += 128) C[i] = in[i];
  out[threadIdx.x] += C[(8 - threadIdx.x % 9)];
}

void run(const float* in, float* out) {
  k03<<<1, 128>>>(in, out);
}
