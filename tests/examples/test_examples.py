"""The README's kernels: what the tool promises for them is what ptxas reports after the rewrite."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toolchain import nvcc, require

import smem_lsp
from smem_lsp.environment.nvcc import KernelStatistics, compile_statistics

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def fixed(name: str, code: str, folder: Path) -> Path:
    """A copy of an example after ``check --fix --select CODE``."""
    copy = folder / name
    shutil.copyfile(HERE / name, copy)
    command = [
        sys.executable,
        "-m",
        "smem_lsp",
        "check",
        "--isolated",
        "--exit-zero",
        "--fix",
        "--select",
        code,
    ]
    done = subprocess.run(
        [*command, str(copy)], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Fixed 1 finding" in done.stdout, done.stdout
    return copy


def compiled(path: Path, arch: str) -> KernelStatistics:
    compiler = require(nvcc(), "no nvcc: examples are not compiled")
    (kernel,) = compile_statistics(str(compiler), path.read_text(encoding="utf-8"), arch).values()
    return kernel


def blocks(arch: str, kernel: KernelStatistics) -> int:
    found = smem_lsp.occupancy(
        arch,
        threads=256,
        registers=kernel.registers,
        static_shared=kernel.shared_bytes,
        barriers=kernel.barriers,
    )
    return int(found.blocks)


@pytest.mark.sampled(one_in=3)
@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize(
    ("name", "code", "before", "after", "barriers"),
    [
        ("gemm.cu", "SMEM301", 12_288, 8_192, 0),
        ("three_stages.cu", "SMEM301", 24_576, 17_408, 0),
        ("three_stages.cu", "SMEM302", 24_576, 15_360, 1),
    ],
)
def test_bytes(
    name: str, code: str, before: int, after: int, barriers: int, arch: str, tmp_path: Path
) -> None:
    rewritten = fixed(name, code, tmp_path)
    assert compiled(HERE / name, arch).shared_bytes == before
    assert compiled(rewritten, arch).shared_bytes == after
    added = rewritten.read_text(encoding="utf-8").count("__syncthreads();")
    assert added - (HERE / name).read_text(encoding="utf-8").count("__syncthreads();") == barriers


def test_blocks_of_the_gemm(tmp_path: Path) -> None:
    """256 threads fill sm_120 with or without the bytes: the README says so."""
    assert blocks("sm_120", compiled(HERE / "gemm.cu", "sm_120")) == 6
    assert blocks("sm_120", compiled(fixed("gemm.cu", "SMEM301", tmp_path), "sm_120")) == 6


@pytest.mark.slow(seconds=3)
def test_blocks_with_the_registers_that_ptxas_gives(tmp_path: Path) -> None:
    """Four blocks as declared, five by merging, six with one barrier more: all that sm_120 can hold."""
    assert blocks("sm_120", compiled(HERE / "three_stages.cu", "sm_120")) == 4
    assert blocks("sm_120", compiled(fixed("three_stages.cu", "SMEM301", tmp_path), "sm_120")) == 5
    assert blocks("sm_120", compiled(fixed("three_stages.cu", "SMEM302", tmp_path), "sm_120")) == 6
