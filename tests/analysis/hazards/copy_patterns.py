"""Pipelines of asynchronous copies, each right as it stands and wrong with a piece of its text changed."""

from __future__ import annotations

from dataclasses import dataclass

NOT_WAITED = ("SMEM206",)
MISSING = ("SMEM201",)

GROUPS = """\
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
"""
ASSEMBLER = """\
__device__ __forceinline__ void cp_async(void* to, const void* from, bool wanted = true) {
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("{\\n .reg .pred p;\\n setp.ne.b32 p, %0, 0;\\n @p cp.async.cg.shared.global [%1], [%2], 16;\\n}\\n"
               :: "r"(static_cast<int>(wanted)), "r"(at), "l"(from));
}
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;\\n" ::); }
template <int N>
__device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;\\n" :: "n"(N)); }
"""


@dataclass(frozen=True)
class Copies:
    """A kernel of 256 threads. ``broken``: (what is replaced, by what, expected codes)."""

    name: str
    body: str
    broken: tuple[tuple[str, str, tuple[str, ...]], ...]
    head: str = ""
    n: int = 4096

    def text(self, number: int = -1) -> str:
        body = self.body
        if number >= 0:
            old, new, _ = self.broken[number]
            assert body.count(old) == 1, (self.name, old)
            body = body.replace(old, new)
        lines = "\n".join(f"  {line}" if line else "" for line in body.strip("\n").split("\n"))
        return (
            f"#include <cuda_pipeline.h>\n{self.head}"
            f"static __global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {{\n"
            f"  const int t = threadIdx.x;\n{lines}\n}}\n"
            "void host(const float* in, float* out, int n) { k<<<1, 256>>>(in, out, n); }\n"
        )


PATTERNS = (
    Copies(
        "one tile",
        """
__shared__ float s[256];
__pipeline_memcpy_async(&s[t], &in[t], 4);
__pipeline_commit();
__pipeline_wait_prior(0);
__syncthreads();
out[t] = s[255 - t];
""",
        (
            ("__pipeline_wait_prior(0);\n", "", NOT_WAITED),
            ("__pipeline_wait_prior(0);", "__pipeline_wait_prior(1);", NOT_WAITED),
            ("__syncthreads();\n", "", NOT_WAITED),
            ("__pipeline_commit();\n", "", NOT_WAITED),
            (
                "__pipeline_wait_prior(0);\n__syncthreads();",
                "__syncthreads();\n__pipeline_wait_prior(0);",
                NOT_WAITED,
            ),
        ),
    ),
    Copies(
        "own element",
        """
__shared__ float s[256];
__pipeline_memcpy_async(&s[t], &in[t], 4);
__pipeline_commit();
__pipeline_wait_prior(0);
out[t] = s[t];
""",
        (("__pipeline_wait_prior(0);\n", "", NOT_WAITED),),
    ),
    Copies(
        "two tiles in turn",
        """
__shared__ float a[256], b[256];
__pipeline_memcpy_async(&a[t], &in[t], 4);
__pipeline_commit();
__pipeline_memcpy_async(&b[t], &in[256 + t], 4);
__pipeline_commit();
__pipeline_wait_prior(1);
__syncthreads();
float v = a[255 - t];
__pipeline_wait_prior(0);
__syncthreads();
out[t] = v + b[255 - t];
""",
        (
            ("__pipeline_wait_prior(1);\n__sync", "__pipeline_wait_prior(2);\n__sync", NOT_WAITED),
            ("__pipeline_wait_prior(0);\n__sync", "__sync", NOT_WAITED),
            (
                "4);\n__pipeline_commit();\n__pipeline_wait_prior(1)",
                "4);\n__pipeline_wait_prior(1)",
                NOT_WAITED,
            ),
            ("__pipeline_wait_prior(0);\n__syncthreads();", "__pipeline_wait_prior(0);", NOT_WAITED),
        ),
    ),
    Copies(
        "two stages",
        """
__shared__ float s[2][256];
float sum = 0;
const int steps = n / 256;
__pipeline_memcpy_async(&s[0][t], &in[t], 4);
__pipeline_commit();
for (int k = 0; k < steps; ++k) {
  if (k + 1 < steps) {
    __pipeline_memcpy_async(&s[(k + 1) % 2][t], &in[(k + 1) * 256 + t], 4);
  }
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  sum += s[k % 2][255 - t];
  __syncthreads();
}
out[t] = sum;
""",
        (
            ("  __pipeline_wait_prior(1);\n  __sync", "  __sync", NOT_WAITED),
            ("wait_prior(1);", "wait_prior(2);", NOT_WAITED),
            ("  __pipeline_wait_prior(1);\n  __syncthreads();", "  __pipeline_wait_prior(1);", NOT_WAITED),
            ("  sum += s[k % 2][255 - t];\n  __syncthreads();", "  sum += s[k % 2][255 - t];", MISSING),
            # the last tile is not followed by a group
            ("  }\n  __pipeline_commit();\n", "    __pipeline_commit();\n  }\n", NOT_WAITED),
            ("sum += s[k % 2]", "sum += s[(k + 1) % 2]", NOT_WAITED),
        ),
    ),
    Copies(
        "two stages, the last wait for everything",
        """
__shared__ float s[2][256];
float sum = 0;
__pipeline_memcpy_async(&s[0][t], &in[t], 4);
__pipeline_commit();
for (int k = 0; k < n; ++k) {
  if (k + 1 < n) {
    __pipeline_memcpy_async(&s[(k + 1) & 1][t], &in[(k + 1) * 256 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
  } else {
    __pipeline_wait_prior(0);
  }
  __syncthreads();
  sum += s[k & 1][255 - t];
  __syncthreads();
}
out[t] = sum;
""",
        (("wait_prior(0);", "wait_prior(1);", NOT_WAITED),),
        n=12,
    ),
    Copies(
        "three stages",
        """
constexpr int S = 3;
__shared__ float s[S][1024];
float sum = 0;
for (int i = 0; i < S - 1; ++i) {
  cp_async(&s[i][4 * t], in + i * 1024 + 4 * t);
  cp_async_commit();
}
for (int k = 0; k < n; ++k) {
  cp_async_wait<S - 2>();
  __syncthreads();
  if (k + S - 1 < n) cp_async(&s[(k + S - 1) % S][4 * t], in + (k + S - 1) * 1024 + 4 * t);
  cp_async_commit();
  for (int j = 0; j < 4; ++j) sum += s[k % S][(4 * t + 516 + j) % 1024];
}
out[t] = sum;
""",
        (
            ("  __syncthreads();\n", "", ("SMEM201", "SMEM206")),
            ("<S - 2>", "<S - 1>", NOT_WAITED),
            (
                "  cp_async_wait<S - 2>();\n  __syncthreads();\n"
                "  if (k + S - 1 < n) cp_async(&s[(k + S - 1) % S][4 * t], in + (k + S - 1) * 1024 + 4 * t);\n",
                "  if (k + S - 1 < n) cp_async(&s[(k + S - 1) % S][4 * t], in + (k + S - 1) * 1024 + 4 * t);\n"
                "  cp_async_wait<S - 2>();\n  __syncthreads();\n",
                MISSING,
            ),
            ("(k + S - 1) % S", "(k + S) % S", NOT_WAITED),
            ("  cp_async_wait<S - 2>();\n", "", NOT_WAITED),
        ),
        head=ASSEMBLER,
        n=12,
    ),
    Copies(
        "four stages with a rotating slot",
        """
__shared__ float s[4][1024];
float sum = 0;
for (int i = 0; i < 3; ++i) {
  cp_async(&s[i][4 * t], in + i * 1024 + 4 * t, i < n);
  cp_async_commit();
}
int from = 0, into = 3;
for (int k = 0; k < n; ++k) {
  cp_async_wait<2>();
  __syncthreads();
  cp_async(&s[into][4 * t], in + (k + 3) * 1024 + 4 * t, k + 3 < n);
  cp_async_commit();
  sum += s[from][1023 - 4 * t];
  from = (from + 1) % 4;
  into = (into + 1) % 4;
}
out[t] = sum;
""",
        (
            ("cp_async_wait<2>();", "cp_async_wait<3>();", NOT_WAITED),
            ("int from = 0, into = 3;", "int from = 1, into = 3;", NOT_WAITED),
            ("int from = 0, into = 3;", "int from = 0, into = 2;", NOT_WAITED),
        ),
        head=ASSEMBLER,
        n=12,
    ),
    Copies(
        "copies of one warp",
        """
__shared__ float s[8][32];
const int warp = t / 32, lane = t % 32;
__pipeline_memcpy_async(&s[warp][lane], &in[t], 4);
__pipeline_commit();
__pipeline_wait_prior(0);
__syncwarp();
out[t] = s[warp][31 - lane];
""",
        (
            ("__pipeline_wait_prior(0);\n", "", NOT_WAITED),
            ("__syncwarp();\n", "", NOT_WAITED),
            ("s[warp][31", "s[7 - warp][31", NOT_WAITED),
        ),
    ),
    Copies(
        "a tile that is filled up with zeros",
        """
__shared__ float s[256];
if (t < 200) {
  __pipeline_memcpy_async(&s[t], &in[t], 4);
} else {
  s[t] = 0;
}
__pipeline_commit();
__pipeline_wait_prior(0);
__syncthreads();
out[t] = s[255 - t];
""",
        (
            ("__pipeline_wait_prior(0);\n", "", NOT_WAITED),
            ("if (t < 200) {", "s[t] = 1;\nif (t < 200) {", ()),
            ("__pipeline_commit();", "s[t] *= 2;\n__pipeline_commit();", NOT_WAITED),
        ),
    ),
    Copies(
        "a tile that the block copies",
        """
__shared__ float s[256];
auto block = cg::this_thread_block();
cg::memcpy_async(block, s, in, sizeof(s));
cg::wait(block);
out[t] = s[255 - t];
""",
        (("cg::wait(block);\n", "", NOT_WAITED), ("cg::wait(block);", "block.sync();", NOT_WAITED)),
        head=GROUPS,
    ),
    Copies(
        "two tiles that the block copies",
        """
__shared__ float s[256];
__shared__ float r[256];
auto block = cg::this_thread_block();
cg::memcpy_async(block, s, in, 1024);
cg::memcpy_async(block, r, in + 256, 1024);
cg::wait_prior<1>(block);
out[t] = s[255 - t];
cg::wait(block);
out[t] += r[255 - t];
""",
        (
            ("cg::wait_prior<1>(block);", "cg::wait_prior<2>(block);", NOT_WAITED),
            ("out[t] = s[255 - t];", "out[t] = r[255 - t];", NOT_WAITED),
        ),
        head=GROUPS,
    ),
    Copies(
        "one half is copied, the other is read",
        """
__shared__ float s[512];
auto block = cg::this_thread_block();
cg::memcpy_async(block, s, in, 1024);
cg::wait(block);
cg::memcpy_async(block, s + 256, in + 256, 1024);
out[t] = s[255 - t];
cg::wait(block);
out[t] += s[511 - t];
""",
        (
            ("out[t] = s[255 - t];", "out[t] = s[256 + t];", NOT_WAITED),
            (
                "cg::wait(block);\nout[t] += s[511 - t];",
                "out[t] += s[511 - t];\ncg::wait(block);",
                NOT_WAITED,
            ),
        ),
        head=GROUPS,
    ),
    Copies(
        "a copy of each thread, bound to a barrier",
        """
__shared__ float s[256];
__shared__ cuda::barrier<cuda::thread_scope_block> bar;
if (t == 0) init(&bar, 256);
__syncthreads();
cuda::memcpy_async(&s[t], &in[t], sizeof(float), bar);
bar.arrive_and_wait();
out[t] = s[255 - t];
""",
        (
            (
                "bar.arrive_and_wait();\nout[t] = s[255 - t];",
                "out[t] = s[t];\nbar.arrive_and_wait();",
                NOT_WAITED,
            ),
            ("bar.arrive_and_wait();", "__syncthreads();", NOT_WAITED),
        ),
        head="#include <cuda/barrier>\n",
    ),
    Copies(
        "a copy of each thread, in a stage of its pipeline",
        """
__shared__ float s[256];
auto pipe = cuda::make_pipeline();
pipe.producer_acquire();
cuda::memcpy_async(&s[t], &in[t], sizeof(float), pipe);
pipe.producer_commit();
pipe.consumer_wait();
__syncthreads();
out[t] = s[255 - t];
pipe.consumer_release();
""",
        (
            ("pipe.consumer_wait();\n", "", NOT_WAITED),
            ("pipe.consumer_wait();\n__syncthreads();", "pipe.consumer_wait();", NOT_WAITED),
            ("pipe.consumer_wait();", "__pipeline_wait_prior(0);", ()),
        ),
        head="#include <cuda/pipeline>\n",
    ),
    Copies(
        "two stages of a pipeline that helpers fill and wait for",
        """
__shared__ float s[2][256];
auto pipe = cuda::make_pipeline();
fill(pipe, s[0], in);
for (int i = 0; i < n / 256; ++i) {
  if (i + 1 < n / 256) fill(pipe, s[(i + 1) & 1], in + (i + 1) * 256);
  arrived(pipe);
  out[i * 256 + t] = s[i & 1][255 - t];
  __syncthreads();
  pipe.consumer_release();
}
""",
        (
            ("  arrived(pipe);\n", "  __syncthreads();\n", NOT_WAITED),
            ("  arrived(pipe);\n", "  pipe.consumer_wait();\n", NOT_WAITED),
        ),
        head="""#include <cuda/pipeline>
__device__ void fill(cuda::pipeline<cuda::thread_scope_thread>& pipe, float* to, const float* from) {
  pipe.producer_acquire();
  cuda::memcpy_async(&to[threadIdx.x], &from[threadIdx.x], sizeof(float), pipe);
  pipe.producer_commit();
}
template <typename Pipe>
__device__ void arrived(Pipe& stages) {
  stages.consumer_wait();
  __syncthreads();
}
""",
    ),
)
