"""Bytes that a tensor copy moves: of the box that the host gives its tensor map."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import kernel_facts
from store import compiled
from toolchain import nvcc, require

from smem_lsp.rules.cause_words import bare

HEAD = """\
#include <cstdint>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
namespace cde = cuda::device::experimental;
namespace ptx = cuda::ptx;
using object = cuda::barrier<cuda::thread_scope_block>;
__device__ inline uint32_t shared_of(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ inline void load(void* to, const void* map, int x, int y, uint64_t* bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
      ::"r"(shared_of(to)), "l"(reinterpret_cast<uint64_t>(map)), "r"(shared_of(bar)), "r"(x), "r"(y) : "memory");
}
__device__ inline void load_by(float* to, const CUtensorMap& map, int x, int y, uint64_t* bar) {
  load(to, &map, x, y, bar);
}
__device__ inline void store(const CUtensorMap* map, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
               ::"l"(map), "r"(shared_of(from)), "r"(x), "r"(y) : "memory");
}
"""
KERNEL = """\
__global__ void k(const __grid_constant__ CUtensorMap map, float* out, int n) {
  extern __shared__ __align__(1024) unsigned char raw[];
  float* x = reinterpret_cast<float*>(raw);
  float* y = reinterpret_cast<float*>(raw + 4096);
  uint64_t* bar = reinterpret_cast<uint64_t*>(raw + 12288);
  int t = threadIdx.x;
  if (t == 0) { COPY }
  float v = x[t];
  __syncthreads();
  for (int i = t; i < 2048; i += 256) y[i] = v + i;
  __syncthreads();
  out[t] = y[2047 - t];
}
"""
BAR = "*reinterpret_cast<object*>(bar)"
COPIES = [
    "load(x, &map, 0, n, bar);",
    "load_by(x, map, 0, n, bar);",
    "store(&map, x, 0, n);",
    f"cde::cp_async_bulk_tensor_2d_global_to_shared(x, &map, 0, n, {BAR});",
    "cde::cp_async_bulk_tensor_2d_shared_to_global(&map, 0, n, x);",
    "int32_t at[2] = {0, n}; ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, x, &map, at, bar);",
    "int32_t at[2] = {0, n}; ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, at, x);",
]
SIZES = "cuuint64_t sizes[2] = {1024, 1024}, strides[1] = {4096}; cuuint32_t steps[2] = {1, 1}; "
BOX = "cuuint32_t box[2] = {32, 32}; "
MAKE = (
    "cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, out, sizes, strides, box, steps, "
    "CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, "
    "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE); "
)
DIRECT = f"CUtensorMap map; {SIZES}{BOX}{MAKE}"
LAUNCH = "k<<<2, 256, 12296>>>(map, out, m);"
FOUND = [("x", 0, 4096), ("y", 4096, 8192)]


def text_of(copy: str = COPIES[0], host: str = DIRECT, before: str = "") -> str:
    kernel = KERNEL.replace("COPY", copy)
    return f"{HEAD}{kernel}{before}void go(float* out, int m) {{ {host} {LAUNCH} }}\n"


def ranges(text: str) -> list[tuple[str, int, int]]:
    divided = kernel_facts(text).dynamic_partition
    return [] if divided is None else [(r.name, r.offset, r.size) for r in divided.partition.ranges][:2]


HOSTS = [
    (DIRECT, ""),
    (DIRECT.replace(BOX, "cuuint32_t box[2]; box[0] = 16; box[1] = 64; "), ""),
    (DIRECT.replace(BOX, "const int rows = 8; cuuint32_t box[2] = {4 * rows, 1024 / 32}; "), ""),
    (DIRECT.replace("cuTensor", "auto encode = encoder(); cuTensor").replace("cuTensorMapEncodeTiled", "encode"),
     "decltype(&cuTensorMapEncodeTiled) encoder();\n"),
    (DIRECT.replace("FLOAT32, 2", "BFLOAT16, 2").replace("{32, 32}", "{64, 32}"), ""),
    ("CUtensorMap map = make(out, 32);",
     f"static CUtensorMap make(float* out, uint32_t rows) {{ CUtensorMap map; {SIZES}cuuint32_t box[2] = {{32, rows}}; "
     f"{MAKE} return map; }}\n"),
    ("CUtensorMap map; make<32, 32>(&map, out);",
     f"template <int ROWS, int COLUMNS> void make(CUtensorMap* map, float* out) {{ {SIZES}"
     f"cuuint32_t box[2] = {{COLUMNS, ROWS}}; {MAKE.replace('&map', 'map')} }}\n"),
    ("CUtensorMap map; make(map, out);",
     f"void make(CUtensorMap& map, float* out) {{ {SIZES}{BOX}{MAKE} }}\n"),
]  # fmt: skip
UNKNOWN = [
    ("CUtensorMap map;", ""),
    (DIRECT.replace("{32, 32}", "{32, (cuuint32_t)m}"), ""),
    (DIRECT.replace("INTERLEAVE_NONE", "INTERLEAVE_16B"), ""),
    (DIRECT + "change(&map);", "void change(CUtensorMap* map);\n"),
    (DIRECT.replace(BOX, BOX + "change(box);"), "void change(cuuint32_t* box);\n"),
    ("CUtensorMap map = make();", "CUtensorMap make();\n"),
]


@pytest.mark.parametrize(("host", "before"), HOSTS)
def test_the_box_is_known_however_the_host_makes_it(host: str, before: str) -> None:
    assert ranges(text_of(host=host, before=before)) == FOUND


@pytest.mark.parametrize(("host", "before"), UNKNOWN)
def test_without_a_box_nothing_is_said(host: str, before: str) -> None:
    text = text_of(host=host, before=before)
    assert ranges(text) == []
    terms = kernel_facts(text).dynamic_terms
    assert terms is not None and "touches is not known" in bare(terms.partition.doubts[0])


@pytest.mark.parametrize("copy", COPIES)
def test_every_spelling_of_a_copy_moves_a_box(copy: str) -> None:
    assert ranges(text_of(copy)) == FOUND
    wider = text_of(copy).replace("{32, 32}", "{33, 32}")
    assert all(size != 8192 for _, _, size in ranges(wider))


def test_a_plan_says_that_it_rests_on_the_box() -> None:
    divided = kernel_facts(text_of()).dynamic_partition
    assert divided is not None and divided.partition.assumes == "assumes bytes of a box of map == 4096"
    own = kernel_facts(
        text_of().replace("__global__", "static __global__").replace("void go", "static void go")
    )
    assert own.dynamic_partition is not None and not own.dynamic_partition.partition.assumes


@pytest.mark.slow(seconds=12)
def test_the_texts_are_programs(tmp_path: Path) -> None:
    compiler = require(nvcc(), "nvcc is needed")
    texts = [text_of(each) for each in COPIES] + [text_of(host=a, before=b) for a, b in (*HOSTS, *UNKNOWN)]
    file = tmp_path / "a.cu"
    bodies = [f"namespace n{i} {{ {text[len(HEAD) :]} }}\n" for i, text in enumerate(texts)]
    file.write_text(HEAD + "".join(bodies), encoding="utf-8")
    target = ["-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a"]
    command = [compiler, *target, "-c", file, "-o", tmp_path / "a.o"]
    ran = compiled(command, tmp_path)
    assert ran.code == 0, ran.stderr
