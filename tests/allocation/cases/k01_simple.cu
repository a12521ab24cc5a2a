// K1, nvFuser SimpleCase: A 20 B and B 24 B one after the other, without and with a barrier, at 16 and at natural
// alignment.
static __global__ void k01(const float* in, float* out) {
  __shared__ __align__(16) float A[5];
  __shared__ __align__(16) float B[6];
  for (int i = threadIdx.x; i < 5; i += 128) A[i] = in[i];
  out[threadIdx.x] += A[(4 - threadIdx.x % 5)];
  for (int i = threadIdx.x; i < 6; i += 128) B[i] = in[i];
  out[threadIdx.x] += B[(5 - threadIdx.x % 6)];
}

static __global__ void k01_barrier(const float* in, float* out) {
  __shared__ __align__(16) float A[5];
  __shared__ __align__(16) float B[6];
  for (int i = threadIdx.x; i < 5; i += 128) A[i] = in[i];
  out[threadIdx.x] += A[(4 - threadIdx.x % 5)];
  __syncthreads();
  for (int i = threadIdx.x; i < 6; i += 128) B[i] = in[i];
  out[threadIdx.x] += B[(5 - threadIdx.x % 6)];
}

static __global__ void k01_natural(const float* in, float* out) {
  __shared__ float A[5];
  __shared__ float B[6];
  for (int i = threadIdx.x; i < 5; i += 128) A[i] = in[i];
  out[threadIdx.x] += A[(4 - threadIdx.x % 5)];
  for (int i = threadIdx.x; i < 6; i += 128) B[i] = in[i];
  out[threadIdx.x] += B[(5 - threadIdx.x % 6)];
}

void run(const float* in, float* out) {
  k01<<<1, 128>>>(in, out);
  k01_barrier<<<1, 128>>>(in, out);
  k01_natural<<<1, 128>>>(in, out);
}
