"""Shifts by the number of a turn, which begins with 0."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE = VerdictKind.RACE_FREE
TREE = """\
__global__ void k(float *out) {{
  __shared__ float best[{size}];
  const long t = threadIdx.x;
  best[t] = out[t];
  for (long u = {first}; (1 << u) < 256; u++) {{
    __syncthreads();
    if (t < (256 >> (u + 1))) {{
      long a = (t * 2) << u, b = (t * 2 + {apart}) << u;
      best[a] += best[b];
    }}
    {barrier}
  }}
  {after}
}}
void go(float *out) {{ k<<<1, 256>>>(out); }}
"""


@pytest.mark.parametrize(
    ("first", "apart", "after", "free"),
    [
        (0, 1, "", True),
        (1, 1, "", True),
        (0, 2, "", False),  # what the next thread adds to
        (0, 1, "if (t == 1) out[0] = best[0];", False),
    ],
)
def test_a_tree_of_shifted_places(first: int, apart: int, after: str, free: bool) -> None:
    text = TREE.format(size=1024, first=first, apart=apart, barrier="", after=after)
    (found,) = check(text).facts[0].analysis.verdicts
    assert (found.kind is FREE) is free, found.reasons


STAGES = """\
__global__ void k(float *out, int n) {{
  __shared__ float s[512];
  for (int i = n & 1; i < n; i++)
    for (int u = 0; u < {turns}; u++) s[(threadIdx.x & 1) + ((n & 1) << (2 * u + {more}))] = 0;
  out[threadIdx.x] = s[{read}];
}}
void go(float *out, int n) {{ k<<<1, 256>>>(out, n); }}
"""


@pytest.mark.parametrize(("turns", "read", "free"), [(3, 48, True), (4, 64, False), (3, 16, False)])
def test_a_shift_takes_all_values_of_its_loop(turns: int, read: int, free: bool) -> None:
    """1, 4, 16 and 64, or nothing, are added."""
    text = STAGES.format(turns=turns, more=0, read=read)
    (found,) = check(text).facts[0].analysis.verdicts
    assert (found.kind is FREE) is free, found.reasons


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("((t - 64) ^ 5) + 64", FREE),
        ("((t - 64) & 5) + ((t - 64) & 58) + 64", FREE),
        ("((2 * t - 64) | 1) + 64", FREE),
        ("((t - 64) | 5) + 64", VerdictKind.RACY),
        ("((t - 64) & 6)", VerdictKind.RACY),
    ],
)
def test_bits_of_negative_numbers(place: str, kind: VerdictKind) -> None:
    text = f"""
__global__ void k(int *out) {{
  __shared__ int s[512];
  const int t = threadIdx.x;
  s[{place}] = t;
  __syncthreads();
  out[t] = s[t];
}}
void go(int *out) {{ k<<<1, 64>>>(out); }}
"""
    (found,) = check(text).facts[0].analysis.verdicts
    assert found.kind is kind, found.reasons
