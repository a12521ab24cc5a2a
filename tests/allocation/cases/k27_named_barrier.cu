// K27: between A and B stands a barrier of 64 threads; the block has 128. In the second kernel only those 64 touch A
// and B.
static __global__ void k27(const float* in, float* out, int n) {
  __shared__ float A[128];
  __shared__ float B[128];
  const int t = threadIdx.x;
  A[t] = in[t];
  __syncthreads();
  out[t] = A[127 - t];
  asm volatile("bar.sync 1, 64;" ::: "memory");
  B[t] = in[t + 128];
  __syncthreads();
  out[t + 128] = B[127 - t];
}

static __global__ void k27_only_those(const float* in, float* out, int n) {
  __shared__ float A[64];
  __shared__ float B[64];
  const int t = threadIdx.x;
  if (t < 64) {
    A[t] = in[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = A[63 - t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    B[t] = in[t + 128];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t + 128] = B[63 - t];
  }
}

void run(const float* in, float* out, int n) {
  k27<<<1, 128>>>(in, out, n);
  k27_only_those<<<1, 128>>>(in, out, n);
}
