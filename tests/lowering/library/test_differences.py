"""What `__sad`, `__usad` and the shifts of two words return is computed."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from tests.verdicts import kind

FREE, RACY = VerdictKind.RACE_FREE, VerdictKind.RACY


@pytest.mark.parametrize(
    ("free", "racy"),
    [
        ("s[__sad(t, 0, 0)] = t;", "s[__sad(t, 5, 0)] = t;"),
        ("s[__sad(-3, t, 2)] = t;", "s[__sad(3, t, 2)] = t;"),
        ("s[__sad(0xFFFFFFFFu, t, 0)] = t;", "s[__sad(t, 2, 0) & 31] = t;"),
        ("s[__usad(t, 64u, 0)] = t;", "s[__usad(t, 60u, 0)] = t;"),
        ("s[__usad(t - 5, 0xFFFFFFFFu, 0) & 63] = t;", "s[__usad(t, 5u, t & 1)] = t;"),
        ("s[__funnelshift_l(0u, t, 1u) & 127] = t;", "s[__funnelshift_l(0u, t, 2u) & 127] = t;"),
        ("s[__funnelshift_l(7u, t, 32u)] = t;", "s[__funnelshift_l(7u, t >> 1, 32u)] = t;"),
        ("s[__funnelshift_l(t << 26, 0u, 6u)] = t;", "s[__funnelshift_l(t << 26, 0u, 5u)] = t;"),
        ("s[__funnelshift_r(t << 5, 9u, 5u) & 63] = t;", "s[__funnelshift_r(t, 0u, 1u)] = t;"),
        ("s[__funnelshift_r(0u, t, 31u) & 127] = t;", "s[__funnelshift_r(0u, t, 30u) & 127] = t;"),
    ],
)
def test_a_difference_and_a_funnel_shift_have_values(free: str, racy: str) -> None:
    assert (kind("", free), kind("", racy)) == (FREE, RACY)


def test_a_call_whose_value_is_not_known_is_named() -> None:
    report = check(
        """
__global__ void k(int* o) {
  __shared__ int s[64];
  s[__funnelshift_lc(0u, threadIdx.x, 1u) & 63] = threadIdx.x;
}
void h(int* o) { k<<<1, 32>>>(o); }
"""
    )
    verdict = report.kernels[-1].verdict
    assert verdict is not None
    (reason,) = verdict.reasons
    assert reason.words == "what __funnelshift_lc() returns is not known"
