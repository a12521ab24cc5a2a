"""What a loop makes of its variables need not be followed where two threads meet in its first turn."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

FRAME = """
__global__ void k(const int* in, int* out, int n) {{
  __shared__ int s[512];
  int t = threadIdx.x;
  s[t] = in[t]; s[t + 256] = in[t + 256];
  {barrier}
  {body}
}}
void go(const int* in, int* out, int n) {{ k<<<1, 256>>>(in, out, n); }}
"""
SEARCH = """
int lo = {low}, hi = {high};
while (lo < hi) {{ int mid = (lo + hi) / 2; if (s[mid] < n + t) lo = mid + 1; else hi = mid; }}
out[t] = lo;
"""


def kind(body: str, barrier: str = "") -> tuple[str, list[str]]:
    report = check(FRAME.format(body=body, barrier=barrier))
    assert report.kernels[0].verdict is not None
    return report.kernels[0].verdict.kind.value, [
        each.code for each in report.findings if each.code < "SMEM3"
    ]


@pytest.mark.parametrize(
    "body",
    [
        SEARCH.format(low=0, high=511),
        SEARCH.format(low="t", high=511),
        "int at = 300; while (at > 0) at = s[at];",
    ],
)
def test_a_search_in_what_others_have_not_written_yet(body: str) -> None:
    assert kind(body) == ("racy", ["SMEM201"])
    assert kind(body, "__syncthreads();") == ("race-free", [])


@pytest.mark.parametrize(
    "body",
    [
        SEARCH.format(low="t", high="t + 1"),  # each begins with its own
        SEARCH.format(low="5", high="n - n + 5"),  # no turn at all
        "int at = t; while (at > 0) at = s[at] - s[t];",
    ],
)
def test_a_first_turn_that_shows_nothing(body: str) -> None:
    found, codes = kind(body)
    assert found == "undecided" and codes == []


def test_a_call_in_an_earlier_interval() -> None:
    """It may order what it stands between, and nothing behind the next barrier."""
    body = SEARCH.format(low="t", high=511)
    found, codes = kind(f"notify(); __syncthreads(); s[t] = n; {body}")
    assert (found, codes) == ("racy", ["SMEM201"])
    found, codes = kind(f"s[t] = n; notify(); {body}", "__syncthreads();")
    assert (found, codes) == ("undecided", [])
