"""Indices that only a row of another length would let meet: a verdict takes none of them to leave its dimension."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.analysis.decision.verdict import IN_ROWS
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict, surely_race_free

KERNEL = """\
__global__ void k(const float* __restrict__ in, float* __restrict__ out, int n) {{
  __shared__ float s[8][64];
  int w = threadIdx.x / 32, t = threadIdx.x % 32;
  for (int c = t; c < {limit}; c += 32) s[w][c] = in[c];
  {barrier}
  out[threadIdx.x] = s[{row}][t];
}}
void go(const float* in, float* out, int n) {{ k<<<1, 256>>>(in, out, n); }}
"""


@pytest.mark.parametrize(
    ("limit", "barrier", "row", "kind", "assumes"),
    [
        ("n", "__syncthreads();", "7 - w", VerdictKind.RACE_FREE, True),
        ("64", "__syncthreads();", "7 - w", VerdictKind.RACE_FREE, False),
        ("min(n, 64)", "__syncthreads();", "7 - w", VerdictKind.RACE_FREE, False),
        ("n", "", "w", VerdictKind.RACE_FREE, True),
        ("n", "", "7 - w", VerdictKind.RACY, False),
    ],
)
def test_rows_are_what_is_declared(
    limit: str, barrier: str, row: str, kind: VerdictKind, assumes: bool
) -> None:
    report = check(KERNEL.format(limit=limit, barrier=barrier, row=row))
    (facts,) = report.facts
    found = kernel_verdict(facts)
    assert found.kind is kind
    assert (IN_ROWS in found.assumes) == assumes
    assert surely_race_free(facts) == (kind is VerdictKind.RACE_FREE and not assumes)


@pytest.mark.parametrize(("limit", "told"), [("n", False), ("64", True)])
def test_no_barrier_is_called_useless_on_that(limit: str, told: bool) -> None:
    found = check(KERNEL.format(limit=limit, barrier="__syncthreads();", row="w")).findings
    assert any(each.code == "SMEM204" for each in found) == told
