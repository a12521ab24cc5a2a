"""What a lane gets from another one is known where its number decides it."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

TEXT = """
__global__ void k(const int* in, int* out, int n) {
  __shared__ int s[512];
  int t = threadIdx.x;
  int v = SHUFFLE;
  s[INDEX] = t;
  __syncthreads();
  out[t] = s[t];
}
void host(const int* in, int* out, int n) { k<<<1, BLOCK>>>(in, out, n); }
"""


def verdict(shuffle: str, index: str, block: str = "256") -> str:
    tile = "cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block())"
    text = (
        TEXT.replace("SHUFFLE", shuffle.replace("TILE", tile)).replace("INDEX", index).replace("BLOCK", block)
    )
    (kernel,) = check(text).kernels
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    ("shuffle", "index", "kind"),
    [
        ("__shfl_sync(~0u, t, 0)", "v + t % 32", "race-free"),
        ("__shfl_sync(~0u, t, 0)", "v", "racy"),
        ("__shfl_sync(~0u, t, 35)", "v + (t & 31)", "race-free"),
        ("__shfl_sync(~0u, t, 0, 16)", "v + t % 16", "race-free"),
        ("__shfl_sync(~0u, t, 0, 16)", "v + t % 32", "racy"),
        ("__shfl_sync(~0u, t / 2, 4)", "v + t % 32", "racy"),
        ("__shfl_xor_sync(~0u, t, 1)", "v", "race-free"),
        ("TILE.shfl(t, 0)", "v + t % 16", "race-free"),
        ("TILE.shfl(t, 0)", "v + t % 32", "racy"),
        ("__shfl_xor_sync(~0u, t, 31)", "v", "race-free"),
        ("__shfl_up_sync(~0u, t, 1)", "v", "racy"),  # the first lane gets its own
        ("__shfl_down_sync(~0u, t, 1)", "v", "racy"),
        ("__shfl_down_sync(~0u, t, 1)", "v + (t % 32 == 31)", "race-free"),
    ],
)
def test_of_the_other_lane(shuffle: str, index: str, kind: str) -> None:
    assert verdict(shuffle, index) == kind


@pytest.mark.parametrize(
    ("shuffle", "block"),
    [
        ("__shfl_sync(~0u, t, 0)", "dim3(16, 16)"),  # a warp is of two rows
        ("__shfl_sync(~0u, t, 0)", "n"),
        ("__shfl_sync(0xffff, t, 0)", "256"),
        ("__shfl_sync(~0u, t, n)", "256"),
        ("__shfl_sync(~0u, in[t], 0)", "256"),
    ],
)
def test_of_no_other_one(shuffle: str, block: str) -> None:
    assert verdict(shuffle, "v + t % 32", block) == "undecided"
