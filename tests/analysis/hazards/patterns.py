"""Kernels in the shapes that people write, each right as it stands and wrong with a line changed.

``@B`` marks a barrier that a variant takes away: ``{1}``, ``{2}`` ... are replaced by ``__syncthreads();`` or by what
the variant says instead. The codes are those that judge barriers and races.
"""

from __future__ import annotations

from dataclasses import dataclass

BARRIER = "__syncthreads();"


@dataclass(frozen=True)
class Pattern:
    """``variants``: (number of the barrier, what stands there instead, expected codes)."""

    name: str
    body: str
    block: str = "256"
    head: str = ""
    right: tuple[str, ...] = ()
    variants: tuple[tuple[int, str, tuple[str, ...]], ...] = ()
    dynamic: int = 0

    def text(self, number: int = 0, instead: str = "") -> str:
        body = self.body
        for each in range(1, 9):
            body = body.replace(f"@{each}", instead if each == number else BARRIER)
        launch = f"k<<<1, {self.block}, {self.dynamic}>>>(in, out, n);" if self.dynamic else ""
        launch = launch or f"k<<<1, {self.block}>>>(in, out, n);"
        return (
            f"__global__ void {self.head} k(const float* in, float* out, int n) {{\n{self.body_of(body)}\n}}\n"
            f"void host(const float* in, float* out, int n) {{ {launch} }}\n"
        )

    @staticmethod
    def body_of(body: str) -> str:
        return "\n".join(f"  {line}" for line in body.strip("\n").split("\n"))


MISSING = ("SMEM201",)
REUSE = ("SMEM202",)
DIVERGENT = ("SMEM203",)

PATTERNS = (
    Pattern(
        "tile GEMM",
        """
__shared__ float As[16][16];
__shared__ float Bs[16][16];
const int tx = threadIdx.x, ty = threadIdx.y;
float sum = 0;
for (int k = 0; k < n; k += 16) {
  As[ty][tx] = in[ty * n + k + tx];
  Bs[ty][tx] = in[(k + ty) * n + tx];
  @1
  for (int p = 0; p < 16; ++p) sum += As[ty][p] * Bs[p][tx];
  @2
}
out[ty * n + tx] = sum;
""",
        block="dim3(16, 16)",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "double buffer, one barrier",
        """
__shared__ float s[2][256];
const int t = threadIdx.x;
s[0][t] = in[t];
@1
for (int k = 1; k < 9; ++k) {
  s[k % 2][t] = in[k * 256 + t];
  out[k * 256 + t] = s[(k + 1) % 2][255 - t];
  @2
}
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "transpose, padded",
        """
__shared__ float tile[32][33];
const int x = threadIdx.x, y = threadIdx.y;
for (int j = 0; j < 32; j += 8) tile[y + j][x] = in[(y + j) * n + x];
@1
for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = tile[x][y + j];
""",
        block="dim3(32, 8)",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "halving reduction",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
@1
for (int h = blockDim.x / 2; h > 0; h >>= 1) {
  if (t < h) s[t] += s[t + h];
  @2
}
if (t == 0) out[0] = s[0];
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "halving reduction, the barrier only for those who add",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
__syncthreads();
for (int h = 128; h > 0; h >>= 1) {
  if (t < h) {
    s[t] += s[t + h];
    __syncthreads();
  }
}
__syncthreads();
out[t] = s[0];
""",
        right=DIVERGENT,
    ),
    Pattern(
        "interleaved reduction",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
@1
for (int h = 1; h < 256; h *= 2) {
  if (t % (2 * h) == 0) s[t] += s[t + h];
  @2
}
if (t == 0) out[0] = s[0];
""",
        variants=((2, "", MISSING),),
    ),
    Pattern(
        "scan in place",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
@1
for (int d = 1; d < 256; d *= 2) {
  float v = 0;
  if (t >= d) v = s[t - d];
  @2
  s[t] += v;
  @3
}
out[t] = s[t];
""",
        variants=((1, "", MISSING), (2, "", MISSING), (3, "", MISSING)),
    ),
    Pattern(
        "scan, two halves of one buffer",
        """
__shared__ float s[2][256];
const int t = threadIdx.x;
int from = 0;
s[0][t] = in[t];
@1
for (int d = 1; d < 256; d *= 2) {
  s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0.0f);
  from = 1 - from;
  @2
}
out[t] = s[from][t];
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "counter",
        """
__shared__ int count;
const int t = threadIdx.x;
if (t == 0) count = 0;
@1
if (in[t] > 0) atomicAdd(&count, 1);
@2
out[t] = count;
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "counter that everybody raises",
        """
__shared__ int count;
const int t = threadIdx.x;
if (t == 0) count = 0;
@1
atomicAdd(&count, t);
@2
out[t] = count;
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "stencil with halo",
        """
__shared__ float s[258];
const int t = threadIdx.x;
s[t + 1] = in[t + 1];
if (t == 0) { s[0] = in[0]; s[257] = in[257]; }
@1
out[t] = s[t] + s[t + 1] + s[t + 2];
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "stencil over time",
        """
__shared__ float s[258];
const int t = threadIdx.x;
s[t + 1] = in[t];
if (t < 2) s[t * 257] = 0;
@1
for (int i = 0; i < n; ++i) {
  float v = s[t] + s[t + 2];
  @2
  s[t + 1] = v;
  @3
}
out[t] = s[t + 1];
""",
        variants=((2, "", MISSING), (3, "", MISSING)),
    ),
    Pattern(
        "two reductions through one scratch",
        """
__shared__ float r[256];
const int t = threadIdx.x;
r[t] = in[t];
@1
for (int h = 128; h > 0; h /= 2) { if (t < h) r[t] = max(r[t], r[t + h]); @2 }
float most = r[0];
@3
r[t] = in[t] - most;
@4
for (int h = 128; h > 0; h /= 2) { if (t < h) r[t] += r[t + h]; @5 }
out[t] = r[0] + most;
""",
        variants=((3, "", MISSING), (4, "", MISSING), (5, "", MISSING)),
    ),
    Pattern(
        "block maximum over warps",
        """
__shared__ float w[32];
__shared__ float most;
const int t = threadIdx.x, lane = t % 32, warp = t / 32;
float v = in[t];
for (int d = 16; d > 0; d /= 2) v = max(v, __shfl_down_sync(0xffffffff, v, d));
if (lane == 0) w[warp] = v;
@1
if (warp == 0) {
  v = lane < 8 ? w[lane] : 0.0f;
  for (int d = 16; d > 0; d /= 2) v = max(v, __shfl_down_sync(0xffffffff, v, d));
  if (lane == 0) most = v;
}
@2
out[t] = most;
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "broadcast in a loop",
        """
__shared__ float v;
const int t = threadIdx.x;
for (int i = 0; i < n; ++i) {
  if (t == 0) v = in[i];
  @1
  out[i * 256 + t] = v;
  @2
}
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "ring of two",
        """
__shared__ float s[2][256];
const int t = threadIdx.x;
for (int i = 0; i < n; ++i) {
  s[i % 2][t] = in[i * 256 + t];
  @1
  out[i * 256 + t] = s[i % 2][t ^ 128];
}
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "ring of one",
        """
__shared__ float s[256];
const int t = threadIdx.x;
for (int i = 0; i < n; ++i) {
  s[t] = in[i * 256 + t];
  __syncthreads();
  out[i * 256 + t] = s[t ^ 128];
}
""",
        right=MISSING,
    ),
    Pattern(
        "shift in place",
        """
__shared__ float s[257];
const int t = threadIdx.x;
s[t] = in[t];
@1
float v = s[(t + 1) % 256];
@2
s[t] = v;
@3
out[t] = s[255 - t];
""",
        variants=((1, "", MISSING), (2, "", MISSING), (3, "", MISSING)),
    ),
    Pattern(
        "carved parts that do not meet",
        """
extern __shared__ float raw[];
float* a = raw;
float* b = raw + 256;
const int t = threadIdx.x;
a[t] = in[t];
b[t] = in[t + 256];
@1
out[t] = a[255 - t] + b[255 - t];
""",
        dynamic=2048,
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "carved parts that meet",
        """
extern __shared__ float raw[];
float* a = raw;
float* b = raw + 128;
const int t = threadIdx.x;
a[t] = in[t];
@1
float v = a[t];
@2
b[t] = v;
@3
out[t] = b[t];
""",
        dynamic=2048,
        variants=((2, "", REUSE),),
    ),
    Pattern(
        "union",
        """
__shared__ union { float a[256]; int b[256]; } u;
const int t = threadIdx.x;
u.a[t] = in[t];
@1
float v = u.a[255 - t];
@2
u.b[t] = int(v);
@3
out[t] = u.b[255 - t];
""",
        variants=((1, "", MISSING), (2, "", REUSE), (3, "", MISSING)),
    ),
    Pattern(
        "rows of a warp",
        """
__shared__ float s[8][32];
const int t = threadIdx.x, lane = t % 32, warp = t / 32;
s[warp][lane] = in[t];
@1
out[t] = s[warp][31 - lane];
__syncthreads();
""",
        variants=((1, "__syncwarp();", ()),),
    ),
    Pattern(
        "another warp's row",
        """
__shared__ float s[8][32];
const int t = threadIdx.x, lane = t % 32, warp = t / 32;
s[warp][lane] = in[t];
@1
out[t] = s[7 - warp][lane];
""",
        variants=((1, "__syncwarp();", MISSING),),
    ),
    Pattern(
        "early return",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (t >= n) return;
s[t] = in[t];
@1
out[t] = s[t ^ 1];
""",
    ),
    Pattern(
        "one or the other",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (n == 1) s[t] = in[t];
if (n != 1) out[t] = s[255 - t];
__syncthreads();
out[t] += s[t];
""",
    ),
    Pattern(
        "bitonic sort",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
@1
for (int k = 2; k <= 256; k *= 2) {
  for (int j = k / 2; j > 0; j /= 2) {
    int other = t ^ j;
    if (other > t) {
      float a = s[t], b = s[other];
      bool up = (t & k) == 0;
      if ((a > b) == up) { s[t] = b; s[other] = a; }
    }
    @2
  }
}
out[t] = s[t];
""",
    ),
    Pattern(
        "strided fill, strided read",
        """
__shared__ float s[1024];
const int t = threadIdx.x;
for (int i = t; i < 1024; i += 256) s[i] = in[i];
for (int i = t; i < 1024; i += 256) out[i] = s[i];
__syncthreads();
out[t] += s[t];
""",
    ),
    Pattern(
        "strided fill, blocked read",
        """
__shared__ float s[1024];
const int t = threadIdx.x;
for (int i = t; i < 1024; i += 256) s[i] = in[i];
@1
for (int q = 0; q < 4; ++q) out[4 * t + q] = s[4 * t + q];
__syncthreads();
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "strided loop with barriers inside",
        """
__shared__ float s[256];
const int t = threadIdx.x;
for (int i = t; i < 700; i += 256) {
  s[t] = in[i];
  __syncthreads();
  out[i] = s[t];
  __syncthreads();
}
__syncthreads();
""",
        right=DIVERGENT,
    ),
    Pattern(
        "tile split by division",
        """
__shared__ float s[16][17];
const int t = threadIdx.x;
s[t / 16][t % 16] = in[t];
@1
out[t] = s[t % 16][t / 16];
__syncthreads();
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "the same flag from everybody",
        """
__shared__ int flag;
const int t = threadIdx.x;
if (t == 0) flag = 0;
@1
if (in[t] > 1) flag = 1;
@2
out[t] = flag;
""",
    ),
    Pattern(
        "everybody writes what everybody reads",
        """
__shared__ int rows;
const int t = threadIdx.x;
rows = n / 2;
out[t] = in[t % rows];
__syncthreads();
""",
    ),
    Pattern(
        "rows of unknown pitch",
        """
extern __shared__ float s[];
const int t = threadIdx.x;
s[threadIdx.y * n + t] = in[t];
__syncthreads();
s[threadIdx.y * n + t] += 1;
out[t] = s[threadIdx.y * n + t];
""",
        dynamic=16384,
        block="dim3(32, 8)",
    ),
    Pattern(
        "a lock around the write",
        """
__shared__ int lock;
__shared__ float sum;
const int t = threadIdx.x;
if (t == 0) { lock = 0; sum = 0; }
@1
bool done = false;
while (!done) {
  if (atomicCAS(&lock, 0, 1) == 0) {
    sum = sum + in[t];
    __threadfence_block();
    atomicExch(&lock, 0);
    done = true;
  }
}
@2
out[t] = sum;
""",
    ),
    Pattern(
        "waiting for a flag",
        """
__shared__ int ready;
__shared__ float v;
const int t = threadIdx.x;
if (t == 0) ready = 0;
@1
if (t == 0) { v = in[0]; __threadfence_block(); atomicExch(&ready, 1); }
while (atomicAdd(&ready, 0) == 0) {}
out[t] = v;
""",
    ),
    Pattern(
        "a function that may synchronise",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
wait_for_all();
out[t] = s[255 - t];
__syncthreads();
""",
    ),
    Pattern(
        "named barriers",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
asm volatile("bar.sync 1, 256;");
out[t] = s[255 - t];
__syncthreads();
""",
    ),
    Pattern(
        "warps of two kinds",
        """
__shared__ float s[128];
const int t = threadIdx.x;
if (t < 128) {
  s[t] = in[t];
  __syncthreads();
} else {
  __syncthreads();
  out[t] = s[t - 128];
}
""",
    ),
    Pattern(
        "one warp fills, all read",
        """
__shared__ float s[32];
const int t = threadIdx.x;
if (t < 32) s[t] = in[t];
@1
out[t] = s[t % 32];
@2
if (t < 32) s[t] = 0;
@3
out[t] += s[31 - t % 32];
""",
        variants=((1, "", MISSING), (2, "", MISSING), (3, "", MISSING)),
    ),
    Pattern(
        "own slots",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
s[t] *= 2;
out[t] = s[t];
__syncthreads();
""",
    ),
    Pattern(
        "vectors and their parts",
        """
__shared__ __align__(16) float s[1024];
const int t = threadIdx.x;
reinterpret_cast<float4*>(s)[t] = reinterpret_cast<const float4*>(in)[t];
@1
out[t] = s[t] + s[1023 - t];
__syncthreads();
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "a helper reads what the kernel wrote",
        """
__shared__ float s[256];
auto get = [&](int i) { return s[i]; };
const int t = threadIdx.x;
s[t] = in[t];
@1
out[t] = get(255 - t);
__syncthreads();
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "block that returns for what it loads",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (__ldg(in + blockIdx.x) == -1.0f) return;
s[t] = in[t];
@1
out[t] = s[255 - t];
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "block that returns unless it loads a small number",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (__ldg(in + blockIdx.x) > 32.0f) return;
s[t] = in[t];
@1
out[t] = s[255 - t];
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "blocks below the diagonal return",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (blockIdx.y > blockIdx.x) return;
s[t] = in[blockIdx.x * 256 + t];
@1
out[blockIdx.y * 256 + t] = s[255 - t];
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "barriers under a flag that all threads read from one address",
        """
__shared__ unsigned removed[64];
const int t = threadIdx.x, m = fminf(n, 64);
if (t < 64) removed[t] = 0;
@1
for (int k = 0; k < 64; ++k) {
  unsigned now = removed[k];
  @2
  for (int bit = 0; bit < 8; ++bit) {
    if (!(now & (1u << bit))) {
      for (int j = t; j < m; j += blockDim.x) {
        if (j >= k) removed[j] |= (unsigned)in[k * 64 + j];
      }
      @3
      now = removed[k];
    }
    @4
  }
}
""",
        variants=((1, "", MISSING), (2, "", MISSING), (3, "", MISSING)),
    ),
    Pattern(
        "loop that counts up to a number in shared memory",
        """
__shared__ int sizes[256];
__shared__ int starts[256];
const int t = threadIdx.x;
sizes[t] = (int)in[t];
starts[t] = (int)in[n + t];
@1
float sum = 0;
for (int i = 0; i < sizes[255 - t]; ++i) sum += in[i];
int last = 0;
for (; last < 256; ++last) {
  if (starts[last]) break;
}
out[t] = sum + last;
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "as many elements as there are left",
        """
__shared__ float s[64];
const int t = threadIdx.x;
const int m = fminf(n - blockIdx.x * 64, 64);
if (t < m) s[t] = in[blockIdx.x * 64 + t];
@1
float sum = 0;
for (int i = 0; i < m; ++i) sum += s[i];
out[t] = sum;
""",
        variants=((1, "", MISSING),),
    ),
)
