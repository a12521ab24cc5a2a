"""What ``fit`` costs: a 5 x 5 grid for a template kernel of 300 lines, processor time on one core.

Both names are template parameters, one is a constant of the file, or both are: then the text is read again for each
combination. The first call is told apart: it also reads the grammar's tables from the cache on the disk. One second
for the grid is enough, the parse of the file included.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.figures import processor_ms

from smem_lsp.config import Config
from smem_lsp.engine.fit import FitResult, fit

LINES = 300
ARITHMETIC = 16  # lines between two phases
EMPTY_ROUNDS = 10_000_000


def kernel(stages: str, tile: str) -> str:
    """A pipelined matrix product with a long epilogue: phases with two barriers each, and arithmetic between them."""
    head = f"""\
#include <cuda_runtime.h>
constexpr int KSTEP = 16;
constexpr int DEPTH = 3;
constexpr int SIDE = 64;
template <typename T, int STAGES, int TILE>
__global__ void __launch_bounds__(256) product(const T* a, const T* b, T* c, int n, int k) {{
  __shared__ T As[{stages}][{tile}][KSTEP + 1];
  __shared__ T Bs[{stages}][KSTEP][{tile}];
  __shared__ T Cs[{tile}][{tile} + 1];
  __shared__ float rows[{tile}];
  __shared__ float columns[{tile}];
  const int t = threadIdx.x;
  T sum = 0;
  for (int step = 0; step < k; step += KSTEP) {{
    const int slot = step / KSTEP % {stages};
    for (int i = t; i < {tile} * KSTEP; i += 256) As[slot][i / KSTEP][i % KSTEP] = a[step * n + i];
    for (int i = t; i < {tile} * KSTEP; i += 256) Bs[slot][i / {tile}][i % {tile}] = b[step * n + i];
    __syncthreads();
    for (int i = 0; i < KSTEP; ++i) sum += As[slot][t % {tile}][i] * Bs[slot][i][t % {tile}];
    __syncthreads();
  }}
""".splitlines()
    tail = f"""\
  for (int i = t; i < {tile}; i += 256) rows[i] = c[i];
  __syncthreads();
  for (int i = t; i < {tile}; i += 256) columns[i] = rows[i] * 2;
  __syncthreads();
  for (int i = t; i < {tile}; i += 256) c[i] += columns[{tile} - 1 - i];
}}
template __global__ void product<float, DEPTH, SIDE>(const float*, const float*, float*, int, int);
""".splitlines()
    phase = f"""\
  for (int i = t; i < {tile} * {tile}; i += 256) {{
    Cs[i / {tile}][i % {tile}] = sum * NUMBER;
  }}
  __syncthreads();
  if (n > NUMBER) {{
    sum += Cs[t % {tile}][t / {tile}];
  }}
  __syncthreads();
""".splitlines()
    lines = list(head)
    number = 0
    while len(lines) + len(phase) + ARITHMETIC + len(tail) <= LINES:
        number += 1
        lines += [line.replace("NUMBER", str(number)) for line in phase]
        lines += [f"  sum = sum * {i} + n % {number};" for i in range(ARITHMETIC)]
    lines += ["  sum += 1;"] * (LINES - len(lines) - len(tail))
    return "\n".join([*lines, *tail]) + "\n"


GRIDS = {
    "two template parameters": (kernel("STAGES", "TILE"), ("STAGES", "TILE")),
    "one of them a constant": (kernel("STAGES", "TILE"), ("STAGES", "SIDE")),
    "two constants": (kernel("DEPTH", "SIDE"), ("DEPTH", "SIDE")),
}


def empty_rounds() -> None:
    """What this machine does just now: the grid is also told against it."""
    for _ in range(EMPTY_ROUNDS):
        pass


@benchmark(unit="ms", better="lower")
def measure(*, rounds: int = 3) -> Iterator[Told]:
    config = Config(arch=("sm_80", "sm_90", "sm_120"), arch_configured=True)
    empty = processor_ms(empty_rounds)
    for name, (text, (first, second)) in GRIDS.items():
        vary = [(first, (2, 3, 4, 5, 6)), (second, (16, 32, 48, 64, 80))]
        found: list[FitResult] = []
        times = [
            processor_ms(lambda: found.append(fit(text, "product", vary, config=config)))  # noqa: B023
            for _ in range(rounds)
        ]
        rows = found[-1].combinations
        assert len(rows) == 25 and all(row.declared is not None for row in rows)
        yield Figure(f"{name}: first", times[0])
        yield Figure(f"{name}: least", min(times))
        yield Figure(f"{name}: least against 10 million empty rounds", min(times) / empty, "")
        yield Figure(f"{name}: combinations that fit", sum(row.fits for row in rows), "", "neither", 25)
