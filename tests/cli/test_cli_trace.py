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


LAUNCHED = """\
__global__ void k(float* out, int n, int m) {
  __shared__ float s[256];
  s[threadIdx.x] = out[threadIdx.x];
  if (n > 128) __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
__global__ void j(float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
void run(float* p, int n, int m, int threads) {
  if (m > 7) return;
  k<<<1, threads>>>(p, n, m);
  j<<<1, m>>>(p);
}
"""
CALL = "void run(float* p, int n, int m, int threads);\nvoid go(float* p, int m) { run(p, 64, m, 256); }\n"


def test_what_findings_and_the_verdict_rest_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "setup.py").write_text("")
    file, caller = tmp_path / "ops.cu", tmp_path / "main.cpp"
    file.write_text(LAUNCHED)
    caller.write_text(CALL)
    assert main(["trace", f"{file}:k", "--isolated"]) == 0
    printed = capsys.readouterr().out

    place = f"the launch at line 15, called from {caller}:2"
    assert (
        f"line 15, called from {caller}:2: block 256 x 1 x 1, dynamic 0 B\n  n == 64\n  m <= 7\n" in printed
    )
    assert (
        f"with the 256×1×1 block of line 15, called from main.cpp:2\n  rests on {place} and n == 64\n"
        in printed
    )
    assert "verdict: racy" in printed
    assert "at most 256 threads in x, if no index leaves `s[256]`" in printed
    assert main(["trace", f"{file}:j", "--isolated"]) == 0
    printed = capsys.readouterr().out
    assert "verdict: race-free" in printed
    assert "  rests on no launch\n" in printed


def test_what_the_author_says_of_the_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.cu"
    file.write_text(SOURCE.replace("  a[t", "  assert(blockDim.x <= 64 && blockDim.y == 1);\n  a[t", 1))
    assert main(["trace", f"{file}:k", "--isolated"]) == 0
    printed = capsys.readouterr().out

    assert "the kernel asserts blockDim.y == 1" in printed
    assert "the kernel asserts blockDim.x <= 64" in printed
    assert "a: bytes 0..256 at most are touched" in printed
