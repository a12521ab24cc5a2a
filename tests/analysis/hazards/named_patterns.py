"""Warps that go different ways, ordered by named barriers: right as it stands, wrong with pieces of text changed."""

from __future__ import annotations

from dataclasses import dataclass

MISSING = ("SMEM201",)
COUNT = ("SMEM207",)

HEAD = """\
__device__ __forceinline__ void sync(int id, int n) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory"); }
__device__ __forceinline__ void arrive(int id, int n) {
  asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(n) : "memory");
}
"""

Changes = tuple[tuple[str, str], ...]  # what is replaced, by what


@dataclass(frozen=True)
class Warps:
    """A kernel of 256 threads. ``broken``: changes, expected codes."""

    name: str
    body: str
    broken: tuple[tuple[Changes, tuple[str, ...]], ...]

    def text(self, number: int = -1) -> str:
        body = self.body
        for old, new in self.broken[number][0] if number >= 0 else ():
            assert body.count(old) == 1, (self.name, old)
            body = body.replace(old, new)
        lines = "\n".join(f"  {line}" if line else "" for line in body.strip("\n").split("\n"))
        return (
            f"{HEAD}static __global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {{\n"
            f"  const int t = threadIdx.x, warp = t / 32, lane = t % 32;\n{lines}\n}}\n"
            "void host(const float* in, float* out, int n) { k<<<1, 256>>>(in, out, n); }\n"
        )


PATTERNS = (
    Warps(
        "a producer and a consumer, one slot",
        """
__shared__ float s[128];
if (t < 128) {
  for (int i = 0; i < n; ++i) {
    sync(2, 256);
    s[t] = in[i * 128 + t];
    arrive(1, 256);
  }
} else {
  for (int i = 0; i < n; ++i) {
    arrive(2, 256);
    sync(1, 256);
    out[t] = s[t - 128];
  }
}
""",
        (
            ((("    sync(2, 256);\n", ""), ("    arrive(2, 256);\n", "")), MISSING),
            ((("    arrive(1, 256);\n", ""), ("    sync(1, 256);\n", "")), MISSING),
            (
                (
                    (
                        "    s[t] = in[i * 128 + t];\n    arrive(1, 256);",
                        "    arrive(1, 256);\n    s[t] = in[i];",
                    ),
                ),
                MISSING,
            ),
            (
                (
                    (
                        "    sync(1, 256);\n    out[t] = s[t - 128];",
                        "    out[t] = s[t - 128];\n    sync(1, 256);",
                    ),
                ),
                MISSING,
            ),
            ((("    arrive(1, 256);\n", ""),), COUNT),
        ),
    ),
    Warps(
        "both wait for each other",
        """
__shared__ float s[128];
for (int i = 0; i < n; ++i) {
  if (t < 128) {
    s[t] = in[i * 128 + t];
    sync(1, 256);
    sync(2, 256);
  } else {
    sync(1, 256);
    out[t] = s[255 - t];
    sync(2, 256);
  }
}
""",
        (
            (
                (
                    ("    sync(1, 256);\n    sync(2, 256);", "    sync(1, 256);"),
                    ("s[255 - t];\n    sync(2, 256);", "s[255 - t];"),
                ),
                MISSING,
            ),
            (
                (
                    (
                        "    sync(1, 256);\n    out[t] = s[255 - t];",
                        "    out[t] = s[255 - t];\n    sync(1, 256);",
                    ),
                ),
                MISSING,
            ),
        ),
    ),
    Warps(
        "a ring of two slots",
        """
__shared__ float s[2][128];
if (t < 128) {
  for (int i = 0; i < n; ++i) {
    if (i >= 2) sync(3 + i % 2, 256);
    s[i % 2][t] = in[i * 128 + t];
    arrive(1 + i % 2, 256);
  }
} else {
  for (int i = 0; i < n; ++i) {
    sync(1 + i % 2, 256);
    out[t] = s[i % 2][255 - t];
    if (i + 2 < n) arrive(3 + i % 2, 256);
  }
}
""",
        (
            (
                (
                    ("    if (i >= 2) sync(3 + i % 2, 256);\n", ""),
                    ("    if (i + 2 < n) arrive(3 + i % 2, 256);\n", ""),
                ),
                MISSING,
            ),
            ((("    out[t] = s[i % 2][255 - t];", "    out[t] = s[(i + 1) % 2][255 - t];"),), MISSING),
        ),
    ),
    Warps(
        "one warp fills, seven take",
        """
__shared__ float s[32];
if (warp == 0) {
  s[lane] = in[lane];
  arrive(1, 256);
} else {
  sync(1, 256);
  out[t] = s[31 - lane];
}
""",
        (
            (
                (("  sync(1, 256);\n  out[t] = s[31 - lane];", "  out[t] = s[31 - lane];\n  sync(1, 256);"),),
                MISSING,
            ),
        ),
    ),
    Warps(
        "a barrier for each half of the block",
        """
__shared__ float s[256];
const int half = t / 128;
s[t] = in[t];
sync(1 + half, 128);
out[t] = s[half * 128 + 127 - t % 128];
""",
        (
            ((("s[half * 128 + 127 - t % 128]", "s[255 - t]"),), MISSING),
            ((("sync(1 + half, 128);\n", ""),), MISSING),
        ),
    ),
    Warps(
        "a reduction in each half",
        """
__shared__ float s[2][128];
const int half = t / 128, u = t % 128;
s[half][u] = in[t];
sync(1 + half, 128);
for (int d = 64; d > 0; d >>= 1) {
  if (u < d) s[half][u] += s[half][u + d];
  sync(1 + half, 128);
}
if (u == 0) out[half] = s[half][0];
""",
        (((("s[half][u] = in[t];\nsync(1 + half, 128);", "s[half][u] = in[t];"),), MISSING),),
    ),
    Warps(
        "loads, sums, stores",
        """
__shared__ float a[64];
__shared__ float b[64];
if (warp < 2) {
  a[t] = in[t];
  arrive(1, 128);
} else if (warp < 4) {
  sync(1, 128);
  b[t - 64] = a[127 - t] * 2;
  arrive(2, 192);
} else {
  sync(2, 192);
  out[t] = b[t % 64];
}
""",
        (
            (
                (
                    (
                        "  sync(1, 128);\n  b[t - 64] = a[127 - t] * 2;",
                        "  b[t - 64] = a[127 - t] * 2;\n  sync(1, 128);",
                    ),
                ),
                MISSING,
            ),
            ((("out[t] = b[t % 64];", "out[t] = b[t % 64] + a[t % 64];\n  a[t % 64] = t;"),), MISSING),
            (
                (
                    (
                        "  b[t - 64] = a[127 - t] * 2;\n  arrive(2, 192);",
                        "  arrive(2, 192);\n  b[t - 64] = a[127 - t] * 2;",
                    ),
                ),
                MISSING,
            ),
        ),
    ),
    Warps(
        "written before the ways part",
        """
__shared__ float table[32];
__shared__ float s[128];
if (t < 32) table[t] = in[t];
__syncthreads();
if (t < 128) {
  s[t] = table[31 - t % 32];
  arrive(1, 256);
} else {
  sync(1, 256);
  out[t] = s[255 - t] + table[t % 32];
}
""",
        (
            ((("__syncthreads();\n", ""),), MISSING),
            ((("  arrive(1, 256);\n", ""), ("  sync(1, 256);\n", "")), MISSING),
        ),
    ),
    Warps(
        "all meet behind it",
        """
__shared__ float s[128];
__shared__ float r[128];
if (t < 128) {
  s[t] = in[t];
  arrive(1, 256);
} else {
  sync(1, 256);
  r[t - 128] = s[255 - t];
}
__syncthreads();
out[t] = r[127 - t % 128];
""",
        (
            ((("__syncthreads();\n", ""),), MISSING),
            (
                (
                    (
                        "  sync(1, 256);\n  r[t - 128] = s[255 - t];",
                        "  r[t - 128] = s[255 - t];\n  sync(1, 256);",
                    ),
                ),
                MISSING,
            ),
        ),
    ),
    Warps(
        "two groups take turns",
        """
__shared__ float s[128];
if (t < 128) {
  for (int i = 0; i < n; ++i) {
    if (i > 0) sync(1, 256);
    s[t] = in[i * 128 + t];
    arrive(2, 256);
  }
} else {
  for (int i = 0; i < n; ++i) {
    sync(2, 256);
    s[t - 128] += in[i];
    if (i + 1 < n) arrive(1, 256);
  }
}
""",
        (
            ((("    if (i > 0) sync(1, 256);\n", ""), ("    if (i + 1 < n) arrive(1, 256);\n", "")), MISSING),
            (
                (
                    (
                        "s[t - 128] += in[i];\n    if (i + 1 < n) arrive(1, 256);",
                        "if (i + 1 < n) arrive(1, 256);\n    s[t - 128] += in[i];",
                    ),
                ),
                MISSING,
            ),
        ),
    ),
    Warps(
        "own slots need nobody",
        """
__shared__ float s[256];
if (t < 128) {
  s[t] = in[t];
  sync(1, 128);
  out[t] = s[127 - t];
} else {
  s[t] = in[t];
  sync(2, 128);
  out[t] = s[383 - t];
}
""",
        (
            ((("out[t] = s[127 - t];", "out[t] = s[255 - t];"),), MISSING),
            ((("  sync(2, 128);\n", ""),), MISSING),
        ),
    ),
    Warps(
        "a counter of one group, read by the other",
        """
__shared__ int hits;
if (t == 0) hits = 0;
__syncthreads();
if (t < 128) {
  atomicAdd(&hits, 1);
  arrive(1, 256);
} else {
  sync(1, 256);
  out[t] = hits;
}
""",
        (((("  sync(1, 256);\n  out[t] = hits;", "  out[t] = hits;\n  sync(1, 256);"),), MISSING),),
    ),
    Warps(
        "one barrier in both arms",
        """
__shared__ float a[128];
__shared__ float b[128];
if (t < 128) {
  a[t] = in[t];
  __syncthreads();
  out[t] = b[127 - t];
} else {
  b[t - 128] = in[t];
  __syncthreads();
  out[t] = a[255 - t];
}
""",
        (
            (
                (("  b[t - 128] = in[t];\n  __syncthreads();", "  __syncthreads();\n  b[t - 128] = in[t];"),),
                MISSING,
            ),
            ((("  out[t] = b[127 - t];", "  out[t] = b[127 - t];\n  a[t] = 0;"),), MISSING),
        ),
    ),
    Warps(
        "two barriers in both arms",
        """
__shared__ float s[128];
if (t < 128) {
  s[t] = in[t];
  __syncthreads();
  __syncthreads();
  s[t] = in[t + 1];
} else {
  __syncthreads();
  out[t] = s[255 - t];
  __syncthreads();
}
__syncthreads();
out[t] += s[t % 128];
""",
        (
            (
                (
                    (
                        "  out[t] = s[255 - t];\n  __syncthreads();",
                        "  __syncthreads();\n  out[t] = s[255 - t];",
                    ),
                ),
                MISSING,
            ),
            ((("  s[t] = in[t + 1];\n", "  s[t] = in[t + 1];\n"), ("}\n__syncthreads();\n", "}\n")), MISSING),
        ),
    ),
)
