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


SORT = """\
__global__ void order(const float *keys, short *out, const int n) {{
  __shared__ short place[1024];
  place[threadIdx.x] = threadIdx.x;
  __syncthreads();
  int depth = 1, size = 1;
  for (int left = n - 1; left > 0; left >>= 1) {{
    size <<= 1;
    ++depth;
  }}
  for (int outer = depth - 1; outer >= 1; --outer) {{
    for (int inner = outer; inner < depth; ++inner) {{
      const int whole = 1 << (depth - inner);
      const int half = whole >> 1;
      if (threadIdx.x < size && (threadIdx.x / {span}) % 2 == 0) {{
        const int other = threadIdx.x + {apart};
        if (keys[place[threadIdx.x]] > keys[place[other]]) {{
          const short kept = place[threadIdx.x];
          place[threadIdx.x] = place[other];
          place[other] = kept;
        }}
      }}
      {barrier}
    }}
  }}
  out[threadIdx.x] = place[threadIdx.x];
}}
void go(const float *keys, short *out, int n) {{ order<<<1, 1024>>>(keys, out, n); }}
"""


@pytest.mark.parametrize(
    ("span", "apart", "barrier", "free"),
    [
        ("half", "half", SYNC, True),
        ("half", "half", "", False),  # the next turn reads what others write
        ("half", "whole", SYNC, False),  # the next even part compares, too
        ("whole", "half", SYNC, False),  # within one part
        ("half", "(half - 1)", SYNC, False),
    ],
)
def test_a_sort_of_a_depth_that_a_loop_counts(span: str, apart: str, barrier: str, *, free: bool) -> None:
    """The depth is one number for all threads, whatever it is, and what is shifted by it at least what it was."""
    (found,) = check(SORT.format(span=span, apart=apart, barrier=barrier)).facts[0].analysis.verdicts
    assert (found.kind is FREE) == free, found.reasons


COUNTED = """\
__global__ void k(const int *in, int *out, const int n) {{
  __shared__ int s[512];
  const int t = threadIdx.x;
  for (int row = 0; row < n; ++row) {{
    int far = 0;
    for (int i = {start}; i > 0; i >>= 1) ++far;
    if (far < 256) {{
      s[t + {place}] = in[t];
      out[t] = s[t + {read}];
    }}
    {barrier}
  }}
}}
void go(const int *in, int *out, int n) {{ k<<<1, 256>>>(in, out, n); }}
"""


@pytest.mark.parametrize(
    ("start", "place", "read", "barrier", "free"),
    [
        ("n", "far", "far", SYNC, True),  # the same for all threads
        ("n + row", "far", "far", SYNC, True),
        ("n + row", "far", "far", "", False),  # another thread may be in another turn
        ("t", "far", "far", SYNC, False),  # each thread's own
        ("n", "far", "0", SYNC, False),
    ],
)
def test_what_a_loop_leaves_is_one_number(
    start: str, place: str, read: str, barrier: str, *, free: bool
) -> None:
    text = COUNTED.format(start=start, place=place, read=read, barrier=barrier)
    (found,) = check(text).facts[0].analysis.verdicts
    assert (found.kind is FREE) == free, found.reasons


CHUNKS = """
__global__ void k(float *out, unsigned n) {{
  extern __shared__ float s[];
  const unsigned each = (n + blockDim.x - 1) / blockDim.x;
  for (unsigned i = {first}; i < {end}; i++) s[i] = i{value};
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}}
void go(float *out, unsigned n) {{ k<<<1, 256, n * 4>>>(out, n); }}
"""


@pytest.mark.parametrize(
    ("first", "end", "free"),
    [
        ("each * threadIdx.x", "min(each * (threadIdx.x + 1), n)", True),
        ("each * threadIdx.x", "max(each * (threadIdx.x + 1), n)", False),
        ("each * threadIdx.x", "min(each * (threadIdx.x + 2), n)", False),
    ],
)
def test_each_thread_has_its_run_of_elements(first: str, end: str, *, free: bool) -> None:
    """What is compared with the smaller of two unsigned numbers is compared as one."""
    text = CHUNKS.format(first=first, end=end, value=" + threadIdx.x")
    (found,) = check(text).facts[0].analysis.verdicts
    assert (found.kind is FREE) == free, found.reasons
