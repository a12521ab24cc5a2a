"""Random kernels that may race, as CUDA text: nothing is done to make them right.

Indices, guards and barriers are drawn without a look at each other. Every statement stands on a line of its own, so
that a pair of lines names a pair of accesses. No index leaves its buffer.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .actions import Shared
from .model import Source

_SHAPES = ((32, 1, 1), (64, 1, 1), (64, 1, 1), (96, 1, 1), (128, 1, 1), (32, 2, 1), (16, 4, 1), (8, 8, 1))
_TYPES = ("float", "float", "float", "int", "int", "double", "unsigned char")
_HELPERS = {
    "put": "__device__ void put(float* to, int at, float value) {\n  to[at] = value;\n}\n",
    "get": "__device__ float get(const float* from, int at) {\n  return from[at];\n}\n",
    "meet": "__device__ void meet() {\n  __syncthreads();\n}\n",
}
_DATA = (
    "in[tid + {t}] <= v",
    "!(in[tid] < in[n])",
    "in[tid] == 3.0f",
    "(in[tid] > 60.0f) == (tid & 1)",
    "out[blockIdx.x * {size} + tid] != v",
)
_DYNAMIC_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers that a kernel is launched with: every pair of ``trips`` and ``extents`` (n and m)."""

    trips: tuple[int, ...]
    extents: tuple[int, ...]


def few(threads: int) -> Sizes:
    return Sizes((0, 1, 3), (4 * threads, threads // 2 + 3))


def many(threads: int) -> Sizes:
    return Sizes(
        (0, 1, 2, 3, 4, 7), (0, 1, threads // 2 + 3, threads, 2 * threads, 4 * threads + 5, 40 * threads)
    )


def long(threads: int) -> Sizes:
    """For loops whose last iterations count, and what happens when a size is a multiple of the block."""
    return Sizes((40, threads), (4 * threads, threads // 2 + 3))


@dataclass(slots=True)
class _Place:
    """Where a statement stands. ``turns``: variables of the loops around it; ``depth``: of branches and loops."""

    turns: tuple[str, ...] = ()
    depth: int = 0


@dataclass(slots=True)
class Kernel:
    """``shape``: the threads of the block that its text is written for, whether it says so or not."""

    text: str
    shape: tuple[int, int, int]

    def source(
        self,
        name: str,
        shape: tuple[int, int, int] | None = None,
        sizes: Callable[[int], Sizes] = few,
    ) -> Source:
        """With a host program. ``shape``: another block; ``sizes``: for its threads, with more blocks if they are
        ``many``."""
        x, y, z = shape or self.shape
        program = host_program((x, y, z), sizes(x * y * z), thorough=sizes is many)
        return Source(name, self.text + program)


def host_program(shape: tuple[int, int, int], sizes: Sizes, *, thorough: bool) -> str:
    """A ``main`` that launches the kernel with every pair of sizes; ``thorough``: with more blocks, and once more with
    large values for small ones."""
    trips, extents = (", ".join(map(str, each)) for each in (sizes.trips, sizes.extents))
    dims = ", ".join(map(str, shape))
    sizes_of = f"{{{trips}}}, {{{extents}}}"
    more = "6, true" if thorough else "2"
    return f"int main() {{ smem::launch_each(k, dim3({dims}), {_DYNAMIC_BYTES}, {sizes_of}, {more}); }}\n"


@dataclass(slots=True)
class Generator:
    """One kernel."""

    seed: int
    random: random.Random = field(init=False)
    shape: tuple[int, int, int] = field(init=False)
    threads: int = field(init=False)
    size: str = field(init=False)  # of the block, as the kernel spells it
    buffers: list[Shared] = field(default_factory=list)
    helpers: set[str] = field(default_factory=set)
    names: int = 0
    groups: bool = False
    copies: bool = False
    turns: tuple[str, ...] = ()  # statements that change which array a pointer leads into

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.shape = self.random.choice(_SHAPES)
        self.threads = self.shape[0] * self.shape[1]
        self.size = f"{self.threads}"

    def kernel(self) -> Kernel:
        chance = self.random
        how = chance.choices(("assume", "static", "launch", "bounds", "none", "any"), (45, 20, 12, 5, 6, 12))[
            0
        ]
        if self.shape[1] > 1 and how in ("bounds", "none", "any"):
            how = "assume"
        if how == "any":
            self.size = "(int)blockDim.x"
        declarations = self.declarations()
        lines: list[str] = []
        if chance.random() < 0.6:
            lines += [
                line for each in self.buffers if chance.random() < 0.8 for line in self.fill(_Place(), each)
            ]
            lines += ["__syncthreads();"] if chance.random() < 0.7 else []
        between = chance.choice((0.0, 0.0, 0.3, 0.7))  # barriers besides those that are drawn
        for _ in range(chance.randint(3, 8)):
            lines += self.statement(_Place())
            lines += ["__syncthreads();"] if chance.random() < between else []
        if chance.random() < 0.5:
            lines += ["__syncthreads();", *self.read(_Place())]
        if any("__syncwarp" in line or "0xffffffffu" in line for line in lines):
            lines.append("__syncthreads();")  # at which a warp waits in vain for lanes that went another way
        head = "".join(
            f"#include <{name}>\n"
            for name, used in (
                ("utility", self.turns),
                ("cuda_pipeline.h", self.copies),
                ("cooperative_groups.h", self.groups),
            )
            if used
        )
        x, y, _ = self.shape
        fact, kind, host = "", "__global__ void", ""
        if how == "assume":
            axes = (("x", x), ("y", y)) if y > 1 else (("x", x),)
            fact = "".join(f"// smem: assume(blockDim.{axis} == {n})\n" for axis, n in axes)
        elif how in ("static", "launch"):
            kind = "static __global__ void" if how == "static" else kind
            block = f"dim3({x}, {y})" if y > 1 else f"{x}"
            host = (
                "void host(const float* in, float* out, int n, int m) {\n"
                f"  k<<<2, {block}, {_DYNAMIC_BYTES}>>>(in, out, n, m);\n}}\n"
            )
        elif how == "bounds":
            kind = f"__global__ void __launch_bounds__({self.threads})"
        tid = f"threadIdx.y * {x} + threadIdx.x" if y > 1 else "threadIdx.x"
        text = "\n".join(
            [
                "#include <cuda_runtime.h>\n"
                + head
                + "".join(_HELPERS[name] for name in sorted(self.helpers)),
                f"{fact}{kind} k(const float* in, float* out, int n, int m) {{",
                f"  const int tid = {tid};",
                "  const int lane = tid % 32;",
                "  const int warp = tid / 32;",
                *(["  auto block = cooperative_groups::this_thread_block();"] if self.groups else []),
                *(f"  {line}" for line in declarations),
                "  float v = in[tid];",
                *(f"  {line}" for line in lines),
                f"  out[blockIdx.x * {self.size} + tid] = v;",
                "}",
                host,
            ]
        )
        return Kernel(text, self.shape)

    # ---- buffers -----------------------------------------------------------------------------------------------------

    def declarations(self) -> list[str]:
        chance, t = self.random, self.threads
        least = 1024 if self.size != f"{t}" else t
        lines: list[str] = []
        for number in range(chance.randint(1, 3)):
            type = chance.choice(_TYPES)
            count = chance.choice((least, least, least + 8, 2 * least, 4 * least, max(1, t // 32), 1))
            columns = 0
            if chance.random() < 0.15:
                columns = chance.choice((32, 33, 16))
                count = columns * (2 * least // columns + 1)
            self.buffers.append(Shared(f"b{number}", type, count, columns))
            lines.append(f"__shared__ {type} {self.buffers[-1].declared};")
        kind = chance.random()
        if kind < 0.1:
            lines.append(f"__shared__ union {{ float f[{least}]; int i[{least}]; }} u;")
            self.buffers += [Shared("u.f", "float", least), Shared("u.i", "int", least)]
        elif kind < 0.16:
            lines.append(f"__shared__ struct {{ float f[{least}]; int last; }} s;")
            self.buffers.append(Shared("s.f", "float", least))
        elif kind < 0.24 and least <= 512:
            by = chance.choice((least, least, least // 2))
            lines += [
                "extern __shared__ float dynamic[];",
                "float* low = dynamic;",
                f"int* high = reinterpret_cast<int*>(dynamic + {by});",
            ]
            self.buffers += [Shared("low", "float", least), Shared("high", "int", least)]
        return [*lines, *self.pointers()]

    def pointers(self) -> list[str]:
        """Two pointers into two arrays of one type, which may take turns."""
        chance = random.Random(f"pointers {self.seed}")  # the kernels without them stay what they are
        arrays = [each for each in self.buffers if each.name.startswith("b") and not each.columns]
        if not arrays or chance.random() < 0.85:
            return []
        array = chance.choice(arrays)
        kind, count = array.type, array.count
        self.buffers += [Shared("front", kind, count), Shared("back", kind, count)] * 2
        chosen = f"{chance.choice(('n & 1', 'n > 1', 'tid & 1', 'in[n] > 50.0f'))} ? {array.name} : twin"
        swap = chance.choice(
            ("std::swap(front, back);", f"{{ {kind}* other = front; front = back; back = other; }}")
        )
        self.turns = (swap, swap, f"front = {chosen};", f"back = {array.name};", f"if (tid < 32) {swap}")
        return [
            f"__shared__ {kind} twin[{count}];",
            f"{kind}* front = {array.name};",
            f"{kind}* back = {chance.choice((chosen, 'twin', 'twin'))};",
        ]

    def buffer(self) -> Shared:
        return self.random.choice(self.buffers)

    def element(self, place: _Place, buffer: Shared | None = None) -> tuple[Shared, str]:
        """A buffer and one of its elements."""
        buffer = buffer or self.buffer()
        return buffer, buffer.at(self.index(place, buffer))

    def index(self, place: _Place, buffer: Shared) -> str:
        """An expression that is never negative and below the buffer's count."""
        chance, t, c = self.random, self.size, buffer.count
        k = chance.randint(1, 40)
        if c < self.threads:
            return chance.choice((f"tid % {c}", "0", f"{c - 1}", f"warp % {c}"))
        forms = ["tid", "tid", "tid", "tid", f"{t} - 1 - tid", f"(tid + {k}) % {t}", f"(tid + {k}) % {c}"]
        forms += [f"tid / {chance.choice((2, 4))}", f"tid * {chance.choice((2, 3, 4))} % {c}", "lane", "warp"]
        forms += [f"{min(k, c - 1)}", "0", f"(tid ^ {chance.choice((1, 2, 16))}) % {c}", f"(tid + n) % {t}"]
        forms += [f"warp * 32 + (lane + {chance.choice((1, 5, 31))}) % 32"] if self.threads % 32 == 0 else []
        forms += [f"(tid + {t} / 2) % {t}", "tid & ~1", f"(blockIdx.x + tid) % {t}", f"(tid + m) % {c}"]
        for turn in place.turns:
            forms += [
                f"(tid + {turn}) % {t}",
                f"({turn} * {t} + tid) % {c}",
                f"{turn} % {c}",
                f"(tid ^ {turn}) % {c}",
            ]
            forms += [f"(tid + {turn} % 2 * {t}) % {c}"] if c >= 2 * self.threads else []
        return chance.choice(forms)

    def value(self, buffer: Shared, place: _Place) -> str:
        chance = self.random
        words = [
            "v",
            "tid",
            "in[tid]",
            "n",
            "1",
            f"tid + {chance.randint(1, 9)}",
            "tid / 32",
            "v + 1",
            "in[n]",
        ]
        words += [f"{turn}" for turn in place.turns]
        return f"({buffer.type})({chance.choice(words)})"

    def guard(self, place: _Place) -> str:
        """A condition that threads may decide differently."""
        chance, t = self.random, self.threads
        k = chance.choice((1, 16, 31, 32, 33, t // 2, t - 1))
        words = [
            f"tid < {k}",
            f"tid < {k}",
            f"tid >= {k}",
            "tid == 0",
            f"tid == {k}",
            "tid % 2 == 0",
            "warp == 0",
        ]
        words += [
            f"lane < {chance.choice((1, 8, 16))}",
            "lane == 0",
            "tid < m",
            "warp == n",
            f"tid + {k} < m",
        ]
        words += ["in[tid] > 4.0f", "tid & 1", f"tid < {t} / 2 && n > 1", "n == 1 || tid < 32", "v > 3.0f"]
        words += [f"tid > {turn}" for turn in place.turns]
        words += [self.comparison(place)]
        words += [chance.choice(_DATA).format(t=t, size=self.size)]
        return chance.choice(words)

    def comparison(self, place: _Place) -> str:
        """Of two elements that are not one in every thread, which a compiler would not even read."""
        one, other = self.element(place)[1], self.element(place)[1]
        return f"{one} > {other}" if one != other and "tid" in one and "tid" in other else f"{one} > v"

    def choice(self, place: _Place) -> str:
        """A condition that all threads decide alike."""
        words = ["n > 1", "n == 3", "n < 2", "blockIdx.x == 0", "n & 1", "m > 64", "in[n] > 50.0f", "n != 2"]
        words += [f"{turn} % 2" for turn in place.turns] + [f"{turn} > 0" for turn in place.turns] * 2
        return self.random.choice(words)

    # ---- statements --------------------------------------------------------------------------------------------------

    def statement(self, place: _Place) -> list[str]:
        kinds: list[tuple[Callable[[_Place], list[str]], float]] = [
            (self.write, 22), (self.read, 20), (self.barrier, 22), (self.guarded, 9), (self.branch, 6), (self.loop, 7),
            (self.atomic, 4), (self.move, 5), (self.update, 4), (self.call, 4), (self.pointer, 2), (self.leave, 3),
            (self.reduction, 2), (self.copy, 3), (self.shuffle, 3), (self.lambda_, 1), (self.fill, 3), (self.chosen, 9),
            (self.flagged, 4),
        ]  # fmt: skip
        kinds += [(self.turn, 14)] if self.turns else []
        if place.depth >= 2:
            deep = (self.branch, self.loop, self.reduction, self.flagged)
            kinds = [each for each in kinds if each[0] not in deep]
        return self.random.choices([each for each, _ in kinds], [weight for _, weight in kinds])[0](place)

    def turn(self, place: _Place) -> list[str]:
        return [self.random.choice(self.turns)]

    def body(self, place: _Place, most: int = 4) -> list[str]:
        lines = [line for _ in range(self.random.randint(1, most)) for line in self.statement(place)]
        return [f"  {line}" for line in lines]

    def write(self, place: _Place) -> list[str]:
        buffer, element = self.element(place)
        return [f"{element} = {self.value(buffer, place)};"]

    def read(self, place: _Place) -> list[str]:
        return [f"v += {self.element(place)[1]};"]

    def move(self, place: _Place) -> list[str]:
        buffer, element = self.element(place)
        return [f"{element} = ({buffer.type}){self.element(place)[1]};"]

    def update(self, place: _Place) -> list[str]:
        return [f"{self.element(place)[1]} += 1;"]

    def atomic(self, place: _Place) -> list[str]:
        counters = [each for each in self.buffers if each.type == "int" and not each.columns]
        if not counters:
            return self.write(place)
        element = self.element(place, self.random.choice(counters))[1]
        return [self.random.choice((f"atomicAdd(&{element}, 1);", f"atomicMax(&{element}, tid);"))]

    def fill(self, place: _Place, buffer: Shared | None = None) -> list[str]:
        """A loop over a whole buffer, or over as much as the kernel is told."""
        buffer = buffer or self.buffer()
        self.names += 1
        i = f"i{self.names}"
        end, index = self.random.choice(((f"{buffer.count}", i), ("m", f"{i} % {buffer.count}")))
        value = self.value(buffer, place)
        head = f"for (int {i} = tid; {i} < {end}; {i} += {self.size})"
        return [f"{head} {{", f"  {buffer.at(index)} = {value};", "}"]

    def barrier(self, place: _Place) -> list[str]:
        chance = self.random.random()
        if chance < 0.68:
            return ["__syncthreads();"]
        if chance < 0.8:
            return ["__syncwarp();"]
        if chance < 0.83:
            return [
                self.random.choice(("__syncwarp(0xffffffffu);", "if (lane < 16) __syncwarp(0x0000ffffu);"))
            ]
        if chance < 0.88:
            return ["v += __syncthreads_count(tid < 7);"]
        if chance < 0.91:
            self.helpers.add("meet")
            return ["meet();"]
        if chance < 0.95:
            self.groups = True
            return [
                self.random.choice(
                    ("block.sync();", "cooperative_groups::tiled_partition<32>(block).sync();")
                )
            ]
        if self.threads % 32 == 0 and self.size == f"{self.threads}":
            count = self.random.choice((self.threads, self.threads, 32))
            return [f'asm volatile("bar.sync 1, {count};" ::: "memory");']
        return ["__syncthreads();"]

    def guarded(self, place: _Place) -> list[str]:
        inside = _Place(place.turns, 2)
        kinds = (self.write, self.read, self.update, self.move, self.atomic, self.write)
        return [
            f"if ({self.guard(place)}) {{",
            *(f"  {line}" for line in self.random.choice(kinds)(inside)),
            "}",
        ]

    def chosen(self, place: _Place) -> list[str]:
        """Something that threads do whom their data choose."""
        chance = self.random
        words = [
            *(each.format(t=self.threads, size=self.size) for each in _DATA),
            "in[tid] > 4.0f",
            "v > 60.0f",
        ]
        words += [f"tid < {self.threads // 2} && in[tid] > 60.0f", "(in[tid] > 60.0f) == (tid & 1)"]
        words += [self.comparison(place) for _ in range(3)]
        kinds = (self.write, self.read, self.update, self.atomic, self.write)
        inside = [line for _ in range(chance.randint(1, 2)) for line in chance.choice(kinds)(place)]
        if chance.random() < 0.2:
            self.names += 1
            e = f"e{self.names}"
            head = f"for (int {e} = (int)in[tid]; {e} < (int)in[tid + 1]; {e} += 40)"
        else:
            head = f"if ({chance.choice(words)})"
        return [f"{head} {{", *(f"  {line}" for line in inside), "}"]

    def flagged(self, place: _Place) -> list[str]:
        """A loop that ends when a flag in shared memory says so."""
        chance = self.random
        self.names += 1
        i, inside = f"i{self.names}", _Place((*place.turns, f"i{self.names}"), place.depth + 1)
        flag = self.buffer()
        stop = flag.at(chance.choice(("0", f"{flag.count - 1}", f"{i} % {min(2, flag.count)}")))
        who = chance.choice(("tid == 0", "tid == 0", f"in[tid] > 2.0f * {i}"))
        lines = [f"  if ({who}) {{", f"    {stop} = ({flag.type})({i} > n);", "  }"]
        lines += ["  __syncthreads();"] if chance.random() < 0.85 else []
        lines += self.body(inside, 1) if chance.random() < 0.3 else []
        lines += [f"  if ({stop} > 0) break;"]
        lines += ["  __syncthreads();"] if chance.random() < 0.6 else []
        return [f"for (int {i} = 0; {i} < n + 2; ++{i}) {{", *lines, "}"]

    def branch(self, place: _Place) -> list[str]:
        alike = self.random.random() < 0.65
        condition = self.choice(place) if alike else self.guard(place)
        inside = _Place(place.turns, place.depth + 1)
        lines = [f"if ({condition}) {{", *self.body(inside)]
        if self.random.random() < 0.4:
            lines += ["} else {", *self.body(inside)]
        return [*lines, "}"]

    def loop(self, place: _Place) -> list[str]:
        self.names += 1
        i = f"i{self.names}"
        alike = self.random.random() < 0.85
        end = self.random.choice(("n", "n + 1", "2", "3", "5") if alike else ("tid % 4", "lane", "warp + 1"))
        inside = _Place((*place.turns, i), place.depth + 1)
        body = self.body(inside)
        if self.random.random() < 0.12:
            condition = self.random.choice((f"{i} == 1", "n == 3", f"tid < {i}", "in[n] > 50.0f"))
            places = [at for at, line in enumerate(body) if not line.startswith(("   ", "  }"))]
            body.insert(
                self.random.choice(places), f"  if ({condition}) {self.random.choice(('break', 'continue'))};"
            )
        kind = self.random.random()
        if kind < 0.8:
            return [f"for (int {i} = 0; {i} < {end}; ++{i}) {{", *body, "}"]
        if any("continue" in line for line in body):
            return [f"for (int {i} = 0; {i} < {end}; ++{i}) {{", *body, "}"]
        if kind < 0.9:
            return [f"int {i} = 0;", f"while ({i} < {end}) {{", *body, f"  ++{i};", "}"]
        return [f"int {i} = 0;", "do {", *body, f"}} while (++{i} < {end});"]

    def leave(self, place: _Place) -> list[str]:
        if self.random.random() < 0.5:
            return [f"if ({self.choice(_Place())}) return;"]
        return [f"if ({self.guard(place)}) return;"]

    def reduction(self, place: _Place) -> list[str]:
        wide = [each for each in self.buffers if each.count >= self.threads and not each.columns]
        if not wide or self.threads & (self.threads - 1):
            return self.write(place)
        name = self.random.choice(wide).name
        self.names += 1
        d = f"d{self.names}"
        first = (
            self.random.choice((f"{self.threads // 2}", f"{self.size} / 2"))
            if self.size == f"{self.threads}"
            else "16"
        )
        last = self.random.choice(("0", "0", "32", "16"))
        barrier = self.random.choice(("__syncthreads();", "__syncthreads();", "__syncwarp();", ""))
        lines = [f"  if (tid < {d}) {{", f"    {name}[tid] += {name}[tid + {d}];", "  }"]
        lines = [*lines, f"  {barrier}"] if self.random.random() < 0.7 else [f"  {barrier}", *lines]
        return [f"for (int {d} = {first}; {d} > {last}; {d} >>= 1) {{", *lines, "}"]

    def call(self, place: _Place) -> list[str]:
        floats = [each for each in self.buffers if each.type == "float" and not each.columns]
        if not floats:
            return self.read(place)
        buffer = self.random.choice(floats)
        name = self.random.choice(("put", "get"))
        self.helpers.add(name)
        index = self.index(place, buffer)
        return [f"put({buffer.name}, {index}, v);" if name == "put" else f"v += get({buffer.name}, {index});"]

    def pointer(self, place: _Place) -> list[str]:
        plain = [each for each in self.buffers if not each.columns and each.count >= self.threads + 8]
        if not plain:
            return self.write(place)
        buffer = self.random.choice(plain)
        self.names += 1
        p, by = f"p{self.names}", self.random.choice((1, 4, 8, "n % 8"))
        use = self.random.choice(
            (f"{p}[tid % {self.size}] = ({buffer.type})tid;", f"v += {p}[tid];", f"*{p} = 3;")
        )
        return [f"{buffer.type}* {p} = {buffer.name} + {by};", use]

    def copy(self, place: _Place) -> list[str]:
        floats = [
            each
            for each in self.buffers
            if each.type == "float" and not each.columns and each.count >= self.threads
        ]
        if not floats:
            return self.write(place)
        self.copies = True
        buffer = self.random.choice(floats)
        lines = [f"__pipeline_memcpy_async(&{buffer.name}[tid], &in[tid], 4);", "__pipeline_commit();"]
        lines += self.statement(_Place(place.turns, 2)) if self.random.random() < 0.4 else []
        if self.random.random() < 0.85:
            lines.append(f"__pipeline_wait_prior({self.random.choice((0, 0, 0, 1))});")
        return lines

    def shuffle(self, place: _Place) -> list[str]:
        return [
            self.random.choice(
                (
                    "v += __shfl_xor_sync(0xffffffffu, v, 1);",
                    "v += __shfl_down_sync(0xffffffffu, v, 16);",
                    "v += __ballot_sync(0xffffffffu, tid & 1) & 7;",
                )
            )
        ]

    def lambda_(self, place: _Place) -> list[str]:
        self.names += 1
        name = f"f{self.names}"
        buffer, element = self.element(place)
        return [f"auto {name} = [&]() {{", f"  {element} = {self.value(buffer, place)};", "};", f"{name}();"]
