"""Patterns inside one warp, over the ends of arrays and before the first write: see ``patterns``."""

from __future__ import annotations

from analysis.hazards.patterns import MISSING, Pattern

LANES = ("SMEM205",)
MASK = ("SMEM208",)
OUTSIDE = ("SMEM402",)
UNWRITTEN = ("SMEM103",)

PATTERNS = (
    Pattern(
        "reduction in one warp, read and write apart",
        """
__shared__ float s[64];
const int t = threadIdx.x;
s[t] = in[t];
s[t + 32] = in[t + 32];
__syncwarp();
float v = s[t] + s[t + 32];
for (int d = 16; d > 0; d >>= 1) {
  s[t] = v;
  __syncwarp();
  float w = t < d ? s[t + d] : 0.0f;
  __syncwarp();
  v += w;
}
if (t == 0) out[0] = v;
""",
        block="32",
    ),
    Pattern(
        "reduction in step with the warp",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
__syncthreads();
for (int d = 128; d > 32; d >>= 1) {
  if (t < d) s[t] += s[t + d];
  __syncthreads();
}
if (t < 32) {
  s[t] += s[t + 32];
  s[t] += s[t + 16];
  s[t] += s[t + 8];
}
if (t == 0) out[0] = s[0];
""",
        right=LANES,
    ),
    Pattern(
        "the same with volatile",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
__syncthreads();
if (t < 32) {
  volatile float* v = s;
  v[t] += v[t + 16];
  v[t] += v[t + 8];
}
__syncthreads();
out[t] = s[0];
""",
        right=LANES,
    ),
    Pattern(
        "a row for each warp",
        """
__shared__ float s[8][32];
const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
s[warp][lane] = in[threadIdx.x];
__syncwarp();
out[threadIdx.x] = s[warp][31 - lane];
__syncthreads();
""",
    ),
    Pattern(
        "a row for each warp, nothing between",
        """
__shared__ float s[8][32];
const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
s[warp][lane] = in[threadIdx.x];
out[threadIdx.x] = s[warp][31 - lane];
__syncthreads();
""",
        right=LANES,
    ),
    Pattern(
        "a row for each warp, a shuffle between",
        """
__shared__ float s[8][32];
const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
s[warp][lane] = in[threadIdx.x];
float m = __shfl_sync(0xffffffff, in[threadIdx.x], 0);
out[threadIdx.x] = m + s[warp][31 - lane];
__syncthreads();
""",
        right=LANES,
    ),
    Pattern(
        "a tile of cooperative groups synchronises",
        """
__shared__ float s[8][32];
auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
s[warp][lane] = in[threadIdx.x];
tile.sync();
out[threadIdx.x] = s[warp][31 - lane];
__syncthreads();
""",
    ),
    Pattern(
        "two threads for each cell",
        """
__shared__ float s[128];
const int t = threadIdx.x;
s[t >> 1] = in[t];
__syncthreads();
out[t] = s[t >> 1];
""",
        right=LANES,
    ),
    Pattern(
        "two threads for each cell, the same value",
        """
__shared__ float s[128];
const int t = threadIdx.x;
s[t >> 1] = in[t >> 1];
__syncthreads();
out[t] = s[t >> 1];
""",
    ),
    Pattern(
        "lane 0 of each warp writes one cell",
        """
__shared__ float s[8];
const int t = threadIdx.x;
if (t % 32 == 0) s[0] = in[t];
__syncthreads();
out[t] = s[0];
""",
        right=MISSING,
    ),
    Pattern(
        "everybody adds to one cell",
        """
__shared__ float s[1];
const int t = threadIdx.x;
if (t == 0) s[0] = 0;
__syncthreads();
s[0] += in[t];
__syncthreads();
out[t] = s[0];
""",
        right=MISSING,
    ),
    Pattern(
        "who comes last wins, nobody knows who comes",
        """
__shared__ int s[1];
const int t = threadIdx.x;
if (t == 0) s[0] = -1;
__syncthreads();
if (in[t] > 0) s[0] = t;
__syncthreads();
out[t] = s[0];
""",
    ),
    Pattern(
        "cleared by one, filled by another",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = 0;
@1
s[255 - t] = in[t];
__syncthreads();
out[t] = s[t];
""",
        variants=((1, "", MISSING),),
    ),
    # ---- where data lead
    Pattern(
        "histogram",
        """
__shared__ int s[256];
const int t = threadIdx.x;
s[t] = 0;
@1
for (int i = t; i < n; i += 256) atomicAdd(&s[int(in[i]) & 255], 1);
@2
out[t] = s[t];
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "a row for each thread, data inside",
        """
__shared__ int s[1024];
const int t = threadIdx.x;
for (int i = 0; i < 4; ++i) s[t * 4 + i] = 0;
for (int i = 0; i < n; ++i) ++s[t * 4 + (int(in[i]) & 3)];
out[t] = s[t * 4];
__syncthreads();
""",
    ),
    Pattern(
        "indices in an array of the thread's own",
        """
__shared__ float s[256];
const int t = threadIdx.x;
int own[4];
for (int i = 0; i < 4; ++i) own[i] = t;
s[own[n & 3]] = in[t];
for (int i = 0; i < 4; ++i) out[t] += s[own[i]];
__syncthreads();
""",
    ),
    # ---- choices and sizes
    Pattern(
        "behind a flag that the kernel is given",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
@1
if (out != nullptr) out[t] = s[255 - t];
__syncthreads();
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "small sizes in one warp",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (n <= 32) {
  s[t] = in[t];
  __syncwarp();
  out[t] = s[t ^ 31];
} else {
  for (int i = t; i < n; i += 256) s[i & 255] = in[i];
  __syncthreads();
  out[t] = s[255 - t];
}
""",
    ),
    # ---- masks
    Pattern(
        "shuffle in the first half of a warp",
        """
float v = in[threadIdx.x];
if (threadIdx.x < 16) v += __shfl_down_sync(0xffffffff, v, 8);
out[threadIdx.x] = v;
""",
        right=MASK,
    ),
    Pattern(
        "its own mask",
        """
float v = in[threadIdx.x];
if (threadIdx.x < 16) v += __shfl_down_sync(0xffff, v, 8);
out[threadIdx.x] = v;
""",
    ),
    Pattern(
        "a mask that was asked for",
        """
float v = in[threadIdx.x];
const unsigned mask = __ballot_sync(0xffffffff, int(threadIdx.x) < n);
if (int(threadIdx.x) < n) v += __shfl_down_sync(mask, v, 8);
out[threadIdx.x] = v;
""",
    ),
    Pattern(
        "the tail of an array",
        """
float v = 0;
if (int(threadIdx.x) < n) v += __shfl_down_sync(0xffffffff, in[threadIdx.x], 8);
out[threadIdx.x] = v;
""",
        right=MASK,
    ),
    Pattern(
        "the others have returned",
        """
float v = in[threadIdx.x];
if (int(threadIdx.x) >= n) return;
v += __shfl_down_sync(0xffffffff, v, 8);
out[threadIdx.x] = v;
""",
    ),
    Pattern(
        "whole warps",
        """
float v = in[threadIdx.x];
if (threadIdx.x / 32 < n) v += __shfl_xor_sync(0xffffffff, v, 8);
out[threadIdx.x] = v;
""",
    ),
    Pattern(
        "__syncwarp before lanes behind the end return",
        """
const int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i < n) {
  float v = in[i];
  __syncwarp();
  out[i] = v;
}
""",
    ),
    Pattern(
        "__syncwarp before lanes behind the end go on",
        """
const int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i < n) {
  float v = in[i];
  __syncwarp();
  out[i] = v;
}
__syncwarp();
if (i > n) out[n] = 0;
""",
        right=MASK,
    ),
    Pattern(
        "__syncwarp for some lanes",
        """
float v = in[threadIdx.x];
if (threadIdx.x % 2) { v = 0; __syncwarp(); }
out[threadIdx.x] = v;
""",
        right=MASK,
    ),
    # ---- over the end
    Pattern(
        "one behind the end",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t + 1] = in[t];
__syncthreads();
out[t] = s[t];
""",
        right=OUTSIDE,
    ),
    Pattern(
        "a whole tile through its first row",
        """
__shared__ float s[8][32];
const int t = threadIdx.x;
s[0][t] = in[t];
__syncthreads();
out[t] = s[t % 8][t / 8];
""",
    ),
    Pattern(
        "as far as the size that is given",
        """
__shared__ float s[256];
for (int i = threadIdx.x; i < n; i += 256) s[i] = in[i];
__syncthreads();
out[threadIdx.x] = s[threadIdx.x];
""",
    ),
    Pattern(
        "behind a check of the size that is given",
        """
__shared__ float s[128];
const int t = threadIdx.x;
if (t >= n) return;
s[t] = in[t];
out[t] = s[t];
""",
    ),
    # ---- before the first write
    Pattern(
        "sums that nobody cleared",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] += in[t];
__syncthreads();
out[t] = s[255 - t];
""",
        right=UNWRITTEN,
    ),
    Pattern(
        "cleared in the last iteration",
        """
__shared__ float s[256];
const int t = threadIdx.x;
for (int i = 0; i < n; ++i) {
  if (i > 0) out[t] += s[255 - t];
  __syncthreads();
  s[t] = in[t + i];
  __syncthreads();
}
""",
    ),
    Pattern(
        "written by a function that is not in sight",
        """
__shared__ float s[256];
fill(s, in);
__syncthreads();
out[threadIdx.x] = s[threadIdx.x];
""",
    ),
    # ---- who leaves in between
    Pattern(
        "a return beside barriers in both arms",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
if (t < 128) {
  if (n == 0) return;
  __syncthreads();
} else {
  if (n == 0) return;
  __syncthreads();
}
out[t] = s[255 - t];
""",
    ),
    Pattern(
        "a return in one of many iterations",
        """
__shared__ float s[256];
const int t = threadIdx.x;
for (int i = 0; i < 40; ++i) {
  if (i == 20 && t >= 32) return;
  __syncthreads();
}
s[t] = in[t];
out[t] = s[t ^ 32];
""",
    ),
    Pattern(
        "who synchronises at the end of each iteration",
        """
__shared__ float s[256];
const int t = threadIdx.x;
#pragma unroll
for (int i = 0; i < 40; ++i) {
  s[t] = in[t];
  synchronise_somehow(i);
  out[t] += s[255 - t];
  synchronise_somehow(i);
}
__syncthreads();
""",
    ),
)
