"""How many threads a block of unknown size may have, by what the last of them would touch."""

from __future__ import annotations

import pytest
from harness import kernel_facts

from smem_lsp.analysis.decision.axis_strides import steps_along
from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.ir.nodes import Access

FREE, RACY, UNDECIDED = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED
KERNEL = """\
__global__ void k(const int* in, int* out, int n, int m) {{
  __shared__ int tile[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  {body}
}}
"""
FILL = "for (int j = y; j < blockDim.x; j += blockDim.y) tile[x][j] = in[j];"


def judged(body: str) -> VerdictKind:
    (facts,) = check(KERNEL.format(body=body)).facts
    (verdict,) = facts.analysis.verdicts
    return verdict.kind


@pytest.mark.parametrize(
    "body",
    [
        f"if (n > 3) {{ {FILL} }}",
        f"for (int i = 0; i < n; ++i) {{ {FILL} __syncthreads(); out[x] = tile[0][x]; __syncthreads(); }}",
        f"for (int i = 0; i < n; ++i) {{ if (i == m) break; {FILL} __syncthreads(); }}",
        "if (y < n) for (int j = 0; j < blockDim.x; ++j) if (j % blockDim.y == y) tile[x][j] = in[j];",
        # how far the thread of a row searches is its own affair, not whether it stores
        "if (n > 3) for (int j = y; j < blockDim.x; j += blockDim.y) {"
        " int v = in[x]; while (v > 0) { if (in[v] == j) break; --v; } tile[x][j] = v; }",
    ],
)
def test_the_last_thread_of_a_row_stays_inside_as_well(body: str) -> None:
    assert judged(body) is FREE


@pytest.mark.parametrize(
    "body",
    [
        # the last one does not come: in a block of 64 x 2 threads 0 of row 0 and 1 of row 1 meet at tile[1][0]
        f"if (x < 16) {{ {FILL} }}",
        f"if (x >= m) return; if (n > 3) {{ {FILL} }}",
        f"for (int i = 0; i < n; ++i) {{ if (in[x + i] < 0) break; {FILL} __syncthreads(); }}",
        f"for (int i = 0; i < n; ++i) {{ if (in[x + i] < 0) return; }} {FILL}",
        f"for (int i = x; i < n; ++i) {{ {FILL} }}",
        f"if (in[x] > 0) {{ {FILL} }}",
        # it does not touch what is behind
        "if (n > 3) for (int j = y; j < blockDim.x; j += blockDim.y) tile[x & 15][j] = in[j];",
        "if (n > 3) for (int j = y; j < blockDim.x; j += blockDim.y) tile[in[x] & 15][j] = in[j];",
        "if (n > 3) for (int j = y + x; j < blockDim.x; j += blockDim.y) tile[x][j] = in[j];",
    ],
)
def test_a_last_thread_that_stays_away_bounds_no_block(body: str) -> None:
    assert judged(body) is not FREE


def test_a_stride_is_told_in_bytes_for_each_coordinate() -> None:
    of = kernel_facts(
        KERNEL.format(body="tile[2 * x + 1][y] = n; tile[0][m * x] = n;")
    ).analysis.launched_flow.followed
    points = [each.point for each in of.accesses if isinstance(each, Access)]
    assert steps_along(of, "x") == {points[0]: 256}
    assert steps_along(of, "y") == {points[0]: 4}
