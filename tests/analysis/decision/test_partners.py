"""``tid ^ j``: each thread has one partner, and is its partner's, whatever ``j`` is, as long as all share it."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

STEP = "if (p > t && ((t & k) == 0) == (s[t] > s[p])) { unsigned x = s[t]; s[t] = s[p]; s[p] = x; } __syncthreads();"
SORT = """\
__global__ void sort(unsigned* data, unsigned last) {
  extern __shared__ unsigned s[];
  unsigned t = threadIdx.x;
  s[t] = data[t];
  __syncthreads();
  for (unsigned k = 2; k <= LAST; k <<= 1)
    for (unsigned j = k >> 1; j > 0; j >>= 1) {
      unsigned p = PARTNER;
      STEP
    }
  data[t] = s[t];
}
void run(unsigned* data, unsigned n) { sort<<<1, BLOCK, 4096>>>(data, n); }
"""


def sort(**parts: str) -> str:
    text = SORT
    for word, part in {
        "STEP": STEP,
        "LAST": "blockDim.x",
        "PARTNER": "t ^ j",
        "BLOCK": "512",
        **parts,
    }.items():
        text = text.replace(word, part)
    return text


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("last, block", [("blockDim.x", "512"), ("blockDim.x", "n"), ("last", "n")])
def test_partners_exchange_what_they_have(last: str, block: str) -> None:
    report = check(sort(LAST=last, BLOCK=block, PARTNER="j ^ t" if last == "last" else "t ^ j"))
    assert report.kernels[0].verdict.kind is VerdictKind.RACE_FREE, report.kernels[0].verdict
    assert [finding.code for finding in report.findings] == []


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize(
    "parts",
    [
        {"STEP": STEP.replace("p > t && ", "")},  # both write
        {"PARTNER": "t ^ (j + (t & 1))"},  # of its own, so it need not be the partner of that one
    ],
)
def test_others_are_not(parts: dict[str, str]) -> None:
    report = check(sort(**parts))
    assert report.kernels[0].verdict.kind is not VerdictKind.RACE_FREE
