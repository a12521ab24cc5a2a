"""A guard of which nothing is known, or that data decide, is meant for all threads of the block where a barrier stands
behind it that some would miss else."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.model import Finding, Severity

KERNEL = """\
__global__ void k(const int* in, int* out) {{
  __shared__ int count;
  int t = threadIdx.x;
  if (!prepared(in)) return;
  if (t == 0) count = in[0];
{between}  out[t] = count;
{behind}}}
void host(const int* in, int* out) {{ k<<<4, 128>>>(in, out); }}
"""
BARRIER = "  __syncthreads();\n"


def races(text: str) -> list[Finding]:
    return [each for each in check(text).findings if each.code in ("SMEM201", "SMEM202")]


def test_a_race_behind_it_is_a_warning_where_a_barrier_is_behind_it_too() -> None:
    (found,) = races(KERNEL.format(between="", behind=BARRIER + "  out[t + 128] = count;\n"))
    assert found.severity is Severity.WARNING
    assert "thread 0 may write it" in found.message or "thread 0 may write `count`" in found.message


def test_nothing_is_told_where_one_thread_may_be_all_that_passes() -> None:
    assert not races(KERNEL.format(between="", behind=""))


def test_nothing_is_told_where_the_barrier_orders_the_two() -> None:
    assert not races(KERNEL.format(between=BARRIER, behind=""))


def test_a_guard_that_asks_for_the_thread_is_not_meant_for_all() -> None:
    text = KERNEL.format(between="", behind=BARRIER).replace("prepared(in)", "(chosen(in) == threadIdx.x)")
    assert not races(text)


FRAME = """\
__global__ void k(const int* key, const float* in, float* out, int n) {{
  __shared__ float s[256];
  int t = threadIdx.x;
  int k = key[t];
  s[t] = 0;
  __syncthreads();
  {body}
  __syncthreads();
  out[t] += s[t];
}}
void host(const int* key, const float* in, float* out, int m) {{ k<<<4, 256>>>(key, in, out, m); }}
"""


@pytest.mark.parametrize(
    "body",
    [
        # behind the barrier in the arm that perhaps not all take
        "if (k > 0) { __syncthreads(); float v = s[255 - t]; s[t] = v; __syncthreads(); }",
        "for (int i = 0; i < n; ++i) { if (k > i) continue; __syncthreads(); float v = s[255 - t]; s[t] = v;"
        " __syncthreads(); }",
        # in a loop whose turns are not followed, since a function out of sight may move it
        "for (int i = 0; i < n; ++i) { next(i, n); s[t] = in[t]; out[t] += s[255 - t]; __syncthreads(); }",
    ],
)
def test_a_race_that_stands_if_all_come_to_the_barrier_is_told(body: str) -> None:
    (found,) = races(FRAME.format(body=body))
    assert found.severity is Severity.WARNING and "with no barrier between them" in found.message


@pytest.mark.parametrize(
    "body",
    [
        "if (k > 0) { __syncthreads(); float v = s[255 - t]; __syncthreads(); s[t] = v; }",
        # arms that exclude each other, if all threads take one of them
        "if (k > 0) { s[t] = in[t]; __syncthreads(); } else { out[t] = s[255 - t]; __syncthreads(); }",
        "if (k > 0) s[t] = in[t]; if (k <= 0) { out[t] = s[255 - t]; __syncthreads(); }",
        # whoever does not come returns: no thread waits elsewhere, and each decides for itself
        "if (k > 0) return; float v = s[255 - t]; s[t] = v;",
        # the number of the thread decides
        "if (t == k) { __syncthreads(); float v = s[255 - t]; s[t] = v; __syncthreads(); }",
    ],
)
def test_nothing_is_told_where_that_orders_the_accesses_or_is_not_meant(body: str) -> None:
    report = check(FRAME.format(body=body))
    assert not [each for each in report.findings if each.code in ("SMEM201", "SMEM202")]
    assert all(each.verdict.kind is not VerdictKind.RACE_FREE for each in report.kernels)
