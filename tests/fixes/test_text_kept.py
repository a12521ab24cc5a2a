"""Around a rewrite the text stays as its author wrote it: line ends, tabs, layout."""

from __future__ import annotations

from fixes.two_buffers import TWO_BUFFERS, TWO_BUFFERS_MERGED
from harness import (
    check_fix,
    check_rewrite,
    only_fix,
)

from smem_lsp.engine import apply, check


def test_tabs_stay_tabs() -> None:
    check_rewrite(
        """
 __global__ void k(const float* in, float* out) {
 \t__shared__ float tile[512];
-\t__shared__ float red[256];
+\tfloat (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
+\tstatic_assert(sizeof(red) <= sizeof(tile), "red must fit in tile");
 \tint tid = threadIdx.x;
 \ttile[tid] = in[tid];
 \ttile[tid + 256] = in[tid + 256];
 \t__syncthreads();
 \tfloat s = tile[511 - tid];
 \t__syncthreads();
 \tred[tid] = s;
 \t__syncthreads();
 \tout[tid] = red[255 - tid];
 }
"""
    )


def test_a_crlf_file_gets_crlf() -> None:
    before = TWO_BUFFERS.replace("\n", "\r\n")
    fix = check_fix(before, TWO_BUFFERS_MERGED.replace("\n", "\r\n"))
    assert all("\n" not in edit.text.replace("\r\n", "") for edit in fix.edits)


def test_a_text_without_a_last_line_end_stays_without() -> None:
    check_fix(TWO_BUFFERS.rstrip("\n"), TWO_BUFFERS_MERGED.rstrip("\n"))


def test_everything_on_one_line_still_reads_the_same() -> None:
    before = " ".join(line.strip() for line in TWO_BUFFERS.splitlines())
    after = apply(before, only_fix(check(before), "SMEM301"))
    assert after.split("__shared__ float tile[512];")[0] == before.split("__shared__ float tile[512];")[0]
    assert after.endswith(before.split("__shared__ float red[256];")[1])
