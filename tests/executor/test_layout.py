"""Shared variables lie where ptxas puts them, and each program has its own."""

from __future__ import annotations

import re

import pytest
from harness import compile_cubin
from toolchain import nvcc

from executor import Programs, Source, build
from executor.cases import source

KERNEL = """
    struct Node { char tag; double weight; };
    __global__ void k(const float* in, float* out, int n) {
      const int tid = threadIdx.x;
      __shared__ char flag[3];
      __shared__ float tile[2][33];
      __shared__ __align__(16) unsigned char raw[20];
      __shared__ Node node;
      __shared__ short s;
      __shared__ alignas(32) float last[2];
      if (tid < 2) {
        flag[tid] = tid; tile[tid][32] = tid; raw[tid] = tid; last[tid] = tid; node.weight = s = 1;
        out[tid] += flag[1 - tid] + tile[1 - tid][32] + raw[1 - tid] + last[1 - tid] + node.weight + s;
      }
      {
        __shared__ float tile[5];
        if (tid < 5) { tile[tid] = tid; out[tid] = tile[4 - tid]; }
      }
    }
"""
# name, offset, size, alignment
EXPECTED = [
    ("flag", 0, 3, 1),
    ("tile", 4, 264, 4),
    ("raw", 272, 20, 16),
    ("node", 296, 16, 8),
    ("s", 312, 2, 2),
    ("last", 320, 8, 32),
    ("tile", 328, 20, 4),
]
TEMPLATE = """
    template <class T, int N>
    __device__ T first(T v) { __shared__ T of_function[N]; of_function[threadIdx.x % N] = v; return v; }
    template <class T>
    __global__ void k(const float* in, float* out, int n) {
      __shared__ char c;
      __shared__ T a[4];
      if (threadIdx.x == 0) { c = 1; a[c] = in[0]; out[0] = first<T, 8>(a[c]); }
    }
    template __global__ void k<float>(const float*, float*, int);
    template __global__ void k<double>(const float*, float*, int);
"""


def variables(programs: Programs, name: str) -> list[tuple[str, int, int, int]]:
    return [(each.name, each.offset, each.size, each.align) for each in programs.variables(name)]


def test_offsets_are_in_order_of_definition_with_natural_alignment() -> None:
    with build([source("k", KERNEL)]) as programs:
        assert variables(programs, "k") == EXPECTED
        for variable in programs.variables("k"):
            assert variable.place % 1024 == variable.offset % 1024


def test_their_sum_is_what_ptxas_reports() -> None:
    if nvcc() is None:
        pytest.skip("nvcc is not installed")
    compiled = compile_cubin("#include <cuda_runtime.h>\n" + KERNEL, "sm_90")
    assert compiled.error == ""
    assert compiled.bytes == EXPECTED[-1][1] + EXPECTED[-1][2]


def test_instances_of_a_template_have_variables_of_their_own() -> None:
    """g++ aligns their arrays of 16 bytes and more to 16."""
    one = source("k", TEMPLATE)
    assert one.launch is not None
    text = (
        one.text + "int main() { k<double><<<1, 32>>>(smem::input<float>(4), smem::output<float>(4), 1); }\n"
    )
    with build([Source("k", text)]) as programs:
        found = variables(programs, "k")
        assert programs.run("k").clean
    assert sorted(found) == sorted(
        [
            *(("c", 0, 1, 1), ("a", 16, 16, 16), ("of_function", 0, 32, 16)),
            *(("c", 0, 1, 1), ("a", 16, 32, 16), ("of_function", 0, 64, 16)),
        ]
    )


def test_dynamic_memory_begins_behind_the_static_variables() -> None:
    text = """
        __shared__ float fixed[5];
        extern __shared__ __align__(16) unsigned char raw[];
        if (tid < 5) fixed[tid] = tid;
        float4* v = reinterpret_cast<float4*>(raw);
        v[tid] = make_float4(1, 2, 3, tid);
        __syncthreads();
        float4 q = v[63 - tid];
        out[tid] = q.w + fixed[tid % 5];
    """
    with build([source("k", text, dynamic_bytes=1024)]) as programs:
        outcome = programs.run("k")
        assert outcome.clean, outcome.complaints
        (fixed,) = programs.variables("k")
    assert re.match(r"_ZZ.*k", fixed.function)


def test_programs_with_equal_names_do_not_meet() -> None:
    body = "__shared__ float a[SIZE]; a[0] = SIZE; p[0] = a[0];"
    text = f"#define SIZE {{size}}\n__global__ void k(float* p) {{{{ {body} }}}}\n"
    main = "int main() { k<<<1, 1>>>(smem::output<float>(1)); }\n"
    sources = [Source(f"{size}", text.format(size=size) + main) for size in (1, 2, 4)]
    with build(sources) as programs:
        assert [variables(programs, each.name)[0][2] for each in sources] == [4, 8, 16]
        values = [programs.run(each.name).buffers[0].hex() for each in sources]
    assert values == ["0000803f", "00000040", "00008040"]
