"""An index that leaves the array of a class is not what the kernel is written for, though it stays in the object."""

from __future__ import annotations

import pytest

from smem_lsp.engine import FileReport, check
from smem_lsp.rules.model import Severity

TEXT = """\
struct Params { const float* in; float* o; int m; };
__global__ void k(const float* in, float* o, int m, Params params) {
  __shared__ struct { float a[128], b[128]; } s[2];
  int t = threadIdx.x;
  int now = 0;
  if (t < 128) s[now].a[t] = in[t];
  for (int i = 0; i < 10; ++i) {
    __syncthreads();
    float x = s[now].a[127 - t % 128];
    if (t == 0) s[now].b[i] = x;
    __syncthreads();
    READ
    now ^= 1;
    if (t < 128) s[now].a[t] = x;
  }
}
void host(const float* in, float* o, int m, Params p) { k<<<1, 256>>>(in, o, m, p); }
"""


def judged(read: str) -> FileReport:
    return check(TEXT.replace("READ", read))


@pytest.mark.parametrize("limit", ["m", "params.m", "2 * m"])
def test_only_a_size_that_leaves_the_member_would_race(limit: str) -> None:
    report = judged(f"if (t < {limit}) o[t] = s[now].b[t];")
    assert not [each for each in report.findings if each.code == "SMEM201"]
    (kernel,) = report.kernels
    assert "line 14: an index may leave its row" in map(str, kernel.verdict.reasons)


def test_inside_the_member_it_races() -> None:
    report = judged("if (t < m) o[t] = s[now ^ 1].a[127 - t % 128];")
    (found,) = (each for each in report.findings if each.code == "SMEM201")
    assert found.severity is Severity.ERROR
    assert "(line 12)" in found.message and "(line 14)" in found.message


def test_a_bound_that_is_the_members() -> None:
    (kernel,) = judged("if (t < 128) o[t] = s[now].b[t];").kernels
    assert kernel.verdict.kind.value == "race-free"
