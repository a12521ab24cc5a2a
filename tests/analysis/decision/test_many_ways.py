"""Copies in flight over the turns of nested loops, which lead from one access to another in many ways."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE = VerdictKind.RACE_FREE
PIPELINE = """\
__device__ void copy(void *to, const void *from) {{
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(from));
}}
__device__ void commit() {{ asm volatile("cp.async.commit_group;"); }}
template <int n> __device__ void wait() {{ asm volatile("cp.async.wait_group %0;" :: "n"(n)); }}
__global__ void k(const int4 *in, int4 *out, int rows, int columns) {{
  __shared__ int4 s[8 * 64];
  constexpr int order[4] = {{0, {second}, 2, 3}};
  int t = threadIdx.x;
  auto fetch = [&](int stage, int row, int column) {{
    if (column >= columns) {{ commit(); return; }}
    if (t < 64) copy(&s[64 * stage + t], &in[(row * columns + column) * 64 + t]);
    commit();
  }};
  auto use = [&](int stage, int row, int column) {{
    if (column >= columns || t >= 16) return;
    for (int i = 0; i < 4; i++) out[(row * columns + column) * 64 + i] = s[64 * stage + 4 * t + order[i]];
  }};
  for (int row = 0; row < rows; row++) {{
    for (int stage = 0; stage < 7; stage++) fetch(stage, row, stage);
    wait<{left}>();
    __syncthreads();
    int column = 0;
    while (column < columns) {{
      for (int stage = 0; stage < 8; stage++) {{
        fetch((stage + {ahead}) % 8, row, column + stage + {ahead});
        use(stage, row, column + stage);
        wait<{left}>();
        __syncthreads();
      }}
      column += 8;
    }}
  }}
}}
void go(const int4 *in, int4 *out, int rows, int columns) {{ k<<<1, 256>>>(in, out, rows, columns); }}
"""


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("second", "left", "ahead", "free"),
    [
        (1, 6, 7, True),
        (1, 5, 7, True),
        (1, 7, 7, False),  # the stage that is read next may be under way
        (1, 6, 6, False),  # stage 7 is fetched into what is under way
        (1, 6, 8, False),  # the stage that is read is fetched into
        (4, 6, 7, False),  # the last lane reads the next stage
    ],
)
def test_stages_of_a_pipeline_over_rows(second: int, left: int, ahead: int, *, free: bool) -> None:
    (found,) = check(PIPELINE.format(second=second, left=left, ahead=ahead)).facts[0].analysis.verdicts
    assert (found.kind is FREE) is free, found.reasons
