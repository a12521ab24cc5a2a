"""What every rewrite promises, a compiler confirms: bytes before and after, no new warning, no resident block lost."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import pytest
import test_kernels
from fixes import (
    test_assumptions,
    test_barrier_inserted,
    test_guests,
    test_merge_compiles,
    test_merge_title,
    test_text_kept,
    test_unions,
)
from harness import Compiled, Recorded, compile_cubin, promised_bytes, recorded
from toolchain import nvcc, require

from smem_lsp import occupancy
from smem_lsp.config import Config
from smem_lsp.engine import apply, check
from smem_lsp.engine.measured import Measured
from smem_lsp.environment.nvcc import KernelStatistics, compile_statistics
from smem_lsp.fixes.model import Fix

MODULES = (
    *(test_assumptions, test_barrier_inserted, test_guests, test_merge_compiles, test_merge_title),
    *(test_text_kept, test_unions),
)
OTHER_TARGETS = ("sm_80", "sm_120")
ON_OTHER_TARGETS = ("06_gemm_epilogue.cu", "01_existing_barrier.cu", "a_gemm_gets_a_mainloop_and_an_epilogue")


@dataclass(frozen=True)
class Case:
    """A kernel and its rewrite, for one target."""

    name: str
    arch: str
    before: str
    after: str
    title: str
    threads: int


@cache
def cases() -> dict[str, Case]:
    """By name and target. The fixes are those of the reference kernels and those that the tests of fixes apply."""
    found: list[Case] = []
    for name, kernel in test_kernels.EXPECTED.items():
        if kernel["rewrite"] and name not in test_kernels.OTHER_REWRITES:
            fix = test_kernels.merge_of(name, kernel["rewrite"]["barriers_added"])
            text = test_kernels.text_of(name)
            found += _on_targets(name, text, apply(text, fix), fix, kernel["threads"])
    tests = {name: test for module in MODULES for name, test in vars(module).items()}
    for name, test in tests.items():
        if inspect.isfunction(test) and name.startswith("test_") and not inspect.signature(test).parameters:
            for fixed in _applied_by(test):
                found += _on_targets(name.removeprefix("test_"), fixed.before, fixed.after, fixed.fix, 256)
    return {f"{case.name}-{case.arch}": case for case in found}


def _applied_by(test: object) -> list[Recorded]:
    assert callable(test)
    with recorded() as fixes:
        try:
            test()
        except (AssertionError, pytest.skip.Exception):
            return []  # reported where it belongs
    return [fixed for fixed in fixes if "Merge" in fixed.fix.title]


def _on_targets(name: str, before: str, after: str, fix: Fix, threads: int) -> Iterator[Case]:
    for arch in ("sm_90", *(OTHER_TARGETS if name in ON_OTHER_TARGETS else ())):
        yield Case(name, arch, before, after, fix.title, threads)


PARTS = 8  # so that the processes of a run share them, and none makes the cases before it runs one
EACH_PART = pytest.mark.parametrize("part", range(PARTS))


def cases_of(part: int) -> dict[str, Case]:
    return dict(list(cases().items())[part::PARTS])


class Compiler:
    """Compiles ahead of what is asked, two texts at a time."""

    def __init__(self) -> None:
        processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        self.pool = ThreadPoolExecutor(max(1, 2 // processes))
        self.running: dict[tuple[str, str], Future[Compiled]] = {}

    def start(self, part: int) -> None:
        for case in cases_of(part).values():
            self._start(case.before, case.arch)
            self._start(case.after, case.arch)

    def _start(self, text: str, arch: str) -> None:
        if (text, arch) not in self.running:
            self.running[text, arch] = self.pool.submit(compile_cubin, text, arch)

    def __call__(self, text: str, arch: str) -> Compiled:
        self._start(text, arch)
        return self.running[text, arch].result()


@pytest.fixture(scope="module")
def compiler() -> Iterator[Compiler]:
    require(nvcc(), "nvcc is not installed")
    made = Compiler()
    yield made
    made.pool.shutdown(cancel_futures=True)


@pytest.mark.sampled(one_in=4)
@pytest.mark.slow(seconds=10)
@EACH_PART
def test_a_rewrite_has_the_bytes_it_promises(part: int, compiler: Compiler) -> None:
    compiler.start(part)
    for name, case in cases_of(part).items():
        before, after = compiler(case.before, case.arch), compiler(case.after, case.arch)
        kernel = check(case.before).kernels[0]
        assert kernel.static_bytes is not None, name
        if kernel.static_bytes > 48 * 1024:
            told = f"uses too much shared data ({kernel.static_bytes:#x} bytes, 0xc000 max)"
            assert told in before.error, name
        else:
            assert before.error == "", name
            assert before.bytes == kernel.static_bytes or not kernel.exact, name
        assert after.error == "", name
        assert after.bytes == promised_bytes(case.title), name
        assert set(after.warnings) <= set(before.warnings), name


# The union needs 42 registers instead of 40 there, so that 5 blocks fit instead of 6.
WITHDRAWN = {"06_gemm_epilogue.cu-sm_80": "it costs 2 registers: 6 → 5 blocks/SM on sm_80"}


@pytest.mark.slow(seconds=10)
@EACH_PART
def test_a_rewrite_loses_no_resident_block_to_registers(part: int, compiler: Compiler) -> None:
    compiler.start(part)
    for name, case in cases_of(part).items():
        blocks = [
            occupancy(
                case.arch, threads=case.threads, registers=each.registers, static_shared=each.bytes
            ).blocks
            for each in (compiler(case.before, case.arch), compiler(case.after, case.arch))
            if not each.error
        ]
        assert (blocks == sorted(blocks)) == (name not in WITHDRAWN), name


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("name", WITHDRAWN)
def test_a_rewrite_that_would_is_withdrawn(name: str) -> None:
    require(nvcc(), "nvcc is not installed")
    case = cases()[name]
    measured = Measured(
        statistics_of(case.before, case.arch), "nvcc", lambda text: statistics_of(text, case.arch)
    )
    report = check(case.before, config=Config(arch=(case.arch,)), measured=measured)
    (finding,) = (each for each in report.findings if each.code == "SMEM301")
    (fix,) = report.fixes_for(finding)
    assert not fix.edits
    assert fix.title == f"Cannot merge {', '.join(finding.buffers)}: {WITHDRAWN[name]}"


def statistics_of(text: str, arch: str) -> list[KernelStatistics]:
    """What the compiler in the background reports."""
    return list(compile_statistics(str(require(nvcc(), "nvcc is not installed")), text, arch).values())
