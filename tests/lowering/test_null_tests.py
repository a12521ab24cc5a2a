"""Addresses that are asked whether they are null."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from tests.causes import unknown

TEXT = """\
__device__ float sum(const float *in, float *copy, int n) {{
  float s = 0;
  for (int i = 0; i < n; i++) {{
    {store}
    s += in[i];
  }}
  return s;
}}
__global__ void k(const float *in, float *out) {{
  __shared__ float s[1024];
  int t = threadIdx.x;
  out[t] = sum(in + 4 * t, s + {stride} * t, 4);
  __syncthreads();
  out[t] += s[1023 - t];
}}
void go(const float *in, float *out) {{ k<<<1, 256>>>(in, out); }}
"""
STORES = [
    "if (copy) copy[i] = in[i];",
    "if (!copy) continue; copy[i] = in[i];",
    "if (n > 1 && copy) copy[i] = in[i];",
    "if (copy && n > 1) copy[i] = in[i];",
    "copy ? copy[i] = in[i] : s;",
]


@pytest.mark.parametrize("store", STORES)
def test_an_address_that_is_tested_goes_nowhere(store: str) -> None:
    (facts,) = check(TEXT.format(store=store, stride=4)).facts
    assert not unknown(facts.kernel)
    (found,) = facts.analysis.verdicts
    assert found.kind is VerdictKind.RACE_FREE, found.reasons


@pytest.mark.parametrize("store", STORES)
def test_what_is_stored_behind_the_test_is_seen(store: str) -> None:
    (found,) = check(TEXT.format(store=store, stride=3)).facts[0].analysis.verdicts
    assert found.kind is not VerdictKind.RACE_FREE


@pytest.mark.parametrize("kept", ["out[0] = (long)copy;", "keep(copy);", "if (long n = (long)copy) keep(n);"])
def test_an_address_that_gets_further_escapes(kept: str) -> None:
    (facts,) = check("void keep(...);" + TEXT.format(store=kept, stride=4)).facts
    assert unknown(facts.kernel)
