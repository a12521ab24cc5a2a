"""A guard of which nothing is known is meant for all threads of the block where a barrier stands behind it."""

from __future__ import annotations

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
