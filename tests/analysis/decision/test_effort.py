"""The effort about one kernel, and how it is shared."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.analysis.decision.most_telling import most_telling
from smem_lsp.analysis.decision.verdict import RaceChecker
from smem_lsp.engine import check
from smem_lsp.facts.attempts import LIMITS
from smem_lsp.rules.model import Severity

PATIENT = LIMITS.scaled(8)  # it is the solver's effort that ends a search here


def test_a_kernel_with_many_easy_pairs_and_many_instances() -> None:
    """Every instance has enough effort for each of its pairs."""
    sums = "".join(f"    if (t < s) part[t + {row} * T] += part[t + s + {row} * T];\n" for row in range(8))
    kernel = f"""\
template <int T, typename V>
__global__ void k(V *out, int n) {{
  __shared__ V part[8 * T];
  const int t = threadIdx.x;
  for (int row = 0; row < 8; ++row) part[t + row * T] = out[t + row * n];
  __syncthreads();
  for (int s = T / 2; s > 0; s >>= 1) {{
{sums}    __syncthreads();
  }}
  out[t] = part[t % 8 * T];
}}
"""
    types = ("float", "double", "int", "unsigned", "short", "long", "char", "bool")
    launches = "".join(f"  k<256><<<1, 256>>>(({each} *)p, n);\n" for each in types)
    report = check(f"{kernel}void go(void *p, int n) {{\n{launches}}}\n")
    assert len(report.facts) == len(types)
    assert {found.kind for each in report.facts for found in each.analysis.verdicts} == {
        VerdictKind.RACE_FREE
    }


def test_a_hard_pair_in_many_instances() -> None:
    """Each instance has the effort of one proof, however many there are."""
    kernel = """\
template <typename V>
__global__ void k(const int *from, V *out) {
  __shared__ V part[4096];
  const int first = from[blockIdx.x], end = from[blockIdx.x + 1];
  const unsigned size = (end - first) << 1, step = blockDim.x * blockDim.y;
  const unsigned t = threadIdx.x + threadIdx.y * blockDim.x;
  for (unsigned i = t; i < size; i += step) part[i] = out[i];
  __syncthreads();
  for (unsigned i = t; i < size; i += step) out[i] = part[i];
}
"""
    types = ("float", "double", "int", "unsigned", "short", "long", "char", "bool")
    launches = "".join(f"  k<{each}><<<n, dim3(x, y)>>>(from, ({each} *)p);\n" for each in types)
    report = check(f"{kernel}void go(const int *from, void *p, int n, int x, int y) {{\n{launches}}}\n")
    assert len(report.facts) == len(types)
    assert {found.kind for each in report.facts for found in each.analysis.verdicts} == {
        VerdictKind.RACE_FREE
    }


SQUARE = """\
template <typename V>
__global__ void k(const V *in, V *out, int r, int n) {
  extern __shared__ char bytes[];
  V *s = (V *)bytes, *v = s + r * r, *w = v + r;
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    if (t < r) {
      v[t] = 0;
      for (int j = 0; j < r; ++j) v[t] += s[t + r * j];
    }
    __syncthreads();
    if (t < r) {
      w[t] = 0;
      for (int j = 0; j < r; ++j) w[t] += s[t + r * j] * v[j];
    }
    __syncthreads();
    out[t + i * r] = v[t % r] + w[t / r];
    __syncthreads();
    s[t] = v[t % r] * v[t / r];
    __syncthreads();
  }
}
"""


@pytest.mark.slow(seconds=6)
def test_a_race_in_many_instances_with_hard_pairs() -> None:
    """What the first instance shows is told: it has all of the effort to find it."""
    types = ("float", "double", "int", "long")
    calls = "".join(
        f"  k<{each}><<<7, r * r>>>((const {each} *)in, ({each} *)out, r, n);\n" for each in types
    )
    host = f"void go(const void *in, void *out, int r, int n) {{\n{calls}}}\n"
    barrier = "    __syncthreads();\n    out"
    (found,) = check(SQUARE.replace(barrier, "    out") + host, limits=PATIENT).findings
    assert (found.code, found.severity) == ("SMEM201", Severity.WARNING)
    assert "in whole warps (in k<float> and 3 other instances)" in found.message


SEARCH = """\
__device__ void winner(const int *sums, int most, int *found, int *before) {{
  int t = threadIdx.x;
  *found = *before = 0;
  __syncthreads();
  if (t < 31) {{
    if (sums[t + 1] > most && sums[t] < most) {{ *found = t + 1; *before = sums[t]; }}
    else if (sums[t] == most && sums[t + 1] > most) {{ *found = t + 1; *before = sums[t]; }}
  }}
}}
__global__ void k(const int *in, int *out, int rows, int cols, int r, int half) {{
  __shared__ int sums[32];
  __shared__ int found, before, again, rest;
  int t = threadIdx.x, share = rows / gridDim.x + (blockIdx.x < rows % gridDim.x);
  for (int i = share * blockIdx.x; i < min(rows, share * blockIdx.x + share); ++i) {{
    for (int j = r; j < cols - r; ++j) {{
      sums[t] = in[i * cols + j + t];
      __syncthreads();
      winner(sums, half, &found, &before);
      __syncthreads();
      winner(sums, half - before, &again, &rest);
      __syncthreads();
      {scan}
      __syncthreads();
      out[i * cols + j] = sums[found] + again;
      __syncthreads();
    }}
  }}
}}
void go(const int *in, int *out, int rows, int cols, int r, int parts) {{
  k<<<parts, 32>>>(in, out, rows, cols, r, 2 * r * r + 2 * r);
}}
"""


@pytest.mark.parametrize(
    ("scan", "codes"),
    [
        ("if (t >= 2) sums[t] += sums[t - 2];", ["SMEM205"]),
        (
            "int v = t >= 2 ? sums[t] + sums[t - 2] : sums[t]; __syncthreads(); sums[t] = v;",
            [],
        ),
    ],
)
def test_a_race_beside_many_that_data_decide(scan: str, codes: list[str]) -> None:
    """Who writes the winner data decide, which takes many questions each; a launch makes one size of another."""
    report = check(SEARCH.format(scan=scan))
    found = [each.code for each in report.findings if each.severity is not Severity.INFO]
    assert [code for code in found if code.startswith("SMEM2")] == codes


TILES = """\
__global__ void k(const float *in, float *out, const int *first, int w, int n) {
  extern __shared__ float tile[];
  float *own = tile + blockDim.x * w, *best = own + blockDim.x * w;
  const int t = threadIdx.x;
  for (int i = 0; i < w; ++i) own[t + i * blockDim.x] = in[i];
  for (int at = first[0]; at < first[1]; at += blockDim.x) {
    if (at + t < first[1])
      for (int i = 0; i < w; ++i) tile[t * w + i] = in[at * w + i];
    __syncthreads();
    for (int d = 0; d < blockDim.x; ++d)
      for (int i = 0; i < w; ++i)
        best[t * n + d % n] += own[t + i * blockDim.x] *
                               tile[d * w + i];
  }
}
"""


def test_pairs_of_one_array_are_asked_about_before_those_of_two() -> None:
    """The tile is stored under a guard that compares a thread's number with what is loaded alike by all threads."""
    (facts,) = check(TILES).facts
    flow = facts.analysis.launched_flow
    pairs = most_telling(flow.followed, RaceChecker(flow.followed, flow.verdicts, (64, 1, 1)).every_pair())
    lines = [(facts.line(each.first.line), facts.line(each.second.line)) for each in pairs]
    of_two = [at for at, pair in enumerate(lines) if len({*pair} & {5, 8, 12}) == 2]
    assert lines.index((13, 8)) < min(of_two)
