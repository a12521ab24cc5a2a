"""The effort about one kernel, and how it is shared."""

from __future__ import annotations

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check


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
