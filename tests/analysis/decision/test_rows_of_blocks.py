"""Threads that leave a row of an array: by bytes where the block is named, not at all where nobody names one."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE, RACY, UNDECIDED = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED
KERNEL = """\
__global__ void k(const int* in, int* out, int n) {{
  __shared__ int tile[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  {body}
}}
{host}
"""
HOST = "void host(const int* in, int* out, int n) {{ k<<<4, {block}>>>(in, out, n); }}"


def judged(body: str, block: str | None) -> tuple[VerdictKind, list[str]]:
    host = "" if block is None else HOST.format(block=block)
    report = check(KERNEL.format(body=body, host=host))
    (verdict,) = report.facts[0].analysis.verdicts
    return verdict.kind, [each.code for each in report.findings if each.code in ("SMEM201", "SMEM202")]


@pytest.mark.parametrize(
    ("body", "block", "kind"),
    [
        # threads 16 to 31 of a row write the next one
        ("tile[y][x] = in[x * 3 + y]; __syncthreads(); out[x] = tile[y][0];", "dim3(32, 8)", RACY),
        ("tile[y][x] = in[x * 3 + y]; __syncthreads(); out[x] = tile[y][0];", "dim3(16, 16)", FREE),
        ("for (int i = x; i < 256; i += 64) tile[0][i] = in[i]; out[x] = tile[x / 16][x % 16];", "64", FREE),
        ("for (int i = x; i < 256; i += 64) tile[0][i] = in[i]; out[x] = tile[x % 16][x / 16];", "64", RACY),
        ("tile[0][x] = in[x]; tile[1][x] = in[x + 1];", "16", FREE),
        ("tile[0][x] = in[x]; tile[1][x] = in[x + 1];", "64", RACY),
    ],
)
def test_rows_of_a_block_that_is_named(body: str, block: str, kind: VerdictKind) -> None:
    found, told = judged(body, block)
    assert found is kind
    assert bool(told) is (kind is RACY)


@pytest.mark.parametrize(
    ("body", "block"),
    [
        ("tile[y][x] = in[x * 3 + y]; __syncthreads(); out[x] = tile[y][0];", None),
        ("tile[0][x + n] = in[x]; tile[1][x] = in[x + 1];", "16"),  # n may be 0
        ("if (x < n) tile[0][x] = in[x]; out[x] = tile[1][x % 16];", "64"),  # n may be 16
        ("tile[0][in[x]] = 1; out[x] = tile[1][x];", "16"),
    ],
)
def test_nothing_is_told_where_some_launch_leaves_no_row(body: str, block: str | None) -> None:
    found, told = judged(body, block)
    assert not told and found is not RACY
