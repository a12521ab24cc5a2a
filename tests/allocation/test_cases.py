"""The kernels of reference/allocators.md section 9 as CUDA sources (``cases``): declared bytes as ptxas reports them,
every layout, the curve of bytes against added barriers, all checked by the validator.

Where the number is not the one of section 9 the row says why.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from toolchain import nvcc, require

from smem_lsp.allocation.curve import BARRIERS, curve
from smem_lsp.allocation.layouts import layouts, task
from smem_lsp.allocation.validate import validate
from smem_lsp.engine import check
from smem_lsp.rules.facts import KernelFacts

FOLDER = Path(__file__).parent / "cases"
LIMIT = 48 * 1024  # bytes of static shared memory


class Case(NamedTuple):
    """``curve``: added barriers -> bytes, up to five of them. ``bound``: what the heaviest pile alone forces."""

    kernel: str
    declared: int
    stack: int
    alias: int
    best_fit: int
    curve: dict[int, int]
    bound: int
    why: str = ""  # the number differs from section 9


CASES = [
    Case("k01", 56, 52, 56, 56, {0: 52, 1: 24}, 52),
    Case("k01_barrier", 56, 24, 56, 24, {0: 24}, 24),
    Case("k01_natural", 44, 44, 44, 44, {0: 44, 1: 24}, 44),
    Case("k02", 88, 84, 88, 88, {0: 84, 1: 56}, 84),
    Case("k02_barrier", 88, 56, 88, 56, {0: 56}, 56),
    Case(
        "k03", 100, 108, 100, 100, {0: 100, 1: 60, 2: 36}, 100, "108 and 80 are the stack's: A 0, B 32, C 64"
    ),
    Case("k04", 152, 156, 152, 152, {0: 148, 1: 84, 2: 60, 3: 40}, 148, "156 and 80 are the stack's"),
    Case("k05", 1808, 1800, 1808, 1808, {0: 1800, 1: 960}, 1800),
    Case("k06", 2048, 2048, 2048, 1024, {0: 1024}, 1024),
    Case("k06_read_before", 2048, 2048, 2048, 1536, {0: 1536, 1: 1024}, 1536),
    Case("k07", 131072, 131072, 131072, 131072, {0: 131072, 1: 65536}, 131072),
    Case("k08", 49152, 49152, 49152, 49152, {0: 49152, 1: 32768}, 49152),
    Case("k09", 1024, 1024, 1024, 1024, {0: 1024}, 1024),
    Case("k10", 1024, 1024, 512, 512, {0: 512}, 512),
    Case("k10_shared", 1024, 1024, 1024, 1024, {0: 1024, 1: 512}, 1024),
    Case("k11", 1024, 1024, 1024, 1024, {0: 1024}, 1024),
    Case("k11_waited", 1024, 512, 1024, 512, {0: 512}, 512),
    Case("k12", 1024, 1024, 1024, 1024, {0: 1024}, 1024),
    Case("k13", 640, 640, 640, 640, {0: 640, 1: 512}, 640),
    Case("k14", 1664, 1664, 1664, 1664, {0: 1664, 1: 1536}, 1664),
    Case("k15", 1664, 1664, 1664, 1664, {0: 1664, 1: 1536}, 1664),
    Case("k16", 3072, 3072, 3072, 3072, {0: 3072, 1: 1536, 2: 1024, 5: 512}, 3072),
    Case("k17", 1152, 1152, 1152, 1152, {0: 640, 1: 512}, 640),
    Case("k17_divergent", 1152, 1152, 1152, 1152, {0: 1152, 1: 1024}, 1152),
    Case("k18", 65536, 16384, 65536, 16384, {0: 16384}, 16384),
    Case(
        "k18_twice",
        65536,
        65536,
        65536,
        65536,
        {0: 16384},
        16384,
        "32768 with splitting: the second turn is a hole",
    ),
    Case("k18_partly", 65536, 65536, 65536, 65536, {0: 65536}, 65536),
    Case("k19", 65536, 32768, 65536, 49152, {0: 32768}, 32768),
    Case("k20", 5824, 1696, 5824, 2304, {0: 1376}, 1376),
    Case("k21_longlive", 7680, 2560, 7680, 2560, {0: 2560}, 2560),
    Case("k21_preallocate", 26112, 15360, 26112, 12288, {0: 12288}, 12288),
    Case("k21_if_else", 6144, 5120, 6144, 5120, {0: 3072}, 3072),
    Case("k21_for_for_if", 49152, 40960, 49152, 40960, {0: 40960}, 40960),
    Case("k22", 13312, 6144, 13312, 8192, {0: 5120}, 4096),
    Case("k23", 4096, 3072, 4096, 2048, {0: 2048}, 2048),
    Case("k24", 17536, 17408, 17536, 9216, {0: 9216}, 9216),
    Case("k25", 1024, 1024, 1024, 1024, {0: 1024, 1: 512}, 1024),
    Case("k26", 1024, 1024, 1024, 1024, {0: 1024, 1: 512}, 1024),
    Case("k26_one_arm", 1024, 1024, 1024, 1024, {0: 1024, 1: 512}, 1024),
    Case("k27", 1024, 1024, 1024, 1024, {0: 1024, 1: 512}, 1024),
    Case("k27_only_those", 512, 512, 512, 512, {0: 512}, 512, "256: named barriers never count"),
    Case("k28", 17408, 16512, 17408, 17408, {0: 16512}, 16512),
    Case("k29", 512, 512, 512, 512, {0: 512}, 512),
    Case("k30", 160, 160, 160, 160, {0: 160}, 160),
    Case("k30_16", 628, 628, 628, 628, {0: 628}, 628),
    Case("k30_128", 4996, 4996, 4996, 4996, {0: 4996}, 4996),
]
NAMES = [case.kernel for case in CASES]


@cache
def all_facts() -> dict[str, KernelFacts]:
    """By the kernel's name."""
    return {
        facts.kernel.name: facts
        for path in sorted(FOLDER.glob("*.cu"))
        for facts in check(path.read_text("utf-8"), path=str(path)).facts
    }


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_every_layout(case: Case) -> None:
    facts = all_facts()[case.kernel]
    assert facts.kernel.complete
    assert facts.declared is not None
    assert facts.declared.bytes == case.declared
    body, proved = facts.kernel.body, facts.best[0].facts
    fixed = frozenset(buffer.index for buffer in facts.kernel.buffers if buffer.fixed is not None)
    compared = layouts(task(facts.items, body, proved, fixed))
    found = {name: plan.bytes for name, plan in compared.items()}
    assert found == {
        "declared": case.declared,
        "stack": case.stack,
        "alias": case.alias,
        "best_fit": case.best_fit,
    }
    plans = curve(facts.items, body, proved, fixed)
    assert {len(plan.barriers): plan.bytes for plan in plans} == case.curve
    assert plans[0].lower_bound == case.bound
    for plan in plans:
        assert plan.optimal or len(plan.barriers) > BARRIERS
        assert validate(facts.items, plan, body, proved, fixed) == []
        if plan.barriers:
            assert validate(facts.items, replace(plan, barriers=()), body, proved, fixed) != []


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_best_is_never_larger_than_another_layout(case: Case) -> None:
    assert case.curve[0] <= min(case.declared, case.stack, case.alias, case.best_fit)


def test_every_kernel_has_its_row() -> None:
    assert sorted(all_facts()) == sorted([*NAMES, "k07_dynamic"])


def test_ranges_of_dynamic_memory_have_no_sizes_yet() -> None:
    """K7 as it has to be written: nothing is said of ranges that are not known, and no byte is claimed."""
    facts = all_facts()["k07_dynamic"]
    assert [(buffer.name, buffer.bytes) for buffer in facts.kernel.buffers] == [("smem", None)]
    assert facts.items == ()
    assert [launch.dynamic_bytes for launch in facts.kernel.launches] == [131072]


@cache
def ptxas() -> tuple[dict[str, int], str]:
    """Static bytes by kernel as ptxas 13 reports them for all cases in one file; what it says of those too large."""
    compiler = require(nvcc(), "nvcc is not installed")
    small: list[str] = ["#include <cuda_pipeline.h>\n"]
    large: list[str] = []
    for path in sorted(FOLDER.glob("*.cu")):
        text = f"#define run run_{path.stem}\n{path.read_text('utf-8')}#undef run\n"
        over = [case for case in CASES if case.kernel.startswith(path.stem[:3]) and case.declared > LIMIT]
        if "extern __shared__" not in text:
            (large if over else small).append(text)
    outputs: list[str] = []
    for texts in (small, large):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "cases.cu")
            source.write_text("".join(texts), "utf-8")
            command = [
                str(compiler),
                "-cubin",
                "-arch=sm_90",
                "-Xptxas",
                "-v",
                "-o",
                "cases.cubin",
                source.name,
            ]
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
            )
        outputs.append(done.stdout + done.stderr)
    found: dict[str, int] = {}
    kernel = ""
    for line in outputs[0].splitlines():
        if entry := re.search(r"Compiling entry function '\w*?(k\d\d\w*?)PK\w+'", line):
            kernel = entry[1]
        elif kernel and "registers" in line:
            shared = re.search(r"(\d+) bytes smem", line)
            found[kernel] = int(shared[1]) if shared else 0
            kernel = ""
    return found, outputs[1]


def test_declared_bytes_are_those_of_ptxas() -> None:
    small = {case.kernel: case.declared for case in CASES if case.declared <= LIMIT}
    assert ptxas()[0] == small


def test_ptxas_refuses_what_is_over_the_limit() -> None:
    refused = re.findall(
        r"'\w*?(k\d\d\w*?)PK\w+' uses too much shared data \((0x[0-9a-f]+) bytes", ptxas()[1]
    )
    assert {kernel: int(size, 16) for kernel, size in refused} == {
        case.kernel: case.declared for case in CASES if case.declared > LIMIT
    }
