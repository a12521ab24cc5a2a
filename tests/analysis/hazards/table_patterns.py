"""Rows of the table of patterns that ``patterns`` and ``warp_patterns`` lack: see ``test_table``."""

from __future__ import annotations

from analysis.hazards.patterns import DIVERGENT, MISSING, REUSE, Pattern
from analysis.hazards.warp_patterns import LANES, UNWRITTEN

REDUNDANT = ("SMEM204",)

PATTERNS = (
    Pattern(
        "double buffer, the stage that is read is written",
        """
__shared__ float s[2][256];
const int t = threadIdx.x;
s[0][t] = in[t];
__syncthreads();
for (int k = 1; k < 9; ++k) {
  s[(k + 1) % 2][t] = in[k * 256 + t];
  out[k * 256 + t] = s[(k + 1) % 2][255 - t];
  __syncthreads();
}
""",
        right=MISSING,
    ),
    Pattern(
        "halving reduction, its tail in one warp",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
@1
for (int h = 128; h > 32; h >>= 1) {
  if (t < h) s[t] += s[t + h];
  @2
}
if (t < 32) {
  for (int d = 32; d > 0; d >>= 1) {
    float v = s[t] + s[t + d];
    __syncwarp();
    s[t] = v;
    __syncwarp();
  }
  if (t == 0) out[0] = s[0];
}
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "only the tail",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
@1
if (t < 32) {
  for (int d = 32; d > 0; d >>= 1) {
    float v = s[t] + s[t + d];
    __syncwarp();
    s[t] = v;
    __syncwarp();
  }
  if (t == 0) out[0] = s[0];
}
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "Blelloch's scan",
        """
__shared__ float s[128];
const int t = threadIdx.x;
s[2 * t] = in[2 * t];
s[2 * t + 1] = in[2 * t + 1];
int offset = 1;
for (int d = 64; d > 0; d >>= 1) {
  @1
  if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
  offset *= 2;
}
if (t == 0) s[127] = 0;
for (int d = 1; d < 128; d *= 2) {
  offset >>= 1;
  @2
  if (t < d) {
    float v = s[offset * (2 * t + 1) - 1];
    s[offset * (2 * t + 1) - 1] = s[offset * (2 * t + 2) - 1];
    s[offset * (2 * t + 2) - 1] += v;
  }
}
@3
out[2 * t] = s[2 * t];
out[2 * t + 1] = s[2 * t + 1];
""",
        block="64",
        right=("SMEM204",),  # in the last turn of the second loop each thread has its own two elements
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "histogram without atomics",
        """
__shared__ int bins[256];
const int t = threadIdx.x;
bins[t] = 0;
__syncthreads();
bins[(int)in[t] & 255]++;
__syncthreads();
out[t] = bins[t];
""",
        right=MISSING,
    ),
    Pattern(
        "ring of three",
        """
__shared__ float s[3][256];
const int t = threadIdx.x;
for (int k = 0; k < 9; ++k) {
  s[k % 3][t] = in[k * 256 + t];
  @1
  out[k * 256 + t] = s[k % 3][255 - t];
}
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "the tail has returned",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (t + blockIdx.x * 256 >= n) return;
s[t] = in[t];
__syncthreads();
out[t] = s[t ^ 1];
""",
    ),
    Pattern(
        "the later warps have returned",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (t >= 64) return;
s[t] = in[t];
__syncthreads();
out[t] = s[t ^ 1];
""",
    ),
    Pattern(
        "a block has returned",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (blockIdx.x == 7) return;
s[t] = in[t];
__syncthreads();
out[t] = s[t ^ 1];
""",
    ),
    Pattern(
        "barrier behind a size",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
if (n > 0) {
  __syncthreads();
  out[t] = s[255 - t];
}
""",
    ),
    Pattern(
        "barrier of one warp",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
if (t < 32) {
  __syncthreads();
}
__syncthreads();
out[t] = s[255 - t];
""",
        right=DIVERGENT,
    ),
    Pattern(
        "barrier behind data",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
if (in[0] > 0) {
  __syncthreads();
}
out[t] = s[255 - t];
""",
    ),
    Pattern(
        "break on a shared flag",
        """
__shared__ int stop;
const int t = threadIdx.x;
for (int i = 0; i < n; ++i) {
  if (t == 0) stop = in[i] > 0;
  @1
  if (stop) break;
  @2
}
out[t] = 1;
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "break on a shared flag, one for odd and one for even iterations",
        """
__shared__ int stop[2];
const int t = threadIdx.x;
for (int i = 0; i < n; ++i) {
  if (t == 0) stop[i & 1] = in[i] > 0;
  @1
  if (stop[i & 1]) break;
}
out[t] = 1;
""",
    ),
    Pattern(
        "break on a shared flag, at the latest after one iteration",
        """
__shared__ int stop;
const int t = threadIdx.x;
for (int i = 0;; ++i) {
  if (t == 0) stop = in[i] > 0;
  @1
  if (stop || i == 0) break;
}
out[t] = 1;
""",
    ),
    Pattern(
        "again while a shared flag is set",
        """
__shared__ int changed;
const int t = threadIdx.x;
int i = 0;
do {
  @1
  if (t == 0) changed = 0;
  @2
  if (t == 255) changed = in[i] > 0;
  @3
  ++i;
} while (changed);
out[t] = i;
""",
        variants=((1, "", MISSING), (2, "", ()), (3, "", MISSING)),  # 2: both may write the same
    ),
    Pattern(
        "bitonic sort of 128",
        """
__shared__ float s[128];
const int t = threadIdx.x;
s[t] = in[t];
@1
for (int k = 2; k <= 128; k *= 2) {
  for (int j = k / 2; j > 0; j /= 2) {
    int other = t ^ j;
    if (other > t) {
      float a = s[t], b = s[other];
      bool swap = ((t & k) == 0) == (a > b);
      s[t] = swap ? b : a;
      s[other] = swap ? a : b;
    }
    @2
  }
}
out[t] = s[t];
""",
        block="128",
        variants=((1, "", LANES), (2, "", MISSING)),
    ),
    Pattern(
        "two barriers in a row",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
__syncthreads();
__syncthreads();
out[t] = s[255 - t];
""",
        right=REDUNDANT,
    ),
    Pattern(
        "barrier between own slots",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = t * 2;
__syncthreads();
out[t] = s[t];
""",
        right=REDUNDANT,
    ),
    Pattern(
        "barrier at the end",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
__syncthreads();
out[t] = s[255 - t];
__syncthreads();
""",
        right=REDUNDANT,
    ),
    Pattern(
        "storage of a reduction used twice",
        """
typedef cub::BlockReduce<float, 256> Reduce;
__shared__ typename Reduce::TempStorage storage;
const int t = threadIdx.x;
float sum = Reduce(storage).Sum(in[t]);
@1
float most = Reduce(storage).Sum(in[t + 256]);
if (t == 0) out[0] = sum + most;
""",
        variants=((1, "", REUSE),),
    ),
    Pattern(
        "as long as any thread wants",
        """
__shared__ float s[256];
const int t = threadIdx.x;
float v = in[t];
s[t] = v;
while (__syncthreads_or(v > 0)) {
  v -= s[255 - t];
  __syncthreads();
  s[t] = v;
}
out[t] = v;
""",
    ),
    Pattern(
        "as long as the first thread wants",
        """
__shared__ int more;
const int t = threadIdx.x;
for (int i = 0; i < 8; ++i) {
  if (t == 0) more = i;
  out[t] += more;
  __syncthreads();
}
""",
        right=MISSING,
    ),
    Pattern(
        "barrier for memory of the device",
        """
const int t = threadIdx.x;
out[t] = in[t];
__syncthreads();
out[256 + t] = out[255 - t];
""",
    ),
    Pattern(
        "a scalar that nobody writes",
        """
__shared__ int count;
const int t = threadIdx.x;
out[t] = count;
""",
        right=UNWRITTEN,
    ),
    Pattern(
        "no barrier, dynamic",
        """
extern __shared__ float s[];
const int t = threadIdx.x;
s[t] = in[t];
out[t] = s[t ^ 32];
""",
        dynamic=1024,
        right=MISSING,
    ),
    Pattern(
        "no barrier, dynamic, up to 256 threads",
        """
extern __shared__ float s[];
const int t = threadIdx.x;
s[t] = in[t];
out[t] = s[t ^ 32];
""",
        head="__launch_bounds__(256)",
        dynamic=1024,
        right=MISSING,
    ),
    Pattern(
        "carved at an offset that is given",
        """
extern __shared__ float s[];
float* a = s;
float* b = s + n;
const int t = threadIdx.x;
a[t] = in[t];
b[t] = in[t + 1];
@1
out[t] = a[255 - t] + b[255 - t];
""",
        dynamic=4096,
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "union, both halves own",
        """
__shared__ union { float f[256]; int i[256]; } u;
const int t = threadIdx.x;
u.f[t] = in[t];
@1
out[t] = u.f[255 - t];
@2
u.i[t] = t;
@3
out[t] += u.i[t ^ 64];
""",
        variants=((1, "", MISSING), (2, "", REUSE), (3, "", MISSING)),
    ),
)
