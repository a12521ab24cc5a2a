"""What a shuffle or vote has to have read is over when a lane goes on from it: no write behind overtakes the load."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.decision_words import why

KERNEL = """\
__global__ void k(const int *in, int *out, int n) {{
  __shared__ int s[{threads}];
  int t = threadIdx.x, sum = 0;
  s[t] = in[t];
  __syncthreads();
  {body}
  __syncthreads();
  out[t] = s[t] + sum;
}}
void go(const int *in, int *out, int n) {{ k<<<7, {threads}>>>(in, out, n); }}
"""
MAY = {"a shuffle or vote may order the accesses"}


def told(body: str, threads: int = 32) -> tuple[set[str], VerdictKind, set[str]]:
    report = check(KERNEL.format(body=body, threads=threads))
    (found,) = report.facts[0].analysis.verdicts
    races = {each.code for each in report.findings if each.code in ("SMEM201", "SMEM205", "SMEM210")}
    return races, found.kind, {str(why(each.reason)) for each in found.decisions}


@pytest.mark.parametrize(
    "body",
    [
        "int x = s[t]; int y = __shfl_sync(0xffffffff, x, 31 - t); s[t ^ 1] = y;",
        "if (__any_sync(~0u, s[31 - t] > 0)) s[t] = 3;",
        "sum = s[31 - t]; for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o); s[t] = n;",
        "int x = t < n ? s[31 - t] : 0; sum = __ballot_sync(-1, 2 * x + in[t] > 5); s[t] = n;",
        "sum = __reduce_add_sync(~0u, in[s[31 - t]]); s[t] = sum;",
        "for (int i = 0; i < n; ++i) { if (__all_sync(~0u, s[(t + i) % 32])) sum++; s[t] = i; __syncwarp(); }",
        # in the turn before
        "for (int i = 0; i < n; ++i) { s[t] = in[i]; __syncwarp(); sum += __shfl_sync(~0u, s[31 - t], 3); }",
    ],
)
def test_no_lane_writes_what_others_have_still_to_read(body: str) -> None:
    assert told(body) == (set(), VerdictKind.UNDECIDED, MAY)


@pytest.mark.parametrize(
    "body",
    [
        "int x = s[31 - t]; sum = x + __shfl_sync(~0u, in[t], 0); s[t] = n;",  # what is handed over is another value
        "int x = s[31 - t]; sum = __shfl_sync(0xffff, x, 0); s[t] = n;",  # of half a warp
        "s[t] = n; sum = __shfl_sync(~0u, n, 0) + s[31 - t];",  # read after write
        "int x = s[31 - t]; s[t] = n; sum = __shfl_sync(~0u, x, 0);",  # behind the write
        "s[t / 2] = t; int x = __shfl_sync(~0u, s[t / 2], 0); s[t / 2] = 2 * t + x;",  # write after write
    ],
)
def test_nothing_else_is_ordered(body: str) -> None:
    races, kind, _ = told(body)
    assert "SMEM205" in races and kind is VerdictKind.RACY


def test_lanes_of_other_warps_are_not_ordered() -> None:
    races, kind, _ = told("int x = s[63 - t]; sum = __shfl_sync(~0u, x, 0); s[t] = n;", 64)
    assert "SMEM201" in races and kind is VerdictKind.RACY


def test_another_turn_has_not_read_for_this_one() -> None:
    """The vote of one turn has what that turn has read, not what the one before has, which skips it."""
    body = "for (int i = 0; i < n; ++i) { int x = s[31 - t]; if (i & 1) sum += __any_sync(~0u, x); else s[t] = i; }"
    assert "SMEM205" in told(body)[0]
