// K5, nvFuser SkippedSyncInterval: two loop nests next to each other, T0 840 B and T2 960 B.
static __global__ void k05(const float* in, float* out) {
  __shared__ __align__(16) float T0[5][42];
  __shared__ __align__(16) float T2[6][40];
  for (int h = 0; h < 5; ++h) {
    if (threadIdx.x < 42) T0[h][threadIdx.x] = in[h * 42 + threadIdx.x];
    if (threadIdx.x < 42) out[h * 42 + threadIdx.x] = T0[h][41 - threadIdx.x];
  }
  for (int h = 0; h < 6; ++h) {
    if (threadIdx.x < 40) T2[h][threadIdx.x] = in[h * 40 + threadIdx.x];
    if (threadIdx.x < 40) out[h * 40 + threadIdx.x] += T2[h][39 - threadIdx.x];
  }
}

void run(const float* in, float* out) {
  k05<<<1, 128>>>(in, out);
}
