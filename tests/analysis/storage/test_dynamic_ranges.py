"""Ranges of dynamic shared memory: found where every access is known to stay in one, and planned as buffers are."""

from __future__ import annotations

import pytest
from carets import expect
from harness import kernel_facts

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.output.memory_map import memory_map

KERNEL = """\
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + 256;
  float* z = y + 512;
  int tid = threadIdx.x;
  x[tid] = in[tid];
  __syncthreads();
  y[tid] = x[255 - tid];
  y[tid + 256] = x[tid];
  __syncthreads();
  z[tid] = y[2 * tid];
  __syncthreads();
  out[tid] = z[(tid + 3) & 255];
}
void go(const float* in, float* out) { k<<<2, 256, 1024 * sizeof(float)>>>(in, out, 1000); }
"""


def ranges(text: str) -> list[tuple[str, int, int]]:
    divided = kernel_facts(text).dynamic_partition
    return [] if divided is None else [(r.name, r.offset, r.size) for r in divided.partition.ranges]


def test_pointers_with_constant_offsets_begin_ranges() -> None:
    assert ranges(KERNEL) == [("x", 0, 1024), ("y", 1024, 2048), ("z", 3072, 1024)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # an access that reaches across joins what it reaches
        ("y[2 * tid]", "y[3 * tid]", [("x", 0, 1024), ("y", 1024, 3072)]),
        ("x[255 - tid]", "x[2 * tid]", [("x", 0, 3072), ("z", 3072, 1024)]),
        # the array itself is the first range, where no pointer is
        ("float* x = smem;", "", None),
        # views into a range that do not begin one
        ("float* z = y + 512;", "float* z = y + 512; float* row = y + threadIdx.x; row[0] = 1;", None),
        ("x[255 - tid]", "x[n]", []),
        ("x[255 - tid]", "x[(int)in[tid]]", []),
        ("x[255 - tid]", "x[-tid]", []),
        ("k<<<2, 256", "k<<<2, n", []),
        ("__syncthreads();\n  y", "keep(smem); __syncthreads();\n  y", []),
        ("__syncthreads();\n  y", "somewhere(); __syncthreads();\n  y", []),
        ("float* y = smem + 256;", "float* y = smem + n;", []),
        ("float* z = y + 512;", "float* z = y + 512; if (n) z = y;", [("x", 0, 1024), ("y", 1024, 3072)]),
    ],
)
def test_what_is_not_sure_is_no_range(
    old: str, new: str, expected: list[tuple[str, int, int]] | None
) -> None:
    text = KERNEL.replace(old, new)
    assert text != KERNEL
    if old.startswith("float* x"):
        text = text.replace("x[", "smem[")
        expected = [("smem", 0, 1024), ("y", 1024, 2048), ("z", 3072, 1024)]
    if "row" in new:
        expected = [("x", 0, 1024), ("y", 1024, 2048), ("z", 3072, 1024)]
    assert ranges(text) == expected


def test_the_layouts_are_those_of_buffers() -> None:
    divided = kernel_facts(KERNEL).dynamic_partition
    assert divided is not None
    assert divided.declared.bytes == 4096
    assert [(len(each.plan.barriers), each.plan.bytes) for each in divided.best] == [(0, 3072)]
    assert all(each.assumes_shape for each in divided.best)


Z_REUSES_X = "//                        ^^^^ SMEM301 `z` can reuse `x` in `smem`: 4,096 → 3,072 B of dynamic"


def test_the_finding_and_its_fix_name_what_they_assume() -> None:
    report = expect(KERNEL.replace("smem[];\n", f"smem[];\n{Z_REUSES_X}\n"), among=("SMEM301",))
    (finding,) = (each for each in report.findings if each.code == "SMEM301")
    assert finding.message.endswith(
        "shared memory, no barrier added (dead after the barrier at line 11); assumes the 256×1×1 block of line 16"
    )
    (fix,) = report.fixes_for(finding)
    assert fix.title.endswith("; assumes the 256×1×1 block of line 16; unconfirmed")


def test_a_value_that_is_read_later_keeps_its_range() -> None:
    expect(KERNEL.replace("out[tid] = z", "out[tid] = x[tid] + z"), among=("SMEM301",))


def test_the_map_draws_the_ranges() -> None:
    drawn = memory_map(check(KERNEL), 0)
    assert [drawing.plan.bytes for drawing in drawn.worth_drawing] == [4096, 3072]
    names = {drawn.names[rectangle.buffer] for rectangle in drawn.worth_drawing[0].rectangles}
    assert names == {"x", "y", "z"}
    assert drawn.report.live[drawn.kernel.buffers[3].index] == (12, 14)


def test_the_step_that_the_bytes_buy_is_told() -> None:
    text = """
__global__ void k(const float* in, float* out) {
  extern __shared__ float smem[];
//                        ^^^^ SMEM301 16,384 → 8,192 B of dynamic shared memory, 5 → 11 blocks/SM on sm_86, no barrier
  float* x = smem;
  float* y = smem + 2048;
  for (int i = threadIdx.x; i < 2048; i += 128) x[i] = in[i];
  __syncthreads();
  float v = x[2047 - threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.x; i < 2048; i += 128) y[i] = v;
  __syncthreads();
  out[threadIdx.x] = y[2047 - threadIdx.x];
}
void go(const float* in, float* out) { k<<<2, 128, 16384>>>(in, out); }
"""
    report = expect(text, among=("SMEM301",), config=Config(arch=("sm_86",), registers=32))
    (finding,) = (each for each in report.findings if each.code == "SMEM301")
    assert (finding.data["blocks_before"], finding.data["blocks_after"]) == (5, 11)
