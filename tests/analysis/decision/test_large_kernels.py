"""Kernels of many accesses: those of other members of a state in shared memory are told apart at once."""

from __future__ import annotations

import pytest
from carets import codes

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.engine.check import Report

ASKED = Config(select=("SMEM201",))
KERNEL = """\
struct State {{
  {members}
  int pos;
}};
__global__ void __launch_bounds__(128) k(const int *in, int *out, int n) {{
  __shared__ State state;
  __shared__ int many[1024];
  State *s = &state;
  int t = threadIdx.x, x = 0;
  {steps}
  int at = s->pos;
  for (int i = at + t; i < n; i += 128) out[i] = x;
  {between}
  if (t == 0) s->pos = at + n;
  __syncthreads();
  out[t] = s->pos;
}}
void go(int *p, int n) {{ k<<<1, 128>>>(p, p, n); }}
"""
MEMBERS = " ".join(f"int m{number};" for number in range(20))


def report(step: str, between: str = "", times: int = 140) -> Report:
    steps = "\n".join(step.replace("A", str(n % 20)).replace("B", str((n + 7) % 20)) for n in range(times))
    return check(KERNEL.format(members=MEMBERS, steps=steps, between=between), config=ASKED)


STATE = "if (t == 0) s->mA = in[A] + s->mA; x += s->mB; __syncthreads();"


@pytest.mark.slow(4)
@pytest.mark.parametrize(("between", "found"), [("", ["SMEM201"]), ("__syncthreads();", [])])
def test_what_stands_in_one_place_is_asked_about(between: str, found: list[str]) -> None:
    told = report(STATE, between)
    (facts,) = told.facts
    (verdict,) = facts.analysis.verdicts
    assert verdict.kind is (VerdictKind.RACY if found else VerdictKind.RACE_FREE)
    assert codes(told) == found


def test_too_many_pairs_of_one_array() -> None:
    told = report("many[in[t + A] & 1023] += x; x += many[in[t * B] & 1023]; __syncthreads();", times=240)
    (verdict,) = told.facts[0].analysis.verdicts
    assert verdict.kind is VerdictKind.UNDECIDED
    assert any("too many pairs" in each.reason for each in verdict.reasons)
