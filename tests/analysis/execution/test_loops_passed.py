"""Loops that only compute are no reason to lose track of who runs what, however they end."""

from __future__ import annotations

import pytest
from carets import expect

KERNEL = """\
static __global__ void __launch_bounds__(256) k(const float* in, const int* at, float* out, int n) {{
  __shared__ float s[256];
  const int t = threadIdx.x;
  int found = 0;
  {loop}
  s[t] = in[t + found];
  out[t] = s[255 - t];
{mark}
  __syncthreads();
}}
void host(const float* in, const int* at, float* out, int n) {{ k<<<1, 256>>>(in, at, out, n); }}
"""


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; ++i) { if (at[i] > t) { found = i; break; } }",
        "while (true) { if (at[found] == 0) break; if (at[found] < 0) { found += 2; continue; } ++found; }",
        "for (int i = 0; i < n; ++i) for (int j = 0; j < at[i]; ++j) { if (in[j] > 0) break; found += j; }",
    ],
)
def test_a_race_behind_a_search_is_found(loop: str) -> None:
    mark = "//         ^^^^^^^^^^ SMEM201"
    expect(KERNEL.format(loop=loop, mark=mark), among=("SMEM201",))


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; ++i) { if (at[i] > t) return; }",  # who goes on is not known
        "while (s[t] == 0) { }",  # it waits for others
    ],
)
def test_nothing_is_said_behind_what_is_not_followed(loop: str) -> None:
    expect(KERNEL.format(loop=loop, mark=""), among=("SMEM201",))


CALLS = """\
int unseen(int);
__device__ int far(int);
static __global__ void __launch_bounds__(256) k(const int* in, int* out, int n) {{
  __shared__ int s[256];
  const int t = threadIdx.x;
  for (int i = 0; i < 4; ++i) {{
    {in_front}
    s[t] = in[t] + i;
    {behind}
  }}
  out[t] = s[255 - t];
{mark}
  __syncthreads();
}}
void host(const int* in, int* out, int n) {{ k<<<1, 256>>>(in, out, n); }}
"""


def test_a_call_of_a_turn_orders_nothing_behind_it() -> None:
    """What the last turn writes behind the call is read behind the loop."""
    mark = "//         ^^^^^^^^^^ SMEM201"
    expect(CALLS.format(in_front="far(n);", behind="", mark=mark), among=("SMEM201",))
    expect(CALLS.format(in_front="", behind="far(n);", mark=""), among=("SMEM201",))
