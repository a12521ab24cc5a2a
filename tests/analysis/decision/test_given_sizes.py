"""Blocks whose sizes are made of what the launch passes to the kernel."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import Verdict, VerdictKind
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import AS_PASSED, kernel_verdict
from smem_lsp.rules.model import Severity

FREE = VerdictKind.RACE_FREE
KERNEL = """\
__global__ void k(const float *in, float *out, int width, int rows) {{
  __shared__ float s[4096];
  const int at = threadIdx.y * ({row}) + threadIdx.x;
  s[at] = in[threadIdx.x];
  __syncthreads();
  out[at] = s[at];
}}
void go(const float *in, float *out, int width, int rows, int many) {{
  {host}
  {launch}
}}
"""
CHECKED = "width >>= 2; if (width > 128 || width < 16) return;"
LAUNCH = "k<<<7, dim3(width / rows, rows)>>>(in, out, width, rows);"


def verdict(launch: str = LAUNCH, host: str = CHECKED, row: str = "width / rows") -> Verdict:
    (facts,) = check(KERNEL.format(launch=launch, host=host, row=row)).facts
    (found,) = facts.analysis.verdicts
    if found.kind is FREE:
        assert AS_PASSED in kernel_verdict(facts).assumes
    return found


def test_a_row_has_as_many_threads_as_elements() -> None:
    found = verdict()
    assert found.kind is FREE, found.reasons


@pytest.mark.parametrize(
    "launch",
    [
        LAUNCH.replace(
            "width / rows", "width / rows + 1"
        ),  # the last thread of a row is the first one of the next
        LAUNCH.replace("width / rows", "2 * width / rows"),
        LAUNCH.replace("in, out, width, rows", "in, out, width, 2 * rows"),
        f"{LAUNCH} k<<<1, dim3(64, rows)>>>(in, out, width, rows);",  # one of two launches
        LAUNCH.replace("width / rows", "many"),
    ],
)
def test_other_launches(launch: str) -> None:
    assert verdict(launch).kind is not FREE


def test_rows_of_another_length() -> None:
    assert verdict(row="width / rows - 1").kind is not FREE


def test_a_kernel_that_nobody_launches() -> None:
    assert verdict("").kind is not FREE


SQUARE = """\
__global__ void k(const float *in, float *out, int r, int n) {{
  extern __shared__ float s[];
  float *v = s + r * r;
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (t < r) {{
    v[t] = 0;
    for (int j = 0; j < r; ++j) v[t] += s[t + r * j];
  }}
  {barrier}
  out[t] = v[t % r];
}}
void go(const float *in, float *out, int r, int n) {{ k<<<n, r * r>>>(in, out, r, n); }}
"""


@pytest.mark.parametrize("threads", [None, 64, 256])
def test_a_square_of_threads(threads: int | None) -> None:
    """A block decides what its side is: one that is named, or each that is a square of whole warps."""
    config = Config(threads=threads)
    (found,) = check(SQUARE.format(barrier=""), config=config).findings
    assert found.code == "SMEM201"
    assert found.severity is (Severity.WARNING if threads is None else Severity.ERROR)
    assert (
        threads is not None or "for every block of 32 threads or more in x, in whole warps" in found.message
    )
    assert not check(SQUARE.format(barrier="__syncthreads();"), config=config).findings


def test_a_block_that_is_no_square() -> None:
    """No launch of it is known, so nothing is known of the side."""
    found = check(SQUARE.format(barrier=""), config=Config(threads=96)).findings
    assert all(each.severity is not Severity.ERROR for each in found)


LEAST = """\
__global__ void k(const int *in, int *out, int n, int m) {{
  extern __shared__ int least[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = threadIdx.x; j < m; j += 256) least[j] = 1 << 30;
  __syncthreads();
  for (int j = 0; j < m; ++j)
    if (i < n && {leader}) atomicMin(least + j, in[i]);
  {barrier}
  if (threadIdx.x == 0)
    for (int j = 0; j < m; ++j) out[j] = least[j];
}}
void go(const int *in, int *out, int n, int m) {{ k<<<{blocks}, 256, 4 * m>>>(in, out, n, m); }}
"""


@pytest.mark.parametrize("blocks", ["(n + 255) / 256", "n / 256 + 1", "7"])
def test_as_many_blocks_as_elements_need(blocks: str) -> None:
    leader = "threadIdx.x % 32 == 0"
    (found,) = check(LEAST.format(blocks=blocks, barrier="", leader=leader)).findings
    assert (found.code, found.severity) == ("SMEM201", Severity.ERROR)
    assert not check(LEAST.format(blocks=blocks, barrier="__syncthreads();", leader=leader)).findings


def test_no_thread_of_these_blocks_comes() -> None:
    """Of a grid that is made for the elements no block is as far behind them."""
    text = LEAST.format(blocks="(n + 255) / 256", barrier="", leader="blockIdx.x * 256 > n + m")
    assert not check(text).findings


WINDOW = """\
__global__ void k(const int *in, int *out, int r, int bound) {{
  __shared__ int s[64];
  for (int j = r; j < bound; j++) {{
    s[threadIdx.x] = in[j + threadIdx.x];
    __syncthreads();
    out[j * 64 + threadIdx.x] = s[63 - threadIdx.x];
    {barrier}
  }}
}}
void go(const int *in, int *out, int r, int n) {{ k<<<1, 64>>>(in, out, r, {bound}); }}
"""


@pytest.mark.parametrize("bound", ["2 * r + 1", "r * r + r + 1"])
def test_sizes_of_which_one_is_made_of_the_other(bound: str) -> None:
    """They are no two numbers to choose."""
    (told,) = check(WINDOW.format(bound=bound, barrier="")).findings
    assert told.message.endswith("with the 64×1×1 block of line 10")
    assert told.severity is Severity.ERROR
    assert not check(WINDOW.format(bound=bound, barrier="__syncthreads();")).findings


PARTS = """\
__global__ void k(const int *in, int *out, int n) {{
  __shared__ int s[64];
  const int part = n / gridDim.x, t = threadIdx.x;
  for (int j = blockIdx.x * part; j < (blockIdx.x + 1) * part; j++) {{
    s[t] = in[j * 64 + t];
    {barrier}
    out[j * 64 + t] = s[63 - t];
    __syncthreads();
  }}
}}
void go(const int *in, int *out, int n) {{ k<<<{grid}, 64>>>(in, out, n); }}
"""


@pytest.mark.parametrize("grid", ["1", "2", "dim3(5)", "n"])
def test_a_block_of_those_that_are_launched(grid: str) -> None:
    """No other one is an example."""
    (told,) = check(PARTS.format(grid=grid, barrier="")).findings
    assert told.severity is Severity.ERROR, told.message
    assert told.message.endswith("with the 64×1×1 block of line 11")
    assert not check(PARTS.format(grid=grid, barrier="__syncthreads();")).findings
