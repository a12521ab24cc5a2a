"""How processor time grows with what a file or a kernel holds.

For each form a text is made with 125, 250, 500 and 1,000 of what it repeats, and checked from scratch, with a minute
for each analysis. The exponent is that between the last two: 1 where twice as much takes twice as long. What was
stopped all the same, or is left undecided, is named, since its time says nothing.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Literal, get_args

from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.figures import profiled

from smem_lsp.engine import check
from smem_lsp.facts.attempts import LIMITS
from smem_lsp.source.queries import PROCESS, Store

Form = Literal["live_buffers", "buffers_in_turn", "branches", "barriers", "loops", "static_kernels"]
SIZES = (125, 250, 500, 1_000)
PATIENT = LIMITS.scaled(8)


def _kernel(body: str) -> str:
    launch = "void f(float* g, int n) { k<<<1, 256>>>(g, n); }\n"
    return f"__global__ void k(float* g, int n) {{\n  int t = threadIdx.x;\n{body}}}\n{launch}"


def _repeated(count: int, line: Callable[[int], str]) -> str:
    return "".join(map(line, range(count)))


def live_buffers(count: int) -> str:
    """Each is written at first and read at the end."""
    declared = _repeated(count, lambda i: f"  __shared__ float b{i}[8];\n")
    written = _repeated(count, lambda i: f"  if (t < 8) b{i}[t] = g[t + {i}];\n")
    read = _repeated(count, lambda i: f"  if (t < 8) g[t + {i}] = b{i}[7 - t];\n")
    return _kernel(f"{declared}{written}  __syncthreads();\n{read}")


def buffers_in_turn(count: int) -> str:
    """Each is written and read, then the next."""
    return _kernel(
        _repeated(
            count,
            lambda i: (
                f"  __shared__ float b{i}[8];\n  if (t < 8) b{i}[t] = g[t + {i}];\n  __syncthreads();\n"
                f"  if (t < 8) g[t + {i}] = b{i}[7 - t];\n"
            ),
        )
    )


def branches(count: int) -> str:
    """One buffer, stored to under a condition each."""
    stores = _repeated(count, lambda i: f"  if (n > {i}) s[t] = g[t + {i}];\n")
    return _kernel(f"  __shared__ float s[256];\n{stores}  __syncthreads();\n  g[t] = s[255 - t];\n")


def barriers(count: int) -> str:
    """One buffer, with a barrier behind each access."""
    one = "  s[t] = g[t + {}];\n  __syncthreads();\n  g[t] = s[255 - t];\n  __syncthreads();\n"
    return _kernel("  __shared__ float s[256];\n" + _repeated(count, one.format))


def loops(count: int) -> str:
    """One buffer, filled and read in a loop each."""
    one = "  for (int i = 0; i < n; ++i) {{ s[t] = g[i + {}]; __syncthreads(); g[i] = s[255 - t]; __syncthreads(); }}\n"
    return _kernel("  __shared__ float s[256];\n" + _repeated(count, one.format))


def static_kernels(count: int) -> str:
    """A file of kernels with internal linkage, each with its launch."""
    return _repeated(
        count,
        lambda i: (
            f"static __global__ void k{i}(float* g) {{\n  __shared__ float s[64];\n  s[threadIdx.x] = g[{i}];\n"
            f"  __syncthreads();\n  g[threadIdx.x] = s[63 - threadIdx.x];\n}}\n"
            f"void f{i}(float* g) {{ k{i}<<<1, 64>>>(g); }}\n"
        ),
    )


FORMS: dict[Form, Callable[[int], str]] = {
    "live_buffers": live_buffers,
    "buffers_in_turn": buffers_in_turn,
    "branches": branches,
    "barriers": barriers,
    "loops": loops,
    "static_kernels": static_kernels,
}


@benchmark(unit="s", better="lower")
def measure(
    forms: tuple[Form, ...] = get_args(Form),
    *,
    sizes: tuple[int, ...] = SIZES,
    profile: Annotated[bool, "print where the time of the largest goes"] = False,
) -> Iterator[Told]:
    check(live_buffers(2))
    gc.freeze()
    for name in forms:
        seconds = []
        stopped: list[str] = []
        for size in sizes:
            text = FORMS[name](size)
            PROCESS.clear()
            gc.collect()
            with profiled(profile and size == sizes[-1]):
                started = time.process_time()
                report = check(text, cache=Store(), limits=PATIENT)
                seconds.append(time.process_time() - started)
            yield Figure(f"{name} {size:,}", seconds[-1])
            stopped += [f"{size:,}: {each.what} ({each.why.value})" for each in report.stopped]
            reasons = {reason.words for kernel in report.kernels for reason in kernel.verdict.reasons}
            stopped += [f"{size:,}: undecided, {each}" for each in sorted(reasons)]
        if len(sizes) > 1:
            grown = math.log(seconds[-1] / seconds[-2]) / math.log(sizes[-1] / sizes[-2])
            yield Figure(f"{name} exponent", grown, "")
        yield from dict.fromkeys(stopped)
