// K13, tilelang: 4-byte elements are read where 1-byte elements of the same thread are written next. The thread's own
// bytes are not the same ones: a barrier is needed.
static __global__ void k13(const float* in, unsigned char* out) {
  __shared__ __align__(16) float A[128];
  __shared__ __align__(16) unsigned char B[128];
  const int t = threadIdx.x;
  A[t] = in[t];
  for (int i = 0; i < 4; ++i) A[t] = A[t] * 1.5f + in[i];
  out[t] = (unsigned char)A[t];
  B[t] = out[t + 128];
  for (int i = 0; i < 4; ++i) B[t] = B[t] * 3 + out[i];
  out[t] = B[t];
}

void run(const float* in, unsigned char* out) { k13<<<1, 128>>>(in, out); }
