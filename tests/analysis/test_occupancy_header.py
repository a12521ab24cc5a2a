"""Occupancy equals NVIDIA's header, ``cuda_occupancy.h``, on thousands of random launches."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from toolchain import cuda_include, cxx, require

from analysis.random_launches import Launch, random_launch
from smem_lsp.analysis.occupancy import occupancy
from smem_lsp.targets import TARGETS, Target

DRIVER = r"""
#include <cstdio>
#include "cuda_occupancy.h"
int main() {
    cudaOccDeviceProp gpu;
    cudaOccFuncAttributes function;
    cudaOccDeviceState state;
    int threads, opt_in;
    size_t dynamic;
    gpu.warpSize = 32;
    gpu.numSms = 1;
    while (std::scanf("%d %d %d %d %d %d %zu %zu %zu %zu %d %d %zu %zu %zu %d %d %d", &gpu.computeMajor,
                      &gpu.computeMinor, &gpu.maxThreadsPerBlock, &gpu.maxThreadsPerMultiprocessor,
                      &gpu.regsPerBlock, &gpu.regsPerMultiprocessor, &gpu.sharedMemPerBlock,
                      &gpu.sharedMemPerMultiprocessor, &gpu.sharedMemPerBlockOptin,
                      &gpu.reservedSharedMemPerBlock, &threads, &function.numRegs, &function.sharedSizeBytes,
                      &dynamic, &function.maxDynamicSharedSizeBytes, &state.carveoutConfig, &opt_in,
                      &function.numBlockBarriers) == 18) {
        function.maxThreadsPerBlock = gpu.maxThreadsPerBlock;
        function.shmemLimitConfig = opt_in ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
        cudaOccResult result;
        int error =
            cudaOccMaxActiveBlocksPerMultiprocessor(&result, &gpu, &function, &state, threads, dynamic);
        std::printf("%d %d %u\n", error, error ? -1 : result.activeBlocksPerMultiprocessor,
                    error ? 0 : result.limitingFactors);
    }
}
"""

HEADER_BITS = (("warps", 0x01), ("registers", 0x02), ("shared", 0x04), ("blocks", 0x08), ("barriers", 0x10))

LAUNCHES = 50_000  # of all targets together


def driver_line(gpu: Target, launch: Launch) -> str:
    fields = (
        gpu.major,
        gpu.minor,
        gpu.threads_per_block,
        gpu.threads_per_sm,
        gpu.registers.per_block,
        gpu.registers.per_sm,
        gpu.shared_per_block,
        gpu.shared_per_sm,
        gpu.shared_per_block_opt_in,
        gpu.shared_reserved_per_block,
        launch["threads"],
        launch["registers"] or 0,
        launch["static_shared"],
        launch["dynamic_shared"],
        launch["max_dynamic_shared"],
        launch["carveout"],
        int(launch["opt_in"]),
        launch["barriers"],
    )
    return " ".join(map(str, fields))


@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("seed", range(8))
def test_equal_to_the_header(tmp_path: Path, seed: int) -> None:
    include = require(
        cuda_include(), "NVIDIA's cuda_occupancy.h not found: no CUDA toolkit or nvidia-cuda-runtime wheel"
    )
    compiler = require(cxx(), "g++ not found")
    source, driver = tmp_path / "driver.cpp", tmp_path / "driver"
    source.write_text(DRIVER)
    subprocess.run([compiler, "-O1", "-w", f"-I{include}", source, "-o", driver], check=True, timeout=300)

    chance = random.Random(seed)
    each = -(-LAUNCHES // len(TARGETS))
    launches = [(gpu, random_launch(chance, gpu.name)) for gpu in TARGETS.values() for _ in range(each)]
    answer = subprocess.run(
        [driver],
        input="\n".join(driver_line(gpu, launch) for gpu, launch in launches),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout.splitlines()
    assert len(answer) == len(launches)

    several = 0
    seen: set[str] = set()
    for (gpu, launch), line in zip(launches, answer, strict=True):
        error, expected, bits = map(int, line.split())
        got = occupancy(gpu.name, **launch)
        limiting = tuple(name for name, bit in HEADER_BITS if bits & bit)
        assert (0, got.blocks, got.limited_by) == (error, expected, limiting), (gpu.name, launch)
        several += got.blocks > 0
        seen.update(limiting)
    assert several > len(launches) // 3  # most of the comparisons are launches that run
    assert seen == {name for name, _ in HEADER_BITS}
    print(f"{len(launches)} launches equal, {several} of them run", file=sys.stderr)
