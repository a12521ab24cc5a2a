"""Random kernels in the forms that authors write: templates, carved dynamic memory with its launch, too much static
memory, macros, scopes, switches, bodies without braces, tabs, CRLF, and the names that a rewrite would like to have."""

from __future__ import annotations

import re

from .actions import Action, Block, Shared, Use
from .forms import Scribe, Written
from .random_kernels import HELPERS, Generator, Maker, host_program, launch_numbers

_TAKEN = ("smem", "Smem", "smem_storage", "smem_size", "phase1", "phase2", "mainloop", "epilogue", "smem_2")
_BARRIERS = ("SYNC();", "cta.sync();", "cg::sync(cta);")
_TOTAL = (
    "template <int M>\n__device__ float total(const float (&values)[M]) {\n"
    "  float sum = 0.0f;\n  for (const float& x : values) sum += x;\n  return sum;\n}\n"
)


class WrittenKernel(Generator):
    """One kernel, and after ``text`` what a rewrite may touch: ``declaring``, its declarations and launches by line."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        chance = self.random.random()
        self.template = chance < 0.15
        self.carved = 0.15 <= chance < 0.3
        self.huge = 0.3 <= chance < 0.33
        self.unit = self.random.choice(("  ", "  ", "    ", "\t"))
        self.newline = "\r\n" if self.random.random() < 0.25 else "\n"
        self.barrier = self.random.choice(_BARRIERS) if self.random.random() < 0.15 else "__syncthreads();"
        self.launched = self.carved or self.huge or self.template or self.random.random() < 0.2
        self.scribe = Scribe(self.random, self.threads, self.unit)
        self.dynamic_bytes = 0
        self.declaring: set[str] = set()

    def host(self, *, more: bool = False) -> str:
        """A ``main`` for a test that runs it. ``more``: launches."""
        numbers = launch_numbers(more)
        if self.launched:
            return f"int main() {{ smem::call_each(run, {numbers}); }}\n"
        return host_program(self.threads, numbers)

    def new_buffer(self, *, top: bool = False) -> Shared:
        self.names += 1
        name = f"b{self.names}"
        if top and self.carved:
            return self.scribe.range(name)
        if top and self.huge and len(self.buffers) < 2:
            return self.scribe.large(name)
        return self.scribe.buffer(name, self.template)

    def choices(self) -> list[Maker]:
        return [*super().choices(), self.whole]

    def value(self, buffer: Shared, index: str) -> str:
        if isinstance(buffer, Written) and buffer.pointed:
            return f"in + ({index} * {self.random.choice((1, 3))} + {self.random.randint(0, 40)}) % 4096"
        return super().value(buffer, index)

    def own_update(self, buffer: Shared, visible: list[Shared]) -> Action | None:
        assert isinstance(buffer, Written)
        return None if buffer.pointed else super().own_update(buffer, visible)

    def whole(self, buffer: Shared, visible: list[Shared]) -> Action | None:
        """All elements, by what the type of the array says of their number."""
        is_array = not (self.carved and buffer in self.buffers)
        if not buffer.flat or not is_array or buffer.count > 300:
            return None
        self.names += 1
        name, i = buffer.name, f"j{self.names}"
        lines = [
            f"for (const {buffer.type}& x{i} : {name}) v += x{i};",
            f"for (int {i} = tid & 1; {i} < (int)(sizeof({name}) / sizeof({name}[0])); {i} += 5) v += {name}[{i}];",
        ]
        if buffer.type == "float":
            self.helpers.add("total")
            lines.append(f"v += total({name});")
        return Action([self.random.choice(lines)], [Use(name, "read", False)], [])

    def lambda_(self, buffer: Shared, visible: list[Shared]) -> Action:
        action = super().lambda_(buffer, visible)
        captures = ["[&]", "[=]"] if self.carved and buffer in self.buffers else ["[&]", "[=]", "[]"]
        action.lines[0] = action.lines[0].replace("[&]", self.random.choice(captures), 1)
        return action

    def render(self, items: list[Action | Block], indent: str) -> list[str]:
        lines: list[str] = []
        for item in items:
            if self.random.random() < 0.08:
                lines.append(f"{indent}// {self.scribe.note()}")
            lines += self._action(item, indent) if isinstance(item, Action) else self._block(item, indent)
        return lines

    def _action(self, action: Action, indent: str) -> list[str]:
        lines = [f"{indent}{self.barrier}"] if action.barrier else []
        if (
            action.lines[0].startswith("for (")
            and action.lines[0].endswith(";")
            and self.random.random() < 0.15
        ):
            lines.append(f"{indent}#pragma unroll 2")
        for line in action.lines:
            inner = line.lstrip(" ")
            lines.append(f"{indent}{self.unit * ((len(line) - len(inner)) // 2)}{inner}")
        return lines

    def _block(self, block: Block, indent: str) -> list[str]:
        inner, otherwise = f"{indent}{self.unit}", block.otherwise
        if (
            self._is_single(block.body)
            and not block.declared
            and otherwise is None
            and self.random.random() < 0.5
        ):
            return (
                [f"{indent}{block.head}", *self.render(block.body, inner)]
                if block.head
                else self.render(block.body, indent)
            )
        declared = [each for each in block.declared if isinstance(each, Written)]
        condition = re.fullmatch(r"if \((.*)\)", block.head)
        if condition and self.random.random() < 0.15 and not _breaks(block):
            body = [*self.scribe.declare(declared, inner), *self.render(block.body, inner), f"{inner}break;"]
            rest = [*self.render(otherwise or [], inner), f"{inner}break;"]
            return [
                f"{indent}switch (({condition[1]}) ? 1 : 0) {{",
                *(f"{indent}case 1: {{", *body, f"{indent}}}"),
                *(f"{indent}default: {{", *rest, f"{indent}}}"),
                f"{indent}}}",
            ]
        lines = (
            [f"{indent}#pragma unroll"]
            if re.search("< [34];", block.head) and self.random.random() < 0.3
            else []
        )
        lines.append(f"{indent}{block.head} {{" if block.head else f"{indent}{{")
        lines += [*self.scribe.declare(declared, inner), *self.render(block.body, inner)]
        if otherwise is not None:
            lines += [f"{indent}}} else {{", *self.render(otherwise, inner)]
        return [*lines, f"{indent}}}"]

    @staticmethod
    def _is_single(items: list[Action | Block]) -> bool:
        if len(items) != 1 or not isinstance(items[0], Action):
            return False
        return len(items[0].lines) == 1 and not items[0].barrier and items[0].lines[0].endswith(";")

    def file(self, items: list[Action | Block]) -> str:
        u, t = self.unit, self.threads
        lines = self.render(items, u)
        top = [each for each in self.buffers if isinstance(each, Written)]
        if self.carved:
            declared, self.dynamic_bytes = self.scribe.carve(top, "smem")
        else:
            declared = self.scribe.declare(top, u)
        launches = self._launches() if self.launched else []
        cooperative = ["#include <cooperative_groups.h>", "namespace cg = cooperative_groups;"]
        helpers = {**HELPERS, "total": _TOTAL}
        bounds = f"__launch_bounds__({t}) " if self.random.random() < 0.5 else ""
        head = [
            "#include <cuda_runtime.h>",
            *(["#include <cuda_pipeline.h>"] if self.asynchronous else []),
            *(cooperative if "cta" in self.barrier else []),
            *(["#define SYNC() __syncthreads()"] if "SYNC" in self.barrier else []),
            *("".join([*self.scribe.head, *(helpers[name] for name in sorted(self.helpers))]).splitlines()),
            *(["template <typename T, int N>"] if self.template else []),
            f"__global__ void {bounds}k(const float* in, float* out, int n) {{",
            *([f"{u}// smem: assume(blockDim.x == {t})"] if self.random.random() < 0.6 else []),
            *([f"{u}const cg::thread_block cta = cg::this_thread_block();"] if "cta" in self.barrier else []),
            f"{u}const int tid = threadIdx.x;",
        ]
        element = f"blockIdx.x * {t} + tid"
        body = [*declared, f"{u}float v = in[{element}];", *lines, f"{u}out[{element}] = v;", "}"]
        text = "\n".join([*head, *body, *launches, ""])
        names = self._renamed(items)
        self.declaring = {_named(line, names) for line in self.scribe.lines}
        return _named(text, names).replace("\n", self.newline)

    def _launches(self) -> list[str]:
        u, t, bytes_ = self.unit, self.threads, self.dynamic_bytes
        block = self.random.choice((str(t), f"dim3({t})"))
        third, above = "", []
        if bytes_:
            count = f"{bytes_ // 4} * sizeof(float)"
            third = self.random.choice((str(bytes_), count, f"sizeof(float) * {bytes_ // 4}", "bytes"))
            above = [f"{u}const int bytes = {bytes_};"] if third == "bytes" else []
            third = f", {third}" + (", 0" if self.random.random() < 0.2 else "")
        kernels = ["k"]
        if self.template:
            types = self.random.sample(("float", "int", "double", "short"), 2)
            kernels = [f"k<{types[0]}, {t}>"]
            if self.random.random() < 0.6:
                kernels.append(f"k<{types[1]}, {self.random.choice((t, 2 * t))}>")
        launches = [
            f"{u}{kernel}<<<2, {block}{third}>>>(in, {'out + 512' if number else 'out'}, n);"
            for number, kernel in enumerate(kernels)
        ]
        self.scribe.lines += [*above, *launches]
        return ["", "void run(const float* in, float* out, int n) {", *above, *launches, "}"]

    def _renamed(self, items: list[Action | Block]) -> dict[str, str]:
        """Other names for some buffers and other things: those that a rewrite would take, and one for two buffers."""
        names: dict[str, str] = {}
        blocks = [item for item in items if isinstance(item, Block) and item.declared]
        if len(blocks) > 1 and self.random.random() < 0.5:
            names |= {block.declared[0].name: "stage" for block in self.random.sample(blocks, 2)}
        if self.random.random() < 0.25:
            taken = [name for name in _TAKEN if not (self.carved and name == "smem")]
            self.random.shuffle(taken)
            others = [
                "v",
                *sorted(self.helpers),
                *(b.name for b in self.buffers),
                "SIZE_1",
                "SIZE_2",
                "SIZE_3",
            ]
            for old in self.random.sample(others, 3):
                new = taken.pop()
                if old not in names and not (
                    old.startswith("SIZE") and new == "smem"
                ):  # the executor's namespace
                    names[old] = new
        return names


def _breaks(block: Block) -> bool:
    """Does it hold a ``break``, which would leave a switch and not the loop?"""
    return any(
        _breaks(item) if isinstance(item, Block) else any("break;" in line for line in item.lines)
        for item in [*block.body, *(block.otherwise or [])]
    )


def _named(text: str, names: dict[str, str]) -> str:
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda found: names.get(found[0], found[0]), text) if names else text
