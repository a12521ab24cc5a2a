// K22, MiniMalloc InfeasibleTricky in units of 1024 B: 4096 B are live at most, no layout is under 5120 B.
static __global__ void k22(const unsigned char* in, unsigned char* out) {
  __shared__ unsigned char b0[3072];
  __shared__ unsigned char b1[1024];
  __shared__ unsigned char b2[3072];
  __shared__ unsigned char b3[1024];
  __shared__ unsigned char b4[2048];
  __shared__ unsigned char b5[2048];
  __shared__ unsigned char b6[1024];
  const int t = threadIdx.x;
  int sum = 0;
  for (int i = t; i < 3072; i += 128) b0[i] = in[i + 0] + sum;
  for (int i = t; i < 1024; i += 128) b1[i] = in[i + 0] + sum;
  __syncthreads();
  sum += b0[(t * 7 + 0) % 3072];
  __syncthreads();
  for (int i = t; i < 2048; i += 128) b4[i] = in[i + 1] + sum;
  for (int i = t; i < 1024; i += 128) b6[i] = in[i + 1] + sum;
  __syncthreads();
  sum += b4[(t * 7 + 1) % 2048];
  __syncthreads();
  for (int i = t; i < 1024; i += 128) b3[i] = in[i + 2] + sum;
  __syncthreads();
  sum += b1[(t * 7 + 2) % 1024];
  __syncthreads();
  for (int i = t; i < 2048; i += 128) b5[i] = in[i + 3] + sum;
  __syncthreads();
  sum += b5[(t * 7 + 3) % 2048];
  sum += b6[(t * 7 + 3) % 1024];
  __syncthreads();
  for (int i = t; i < 3072; i += 128) b2[i] = in[i + 4] + sum;
  __syncthreads();
  sum += b2[(t * 7 + 4) % 3072];
  sum += b3[(t * 7 + 4) % 1024];
  out[t] = sum;
}

void run(const unsigned char* in, unsigned char* out) {
  k22<<<1, 128>>>(in, out);
}
