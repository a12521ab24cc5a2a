"""Wavefronts of textbook accesses. NVIDIA's rule: 32 banks of 4 bytes, one word of a bank in a wavefront, equal words
broadcast; 8 bytes a lane in two halves of the warp, 16 bytes in four quarters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from executor import Programs
from executor.cases import built, source

# Declaration, index expression of a read by 32 lanes, wavefronts of the one instruction, least that its words need.
PATTERNS = {
    "stride_1": ("float a[1024]", "a[tid]", 1, 1),
    "stride_2": ("float a[1024]", "a[2 * tid]", 2, 1),
    "stride_3": ("float a[1024]", "a[3 * tid]", 1, 1),
    "stride_4": ("float a[1024]", "a[4 * tid]", 4, 1),
    "stride_32": ("float a[1024]", "a[32 * tid]", 32, 1),
    "column_of_a_tile": ("float a[32][32]", "a[tid][5]", 32, 1),
    "column_of_a_padded_tile": ("float a[32][33]", "a[tid][5]", 1, 1),
    "broadcast": ("float a[32][32]", "a[3][3]", 1, 1),
    "two_words": ("float a[1024]", "a[tid % 2 * 32]", 2, 1),
    "permuted_row": ("float a[1024]", "a[tid ^ 13]", 1, 1),
    "bytes": ("unsigned char a[1024]", "a[tid]", 1, 1),
    "halfwords_of_one_bank": ("unsigned short a[2048]", "a[64 * tid]", 32, 1),
    "double": ("double a[512]", "a[tid]", 2, 2),
    "double_stride_2": ("double a[512]", "a[2 * tid]", 4, 2),
    "float2": ("float2 a[512]", "whole(a[tid])", 2, 2),
    "float4": ("float4 a[128]", "whole(a[tid])", 4, 4),
    "float4_rows_of_a_tile": ("float4 a[32][8]", "whole(a[tid][0])", 32, 4),
    "member_of_float4": ("float4 a[128]", "a[tid].y", 4, 1),
    "member_of_float3": ("float3 a[128]", "a[tid].y", 1, 1),
    "half_a_warp": ("float a[1024]", "(tid < 16 ? a[32 * tid] : 0.0f)", 16, 1),
}
WHOLE = """
__device__ float whole(const double& v) { return v; }
__device__ float whole(const float2& v) { float2 copy = v;  // here
  return copy.x; }
__device__ float whole(const float4& v) { float4 copy = v;  // here
  return copy.x; }
"""


def text_of(declared: str, read: str) -> str:
    return (
        f"{WHOLE}__global__ void k(const float* in, float* out, int n) {{\n  const int tid = threadIdx.x;\n"
        f"  __shared__ {declared};\n  if (tid == 0) memset(a, 0, sizeof a);\n  __syncthreads();\n"
        f"  out[tid] = {read};  // here\n}}\n"
    )


# Row that a lane gives (or the piece of 16 bytes that it copies), what is done with it, wavefronts, least.
_ROWS = {
    "a_column_of_rows": ("t * 8", "x4", 32, 4),
    "a_column_of_one_matrix": ("t * 8", "x1", 8, 1),
    "rows_in_a_row": ("t", "x4", 4, 4),
    "rows_of_a_padded_tile": ("t * 9", "x4", 4, 4),
    "rows_of_half_a_tile": ("t * 4", "x2", 8, 2),
    "what_the_last_lanes_give_is_not_asked_for": ("t < 8 ? t : 0 - 1 - t", "x1", 1, 1),
    "copies_to_a_column": ("t * 8", "copy", 32, 4),
    "copies_in_a_row": ("t", "copy", 4, 4),
}


def matrix_text(row: str, what: str) -> str:
    registers = {"x1": "%1", "x2": "%1, %2", "x4": "%1, %2, %3, %4"}.get(what, "")
    stored = ", ".join(['"r"(1u)'] * len(registers.split(",")))
    act = (
        'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(p), "l"(in));'
        if what == "copy"
        else f'asm volatile("stmatrix.sync.aligned.m8n8.{what}.shared.b16 [%0], {{{registers}}};" :: "r"(p), {stored});'
    )
    return (
        "__global__ void k(const float* in, float* out, int n) {\n  const int t = threadIdx.x;\n"
        "  __shared__ __align__(16) unsigned short a[4096];\n"
        f"  unsigned p = __cvta_generic_to_shared(a) + ({row}) * 16;\n  {act}  // here\n}}\n"
    )


SOURCES = {
    name: source(name, text_of(declared, read), threads=32)
    for name, (declared, read, _, _) in PATTERNS.items()
}
LOOP = """
    __shared__ float a[64];
    a[tid] = in[tid];
    __syncthreads();
    for (int i = 0; i < 5; ++i)
      if (tid >= i) out[tid] += a[2 * (tid % 32)];  // here
"""
SOURCES["loop"] = source("loop", LOOP)
SOURCES |= {name: source(name, matrix_text(*row[:2]), threads=32) for name, row in _ROWS.items()}


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    with built(SOURCES) as all_of_them:
        yield all_of_them


@pytest.mark.parametrize("name", [*PATTERNS, *_ROWS])
def test_wavefronts(name: str, programs: Programs) -> None:
    _, _, wavefronts, least = {**PATTERNS, **_ROWS}[name]
    here = [i for i, line in enumerate(SOURCES[name].text.splitlines(), 1) if line.endswith("// here")]
    (found,) = [each for each in programs.run(name, banks=True).banks if each.line in here]
    assert (found.instructions, found.wavefronts, found.least) == (1, wavefronts, least)


def test_each_warp_and_turn_is_an_instruction(programs: Programs) -> None:
    here = [i for i, line in enumerate(SOURCES["loop"].text.splitlines(), 1) if line.endswith("// here")]
    for seed in range(4):
        (found,) = [each for each in programs.run("loop", seed, banks=True).banks if each.line in here]
        assert (found.instructions, found.wavefronts, found.least) == (10, 20, 10)


def test_nothing_is_counted_unless_asked(programs: Programs) -> None:
    assert programs.run("stride_32").banks == ()
