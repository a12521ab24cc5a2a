"""Strides that a loop halves or doubles: each is a constant in its turn, and threads lie whole strides apart."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE, RACY = VerdictKind.RACE_FREE, VerdictKind.RACY

MERGE = """\
__global__ void merge(const float *in, int *out, const int run, const int n) {{
  const int at = threadIdx.x + blockIdx.x * blockDim.x;
  const bool up = (at / run) % 2 == 0;
  __shared__ float keys[1024];
  __shared__ int places[1024];
  keys[threadIdx.x] = in[at];
  places[threadIdx.x] = at;
  __syncthreads();
  {loop} {{
    const int part = threadIdx.x / {span};
    if (part % 2 == 0) {{
      const int other = threadIdx.x + {apart};
      const float mine = keys[threadIdx.x], theirs = keys[other];
      const int here = places[threadIdx.x], there = places[other];
      if (other < n && (mine > theirs) == up) {{
        keys[threadIdx.x] = theirs;
        keys[other] = mine;
        places[threadIdx.x] = there;
        places[other] = here;
      }}
    }}
    {barrier}
  }}
  out[at] = places[threadIdx.x];
}}
void go(const float *in, int *out, int run, int n) {{ merge<<<n / 1024, 1024>>>(in, out, run, n); }}
"""
HALVED = "for (int half = 512; half >= 1; half >>= 1)"
SHIFTED = "for (int step = 9; step >= 0; --step)"
SYNC = "__syncthreads();"


@pytest.mark.parametrize(
    ("loop", "span", "apart"), [(HALVED, "half", "half"), (SHIFTED, "(1 << step)", "(1 << step)")]
)
def test_a_bitonic_merge(loop: str, span: str, apart: str) -> None:
    """Each thread of an even part compares with one of the odd part behind it, which does nothing."""
    assert _kind(loop, span, apart, SYNC) is FREE


@pytest.mark.parametrize(
    ("span", "apart", "barrier"),
    [
        ("half", "half", ""),  # the next turn reads what others write
        ("half", "2 * half", SYNC),  # the next even part compares, too
        ("(2 * half)", "half", SYNC),  # within one part
    ],
)
def test_a_merge_that_is_broken(span: str, apart: str, barrier: str) -> None:
    assert _kind(HALVED, span, apart, barrier) is not FREE


def _kind(loop: str, span: str, apart: str, barrier: str) -> VerdictKind:
    text = MERGE.format(loop=loop, span=span, apart=apart, barrier=barrier)
    (found,) = check(text).facts[0].analysis.verdicts
    return found.kind


BLOCKS = """\
__global__ void k(float *out) {{
  __shared__ float s[512];
  const int t = threadIdx.x;
  if (t / {span} % 2 == 0) s[t + {apart}] = out[t];
  else out[t] = s[t{back}];
}}
void go(float *out) {{ k<<<1, 256>>>(out); }}
"""


@pytest.mark.parametrize(
    ("span", "apart", "back", "kind"),
    [(8, 0, "", FREE), (8, 16, "", FREE), (8, 8, "", RACY), (16, 16, " - 1", RACY), (32, 1, "", RACY)],
)
def test_parts_of_threads_lie_whole_parts_apart(span: int, apart: int, back: str, kind: VerdictKind) -> None:
    text = BLOCKS.format(span=span, apart=apart, back=back)
    (found,) = check(text).facts[0].analysis.verdicts
    assert found.kind is kind, found.reasons
