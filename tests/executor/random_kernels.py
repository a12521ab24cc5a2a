"""Random kernels without a race, as CUDA text: buffers of all types, loops, branches, helpers, atomics, copies.

A kernel is a tree of actions on its buffers. Barriers stand only where two accesses would race without one, over the
back edge of loops too, and sometimes where none is needed; so a rewrite that counts on a barrier which does not order
what it should is seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from .actions import Action, Block, Shared, Use, place_barriers
from .model import Source

TRIPS = (0, 1, 3)  # values of the kernel's argument n, one launch each
MORE_TRIPS = (-1, 0, 1, 2, 3, 4, 7)
INPUTS = 3  # where there are more trips, too
Maker = Callable[[Shared, list[Shared]], Action | None]
_TYPES = ("float", "int", "double", "unsigned short", "unsigned char")


class Generator:
    """One kernel."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.threads = self.random.choice((32, 64, 96, 128, 256))
        self.buffers: list[Shared] = []
        self.filled: set[str] = set()
        self.helpers: set[str] = set()
        self.names = 0
        self.asynchronous = False

    def source(self, name: str) -> Source:
        """With a host program of its own behind the kernel; see ``kernel_text`` for the kernel alone."""
        return Source(name, self.text() + host_program(self.threads))

    def text(self) -> str:
        for _ in range(self.random.randint(2, 6)):
            self.buffers.append(self.new_buffer(top=True))
        visible = list(self.buffers)
        self.random.shuffle(visible)
        items: list[Action | Block] = []
        if self.random.random() < 0.75:  # a few buffers at a time, then the next
            for first in range(len(visible)):
                items += self.items(
                    self.random.randint(1, 3), 2, visible[first : first + self.random.randint(1, 2)]
                )
        else:
            items = self.items(self.random.randint(4, 9), 2, visible)
        if self.random.random() < 0.15:
            items += self.without_half_of_the_threads(visible)
        place_barriers(items, frozenset())
        self.scatter(items)
        return self.file(items)

    def file(self, items: list[Action | Block]) -> str:
        """The text of a kernel that does this."""
        lines = self.render(items, "  ")
        declarations = self.declarations(self.buffers, "  ")
        bounds = f"__launch_bounds__({self.threads}) " if self.random.random() < 0.5 else ""
        fact = f"// smem: assume(blockDim.x == {self.threads})\n" if self.random.random() < 0.6 else ""
        head = "#include <cuda_runtime.h>\n" + ("#include <cuda_pipeline.h>\n" if self.asynchronous else "")
        return "\n".join(
            [
                head + "".join(HELPERS[name] for name in sorted(self.helpers)) + fact.rstrip("\n"),
                f"__global__ void {bounds}k(const float* in, float* out, int n) {{",
                "  const int tid = threadIdx.x;",
                *declarations,
                f"  float v = in[blockIdx.x * {self.threads} + tid];",
                *lines,
                f"  out[blockIdx.x * {self.threads} + tid] = v;",
                "}",
                "",
            ]
        )

    def new_buffer(self, *, top: bool = False) -> Shared:
        self.names += 1
        type = self.random.choice(("float", "float", "float", *_TYPES))
        t = self.threads
        columns = 33 if self.random.random() < 0.15 else 0
        count = self.random.choice((t, t, 2 * t, 4 * t, t // 2, t + 8, 3 * t, 1))
        if columns:
            count = 33 * self.random.choice((8, 16, 32))
        return Shared(f"b{self.names}", type, count, columns, self.random.random() < 0.3)

    def declarations(self, buffers: list[Shared], indent: str) -> list[str]:
        lines = []
        left = list(buffers)
        self.random.shuffle(left)
        while left:
            first = left.pop()
            same = [b for b in left if b.type == first.type and b.aligned == first.aligned]
            words = [first.declared]
            if same and self.random.random() < 0.2:
                left.remove(same[0])
                words.append(same[0].declared)
            align = "__align__(16) " if first.aligned else ""
            lines.append(f"{indent}__shared__ {align}{first.type} {', '.join(words)};")
        return lines

    def scatter(self, items: list[Action | Block]) -> None:
        """Barriers that nothing needs."""
        for item in items:
            if isinstance(item, Block):
                self.scatter(item.body)
                self.scatter(item.otherwise or [])
            elif self.random.random() < 0.12:
                item.barrier = True

    def render(self, items: list[Action | Block], indent: str) -> list[str]:
        lines: list[str] = []
        for item in items:
            if isinstance(item, Action):
                if item.barrier:
                    lines.append(f"{indent}__syncthreads();")
                lines += [indent + line for line in item.lines]
                continue
            lines.append(f"{indent}{item.head} {{".replace("  {", " {"))
            lines += self.declarations(item.declared, indent + "  ")
            lines += self.render(item.body, indent + "  ")
            if item.otherwise is not None:
                lines.append(f"{indent}}} else {{")
                lines += self.render(item.otherwise, indent + "  ")
            lines.append(f"{indent}}}")
        return lines

    def items(self, count: int, depth: int, visible: list[Shared]) -> list[Action | Block]:
        items: list[Action | Block] = []
        for _ in range(count):
            kind = self.random.random()
            if depth and kind < 0.14:
                items.append(self.loop(depth, visible))
            elif depth and kind < 0.24:
                items.append(self.branch(depth, visible))
            elif depth and kind < 0.3:
                own = [self.new_buffer() for _ in range(self.random.randint(1, 2))]
                body = self.items(self.random.randint(2, 4), depth - 1, [*visible, *own])
                items.append(Block("", body, declared=own))
                self.filled -= {each.name for each in own}
            elif kind < 0.36:
                items += self.flight(visible)
            else:
                items.append(self.action(visible))
        return items

    def loop(self, depth: int, visible: list[Shared]) -> Block:
        self.names += 1
        i = f"i{self.names}"
        bound, sure = self.random.choice((("n", False), ("3", True), ("4", True), ("n + 1", False)))
        before = set(self.filled)
        body = self.items(self.random.randint(1, 4), depth - 1, visible)
        if self.random.random() < 0.15:
            body.append(Action([f"if (n == {self.random.randint(0, 3)}) break;"], [], []))
        if not sure:
            self.filled = before & self.filled
        return Block(f"for (int {i} = 0; {i} < {bound}; ++{i})", body, loop=True)

    def branch(self, depth: int, visible: list[Shared]) -> Block:
        before = set(self.filled)
        body = self.items(self.random.randint(1, 3), depth - 1, visible)
        taken, self.filled = self.filled, before
        otherwise = None
        if self.random.random() < 0.5:
            self.filled = set(before)
            otherwise = self.items(self.random.randint(1, 3), depth - 1, visible)
        self.filled &= taken
        condition = self.random.choice(("n > 1", "n == 0", "blockIdx.x == 0", "n & 1"))
        return Block(f"if ({condition})", body, otherwise)

    def action(self, visible: list[Shared]) -> Action:
        buffer = self.random.choice(visible)
        if buffer.name not in self.filled:
            return self.fill(buffer, visible)
        while True:
            action = self.random.choice(self.choices())(buffer, visible)
            if action is not None:
                return action

    def choices(self) -> list[Maker]:
        """What may be done with a buffer that is filled; None where it cannot be."""
        return [
            self.gather, self.gather, self.gather, self.fill, self.own_update, self.partial_fill, self.reduction,
            self.count, self.call, self.alias, self.warp, self.vector, self.guarded_read, self.lambda_, self.ping_pong,
        ]  # fmt: skip

    def value(self, buffer: Shared, index: str) -> str:
        whole = f"{index} + {self.random.randint(0, 9)}"
        if buffer.type in ("float", "double"):
            return self.random.choice((f"v * 0.5f + {whole}", f"v + in[{index}]", f"(float)({whole})"))
        return f"({buffer.type})({whole} + n)"

    def fill(self, buffer: Shared, visible: list[Shared]) -> Action:
        t = self.threads
        self.filled.add(buffer.name)
        own = Use(buffer.name, "write", True)
        if buffer.count == t and buffer.flat and not buffer.varies:
            if buffer.type == "float" and self.random.random() < 0.2:
                self.asynchronous = True
                copy = f"__pipeline_memcpy_async(&{buffer.at('tid')}, &in[blockIdx.x * {t} + tid], 4);"
                lines = [copy, "__pipeline_commit();", "__pipeline_wait_prior(0);"]
                return Action(lines, [own], [])
            others = [b for b in visible if b.name in self.filled and b.name != buffer.name]
            if others and self.random.random() < 0.3:
                other = self.random.choice(others)
                line = f"{buffer.at('tid')} = ({buffer.type}){other.get(self.elsewhere(other))};"
                return Action([line], [own, Use(other.name, "read", False)], [])
            return Action([f"{buffer.at('tid')} = {self.value(buffer, 'tid')};"], [own], [])
        if buffer.count < t and not buffer.varies:
            guard = "tid == 0" if buffer.count == 1 else f"tid < {buffer.extent}"
            return Action([f"if ({guard}) {buffer.at('tid')} = {self.value(buffer, 'tid')};"], [own], [])
        line = (
            f"for (int i = tid; i < {buffer.extent}; i += {t}) {buffer.at('i')} = {self.value(buffer, 'i')};"
        )
        return Action([line], [own], [])

    def flight(self, visible: list[Shared]) -> list[Action | Block]:
        """An asynchronous copy that other things are done in front of the wait of."""
        t = self.threads
        buffer = self.random.choice(visible)
        others = [each for each in visible if each is not buffer]
        if (buffer.type, buffer.count, buffer.flat, buffer.varies) != ("float", t, True, False) or not others:
            return [self.action(visible)]
        self.asynchronous = True
        copy = f"__pipeline_memcpy_async(&{buffer.at('tid')}, &in[blockIdx.x * {t} + tid], 4);"
        own = Use(buffer.name, "write", True)
        meanwhile = self.items(self.random.randint(1, 2), self.random.randint(0, 1), others)
        wait = self.random.choice(("__pipeline_wait_prior(0);", 'asm volatile("cp.async.wait_all;");'))
        self.filled.add(buffer.name)
        issue = Action([copy, "__pipeline_commit();"], [own], [])
        return [issue, *meanwhile, Action([wait], [own], [])]

    def elsewhere(self, buffer: Shared) -> str:
        return f"(tid * {self.random.choice((1, 3, 7))} + {self.random.randint(0, 40)}) % {buffer.extent}"

    def gather(self, buffer: Shared, visible: list[Shared]) -> Action:
        read = Use(buffer.name, "read", False)
        if self.random.random() < 0.3:
            index = f"(tid * 4 + j) % {buffer.extent}"
            return Action([f"for (int j = 0; j < 4; ++j) v += {buffer.get(index)};"], [read], [])
        return Action([f"v += {buffer.get(self.elsewhere(buffer))};"], [read], [])

    def guarded_read(self, buffer: Shared, visible: list[Shared]) -> Action:
        line = f"if (tid < {self.threads // 2}) v = v * 0.25f + {buffer.get(self.elsewhere(buffer))};"
        return Action([line], [Use(buffer.name, "read", False)], [])

    def own_update(self, buffer: Shared, visible: list[Shared]) -> Action | None:
        if buffer.count < self.threads:
            return None
        element = buffer.at("tid")
        line = f"{element} = ({buffer.type})({element} + {self.random.randint(1, 9)});"
        uses = [Use(buffer.name, "read", True), Use(buffer.name, "write", True)]
        if self.random.random() < 0.5:
            return Action([line, f"v += {element};"], uses, [])
        return Action([line], uses, [])

    def partial_fill(self, buffer: Shared, visible: list[Shared]) -> Action:
        most = min(buffer.count, self.threads)
        guard = self.random.choice(
            (f"tid < {max(1, most // 2)}", f"tid < {most} && (tid & 1)", f"tid == {most - 1}")
        )
        return Action(
            [f"if ({guard}) {buffer.at('tid')} = {self.value(buffer, 'tid')};"],
            [Use(buffer.name, "write", True)],
            [],
        )

    def reduction(self, buffer: Shared, visible: list[Shared]) -> Action | None:
        half = self.threads // 2
        if not buffer.flat or buffer.count < self.threads or self.threads & (self.threads - 1):
            return None
        if buffer.type not in ("float", "int", "double"):
            return None
        name = buffer.name
        lines = [
            f"for (int d = {half}; d > 0; d >>= 1) {{",
            f"  if (tid < d) {name}[tid] += {name}[tid + d];",
            "  __syncthreads();",
            "}",
        ]
        if self.random.random() < 0.7:
            lines.append(f"v += {name}[0];")
            after = [Use(name, "read", False)]
        else:
            after = []
        both = [Use(name, "read", False), Use(name, "write", False)]
        return Action(lines, both, after, has_barrier=True)

    def count(self, buffer: Shared, visible: list[Shared]) -> Action | None:
        if buffer.type != "int" or not buffer.flat:
            return None
        line = f"atomicAdd(&{buffer.name}[{self.elsewhere(buffer)}], tid + 1);"
        return Action([line], [Use(buffer.name, "atomic", False)], [])

    def call(self, buffer: Shared, visible: list[Shared]) -> Action | None:
        if buffer.type != "float" or not buffer.flat:
            return None
        name = self.random.choice(("pick", "put"))
        if name == "put" and buffer.count < self.threads:
            return None
        self.helpers.add(name)
        if name == "pick":
            return Action(
                [f"v += pick({buffer.name}, tid, {buffer.extent});"], [Use(buffer.name, "read", False)], []
            )
        return Action([f"put({buffer.name}, tid, v);"], [Use(buffer.name, "write", True)], [])

    def alias(self, buffer: Shared, visible: list[Shared]) -> Action | None:
        if not buffer.flat or buffer.count < 8:
            return None
        self.names += 1
        name, by = f"p{self.names}", self.random.randint(0, 4)
        read = Use(buffer.name, "read", False)
        index = f"(tid * 3) % ({buffer.extent} - {by})"
        others = [b for b in visible if b.type == buffer.type and b.name in self.filled and b.flat]
        other = self.random.choice(others)
        if other is not buffer and other.count >= buffer.count and self.random.random() < 0.5:
            line = f"const {buffer.type}* {name} = n > 1 ? {buffer.name} + {by} : {other.name};"
            return Action([line, f"v += {name}[{index}];"], [read, Use(other.name, "read", False)], [])
        line = f"const {buffer.type}* {name} = {buffer.name} + {by};"
        return Action([line, f"v += {name}[{index}];"], [read], [])

    def lambda_(self, buffer: Shared, visible: list[Shared]) -> Action:
        self.names += 1
        name = f"get{self.names}"
        line = f"auto {name} = [&](int i) {{ return {buffer.get(f'i % {buffer.extent}')}; }};"
        return Action([line, f"v += {name}(tid + 3);"], [Use(buffer.name, "read", False)], [])

    def ping_pong(self, buffer: Shared, visible: list[Shared]) -> Action | None:
        """Two buffers that change places in every turn."""
        t = self.threads
        same = [
            b
            for b in visible
            if (b.type, b.count, b.flat) == ("float", buffer.count, True) and b is not buffer
        ]
        if buffer.type != "float" or not buffer.flat or buffer.count < t or not same:
            return None
        other = self.random.choice(same)
        self.names += 1
        p, q, turn = f"p{self.names}", f"q{self.names}", f"t{self.names}"
        lines = [
            f"float* {p} = {buffer.name};",
            f"float* {q} = {other.name};",
            f"for (int {turn} = 0; {turn} < n; ++{turn}) {{",
            f"  {q}[tid] = {p}[(tid + 1) % {t}] * 0.5f + {turn};",
            "  __syncthreads();",
            f"  float* last = {p};",
            f"  {p} = {q};",
            f"  {q} = last;",
            "}",
            f"v += {p}[(tid + 2) % {t}];",
        ]
        uses = [Use(b.name, kind, False) for b in (buffer, other) for kind in ("read", "write")]
        return Action(lines, uses, [])

    def without_half_of_the_threads(self, visible: list[Shared]) -> list[Action | Block]:
        """The end of a kernel whose upper threads have returned."""
        t = self.threads
        leave = Action([f"out[blockIdx.x * {t} + tid] = v;", f"if (tid >= {t // 2}) return;"], [], [])
        filled = [b for b in visible if b.name in self.filled]
        return [leave, *(self.gather(b, visible) for b in filled[:2])]

    def warp(self, buffer: Shared, visible: list[Shared]) -> Action | None:
        if buffer.count < self.threads or not buffer.flat:
            return None
        element, neighbour = buffer.at("tid"), buffer.at(f"tid ^ {self.random.choice((1, 2, 16))}")
        lines = [f"{element} = {self.value(buffer, 'tid')};", "__syncwarp();", f"v += {neighbour};"]
        return Action(lines, [Use(buffer.name, "write", True)], [Use(buffer.name, "read", False)])

    def vector(self, buffer: Shared, visible: list[Shared]) -> Action | None:
        if (
            buffer.type != "float"
            or not buffer.flat
            or buffer.count < 4
            or buffer.count % 4
            or not buffer.aligned
        ):
            return None
        self.names += 1
        name = f"q{self.names}"
        index = f"tid % ({buffer.extent} / 4) * 4"
        line = f"const float4 {name} = *reinterpret_cast<const float4*>(&{buffer.name}[{index}]);"
        return Action([line, f"v += {name}.x - {name}.w;"], [Use(buffer.name, "read", False)], [])


HELPERS = {
    "pick": (
        "__device__ float pick(const float* values, int at, int count) {\n"
        "  return values[(at * 5 + 2) % count] * 0.5f;\n}\n"
    ),
    "put": "__device__ void put(float* values, int at, float value) { values[at] = value + 1.0f; }\n",
}


def host_program(threads: int, numbers: str = "") -> str:
    """A ``main`` that launches the kernel with each of ``TRIPS`` for n."""
    return f"int main() {{ smem::launch_each(k, {threads}, {numbers or launch_numbers()}); }}\n"


def launch_numbers(more: bool = False) -> str:
    """What ``launch_each`` and ``call_each`` launch a kernel with."""
    return f"{listed(MORE_TRIPS)}, {INPUTS}" if more else listed(TRIPS)


def listed(numbers: Iterable[int]) -> str:
    """In words of C++."""
    return f"{{{', '.join(map(str, numbers))}}}"
