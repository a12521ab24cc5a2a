"""Random kernels that carve dynamic shared memory by numbers that they get when they run.

Phases fill a range and read it, or one that was filled before; what a fill leaves out, and what is read of another
range through a pointer, is there so that a plan that overlooks it changes what the kernel puts out. No two ranges get
the same numbers. Ranges may have other types, where they are aligned with every number.
"""

from __future__ import annotations

import random

from .random_kernels import listed

NUMBERS = (0, 1, 7, 64, 130)  # what the kernel is carved by
MORE_NUMBERS = (0, 1, 2, 3, 6, 31, 33, 64, 127, 130)
_ROUNDED = "(n + 3) / 4 * 4"
_BYTES = {"short": 2, "float": 4, "double": 8}
INPUTS = 2  # where there are more numbers, too


class CarvedKernel:
    """One kernel, and after ``text`` what a rewrite may touch: ``declaring``, its declarations and launches by line."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.threads = self.random.choice((32, 64, 96))
        count = self.random.randint(2, 4)
        self.same = self.random.random() < 0.6
        forms = ["n", "n", "m", "2 * n", "n + 8", "n + m", "blockDim.x", "(n + 3) / 4 * 4", "(n / 2 + m)"]
        if self.same:
            forms = [self.random.choice(("n", "n", "(n + 3) / 4 * 4"))]
        self.sizes = {f"r{number}": self.random.choice(forms) for number in range(count)}
        self.types = self.types_of(list(self.sizes.values()))
        self.kind = self.random.choice(("int", "int", "unsigned"))
        self.loop = self.random.random() < 0.5
        self.declaring: set[str] = set()
        self.read: set[str] = set()  # since the last barrier
        self.filled: dict[str, None] = {}  # in order

    def host(self, *, more: bool = False) -> str:
        """A ``main`` for a test that runs it. ``more``: launches, and other numbers for m."""
        if not more:
            return f"int main() {{ smem::call_each(run, {listed(NUMBERS)}); }}\n"
        numbers = listed(MORE_NUMBERS)
        lines = [f"smem::call_each(run, {numbers}, {INPUTS});"]
        for m in ("0", "2 * n + 5"):
            call = f"[](const float* in, float* out, int n) {{ call(in, out, n, {m}); }}"
            lines.append(f"smem::call_each({call}, {numbers});")
        return f"int main() {{ {' '.join(lines)} }}\n"

    def text(self) -> str:
        first = (
            [line for name in self.sizes for line in self.fill(name, whole=True)] if self.once(0.25) else []
        )
        first += self.barrier() if first else []
        chosen = [self.random.choice(list(self.sizes)) for _ in range(self.random.choice((0, 0, 0, 1, 2)))]
        order = [*self.sizes, *chosen]
        if self.once(0.2):
            self.random.shuffle(order)
        lines = [line for name in order for line in self.phase(name)]
        if self.loop:
            again = self.barrier() if self.read or self.once(0.3) else []
            head = f"for ({self.kind} turn = 0; turn < 3; ++turn) {{"
            lines = [head, *(f"  {line}" for line in [*lines, *again]), "}"]
        declared, total = self.declarations()
        launch = f"  k<<<2, {self.threads}, {total}>>>(in, out, n, m);"
        self.declaring = {*declared, launch}
        return "\n".join([
            "#include <cuda_runtime.h>",
            f"__global__ void k(const float* in, float* out, {self.kind} n, {self.kind} m) {{",
            *declared,
            "  float v = in[threadIdx.x];",
            *(f"  {line}" for line in [*first, *lines]),
            f"  out[blockIdx.x * {self.threads} + threadIdx.x] = v;",
            "}",
            "void call(const float* in, float* out, int n, int m) {",
            launch,
            "}",
            "void run(const float* in, float* out, int n) { call(in, out, n, n / 2 + 3); }",
            "",
        ])  # fmt: skip

    def types_of(self, sizes: list[str]) -> dict[str, str]:
        mixed, found = self.once(0.35), dict[str, str]()
        for number, size in enumerate(sizes):
            type_ = self.random.choice(("float", "double", "short")) if mixed else "float"
            before = list(zip(sizes, found.values()))
            aligned = all(size == _ROUNDED or _BYTES[old] >= _BYTES[type_] for size, old in before)
            found[f"r{number}"] = type_ if aligned else found[f"r{number - 1}"]
        return found

    def once(self, chance: float) -> bool:
        return self.random.random() < chance

    def declarations(self) -> tuple[list[str], str]:
        """Lines, and the bytes that they take in words of the host."""
        lines, names = ["  extern __shared__ float smem[];"], list(self.sizes)
        for at, name in enumerate(names):
            type_, before = self.types[name], names[:at]
            chain = f"{names[at - 1]} + {self.sizes[names[at - 1]]}" if at else "smem"
            if self.types[names[at - 1]] != type_ if at else type_ != "float":
                chain = f"({type_}*)({chain})"
            places = [chain, chain, f"({type_}*)((char*)smem + {self.bytes_of(before)})"]
            if not self.mixed:
                places.append(" + ".join(["smem", *(self.sizes[each] for each in before)]))
            lines.append(f"  {type_}* {name} = {self.random.choice(places)};")
        sizes = [size.replace("blockDim.x", str(self.threads)) for size in self.sizes.values()]
        if self.mixed:
            return lines, " + ".join(
                f"({size}) * sizeof({type_})" for size, type_ in zip(sizes, self.types.values())
            )
        if self.same and self.once(0.7):
            size = sizes[0] if sizes[0].isalnum() else f"({sizes[0]})"
            return lines, f"{len(sizes)} * {size} * sizeof(float)"
        if self.once(0.5):
            return lines, " + ".join(f"({each}) * sizeof(float)" for each in sizes)
        return lines, f"({' + '.join(sizes)}) * sizeof(float)"

    @property
    def mixed(self) -> bool:
        return set(self.types.values()) != {"float"}

    def bytes_of(self, names: list[str]) -> str:
        if self.mixed:
            return " + ".join(f"({self.sizes[each]}) * sizeof({self.types[each]})" for each in names) or "0"
        return f"({' + '.join(self.sizes[each] for each in names) or '0'}) * sizeof(float)"

    def barrier(self) -> list[str]:
        self.read.clear()
        return ["__syncthreads();"]

    def phase(self, name: str) -> list[str]:
        """A range is filled, and something is read."""
        needed = self.barrier() if name in self.read or (self.loop and not self.filled) else []
        lines = [*needed, *self.fill(name), *self.barrier()]
        older = [each for each in self.filled if each != name]
        if older and self.once(0.2):
            lines += self.use(self.random.choice(older))
        lines += self.use(name)
        return [*lines, *self.barrier()] if self.once(0.6) else lines

    def fill(self, name: str, *, whole: bool = False) -> list[str]:
        size, kind = self.sizes[name], self.kind
        head = f"for ({kind} i = threadIdx.x; i < {size}; i += blockDim.x)"
        number = self.random.choice(("in[i] + v", "v * 0.5f + i", "in[i] * 2.0f"))
        value = f"{number} + {list(self.sizes).index(name)}"
        if self.types[name] == "short":
            value = f"(short)(in[i] * 8 + 3 * {list(self.sizes).index(name)})"
        known = name in self.filled
        self.filled[name] = None
        forms = [f"{head} {name}[i] = {value};", f"{head} {name}[({size}) - 1 - i] = {value};"]
        if known and not whole and self.once(0.6):
            forms += [
                f"{head} if (i % 3) {name}[i] = {value};",
                f"for ({kind} i = threadIdx.x + 1; i < {size}; i += blockDim.x) {name}[i] = {value};",
                f"if (m > 9) {head} {name}[i] = {value};",
            ]
        return [self.random.choice(forms)]

    def use(self, name: str) -> list[str]:
        self.read.add(name)
        size, kind = self.sizes[name], self.kind
        head = f"for ({kind} i = threadIdx.x; i < {size}; i += blockDim.x)"
        names = list(self.sizes)
        before = names[max(names.index(name) - 1, 0)]
        moves = before != name and self.types[before] == self.types[name]
        forms = [
            f"{head} v += {name}[({size}) - 1 - i];",
            f"{head} v -= {name}[i];",
            f"for ({kind} i = 0; i < {size}; ++i) v += {name}[i] * 0.25f;",
        ]
        if moves and self.once(0.3):  # through the pointer in front of it
            forms = [f"{head} v += {before}[{self.sizes[before]} + i];"]
        elif moves and self.once(0.1):  # which has another number when it moves
            forms.append(f"for ({kind} i = 0; i < {name} - {before}; ++i) v += in[i];")
        return [self.random.choice(forms)]
