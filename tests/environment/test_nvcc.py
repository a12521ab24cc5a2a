"""What ptxas says, and what may reach nvcc."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smem_lsp.environment.nvcc import (
    CompileError,
    allowed_flags,
    compile_statistics,
    demangled_name,
    find_nvcc,
    parse_statistics,
)

NVCC = find_nvcc()
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc here")

OUTPUT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90'
ptxas info    : Function properties for _Z1aPf
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 34 registers, used 2 barriers, 8192 bytes smem, 380 bytes cmem[0]
ptxas info    : Compiling entry function '_Z1bPf' for 'sm_90'
ptxas info    : Function properties for _Z1bPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 6 registers, used 0 barriers, 360 bytes cmem[0]
"""


def test_statistics_of_each_kernel() -> None:
    found = parse_statistics(OUTPUT)
    a, b = found["_Z1aPf"], found["_Z1bPf"]
    assert (a.name, a.arch, a.shared_bytes, a.registers, a.spill_bytes, a.barriers) == (
        "a",
        "sm_90",
        8192,
        34,
        28,
        2,
    )
    assert (b.shared_bytes, b.registers, b.spill_bytes, b.barriers) == (0, 6, 0, 0)


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z4gemmPKfPf", "gemm"),
        ("_ZN2ns5inner4gemmEPf", "ns::inner::gemm"),
        ("_Z4gemmIfLi32EEvPT_", "gemm"),
        ("_ZN1a41_GLOBAL__N__84408b7c_9_kernel_cu_577533661kILi64EEEvPf", "a::k"),
        ("plain_c", "plain_c"),
        ("_Z", "_Z"),
    ],
)
def test_names(mangled: str, name: str) -> None:
    assert demangled_name(mangled) == name


def test_only_harmless_flags_reach_nvcc() -> None:
    flags = ["-DX=1", "-D", "Y", "-Iinc", "-isystem", "sys", "-std=c++17", "--expt-relaxed-constexpr"]
    harmful = [
        "-ccbin",
        "evil",
        "-o",
        "out",
        "@file",
        "-Xcompiler",
        "-fplugin=x",
        "--options-file",
        "f",
        "a.cu",
        "-D",
    ]
    assert allowed_flags([*flags, *harmful]) == tuple(flags)


def test_a_setting_that_leads_nowhere_finds_nothing(tmp_path: Path) -> None:
    assert find_nvcc(str(tmp_path / "nvcc")) is None


SIZED = """\
template <int N> __global__ void k(float* p) {
  __shared__ float s[N];
  s[threadIdx.x] = p[1];
  __syncthreads();
  p[0] = s[3];
}
template __global__ void k<SIZE>(float*);
"""


@needs_nvcc
def test_compiles() -> None:
    found = compile_statistics(str(NVCC), SIZED, "sm_80", ["-DSIZE=64"])
    assert [(s.name, s.shared_bytes, s.arch) for s in found.values()] == [("k", 256, "sm_80")]


@needs_nvcc
def test_an_error_is_one_line() -> None:
    with pytest.raises(CompileError, match=r'^kernel\.cu\(1\): error: identifier "x" is undefined$'):
        compile_statistics(str(NVCC), "__global__ void k() { x; }\n", "sm_80")


def test_a_compiler_that_never_ends_is_stopped(tmp_path: Path) -> None:
    slow = tmp_path / "nvcc"
    slow.write_text("#!/bin/sh\nsleep 60 & echo $! > pid; cp pid '%s'; wait\n" % (tmp_path / "pid"))
    slow.chmod(0o755)
    with pytest.raises(CompileError, match="did not finish"):
        compile_statistics(str(slow), "", "sm_80", timeout=1.0)
    child = int((tmp_path / "pid").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z" or os.getpgid(child) != child


def test_a_compiler_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="No such file"):
        compile_statistics(str(tmp_path / "none"), "", "sm_80")
