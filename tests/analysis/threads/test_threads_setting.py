"""``threads = 256`` tells how many threads a block has, not how they stand."""

from __future__ import annotations

from smem_lsp import check
from smem_lsp.config import Config
from smem_lsp.rules.model import Finding

TRANSPOSE = """\
__global__ void k(const float* in, float* out) {
  __shared__ float m[%s];
  m[threadIdx.y][threadIdx.x] = in[threadIdx.x];
  out[threadIdx.y] = m[threadIdx.x][threadIdx.y];
}
"""


def races(text: str, threads: int) -> list[Finding]:
    report = check(text, config=Config(threads=threads))
    return [each for each in report.findings if each.code in ("SMEM201", "SMEM205", "SMEM402")]


def test_the_arrays_tell_the_shape() -> None:
    (found,) = races(TRANSPOSE % "16][16", 256)
    assert found.code == "SMEM201"
    assert "256 threads" in found.message


def test_where_they_do_not_nothing_is_claimed_of_256_in_a_row() -> None:
    assert [each.code for each in races(TRANSPOSE % "32][32", 256) if "256" in each.message] == []


def test_an_assumed_x_is_no_shape_where_y_is_read() -> None:
    text = TRANSPOSE.replace("{\n", "{\n  // smem: assume(blockDim.x == 256)\n", 1) % "16][16"
    assert [each.code for each in check(text).findings if each.code == "SMEM402"] == []


def test_one_axis_is_a_shape() -> None:
    text = "__global__ void k(float* o) { __shared__ float s[64]; s[threadIdx.x] = 1; o[0] = s[0]; }"
    assert [each.code for each in races(text, 256)][:1] == ["SMEM402"]
