"""A rewrite never edits a launch in another file, and says where it stands."""

from __future__ import annotations

from smem_lsp.engine import Within, check
from tests.syntax.files import Files

HEADER = """\
#pragma once
__global__ void k(float* out) {
  __shared__ float a[8192];
  __shared__ float b[8192];
  a[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  float x = a[255 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = x;
  __syncthreads();
  out[threadIdx.x] = b[255 - threadIdx.x] + a[threadIdx.x];
}
"""
MAIN = '#include "k.cuh"\nvoid run(float* p) { k<<<1, 256>>>(p); }\n'


def test_no_move_to_dynamic_memory_with_a_launch_elsewhere() -> None:
    report = check(
        HEADER, path="k.cuh", reader=Files({"k.cuh": HEADER, "main.cu": MAIN}), within=Within(("main.cu",))
    )

    found = next(finding for finding in report.findings if finding.code == "SMEM502")
    fixes = report.fixes_for(found)
    assert not any(fix.edits and "dynamic" in fix.title for fix in fixes)
    assert any("main.cu:2" in fix.title for fix in fixes)
