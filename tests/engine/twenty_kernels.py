"""A file of twenty kernels with helpers, macros and a struct, and the edits that people make in it.

Each edit takes a number that no earlier one had, so that no text is ever the same as one before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

KERNELS = 20
EDITED = 7  # the kernel that somebody types in

_TOP = """\
#include <cuda_runtime.h>

#define TILE 32
#define SQUARE(x) ((x) * (x))

constexpr int SIZE = 256;

struct Pair {
  float low;
  float high;
};

__device__ float shared_by_all(const float* p, int i) {
  return p[SQUARE(i) % SIZE];
}

__device__ float rarely_called(const float* p) {
  return p[0] + p[1];
}

"""
_KERNEL = """\
__global__ void kernel_{n}(const float* in, float* out, int count) {{
  __shared__ float stage[SIZE + {n}];
  __shared__ Pair pairs[TILE];
  const int t = threadIdx.x;
  float sum = {start};
  for (int i = 0; i < count; i += SIZE) {{
    stage[t] = in[i + t];
    if (t < TILE) {{
      pairs[t].low = in[t];
    }}
    __syncthreads();
    sum += stage[SIZE - 1 - t] + shared_by_all(in, i) + pairs[t % TILE].low;
    __syncthreads();
  }}
  out[t] = sum;
}}

"""


def text() -> str:
    """The file. Kernels 3, 10 and 17 call ``rarely_called``."""
    kernels = [
        _KERNEL.format(n=n, start="rarely_called(in)" if n % 7 == 3 else "0.0f") for n in range(KERNELS)
    ]
    launches = "".join(f"  kernel_{n}<<<1, 256>>>(in, out, {n});\n" for n in range(KERNELS))
    return f"{_TOP}{''.join(kernels)}void launch(const float* in, float* out) {{\n{launches}}}\n"


@dataclass(frozen=True)
class Edit:
    """``make``: the text with the edit, from the text and a fresh number; ``depend``: the kernels that depend on what
    it changes."""

    make: Callable[[str, int], str]
    depend: int


def _in_kernel(old: str, new: str) -> Callable[[str, int], str]:
    """Replace the first ``old`` in the edited kernel; `@` in ``new`` stands for the number."""

    def make(whole: str, number: int) -> str:
        at = whole.index(old, whole.index(f"kernel_{EDITED}("))
        return whole[:at] + new.replace("@", str(number)) + whole[at + len(old) :]

    return make


def _anywhere(old: str, new: str) -> Callable[[str, int], str]:
    return lambda whole, number: whole.replace(old, new.replace("@", str(number)), 1)


EDITS = {
    "a token in a kernel": Edit(_in_kernel("[i + t]", "[i + t + @]"), 1),
    "blank lines in a kernel": Edit(
        lambda whole, n: _in_kernel("  float", "\n" * n + "  float")(whole, n), 1
    ),
    "blank lines above a kernel": Edit(
        lambda whole, n: whole.replace("__global__ void kernel_7(", "\n" * n + "__global__ void kernel_7("), 0
    ),
    "a helper of all kernels": Edit(_anywhere("SQUARE(i) %", "SQUARE(i + @) %"), KERNELS),
    "a helper of three kernels": Edit(_anywhere("p[0] +", "p[@] +"), 3),
    "a macro at the top that nobody uses": Edit(
        _anywhere("#define TILE", "#define FRESH_@ @\n#define TILE"), 0
    ),
    "the value of a macro of all kernels": Edit(_anywhere("TILE 32", "TILE (32 + @)"), KERNELS),
    "an open brace in a kernel": Edit(
        _in_kernel("t = threadIdx.x;", "t = threadIdx.x + @;\n  if (t < count) {"), 1
    ),
    "an open brace at the top of a kernel": Edit(_in_kernel("  const int", "  {  // @\n  const int"), 1),
    "an open brace in a helper": Edit(_anywhere("  return p[0]", "  if (p[@]) {\n  return p[0]"), 3),
    "a superfluous brace in a kernel": Edit(_in_kernel("  out[t]", "  }  // @\n  out[t]"), 1),
    "a brace and its closing one": Edit(
        _in_kernel("  out[t] = sum;", "  if (t < @) {\n  out[t] = sum;\n  }"), 1
    ),
    "an open struct above a kernel": Edit(
        lambda whole, n: whole.replace(
            "__global__ void kernel_7(", f"struct S{n} {{\n  int x;\n__global__ void kernel_7("
        ),
        13,  # those behind it: what they call and launch with is declared in a class meanwhile
    ),
}
