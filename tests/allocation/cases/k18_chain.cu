// K18, IREE trivial_reuse and trivial_non_reuse: four stages of 16384 B, once and twice, barriers between the stages.
// Each stage overwrites its buffer whole, so the second turn needs nothing of the first; in the third kernel it
// overwrites half of it. Over 48 KiB as it stands.
static __global__ void k18(const float* in, float* out) {
  __shared__ __align__(16) float A[4096];
  __shared__ __align__(16) float B[4096];
  __shared__ __align__(16) float C[4096];
  __shared__ __align__(16) float D[4096];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = t; i < 4096; i += 128) A[i] = in[i] + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += A[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) B[i] = in[i] * sum + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += B[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) C[i] = in[i] * sum + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += C[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) D[i] = in[i] * sum + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += D[4095 - i];
  __syncthreads();
  out[t] = sum;
}

static __global__ void k18_twice(const float* in, float* out) {
  __shared__ __align__(16) float A[4096];
  __shared__ __align__(16) float B[4096];
  __shared__ __align__(16) float C[4096];
  __shared__ __align__(16) float D[4096];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = t; i < 4096; i += 128) A[i] = in[i] + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += A[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) B[i] = in[i] * sum + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += B[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) C[i] = in[i] * sum + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += C[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) D[i] = in[i] * sum + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += D[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) A[i] = in[i] * sum + 2.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += A[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) B[i] = in[i] * sum + 2.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += B[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) C[i] = in[i] * sum + 2.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += C[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) D[i] = in[i] * sum + 2.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += D[4095 - i];
  __syncthreads();
  out[t] = sum;
}

static __global__ void k18_partly(const float* in, float* out) {
  __shared__ __align__(16) float A[4096];
  __shared__ __align__(16) float B[4096];
  __shared__ __align__(16) float C[4096];
  __shared__ __align__(16) float D[4096];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = t; i < 4096; i += 128) A[i] = in[i] + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += A[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) B[i] = in[i] * sum + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += B[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) C[i] = in[i] * sum + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += C[4095 - i];
  __syncthreads();
  for (int i = t; i < 4096; i += 128) D[i] = in[i] * sum + 1.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += D[4095 - i];
  __syncthreads();
  for (int i = t; i < 2048; i += 128) A[i] = in[i] * sum + 2.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += A[4095 - i];
  __syncthreads();
  for (int i = t; i < 2048; i += 128) B[i] = in[i] * sum + 2.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += B[4095 - i];
  __syncthreads();
  for (int i = t; i < 2048; i += 128) C[i] = in[i] * sum + 2.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += C[4095 - i];
  __syncthreads();
  for (int i = t; i < 2048; i += 128) D[i] = in[i] * sum + 2.0f;
  __syncthreads();
  for (int i = t; i < 4096; i += 128) sum += D[4095 - i];
  __syncthreads();
  out[t] = sum;
}

void run(const float* in, float* out) {
  k18<<<1, 128>>>(in, out);
  k18_twice<<<1, 128>>>(in, out);
  k18_partly<<<1, 128>>>(in, out);
}
