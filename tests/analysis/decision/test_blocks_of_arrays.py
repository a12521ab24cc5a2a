"""A kernel whose launch nobody sees, and the blocks that its arrays are written for."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict

FREE, RACY, UNDECIDED = VerdictKind.RACE_FREE, VerdictKind.RACY, VerdictKind.UNDECIDED
KERNEL = """\
__global__ void k(const int* in, int* out, int n) {{
  __shared__ int tile[8][33]; __shared__ int s[64];
  int x = threadIdx.x;
  {body}
}}
"""
AT_MOST = "every block of threads in x and y, at most 33 in x and 8 in y"


def judged(body: str) -> tuple[VerdictKind, tuple[str, ...], tuple[str, ...]]:
    (facts,) = check(KERNEL.format(body=body)).facts
    (verdict,) = facts.analysis.verdicts
    found = kernel_verdict(facts)
    assert found.kind is verdict.kind
    return found.kind, found.proved_for, found.assumes


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("tile[threadIdx.y][x] = in[x]; out[x] = tile[threadIdx.y][x];", FREE),
        ("tile[threadIdx.y][x] += in[x];", FREE),
        ("tile[threadIdx.y][x] = in[x]; __syncthreads(); out[x] = tile[threadIdx.y / 2][x];", FREE),
        ("tile[threadIdx.y][x] = in[x]; out[x] = tile[threadIdx.y][x ^ 1];", RACY),
        ("if (n > 3) tile[threadIdx.y][x] = in[x];", UNDECIDED),  # other launches may have any block
        ("if (n > 3) return; tile[threadIdx.y][x] = in[x];", FREE),
    ],
)
def test_no_thread_leaves_its_row_of_an_array_that_all_index(body: str, kind: VerdictKind) -> None:
    found, blocks, assumes = judged(body)
    assert found is kind
    assert blocks == ((AT_MOST,) if kind is FREE else ())
    assert not assumes or kind is FREE


def test_what_holds_for_every_block_is_said_of_every_block() -> None:
    assert judged("s[x] = in[x]; out[x] = s[x];")[:2] == (FREE, ("every block of threads in x",))
    assert judged("s[x] = in[x]; tile[0][x & 31] = 1; out[x] = s[x];")[:2] == (
        FREE,
        ("every block of threads in x",),
    )


def test_an_array_of_all_threads_bounds_what_others_touch() -> None:
    """In a block of more than 64 threads two of them would touch one element; none of ``s`` is for them."""
    body = "s[x] = in[x]; __syncthreads(); tile[1][0] = 0; __syncthreads(); (&tile[0][0])[x % 64] = s[x];"
    found, blocks, _ = judged(body)
    assert (found, blocks) == (FREE, ("every block of threads in x, at most 64 in x",))
    assert judged(body.replace("% 64", "% 32"))[0] is not FREE
