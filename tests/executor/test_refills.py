"""Tiles that are filled again in a loop: what is offered, applied and run gives the bytes of the original.

``python -m tests.benchmarks executor refilled --kernels 10000`` runs more random kernels.
"""

from __future__ import annotations

import os

import pytest

from executor import Source, build
from executor.merging import check_kernels
from executor.refilled_kernels import RefilledKernel
from executor.rewriting import differences, looked_at, outcomes, rewrites, rewrites_of
from smem_lsp.engine import check
from smem_lsp.rules.model import Severity
from smem_lsp.rules.registry import RULES

pytest.importorskip("z3")

KERNELS = int(os.environ.get("SMEM_REFILLED_KERNELS", "60"))
_MAIN = "int main() { smem::call_each(run, {0, 1, 3}); }\n"

STATIC = """#include <cuda_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  __shared__ float a[1024];
  __shared__ float b[1024];
  float v = in[threadIdx.x];
  for (int i = 0; i < n; ++i) {
    a[threadIdx.x] = in[threadIdx.x] + i;
    __syncthreads();
    v += a[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = v;
    __syncthreads();
    v += b[(threadIdx.x + 1) % blockDim.x];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
"""
STATIC_HOST = "void run(const float* in, float* out, int n) { k<<<2, 128>>>(in, out, n); }\n"

DYNAMIC = """#include <cuda_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float raw[];
  float* a = raw;
  float* b = raw + 1024;
  float v = in[threadIdx.x];
  for (int i = 0; i < n; ++i) {
    for (int j = threadIdx.x; j < 1024; j += blockDim.x) a[j] = in[j] + i;
    __syncthreads();
    for (int j = threadIdx.x; j < 1024; j += blockDim.x) v += a[1023 - j];
    __syncthreads();
    for (int j = threadIdx.x; j < 1024; j += blockDim.x) b[j] = v;
    __syncthreads();
    for (int j = threadIdx.x; j < 1024; j += blockDim.x) v += b[1023 - j];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
void run(const float* in, float* out, int n) { k<<<2, 128, 2048 * sizeof(float)>>>(in, out, n); }
"""


COPIED = """#include <cuda_runtime.h>
#include <cuda_pipeline.h>
__global__ void k(const float* in, float* out, int n) {
  DECLARED
  float v = in[threadIdx.x];
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < 8; ++j) a[j * 128 + threadIdx.x] = in[j * 128 + threadIdx.x] + i;
    __syncthreads();
    for (int j = threadIdx.x; j < 1024; j += 128) v += a[1023 - j];
    __syncthreads();
    for (int j = 0; j < 2; ++j)
      __pipeline_memcpy_async(&b[(j * 128 + threadIdx.x) * 4], &in[(j * 128 + threadIdx.x) * 4], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int j = threadIdx.x; j < 1024; j += 128) v += b[1023 - j];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
"""
COPIED_STATIC = COPIED.replace(
    "DECLARED", "__shared__ __align__(16) float a[1024];\n  __shared__ __align__(16) float b[1024];"
)
COPIED_DYNAMIC = COPIED.replace(
    "DECLARED", "extern __shared__ __align__(16) float raw[];\n  float* a = raw;\n  float* b = raw + 1024;"
)
DYNAMIC_HOST = "void run(const float* in, float* out, int n) { k<<<2, 128, 8192>>>(in, out, n); }\n"


@pytest.mark.parametrize(
    ("text", "host"),
    [
        (STATIC, STATIC_HOST),
        (DYNAMIC, ""),
        (COPIED_STATIC, STATIC_HOST),
        (COPIED_DYNAMIC, DYNAMIC_HOST),
        (COPIED_DYNAMIC + DYNAMIC_HOST, ""),
    ],
    ids=["static", "dynamic", "copied, static", "copied, its launch elsewhere", "copied, dynamic"],
)
def test_two_arrays_that_take_turns_share_with_one_barrier(text: str, host: str) -> None:
    (rewrite,) = rewrites(text)
    assert "8,192 → 4,096 B" in rewrite.title and "1 barrier added" in rewrite.title
    before, after = text.splitlines(), rewrite.text.splitlines()
    (barrier,) = [number for number, line in enumerate(after) if "__syncthreads();  //" in line]
    assert after[barrier + 1] == "  }"  # at the end of the turn
    assert len(after) == len(before) + 1
    report = check(rewrite.text)
    verdict = report.kernels[0].verdict
    larger_blocks_race = text in (COPIED_STATIC, COPIED_DYNAMIC)  # and no launch rules them out
    assert verdict is not None and verdict.kind.value == ("undecided" if larger_blocks_race else "race-free")
    with build(
        [Source("before", text + host + _MAIN), Source("after", rewrite.text + host + _MAIN)]
    ) as programs:
        seen = outcomes(programs, ["before", "after"], range(6))
    assert differences(seen["before"], seen["before"]) == ""
    assert differences(seen["before"], seen["after"]) == ""


def test_without_its_barrier_the_rewrite_races() -> None:
    (rewrite,) = rewrites(STATIC)
    lines = rewrite.text.splitlines(keepends=True)
    wrong = "".join(line for line in lines if "__syncthreads();  //" not in line)
    with build([Source("wrong", wrong + STATIC_HOST + _MAIN)]) as programs:
        assert any(each.race_count for each in outcomes(programs, ["wrong"], range(3))["wrong"])


def test_a_refill_that_leaves_out_one_element_is_not_offered() -> None:
    for text in (
        STATIC.replace("a[threadIdx.x] = in", "if (threadIdx.x) a[threadIdx.x] = in"),
        DYNAMIC.replace("j < 1024; j += blockDim.x) a[j]", "j < 1023; j += blockDim.x) a[j]"),
    ):
        assert text not in (STATIC, DYNAMIC)
        assert rewrites(text) == []


RING = """#include <cuda_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float raw[];
  float* ring = raw;
  float* last = raw + STAGES * 1024;
  int t = threadIdx.x;
  float sum = 0;
  BEGIN
  for (int tile = blockIdx.x; tile < 5; tile += gridDim.x) {
    float v = in[t];
    for (int i = 0; i < n + tile; ++i) {
      STAGE
      for (int j = t; j < 1024; j += 128) ring[s * 1024 + j] = in[j] + i + tile;
      __syncthreads();
      v += ring[s * 1024 + t * 8 + 7];
      NEXT
    }
    __syncthreads();
    for (int j = t; j < 1024; j += 128) last[j] = v + j;
    __syncthreads();
    sum += last[1023 - t];
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + t] = sum;
}
void run(const float* in, float* out, int n) { k<<<2, 128, (STAGES + 1) * 1024 * sizeof(float)>>>(in, out, n); }
"""
STAGES = {  # how many, what comes before the tiles, before a turn and behind it
    "the turn": (3, "", "int s = i % 3;", ""),
    "carried, two": (2, "int s = 0;", "", "s ^= 1;"),
    "carried, with a phase": (
        3,
        "int s = 0, phase = 0;",
        "v += phase;",
        "if (++s == 3) { s = 0; phase ^= 1; }",
    ),
    "carried, chosen": (3, "int s = 0;", "", "s = s < 2 ? s + 1 : 0;"),
    "a count over all tiles": (3, "int all = 0;", "int s = all % 3;", "++all;"),
}


def ring(stages: int, begin: str, stage: str, following: str) -> str:
    text = RING.replace("BEGIN", begin).replace("STAGES", str(stages)).replace("STAGE", stage)
    return text.replace("NEXT", following)


@pytest.mark.slow(seconds=8)
def test_the_tile_of_an_epilogue_shares_with_a_ring_in_a_persistent_loop() -> None:
    sources: list[Source] = []
    for number, form in enumerate(STAGES.values()):
        text, stages = ring(*form), form[0]
        told = {finding.code for finding in check(text).findings}
        assert not told & {"SMEM103", "SMEM201", "SMEM202", "SMEM205", "SMEM206", "SMEM402"}
        (rewrite,) = rewrites(text)
        assert f"{(stages + 1) * 4096:,} → {stages * 4096:,} B" in rewrite.title
        sources += [Source(f"before{number}", text + _MAIN), Source(f"after{number}", rewrite.text + _MAIN)]
    with build(sources) as programs:
        for before, after in zip(sources[::2], sources[1::2]):
            seen = outcomes(programs, [before.name, after.name], range(3))
            assert differences(seen[before.name], seen[before.name]) == ""
            assert differences(seen[before.name], seen[after.name]) == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("v += ring[s", "v += ring[(s + 2) % 3"),  # what another turn has filled, in an earlier tile, too
        ("ring[s * 1024 + j] =", "if (i % 2) ring[s * 1024 + j] ="),
        ("j < 1024; j += 128) ring", "j < 1000; j += 128) ring"),
    ],
)
def test_a_ring_that_keeps_something_shares_nothing(old: str, new: str) -> None:
    text = ring(*STAGES["the turn"])
    assert old in text
    assert rewrites(text.replace(old, new)) == []


@pytest.mark.slow(seconds=20)
def test_random_tiles_keep_what_the_kernel_puts_out() -> None:
    found = check_kernels(list(range(KERNELS)), 2, RefilledKernel)
    assert found.unfit == []
    assert found.mismatches == []
    assert found.races == 0
    assert found.rewritten > KERNELS // 4


def test_the_rule_that_is_left_out_has_no_say_in_rewrites() -> None:
    assert RULES["SMEM204"].severity > Severity.WARNING  # a fix is taken back for what is as severe, or more
    for text in (STATIC, RefilledKernel(0).text()):
        everything = check(text)
        assert not [each for each in looked_at(text).findings if each.code == "SMEM204"]
        assert [each.text for each in rewrites_of(everything)] == [each.text for each in rewrites(text)]


def test_a_refilled_kernel_comes_from_its_seed() -> None:
    assert [RefilledKernel(seed).text() for seed in range(9)] == [
        RefilledKernel(seed).text() for seed in range(9)
    ]
    assert len({RefilledKernel(seed).text() for seed in range(9)}) == 9
