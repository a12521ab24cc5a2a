"""Random kernels with rings of stages: one phase after the other, each with a ring or a tile of its own, once or in
each turn of a persistent loop.

A ring is filled and read under a block barrier, with asynchronous copies some turns ahead, or by a warp of its own that
meets the others at barrier objects. What a fill leaves out, and what is read of an earlier turn or tile, is there so
that a plan that overlooks it changes what the kernel puts out. No two buffers get the same numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from .random_kernels import launch_numbers

TILES = ("5", "n + 1", "4")


@dataclass(frozen=True)
class Buffer:
    """``stages``: 0 for a tile. ``kept``: filled before everything else, and a phase may count on what is there."""

    name: str
    number: int
    stages: int
    count: int  # elements of a stage
    rows: bool  # declared as an array of stages
    kept: bool
    carried: bool  # the stage is counted on from turn to turn

    @property
    def elements(self) -> int:
        return max(self.stages, 1) * self.count

    def at(self, stage: str, index: str) -> str:
        if not self.stages:
            return f"{self.name}[{index}]"
        return (
            f"{self.name}[{stage}][{index}]"
            if self.rows
            else f"{self.name}[{stage} * {self.count} + {index}]"
        )

    def element(self, index: str) -> str:
        """Of all stages."""
        if not self.rows:
            return f"{self.name}[{index}]"
        return f"{self.name}[{index} / {self.count}][{index} % {self.count}]"


class RingKernel:
    """One kernel, and after ``text`` what a rewrite may touch: ``declaring``, its declarations and launches by line."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.threads = self.random.choice((64, 64, 128))
        self.carved = self.once(0.4)
        self.persistent = self.once(0.5)
        self.headers: set[str] = set()
        self.objects = 0  # pairs of rings of barrier objects
        self.declaring: set[str] = set()
        self.head: list[str] = []  # before all phases
        self.buffers = [self.buffer(number) for number in range(self.random.choice((2, 2, 3)))]

    def once(self, chance: float) -> bool:
        return self.random.random() < chance

    def buffer(self, number: int) -> Buffer:
        ring = number == 0 or self.once(0.5)
        stages = self.random.choice((2, 3, 3, 4)) if ring else 0
        count = self.threads * self.random.choice((1, 1, 2))
        rows = ring and not self.carved and self.once(0.5)
        name = f"{'ring' if ring else 'tile'}{number}"
        return Buffer(name, number, stages, count, rows, self.once(0.3), self.once(0.4))

    def host(self, *, more: bool = False) -> str:
        """A ``main`` for a test that runs it. ``more``: launches."""
        return f"int main() {{ smem::call_each(run, {launch_numbers(more)}); }}\n"

    def text(self) -> str:
        order = list(self.buffers)
        self.random.shuffle(order)
        lines = [line for buffer in order for line in self.phase(buffer)]
        if self.persistent:
            head = f"for (int tile = blockIdx.x; tile < {self.random.choice(TILES)}; tile += gridDim.x) {{"
            lines = [head, *(f"  {line}" for line in lines), "  __syncthreads();", "}"]
        declared, t = self.declarations(), self.threads
        total = sum(buffer.elements for buffer in self.buffers)
        dynamic = f", {total} * sizeof(float)" if self.carved else ""
        launch = f"  k<<<2, {t}{dynamic}>>>(in, out, n);"
        bounds = f"__launch_bounds__({t}) " if self.once(0.5) else ""
        fact = [f"// smem: assume(blockDim.x == {t})"] if self.once(0.4) else []
        self.declaring = {*declared, launch}
        body = [
            "#include <cuda_runtime.h>",
            *(f"#include <{name}>" for name in sorted(self.headers)),
            *fact,
            f"__global__ void {bounds}k(const float* in, float* out, int n) {{",
            *declared,
            "  const int tid = threadIdx.x;",
            f"  float v = in[blockIdx.x * {t} + tid];",
            *(f"  {line}" for line in [*self.first(), *lines]),
            f"  out[blockIdx.x * {t} + tid] = v;",
            "}",
            "void run(const float* in, float* out, int n) {",
            launch,
            "}",
            "",
        ]
        return "\n".join(body)

    def declarations(self) -> list[str]:
        if not self.carved:
            return [
                f"  __shared__ __align__(16) float {each.name}"
                + (f"[{each.stages}][{each.count}];" if each.rows else f"[{each.elements}];")
                for each in self.buffers
            ]
        lines, at = ["  extern __shared__ __align__(16) float raw[];"], 0
        for each in self.buffers:
            lines.append(f"  float* {each.name} = raw" + (f" + {at};" if at else ";"))
            at += each.elements
        return lines

    def first(self) -> list[str]:
        """What is kept is filled, and barrier objects are made."""
        lines = [
            f"for (int j = tid; j < {each.elements}; j += {self.threads}) "
            f"{each.element('j')} = j * 0.25f + {each.number};"
            for each in self.buffers
            if each.kept
        ]
        objects = [f"__shared__ cuda::barrier<cuda::thread_scope_block> {name};" for name in self.head]
        names = [name.partition("[")[0] for name in self.head]
        if names:
            made = " ".join(f"init(&{name}[q], {self.threads});" for name in names)
            lines.append(
                f"if (tid == 0) for (int q = 0; q < {self.head[0].split('[')[1][:-1]}; ++q) {{ {made} }}"
            )
        return [*objects, *lines, "__syncthreads();"] if lines else objects

    def phase(self, buffer: Buffer) -> list[str]:
        if not buffer.stages:
            lines = [*self.fill(buffer, "", "n"), "__syncthreads();", *self.use(buffer, "", "n")]
        elif not self.persistent and not self.head and not buffer.kept and self.once(0.15):
            return self.warps_of_their_own(buffer)
        elif self.once(0.5):
            lines = self.ahead(buffer)
        else:
            lines = self.turns(buffer)
        return [*lines, "__syncthreads();"] if self.once(0.4) else lines

    def turns(self, buffer: Buffer) -> list[str]:
        """Each turn fills a stage and reads it, and one of an earlier turn where that is kept."""
        stages, i = buffer.stages, f"i{buffer.number}"
        stage = f"s{buffer.number}"
        bound = self.random.choice(("n", "n + 1", "3", "n + tile" if self.persistent else "n + 2"))
        lines = [*self.fill(buffer, stage, i), "__syncthreads();", *self.use(buffer, stage, i)]
        if buffer.kept and stages > 2 and self.once(0.6):
            lines += self.use(buffer, f"(({stage} + {stages - 1}) % {stages})", i)
        head = f"for (int {i} = 0; {i} < {bound}; ++{i}) {{"
        if buffer.carried:
            following = [
                f"{stage} = {stage} < {stages - 1} ? {stage} + 1 : 0;",
                f"if (++{stage} == {stages}) {stage} = 0;",
            ]
            if stages == 2:
                following.append(f"{stage} ^= 1;")
            lines.append(self.random.choice(following))
            return [f"int {stage} = 0;", head, *(f"  {line}" for line in lines), "}"]
        return [head, f"  const int {stage} = {i} % {stages};", *(f"  {line}" for line in lines), "}"]

    def ahead(self, buffer: Buffer) -> list[str]:
        """Copies that are all but one stage ahead of what is read."""
        self.headers.add("cuda_pipeline.h")
        stages, i, count = buffer.stages, f"i{buffer.number}", buffer.count
        bound = self.random.choice(("n", "n + 1", "3"))

        def copy(turn: str) -> list[str]:
            from_ = f"&in[({turn}) * 16 + j + {buffer.number}]"
            target = f"&{buffer.at(f'(({turn}) % {stages})', 'j')}"
            return [
                f"if ({turn} < {bound})",
                f"  for (int j = tid; j < {count}; j += {self.threads}) __pipeline_memcpy_async({target}, {from_}, 4);",
                "__pipeline_commit();",
            ]

        q = f"q{buffer.number}"
        early = [f"for (int {q} = 0; {q} < {stages - 1}; ++{q}) {{", *(f"  {each}" for each in copy(q)), "}"]
        read = self.use(buffer, f"({i} % {stages})", i)
        following = copy(f"{i} + {stages - 1}")
        inner = [*following, *read] if self.once(0.5) else [*read, *following]
        return [
            *early,
            f"for (int {i} = 0; {i} < {bound}; ++{i}) {{",
            f"  __pipeline_wait_prior({stages - 2});",
            "  __syncthreads();",
            *(f"  {line}" for line in inner),
            "}",
            "__pipeline_wait_prior(0);",
        ]

    def warps_of_their_own(self, buffer: Buffer) -> list[str]:
        """The first warp fills, the others read; they meet at barrier objects, one to say that a stage is full and one
        to say that it is free."""
        self.headers.add("cuda/barrier")
        stages, i, k = buffer.stages, f"i{buffer.number}", buffer.number
        self.head = [f"full{k}[{stages}]", f"free{k}[{stages}]"]
        stage, bound = f"({i} % {stages})", self.random.choice(("n", "n + 1", "5"))
        head = f"for (int {i} = 0; {i} < {bound}; ++{i}) {{"
        element, value = buffer.at(stage, "j"), self.value("j", i, buffer)
        return [
            "if (tid < 32) {",
            f"  {head}",
            f"    free{k}[{stage}].arrive_and_wait();",
            f"    for (int j = tid; j < {buffer.count}; j += 32) {element} = {value};",
            f"    (void)full{k}[{stage}].arrive();",
            "  }",
            "} else {",
            f"  for (int q = 0; q < {stages}; ++q) (void)free{k}[q].arrive();",
            f"  {head}",
            f"    full{k}[{stage}].arrive_and_wait();",
            *(f"    {line}" for line in self.use(buffer, stage, i)),
            f"    (void)free{k}[{stage}].arrive();",
            "  }",
            "}",
            "__syncthreads();",
        ]

    def value(self, index: str, turn: str, buffer: Buffer) -> str:
        forms = (f"v * 0.5f + {index}", f"in[{index}] + {turn}", f"(float)({index} * ({turn} + 1))")
        return f"{self.random.choice(forms)} + {buffer.number}"

    def fill(self, buffer: Buffer, stage: str, turn: str) -> list[str]:
        """One stage, whole, or in part where it is kept."""
        t, n, value = self.threads, buffer.count, self.value("j", turn, buffer)
        strided = f"for (int j = tid; j < {n}; j += {t})"

        def at(index: str) -> str:
            return buffer.at(stage, index)

        whole = [
            f"{strided} {at('j')} = {value};",
            f"{strided} {at(f'({n - 1} - j)')} = {value};",
            f"for (int q = 0; q < {n // t}; ++q) {at(f'(q * {t} + tid)')} = {self.value('q', turn, buffer)};",
            f"for (int j = tid; j < {n // 4}; j += {t}) *reinterpret_cast<float4*>(&{at('4 * j')}) = "
            f"*reinterpret_cast<const float4*>(&in[4 * j + {4 * buffer.number}]);",
            f"{strided} {at('(j / 8 * 8 + (j % 8 ^ j / 8 % 8))')} = {value};",
        ]
        partial = [
            f"for (int j = tid; j < {n - 1}; j += {t}) {at('j')} = {value};",
            f"for (int j = tid + 1; j < {n}; j += {t}) {at('j')} = {value};",
            f"if ({turn} != 1) {{ {strided} {at('j')} = {value}; }}",
            f"{strided} {{ if (in[j] > 0.5f) {at('j')} = {value}; }}",
            f"{strided} {{ if (j % 3 != {turn} % 3) {at('j')} = {value}; }}",
        ]
        return [self.random.choice(partial if buffer.kept and self.once(0.4) else whole)]

    def use(self, buffer: Buffer, stage: str, turn: str) -> list[str]:
        n = buffer.count

        def at(index: str) -> str:
            return buffer.at(stage, index)

        return [
            self.random.choice((
                f"v += {at(f'({n - 1} - tid)')};",
                f"v += {at(f'((tid * 3 + 5) % {n})')};",
                f"for (int j = 0; j < {n}; ++j) v += {at('j')} * 0.125f;",
                f"for (int j = tid; j < {n}; j += {self.threads}) v -= {at(f'({n - 1} - j)')};",
            ))
        ]  # fmt: skip
