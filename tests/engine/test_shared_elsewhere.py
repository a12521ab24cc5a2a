"""Shared memory of a kernel that stands in another file than the kernel: the unit that brings both in is read, and no
total is exact while it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from smem_lsp.cli import main
from smem_lsp.engine import check

ARRAY = "#pragma once\n__shared__ float rows[300];\n"
KERNEL = """\
__global__ void turn(float* o) {
  rows[threadIdx.x] = o[threadIdx.x];
  __syncthreads();
  o[threadIdx.x] = rows[255 - threadIdx.x];
}
"""
LAUNCH = '#include "rows.cuh"\n#include "turn.cuh"\nvoid go(float* o) { turn<<<1, 256>>>(o); }\n'


def written(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")


def judged(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[int, bool, str]]:
    """(static bytes, exact?, verdict) of each kernel that the command reports for a file."""
    main(["check", str(path), "--format", "json"])
    kernels = json.loads(capsys.readouterr().out)["kernels"]
    return {
        each["name"]: (
            each["static_bytes"]["value"],
            each["static_bytes"]["exact"],
            each["races"]["verdict"],
        )
        for each in kernels
    }


@pytest.mark.parametrize("asked", [".", "turn.cuh", "main.cu"])
def test_an_array_of_another_header_is_found_through_the_includer(
    asked: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, rows_cuh=ARRAY, turn_cuh=KERNEL, main_cu=LAUNCH)
    assert judged(tmp_path / asked, capsys) == {"turn": (1200, False, "race-free")}


def test_a_race_on_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, rows_cuh=ARRAY, turn_cuh=KERNEL.replace("  __syncthreads();\n", ""), main_cu=LAUNCH)
    assert main(["check", str(tmp_path / "turn.cuh")]) == 1
    out = capsys.readouterr().out
    assert "SMEM201" in out
    assert "main.cu:3" in out


def test_what_nothing_declares_may_be_shared_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, turn_cuh=KERNEL)
    assert judged(tmp_path, capsys) == {"turn": (0, False, "undecided")}


@pytest.mark.parametrize("access", ["*rows = o[0]", "rows->x = o[0]", "rows.x = o[0]"])
def test_in_whatever_way_it_is_used(access: str) -> None:
    (kernel,) = check(f"__global__ void k(float* o) {{ {access}; }}\n", path="k.cuh").kernels
    assert not kernel.exact


@pytest.mark.parametrize("declared", ["__device__ float rows[300];\n", "__constant__ float rows[300];\n"])
def test_memory_of_another_kind_that_is_declared_is_not(declared: str) -> None:
    (kernel,) = check(declared + "__global__ void k(float* o) { o[0] = rows[1]; }\n", path="k.cuh").kernels
    assert (kernel.static_bytes, kernel.exact) == (0, True)


def test_a_function_of_a_header_that_names_it_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    helper = "__device__ inline float row(int i) { return rows[i]; }\n"
    plain = "__global__ void other(float* o) { o[0] = 1; }\n"
    uses = "__global__ void uses(float* o) { o[threadIdx.x] = row(threadIdx.x); }\n"
    written(tmp_path, rows_cuh=ARRAY + helper, k_cu='#include "rows.cuh"\n' + plain + uses)
    assert judged(tmp_path / "k.cu", capsys) == {
        "other": (0, True, "race-free"),
        "uses": (1200, False, "race-free"),
    }


def test_an_array_and_a_function_of_a_macro_of_the_includer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = "__global__ void k(float* o) { TILE(t, 77); t[threadIdx.x] = 1; o[0] = t[0] + fill(3); }\n"
    main_text = (
        "#define TILE(name, n) __shared__ float name[n]\n"
        "__device__ int fill(int n) { __shared__ int kept[5]; kept[n] = n; return kept[0]; }\n"
        '#include "k.cuh"\n'
    )
    written(tmp_path, k_cuh=header, k_cu=main_text)
    assert judged(tmp_path / "k.cuh", capsys)["k"][0] == 77 * 4 + 5 * 4
