"""Two arrays in one buffer whose distance, and whose size, parameters say."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

SCALED = """\
template <int WIDTH, int BLOCK>
__global__ void __launch_bounds__(BLOCK) scaled(float* out, const float* in, int rows, int columns, int turns) {
  extern __shared__ float bytes[];
  float* tile = bytes;
  float* sums = bytes + rows * WIDTH;
  for (int i = threadIdx.x; i < rows * columns; i += BLOCK) tile[i] = in[i];
  __syncthreads();
  for (int turn = 0; turn < turns; turn++) {
    for (int c = threadIdx.x; c < columns; c += BLOCK) {
      float sum = 0;
      for (int r = 0; r < rows; r++) sum += tile[r * columns + c];
      sums[c] = sum > 0 ? 1 / sum : 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < rows * columns; i += BLOCK) tile[i] *= sums[i % columns];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < rows * columns; i += BLOCK) out[i] = tile[i];
}
"""
UNSEEN = "template __global__ void scaled<32, 256>(float*, const float*, int, int, int);\n"
LAUNCH = """\
void run(float* o, const float* i, int rows, int columns, int turns) {
  if (COLUMNS) scaled<32, 256><<<1, 256, (rows * 32 + 64) * sizeof(float)>>>(o, i, rows, columns, turns);
}
"""


@pytest.mark.parametrize(
    ("launches", "kind"),
    [
        (UNSEEN, VerdictKind.UNDECIDED),  # nobody passes more columns than a row has room for
        (LAUNCH.replace("COLUMNS", "columns <= 32"), VerdictKind.RACE_FREE),
        (LAUNCH.replace("COLUMNS", "columns == 64"), VerdictKind.RACY),
    ],
)
def test_who_launches_it_keeps_them_apart(launches: str, kind: VerdictKind) -> None:
    report = check(SCALED + launches)
    assert [each.verdict.kind for each in report.kernels] == [kind]
    races = [each for each in report.findings if each.code in ("SMEM201", "SMEM202")]
    assert bool(races) == (kind is VerdictKind.RACY)


SHIFTED = """\
template <int BLOCK>
__global__ void __launch_bounds__(BLOCK) shifted(float* out, const float* in, int n, int turns) {
  extern __shared__ float bytes[];
  for (int turn = 0; turn < turns; turn++) {
    if (threadIdx.x < n) bytes[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x + 1 < n) out[threadIdx.x] = bytes[threadIdx.x + 1];
    __syncthreads();
  }
}
template __global__ void shifted<256>(float*, const float*, int, int);
"""


def test_what_is_counted_from_one_place_races_whoever_launches_it() -> None:
    """For small sizes, too, only one warp comes to both."""
    (kernel,) = check(SHIFTED).kernels
    assert kernel.verdict.kind is VerdictKind.RACY
