"""A ring that groups of ``cp.async`` fill ahead of a loop of run-time length: free when each group was waited for."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from carets import codes
from harness import kernel_facts
from toolchain import nvcc, require

from smem_lsp.engine import check

HEAD = """\
#include <cuda_pipeline.h>
#include <cstdint>
__device__ inline void copy(float* to, const float* from) {
  uint32_t place = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
}
__device__ inline void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ inline void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
"""
STATIC = """\
  __shared__ alignas(16) float ring[STAGES][512];
  __shared__ alignas(16) float tile[STAGES * 512];
"""
DYNAMIC = """\
  extern __shared__ __align__(16) unsigned char raw[];
  float (*ring)[512] = reinterpret_cast<float (*)[512]>(raw);
  float* tile = reinterpret_cast<float*>(raw + STAGES * 2048);
"""
KERNEL = """\
template <int STAGES>
__global__ void __launch_bounds__(128) k(const float* in, float* out, int n) {
ARRAYS  const int t = threadIdx.x;
  float v = 0;
  BODY
  __syncthreads();
  for (int i = t; i < STAGES * 512; i += 128) tile[i] = v;
  __syncthreads();
  out[t] = tile[STAGES * 512 - 1 - t];
}
void go(const float* in, float* out, int n) { k<NUMBER><<<2, 128, SIZE>>>(in, out, n); }
"""
COPY = "copy(&ring[j % STAGES][4 * t], in + j * 512 + 4 * t);"
READ = "v += ring[k % STAGES][t] + ring[k % STAGES][511 - t];"
LOOP = "for (int k = 0; k < n; ++k) "
FIRST = f"for (int j = 0; j < STAGES - 1; ++j) {{ if (j < n) {{ {COPY} }} commit(); }} "
FILL = f"{{ const int j = k + STAGES - 1; if (j < n) {{ {COPY} }} commit(); }}"
USED = FIRST + f"{LOOP}{{ wait<STAGES - 2>(); __syncthreads(); {FILL} {READ} }}"
FILLED = FIRST + f"{LOOP}{{ {FILL} wait<STAGES - 1>(); __syncthreads(); {READ} __syncthreads(); }}"
INSIDE = USED.replace("} commit();", "commit(); }").replace(
    "wait<STAGES - 2>();", "if (k + STAGES - 1 < n) wait<STAGES - 2>(); else wait<0>();"
)
NEXT = (
    "if (n > 0) { const int j = 0; COPY } commit(); "
    f"{LOOP}{{ wait<0>(); __syncthreads(); const int j = k + 1; if (j < n) {{ COPY commit(); }} {READ} }}"
).replace("COPY", COPY)
TWO = (
    "if (n > 0) { const int j = 0; COPY } commit(); "
    f"{LOOP}{{ const int j = k + 1; if (j < n) {{ COPY commit(); wait<1>(); }} else {{ wait<0>(); }} "
    f"__syncthreads(); {READ} __syncthreads(); }}"
).replace("COPY", COPY)
DRAIN = " wait<0>();"

OVER = [
    USED,
    USED + DRAIN,
    FILLED,
    INSIDE,
    NEXT,
    TWO,
    USED.replace("commit", "__pipeline_commit").replace("wait<STAGES - 2>()", "__pipeline_wait_prior(STAGES - 2)"),
    FIRST.replace("j < n", "true") + LOOP + "{ wait<STAGES - 2>(); __syncthreads(); }" + DRAIN,
    "const int turns = n / 16; " + USED.replace("< n", "< turns"),
]  # fmt: skip
GOES_ON = [
    USED.replace("STAGES - 2", "STAGES - 1"),
    USED.replace("j < n", "j <= n"),
    FIRST.replace("j < n", "true") + USED[len(FIRST) :],
    USED.replace("k < n", "k < n - 1"),
    USED.replace("} commit(); } __", "commit(); } } __").replace("} commit(); } v", "commit(); } } v"),
    USED.replace("__syncthreads();", "__syncthreads(); if (v > 9) break;"),
    USED.replace("__syncthreads();", "__syncthreads(); if (in[k] > 9) n = k;"),
    FILLED.replace("STAGES - 1>", "STAGES>"),
    INSIDE.replace("else wait<0>();", ""),
    NEXT.replace("n > 0", "true"),
    NEXT.replace("j < n", "j <= n"),
    TWO.replace("else { wait<0>(); }", "else { wait<1>(); }"),
]


def text_of(body: str, arrays: str = STATIC, stages: int = 4) -> str:
    """The kernel, and a launch of it."""
    text = KERNEL.replace("ARRAYS", arrays).replace("BODY", body).replace("NUMBER", str(stages))
    return HEAD + text.replace("SIZE", str(stages * 4096 if arrays is DYNAMIC else 0))


def shares(body: str, stages: int = 4) -> bool:
    """Does a plan lay ``tile`` on ``ring``?"""
    facts = kernel_facts(text_of(body, STATIC, stages))
    assert not facts.kernel.hidden
    numbers = {buffer.name: buffer.index for buffer in facts.kernel.buffers}
    return any(
        abs(each.plan.offsets[numbers["ring"]] - each.plan.offsets[numbers["tile"]]) < stages * 2048
        for each in facts.best
    )


@pytest.mark.parametrize("body", OVER)
def test_the_ring_is_free_behind_the_loop(body: str) -> None:
    assert shares(body)


@pytest.mark.parametrize("body", GOES_ON)
def test_it_is_not_where_a_copy_may_go_on(body: str) -> None:
    assert not shares(body)


@pytest.mark.parametrize("stages", [2, 3, 6])
def test_with_any_number_of_stages(stages: int) -> None:
    for body in (USED, FILLED, INSIDE):
        assert shares(body, stages)
        assert not shares(body.replace("k < n;", "k < n - 1;"), stages)


@pytest.mark.parametrize("body", [*OVER, *GOES_ON[:4]])
def test_ranges_of_dynamic_memory_are_told_as_arrays_are(body: str) -> None:
    divided = kernel_facts(text_of(body, DYNAMIC)).dynamic_partition
    assert divided is not None
    free = body in OVER
    assert min(candidate.plan.bytes for candidate in divided.best) == (8192 if free else 16384)


@pytest.mark.parametrize("body", [USED, FILLED, NEXT, TWO])
def test_no_race_is_told(body: str) -> None:
    for arrays in (STATIC, DYNAMIC):
        assert not codes(check(text_of(body, arrays)), among=("SMEM1", "SMEM2", "SMEM4"))


def in_flight_at_the_end(turns: int, numbers: dict[str, int], *, inside: bool) -> bool:
    """Is a copy in flight behind the loop, where each lands as late as it can?"""
    groups: list[bool] = []  # the newest first: are copies in them?
    uncommitted = False

    def fill(fills: bool) -> None:
        nonlocal uncommitted
        uncommitted |= fills
        if fills or not inside:
            groups.insert(0, uncommitted)
            uncommitted = False

    for j in range(numbers["first"]):
        fill(j < turns + numbers["guard"])
    for k in range(turns + numbers["turns"]):
        del groups[max(0, numbers["left"]) :]
        fill(k + numbers["ahead"] < turns + numbers["ends"])
    return uncommitted or any(groups)


@pytest.mark.slow(seconds=6)
def test_rings_with_random_distances_share_where_nothing_can_be_in_flight() -> None:
    source, shared = random.Random(7), 0
    for _ in range(100):
        stages, inside = source.choice((2, 3, 4)), source.random() < 0.3
        usual = {
            "first": stages - 1,
            "guard": 0,
            "turns": 0,
            "left": stages - 2,
            "ahead": stages - 1,
            "ends": 0,
        }
        numbers = usual | {
            name: max(0, usual[name] + source.choice((-1, 1)))
            for name in source.sample(sorted(usual), source.randrange(3))
        }
        first, guard, turns, left, ahead, ends = (numbers[each] for each in usual)
        close = ("", "commit();") if inside else ("commit();", "")
        body = (
            f"for (int j = 0; j < {first}; ++j) {{ if (j < n + {guard}) {{ {COPY} {close[1]} }} {close[0]} }} "
            f"for (int k = 0; k < n + {turns}; ++k) {{ wait<{left}>(); __syncthreads(); const int j = k + {ahead}; "
            f"if (j < n + {ends}) {{ {COPY} {close[1]} }} {close[0]} {READ} __syncthreads(); }}"
        )
        if shares(body, stages):
            shared += 1
            assert not any(in_flight_at_the_end(n, numbers, inside=inside) for n in range(-3, 16)), body
    assert shared >= 20


@pytest.mark.slow(seconds=15)
def test_the_texts_are_programs(tmp_path: Path) -> None:
    compiler = require(nvcc(), "nvcc is needed")
    file = tmp_path / "a.cu"
    texts = []
    for i, body in enumerate(OVER + GOES_ON):
        text = text_of(body, DYNAMIC if i == 0 else STATIC)[len(HEAD) :].replace("go(", f"go{i}(")
        texts.append(text.replace(" k(", f" k{i}(").replace(" k<", f" k{i}<"))
    file.write_text(HEAD + "".join(texts), encoding="utf-8")
    target = ["-std=c++17", "-gencode", "arch=compute_80,code=sm_80"]
    command = [compiler, *target, "-c", file, "-o", tmp_path / "a.o"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
