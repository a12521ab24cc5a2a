"""Elements of shared memory that data alone choose: ranks, destinations, links."""

from __future__ import annotations

import pytest
from analysis.hazards.patterns import MISSING, Pattern

from smem_lsp.engine import check

JUDGED = ("SMEM201", "SMEM202", "SMEM205", "SMEM402")

PATTERNS = (
    Pattern(
        "each goes behind those that are smaller",
        """
__shared__ float s[256];
__shared__ float sorted[256];
const int t = threadIdx.x;
s[t] = in[t];
@1
int rank = 0;
for (int i = 0; i < 256; ++i) rank += s[i] < s[t];
sorted[rank] = s[t];
@2
out[t] = sorted[t];
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "destinations that stand in shared memory",
        """
__shared__ float s[256];
__shared__ int to[256];
const int t = threadIdx.x;
to[t] = (int)in[t + 256];
@1
s[to[255 - t]] = in[t];
@2
out[t] = s[t];
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "links that lead to slots of their own",
        """
__shared__ float s[256];
__shared__ int to[256];
const int t = threadIdx.x;
to[t] = t;
s[to[t]] = in[t];
out[t] = s[t];
""",
    ),
    Pattern(
        "a row of its own, wherever data lead in it",
        """
__shared__ float s[2048];
__shared__ int to[256];
const int t = threadIdx.x;
to[t] = (int)in[t] % 8;
s[t * 8 + to[t]] = in[t];
out[t] = s[t * 8];
""",
    ),
    Pattern(
        "counted from its own number on",
        """
__shared__ float s[256];
__shared__ float other[256];
const int t = threadIdx.x;
other[t] = in[t];
__syncthreads();
int at = t;
for (int i = 0; i < 256; ++i) at += other[i] < -1.0f;
s[at] = in[t];
out[t] = s[t];
""",
    ),
    Pattern(
        "links that are moved on",
        """
__shared__ float s[256];
__shared__ int to[256];
const int t = threadIdx.x;
to[t] = (int)in[t];
to[t] += t;
s[to[t]] = in[t];
out[t] = s[t];
""",
    ),
)

CASES = [
    pytest.param(pattern, number, codes, id=f"{pattern.name}, {number}")
    for pattern in PATTERNS
    for number, codes in ((0, pattern.right), *((n, codes) for n, _, codes in pattern.variants))
]


@pytest.mark.parametrize(("pattern", "number", "wanted"), CASES)
def test_it_is_judged_as_listed(pattern: Pattern, number: int, wanted: tuple[str, ...]) -> None:
    found = [finding for finding in check(pattern.text(number)).findings if finding.code in JUDGED]
    assert {finding.code for finding in found} == set(wanted)
    assert number == 1 or all(finding.verdict == "likely" for finding in found)
