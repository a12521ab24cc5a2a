"""``smem-lsp trace``"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smem_lsp.cli import main

pytestmark = pytest.mark.real_engine

SOURCE = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[64];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = a[63 - threadIdx.x];
}
__global__ void other() { }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.cu"
    path.write_text(SOURCE)
    return path


def test_every_stage_is_printed_in_order(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", f"{file}:k", "--isolated"]) == 0
    printed = capsys.readouterr().out
    stages = [line.strip("= ") for line in printed.splitlines() if line.startswith("== ")]
    assert stages[:2] == ["tokens", "statement tree"]
    assert stages.index("region tree") < stages.index("live ranges") < stages.index("findings")
    assert "#0 static float a[64]: 256 B, aligned to 4, declared in k()" in printed
    assert "write a[threadIdx.x], 4 bytes at (threadIdx.x * 4)  line 3" in printed
    assert "declared: 256 B: a at 0" in printed


def test_json_has_the_same_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", f"{file}:k", "--isolated", "--format", "json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    buffers = next(section for section in kernel["sections"] if section["title"] == "buffers")
    assert buffers["lines"] == ["#0 static float a[64]: 256 B, aligned to 4, declared in k()"]


def test_an_unknown_kernel_is_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", f"{file}:kk", "--isolated"]) == 2
    assert "did you mean `k`?" in capsys.readouterr().err
