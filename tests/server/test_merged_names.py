"""References that share the bytes of an array are shown as the arrays that they stand for."""

from __future__ import annotations

from server.client import serving
from server.samples import PUSH, place
from server.test_light_bulb import applied, resolved, titled

from smem_lsp.engine import check
from smem_lsp.output.memory_map import memory_map

URI = "file:///k.cu"
MERGED = """\
static __global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  float (&red)[256] = *reinterpret_cast<float (*)[256]>(&tile);  // shares tile's bytes: tile is dead by then
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid] + tile[255 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
void run(const float* in, float* out) { k<<<1, 256>>>(in, out); }
"""


def test_hover_on_a_reference_has_its_bytes_its_life_and_whose_they_are() -> None:
    with serving(PUSH) as client:
        client.open(URI, MERGED)
        for needle in ("red)[256]", "red[tid]"):
            found = client.hover(URI, *place(MERGED, needle))
            assert found is not None
            assert found.split("  \n")[:3] == [
                "**`float red[256]`** 1,024 B: bytes 0–1,024 of `tile`",
                "Live: lines 10–12",
                "Takes turns with `tile` (lines 5–8) in the same bytes",
            ]
        assert "Takes turns: `tile` 0–2,048, `red` 0–1,024" in (
            client.hover(URI, *place(MERGED, "tile[512]")) or ""
        )


def test_the_map_shows_both_lives_in_the_same_bytes() -> None:
    shown = memory_map(check(MERGED), 0)
    declared = shown.declared
    assert declared is not None and declared.plan.bytes == 2048
    drawn = {
        (shown.names[each.buffer], each.offset, each.size, each.first_line, each.last_line)
        for each in declared.rectangles
    }
    assert drawn == {("tile", 0, 2048, 5, 8), ("red", 0, 1024, 10, 12)}


def test_unmerge_is_a_rewrite_of_its_own_kind() -> None:
    with serving(PUSH) as client:
        client.open(URI, MERGED)
        found = client.actions(URI, place(MERGED, "red[tid]"), only=["refactor.rewrite.unmergeBuffers"])
        action = titled(found, "Unmerge tile + red: +1,024 B")
        assert action["kind"] == "refactor.rewrite.unmergeBuffers"
        text = applied(MERGED, resolved(client, action)["edit"])
        assert "  __shared__ float tile[512];\n  __shared__ float red[256];\n" in text
