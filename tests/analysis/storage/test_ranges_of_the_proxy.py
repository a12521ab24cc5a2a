"""Ranges of dynamic memory that bulk copies, tensor copies and matrix instructions touch beside the threads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from harness import kernel_facts
from store import compiled
from toolchain import nvcc, require

from smem_lsp.analysis.decision.verdict import VerdictKind
from smem_lsp.analysis.storage.dynamic_ranges import Range
from smem_lsp.engine import check
from smem_lsp.rules.cause_words import bare, told
from smem_lsp.rules.facts import KernelFacts

HEAD = """\
#include <cstdint>
#include <cuda.h>
#include <cuda/barrier>
namespace cde = cuda::device::experimental;
__device__ inline uint32_t shared_of(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ inline void prepare(uint64_t* bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_of(bar)), "r"(count));
}
__device__ inline void expect(uint64_t* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_of(bar)), "r"(bytes) : "memory");
}
__device__ inline void await(uint64_t* bar, int phase) {
  asm volatile(
      "{\\n"
      ".reg .pred P1;\\n"
      "WAIT_%=:\\n"
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\\n"
      "@P1 bra DONE_%=;\\n"
      "bra.uni WAIT_%=;\\n"
      "DONE_%=:\\n"
      "}\\n" ::"r"(shared_of(bar)), "r"(phase) : "memory");
}
__device__ inline void bulk_load(void* dst, const void* src, int bytes, uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      ::"r"(shared_of(dst)), "l"(src), "r"(bytes), "r"(shared_of(bar)) : "memory");
}
__device__ inline void bulk_store(void* dst, const void* src, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
      ::"l"(dst), "r"(shared_of(src)), "r"(bytes) : "memory");
}
__device__ inline void box_load(void* dst, const void* map, int x, int y, uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
      ::"r"(shared_of(dst)), "l"(map), "r"(shared_of(bar)), "r"(x), "r"(y) : "memory");
}
"""
KERNEL = """\
__global__ void k(const __grid_constant__ CUtensorMap map, const float* in, float* out, int n) {
  extern __shared__ __align__(1024) unsigned char raw[];
  float* x = reinterpret_cast<float*>(raw);
  float* y = reinterpret_cast<float*>(raw + 4096);
  float* z = reinterpret_cast<float*>(raw + 8192);
  uint64_t* bar = reinterpret_cast<uint64_t*>(raw + 12288);
  int t = threadIdx.x;
  if (t == 0) prepare(bar, 1);
  __syncthreads();
  if (t == 0) { expect(bar, 4096); COPY }
  await(bar, 0);
  float v = x[t] + x[t + 768];
  __syncthreads();
  for (int i = t; i < 1024; i += 256) y[i] = v + i;
  __syncthreads();
  v = y[1023 - t];
  for (int i = t; i < 1024; i += 256) z[i] = v;
  __syncthreads();
  out[t] = z[1023 - 4 * t];
  STORE
}
void go(CUtensorMap map, const float* in, float* out) {
  cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 12296);
  k<<<2, 256, 12296>>>(map, in, out, 1000);
}
"""
LOAD = "bulk_load(x, in, 4096, bar);"
WHOLE = [("x", 0, 4096), ("y", 4096, 4096), ("z", 8192, 4096), ("bar", 12288, 8)]


def text_of(copy: str = LOAD, store: str = "") -> str:
    return HEAD + KERNEL.replace("COPY", copy).replace("STORE", store)


def ranges(text: str) -> list[tuple[str, int, int]]:
    divided = kernel_facts(text).dynamic_partition
    return [] if divided is None else [(r.name, r.offset, r.size) for r in divided.partition.ranges]


COPIES = [
    LOAD,
    "for (int i = 0; i < 4; ++i) bulk_load(x + 256 * i, in + 256 * i, 256 * sizeof(float), bar);",
    "bulk_load(x, in, (n & 1023) * 4 + 4, bar);",
    "for (int i = 0; i < n; ++i) bulk_load(x + i % 64 * 16, in, 64, bar);",
    "cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, x, in, 4096, bar);",
]
STORES = [
    "if (t == 0) bulk_store(out, y, 4096);",
    "if (t == 0) cde::cp_async_bulk_shared_to_global(out, y, 4096);",
    "if (t == 0) cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out, y, 4096);",
]


@pytest.mark.parametrize("copy", COPIES)
def test_a_bulk_copy_reaches_as_far_as_its_bytes(copy: str) -> None:
    assert ranges(text_of(copy)) == WHOLE


@pytest.mark.parametrize("store", STORES)
def test_one_out_of_shared_memory_too(store: str) -> None:
    assert ranges(text_of(LOAD, store)) == WHOLE


def test_what_it_crosses_is_one_range() -> None:
    joined = [("x", 0, 8192), *WHOLE[2:]]
    assert ranges(text_of("bulk_load(x, in, 4112, bar);")) == joined
    assert ranges(text_of(LOAD, "if (t == 0) bulk_store(out, x + 512, 4096);")) == joined


def test_a_number_that_a_launch_passes_bounds_a_copy() -> None:
    text = text_of("bulk_load(x, in, n * 4, bar);")
    divided = kernel_facts(text).dynamic_partition
    assert ranges(text) == WHOLE and divided is not None
    assert divided.partition.assumes == "assumes n == 1000"
    assert ranges(text.replace("out, 1000)", "out, 1028)")) == [("x", 0, 8192), *WHOLE[2:]]


def why_kept(facts: KernelFacts, found: Iterable[Range]) -> dict[str, str]:
    """By name, why the ranges keep their bytes that stay where they are."""
    return {each.name: told(facts.kernel, each.why) for each in found if each.stays and each.why}


def test_what_is_copied_stays_and_the_rest_shares() -> None:
    facts = kernel_facts(text_of(store=STORES[0]))
    divided = facts.dynamic_partition
    assert divided is not None
    assert why_kept(facts, divided.partition.ranges) == {
        "y": "a copy out of y may still be in flight (line 29)",
        "bar": "bar is used by mbarrier at line 7",
    }
    unawaited = text_of().replace("  await(bar, 0);\n", "")
    facts = kernel_facts(unawaited)
    free = facts.dynamic_partition
    assert free is not None
    assert why_kept(facts, free.partition.ranges) == {
        "x": "a copy into x may still be in flight (line 24)",
        "bar": "bar is used by mbarrier at line 7",
    }
    plans = [candidate.plan for candidate in free.best]
    assert min(plan.bytes for plan in plans) == 12296 - 4096
    for plan in plans:
        moved = {each.name: plan.offsets[each.index] for each in free.partition.ranges}
        assert abs(moved["x"] - moved["y"]) >= 4096 and abs(moved["x"] - moved["z"]) >= 4096


def test_what_has_landed_shares() -> None:
    divided = kernel_facts(text_of()).dynamic_partition
    assert divided is not None
    assert [each.name for each in divided.partition.ranges if each.stays] == ["bar"]
    assert min(candidate.plan.bytes for candidate in divided.best) == 12296 - 2 * 4096


@pytest.mark.parametrize(
    ("copy", "words"),
    [
        (
            "bulk_load(x, in, n * 4 + blockIdx.x, bar);",
            "how many bytes an asynchronous write through `x` touches is not known",
        ),
        (
            "box_load(x, &map, 0, n, bar);",
            "how many bytes an asynchronous write through `x` touches is not known",
        ),
        (
            "cde::cp_async_bulk_tensor_2d_global_to_shared(x, &map, 0, n, *reinterpret_cast<"
            "cuda::barrier<cuda::thread_scope_block>*>(bar));",
            "how many bytes an asynchronous write through `x` touches is not known",
        ),
    ],
)
def test_bytes_that_nobody_here_knows_stay_in_their_tile_and_that_is_said(copy: str, words: str) -> None:
    facts = kernel_facts(text_of(copy))
    assert facts.dynamic_partition is None and facts.dynamic_terms is not None
    found = facts.dynamic_terms.partition
    assert [each.name for each in found.ranges][1:3] == ["y", "z"] and len(found.ranges) == 4
    assert words in {bare(each) for each in found.doubts}
    assert found.stays


def test_a_place_that_is_not_followed_divides_nothing() -> None:
    text = text_of("bulk_load(reinterpret_cast<float*>(raw + n % 3 * 4096), in, 4096, bar);")
    assert ranges(text) != WHOLE
    assert ranges(text_of("bulk_load(x + (int)in[0], in, 4096, bar);")) == []


@pytest.mark.parametrize("copy", [LOAD, "box_load(x, &map, 0, n, bar);"])
def test_nothing_is_claimed_of_the_order(copy: str) -> None:
    """Neither with the wait nor without it: which phase a copy belongs to is not followed."""
    for text in (text_of(copy, STORES[0]), text_of(copy).replace("  await(bar, 0);\n", "")):
        report = check(text)
        assert {finding.code for finding in report.findings} <= {"SMEM301", "SMEM302", "SMEM401", "SMEM209"}
        (kernel,) = report.kernels
        assert kernel.verdict.kind is VerdictKind.UNDECIDED


@pytest.mark.slow(seconds=12)
def test_the_texts_are_programs(tmp_path: Path) -> None:
    compiler = require(nvcc(), "nvcc is needed")
    file = tmp_path / "a.cu"
    kernels = [
        KERNEL.replace("COPY", copy)
        .replace("STORE", STORES[number % len(STORES)])
        .replace(" k(", f" k{number}(")
        for number, copy in enumerate(COPIES)
    ]
    kernels = [each.split("void go")[0] for each in kernels]
    file.write_text(HEAD + "".join(kernels), encoding="utf-8")
    arch = "arch=compute_90a,code=sm_90a"
    command = [compiler, "-std=c++17", "-gencode", arch, "-c", file, "-o", tmp_path / "a.o"]
    ran = compiled(command, tmp_path)
    assert ran.code == 0, ran.stderr


# ---- matrix descriptors ----------------------------------------------------------------------------------------------

MATRICES = """\
#include <cstdint>
__device__ inline uint64_t encode(uint64_t x) { return (x & 0x3FFFF) >> 4; }
__device__ inline uint64_t make_desc(const float* p) {
  uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  uint64_t desc = 0;
  desc |= encode(at);
  desc |= encode(16) << 16;
  desc |= encode(1024) << 32;
  desc |= 1llu << 62;
  return desc;
}
__device__ inline void multiply(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %5, 1, 1, 1;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
__global__ void gemm(const float* in, float* out, int k) {
  extern __shared__ __align__(1024) unsigned char raw[];
  float* a = reinterpret_cast<float*>(raw);
  float* b = reinterpret_cast<float*>(raw + 3 * 8192);
  float* c = reinterpret_cast<float*>(raw + 3 * 8192 + 1024);
  int t = threadIdx.x;
  float d[4] = {0, 0, 0, 0};
  uint64_t moving = make_desc(a);
  for (int i = 0; i < k; ++i) {
    int stage = i % 3;
    for (int j = t; j < 2048; j += 128) a[stage * 2048 + j] = in[j + i * 2048];
    for (int j = t; j < 256; j += 128) b[j] = in[j + i * 256];
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;");
    for (int step = 0; step < 4; ++step) { MULTIPLY }
    asm volatile("wgmma.commit_group.sync.aligned;");
    asm volatile("wgmma.wait_group.sync.aligned 0;");
    __syncthreads();
  }
  for (int j = 0; j < 4; ++j) c[t * 4 + j] = d[j];
  __syncthreads();
  out[t] = c[(t * 7) % 512];
}
"""


def named(multiply: str) -> list[str]:
    facts = kernel_facts(MATRICES.replace("MULTIPLY", multiply))
    terms = facts.dynamic_terms
    assert facts.dynamic_partition is None
    if terms is None:
        return [bare(each) for each in facts.dynamic_refusals]
    assert {bare(each) for each in terms.partition.doubts} <= {
        f"how many bytes an asynchronous read through `{name}` touches is not known"
        for name in ("desc", "a", "b")
    }
    assert terms.partition.stays and not terms.saved
    return [each.name for each in terms.partition.ranges]


@pytest.mark.parametrize(
    "multiply",
    [
        "multiply(d, make_desc(a + stage * 2048 + step * 8), make_desc(b + step * 8));",
        "multiply(d, make_desc(a + stage * 2048) + step * 2, make_desc(b) + step * 2);",
        "uint64_t x = make_desc(a), y = make_desc(b); multiply(d, x, y);",
    ],
)
def test_a_descriptor_names_the_tile_of_the_address_in_it(multiply: str) -> None:
    assert named(multiply) == ["a", "b", "c"]


def test_one_of_two_tiles_makes_one_of_both() -> None:
    assert named("multiply(d, make_desc(step & 1 ? a : b), make_desc(b));") == ["a", "c"]


def test_a_descriptor_that_a_loop_moves_is_not_followed() -> None:
    moved = "multiply(d, moving, make_desc(b)); moving += 2;"
    assert any("is not followed" in each or "several" in each for each in named(moved))


def test_no_race_is_told_of_what_a_matrix_instruction_reads() -> None:
    for text in (MATRICES, MATRICES.replace('    asm volatile("wgmma.wait_group.sync.aligned 0;");\n', "")):
        report = check(text.replace("MULTIPLY", "multiply(d, make_desc(a + stage * 2048), make_desc(b));"))
        assert not {f.code for f in report.findings} & {"SMEM201", "SMEM202", "SMEM204", "SMEM205", "SMEM206"}
        (kernel,) = report.kernels
        assert kernel.verdict.kind is VerdictKind.UNDECIDED
