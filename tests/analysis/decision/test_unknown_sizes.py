"""Elements of a template parameter that nobody names: their size is not known, which of them is touched is."""

from __future__ import annotations

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

KERNEL = """\
template <typename T>
__global__ void turned(const T* in, T* out) {{
  __shared__ T tile[8][33];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  {barrier}
  out[threadIdx.y * 32 + threadIdx.x] = {read};
}}
template <typename T>
void host(const T* in, T* out) {{ turned<T><<<1, dim3(32, 8)>>>(in, out); }}
"""


def kind(barrier: str, read: str) -> VerdictKind:
    report = check(KERNEL.format(barrier=barrier, read=read))
    assert [each.element_bytes for each in report.facts[0].kernel.buffers] == [None]
    (found,) = report.facts[0].analysis.verdicts
    return found.kind


def test_elements_of_other_threads_are_told_apart_and_together() -> None:
    assert kind("", "tile[threadIdx.y][threadIdx.x]") is VerdictKind.RACE_FREE
    assert kind("", "tile[7 - threadIdx.y][threadIdx.x]") is VerdictKind.RACY
    assert kind("__syncthreads();", "tile[7 - threadIdx.y][threadIdx.x]") is VerdictKind.RACE_FREE


def test_a_view_in_other_units_is_not_compared() -> None:
    assert kind("", "T(reinterpret_cast<char*>(tile)[threadIdx.x])") is VerdictKind.UNDECIDED
