"""Random kernels whose tiles are filled again in each turn of a loop: whole or in part, in every form of a copy.

Every tile is filled once before the loop, so that a refill that leaves something out leaves an older value there, which
is read: a plan that takes such a tile for dead changes what the kernel puts out. No two tiles get the same numbers.
"""

from __future__ import annotations

import random

from .random_kernels import launch_numbers


class RefilledKernel:
    """One kernel, and after ``text`` what a rewrite may touch: ``declaring``, its declarations and launches by line."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.threads = self.random.choice((32, 64, 128))
        self.count = self.threads * self.random.choice((1, 2, 4))
        self.tiles = [f"a{number}" for number in range(self.random.randint(2, 3))]
        self.carved = self.random.random() < 0.4
        self.step = self.random.choice((f"{self.threads}", "blockDim.x"))
        self.asynchronous = False
        self.declaring: set[str] = set()

    def host(self, *, more: bool = False) -> str:
        """A ``main`` for a test that runs it. ``more``: launches."""
        return f"int main() {{ smem::call_each(run, {launch_numbers(more)}); }}\n"

    def text(self) -> str:
        lines = [f"    {line}" for tile in self.tiles for line in self.turn(tile)]
        if self.random.random() < 0.2:
            lines.append("    __syncthreads();")
        bound = self.random.choice(("n", "n", "3", "n + 1"))
        declared = self.declarations()
        total = len(self.tiles) * self.count
        dynamic = f", {total} * sizeof(float)" if self.carved else ""
        launch = f"  k<<<2, {self.threads}{dynamic}>>>(in, out, n);"
        bounds = f"__launch_bounds__({self.threads}) " if self.random.random() < 0.5 else ""
        fact = f"// smem: assume(blockDim.x == {self.threads})\n" if self.random.random() < 0.4 else ""
        self.declaring = {*declared, launch}
        head = "#include <cuda_runtime.h>\n" + ("#include <cuda_pipeline.h>\n" if self.asynchronous else "")
        first = [f"    {tile}[j] = j * 0.25f + {number};" for number, tile in enumerate(self.tiles)]
        body = [
            f"{head}{fact}__global__ void {bounds}k(const float* in, float* out, int n) {{",
            *declared,
            "  const int tid = threadIdx.x;",
            f"  float v = in[blockIdx.x * {self.threads} + tid];",
            f"  for (int j = tid; j < {self.count}; j += {self.threads}) {{",
            *first,
            "  }",
            "  __syncthreads();",
            f"  for (int i = 0; i < {bound}; ++i) {{",
            *lines,
            "  }",
            f"  out[blockIdx.x * {self.threads} + tid] = v;",
            "}",
            "void run(const float* in, float* out, int n) {",
            launch,
            "}",
            "",
        ]
        return "\n".join(body)

    def declarations(self) -> list[str]:
        if not self.carved:
            return [f"  __shared__ __align__(16) float {tile}[{self.count}];" for tile in self.tiles]
        lines = ["  extern __shared__ __align__(16) float raw[];"]
        for number, tile in enumerate(self.tiles):
            lines.append(f"  float* {tile} = raw" + (f" + {number * self.count};" if number else ";"))
        return lines

    def turn(self, tile: str) -> list[str]:
        """A tile is filled, and read. Another tile's barrier stands between its last read and its next fill."""
        fill, count = self.fill(tile)
        lines = [*fill, "__syncthreads();", *self.use(tile, count)]
        return [*lines, "__syncthreads();"] if self.random.random() < 0.4 else lines

    def value(self, index: str, own: int) -> str:
        number = self.random.choice(
            (f"v * 0.5f + {index}", f"in[{index}] + i", f"(float)({index} * (i + 1))")
        )
        return f"{number} + {own}"

    def fill(self, tile: str) -> tuple[list[str], str]:
        """Statements, and how many elements are there then."""
        t, n, step, own = self.threads, self.count, self.step, self.tiles.index(tile)
        strided = f"for (int j = tid; j < {n}; j += {step})"
        value = self.value("j", own)
        whole = [
            [f"{strided} {tile}[j] = {value};"],
            [f"for (int j = tid; j < {n}; j += {step}) {tile}[{n - 1} - j] = {value};"],
            [f"for (int q = 0; q < {n // t}; ++q) {tile}[q * {t} + tid] = {self.value('q', own)};"],
            [f"for (int q = 0; q < {n // t}; ++q) {tile}[tid * {n // t} + q] = {self.value('q', own)};"],
            [f"for (int j = tid; j < {n // 4}; j += {step}) *reinterpret_cast<float4*>(&{tile}[4 * j]) = "
             f"*reinterpret_cast<const float4*>(&in[4 * j + {4 * own}]);"],
            [f"{strided} {{", f"  if (j + n < {n}) {tile}[j] = {value};", f"  else {tile}[j] = 0.0f;", "}"],
            [f"{strided} {tile}[j / 8 * 8 + (j % 8 ^ j / 8 % 8)] = {value};"],
            [f"for (int r = tid / 8; r < {n // 8}; r += {t // 8}) {tile}[r * 8 + tid % 8] = {self.value('r', own)};"],
            ["#copy"],
        ]  # fmt: skip
        partial = [
            [f"for (int j = tid; j < {n - 1}; j += {step}) {tile}[j] = {value};"],
            [f"for (int j = tid; j < {n}; j += {t + 1}) {tile}[j] = {value};"],
            [f"for (int j = tid + 1; j < {n}; j += {step}) {tile}[j] = {value};"],
            [f"if (i != 1) {{ {strided} {tile}[j] = {value}; }}"],
            [f"{strided} {{ if (in[j] > 0.5f) {tile}[j] = {value}; }}"],
            [f"{strided} {{ if (j % 3 != i % 3) {tile}[j] = {value}; }}"],
            [f"if (tid < {t // 2}) {{ {strided} {tile}[j] = {value}; }}"],
            [f"if (tid < n + 20) {tile}[tid] = {self.value('tid', own)};"],
        ]
        chance = self.random.random()
        if chance < 0.15:
            by = self.random.choice((8, n // 4 + 1))  # the second is all after four turns
            counts = [f"min({n}, {by} * n + 3)", f"min({n}, {by} * i + 5)"]
            count = self.random.choice(counts)
            read = count if self.random.random() < 0.6 else self.random.choice(counts)
            return [f"for (int j = tid; j < {count}; j += {step}) {tile}[j] = {value};"], read
        lines = self.random.choice(partial if chance < 0.4 else whole)
        if lines == ["#copy"]:
            self.asynchronous = True
            lines = [
                f"{strided} __pipeline_memcpy_async(&{tile}[j], &in[j + {own}], 4);",
                "__pipeline_commit();",
                "__pipeline_wait_prior(0);",
            ]
        return list(lines), str(n)

    def use(self, tile: str, count: str) -> list[str]:
        if not count.isdigit():
            return [f"for (int j = 0; j < {count}; ++j) v += {tile}[j] * 0.125f;"]
        n = int(count)
        return [
            self.random.choice((
                f"v += {tile}[{n - 1} - tid];",
                f"v += {tile}[(tid * 3 + i) % {n}];",
                f"for (int j = 0; j < {n}; ++j) v += {tile}[j] * 0.125f;",
                f"for (int j = tid; j < {n}; j += {self.step}) v += {tile}[j];",
                f"for (int j = tid; j < {n}; j += {self.step}) v -= {tile}[{n - 1} - j];",
                f"for (int j = tid; j < {n // 4}; j += {self.step}) {{ "
                f"const float4 w = *reinterpret_cast<const float4*>(&{tile}[4 * j]); v += w.y; }}",
            ))
        ]  # fmt: skip
