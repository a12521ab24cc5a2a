"""SMEM204 in the style of code that machines write: tiles in one dynamic array, fragments in registers, and the work in
functions of headers, by inline PTX."""

from __future__ import annotations

import pytest
from rules.race_texts import Headers

from smem_lsp.engine import FileReport, check

# What a generator's headers are made of: instructions by PTX, packs, classes, `if constexpr`, reductions.
TILES = r"""
#pragma once
typedef unsigned char uchar;
namespace gen {

template <int... N> struct numbers {};

__device__ inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ inline void load_matrices(const void* from, void* into) {
  unsigned address = shared_address(from);
  int* value = reinterpret_cast<int*>(into);
  asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
               : "r"(address));
}

struct M16N8K16 {
  __device__ static void fma(float& d0, float& d1, float& d2, float& d3, unsigned const& a0, unsigned const& a1,
                             unsigned const& a2, unsigned const& a3, unsigned const& b0, unsigned const& b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
};

template <class Op, int... D, int... A, int... B>
__device__ void spread(float* d, const unsigned* a, const unsigned* b, numbers<D...>, numbers<A...>, numbers<B...>) {
  Op::fma(d[D]..., a[A]..., b[B]...);
}

template <int M> struct Shape;
template <> struct Shape<16> { using Op = M16N8K16; };

template <int M> __device__ void multiply(float* d, const unsigned* a, const unsigned* b) {
  using Op = typename Shape<M>::Op;
  spread<Op>(d, a, b, numbers<0, 1, 2, 3>{}, numbers<0, 1, 2, 3>{}, numbers<0, 1>{});
}

struct Larger {
  template <typename T> __device__ T operator()(T const& x, T const& y) { return x < y ? y : x; }
};

template <class Reducer, int Threads> struct Reduce {
  static __device__ float run(float x, float* scratch = nullptr) {
    constexpr int offset = Threads / 2;
    if constexpr (offset >= 32) {
      __syncthreads();
      scratch[threadIdx.x] = x;
      __syncthreads();
      x = Reducer()(x, scratch[threadIdx.x ^ offset]);
    } else {
      x = Reducer()(x, __shfl_xor_sync(0xffffffffu, x, offset));
    }
    if constexpr (offset == 1) {
      return x;
    } else {
      return Reduce<Reducer, offset>::run(x, scratch);
    }
  }
};
}  // namespace gen
"""

KERNEL = r"""
#include "tiles.h"
extern "C" __global__ void __launch_bounds__(128, 1) main_kernel(
    const uint4* __restrict__ K, const uint4* __restrict__ V, float* __restrict__ O, int* flag, float* other) {
  extern __shared__ __align__(1024) uchar buf[];
  void* Ks = ((void*)((char*)buf + 0));
  void* Vs = ((void*)((char*)buf + 2048));
  void* Os = ((void*)((char*)buf + 4096));
  float acc[4];
  float scores[4];
  float most[1];
  half weights[8];
  for (int i = 0; i < 4; ++i) {
    acc[i] = 0.0f;
  }
  for (int k = 0; k < 8; ++k) {
    __syncthreads();  // before K
    *(uint4*)((char*)Ks + (int)threadIdx.x * 16) = K[k * 128 + (int)threadIdx.x];
    *(float4*)(scores + 0) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    {
      half A_local[8];
      half B_local[4];
      __syncthreads();  // behind K
      gen::load_matrices(&(((half*)Ks)[((int)threadIdx.x & 31) * 8 + ((int)threadIdx.x >> 5) * 256]), (&(A_local[0])));
      gen::load_matrices(&(((half*)Ks)[((int)threadIdx.x & 31) * 8]), (&(B_local[0])));
      gen::multiply<16>(scores + 0, reinterpret_cast<const unsigned*>(A_local + 0),
                        reinterpret_cast<const unsigned*>(B_local + 0));
    }
    most[0] = -1.0f;
    for (int r = 0; r < 4; ++r) {
      most[0] = max(most[0], scores[r]);
    }
    most[0] = gen::Reduce<gen::Larger, 4>::run(most[0]);
    for (int j = 0; j < 2; ++j) {
      uint1 packed;
      float2 v = *(float2*)(scores + j * 2);
      ((half2*)(&packed))[0] = __float22half2_rn(((float2*)(&v))[0]);
      *(uint1*)(weights + j * 2) = packed;
    }
    __syncthreads();  // before V
    *(uint4*)((char*)Vs + (int)threadIdx.x * 16) = V[k * 128 + (int)threadIdx.x];
    {
      half B_local[4];
      __syncthreads();  // behind V
      gen::load_matrices(&(((half*)Vs)[((int)threadIdx.x & 31) * 8]), (&(B_local[0])));
      gen::multiply<16>(acc + 0, reinterpret_cast<const unsigned*>(weights + 0),
                        reinterpret_cast<const unsigned*>(B_local + 0));
    }
  }
  __syncthreads();  // before O
  for (int i = 0; i < 4; ++i) {
    ((float*)Os)[(i * 128) + (int)threadIdx.x] = acc[i] * most[0];
  }
  __syncthreads();  // behind O
  for (int i = 0; i < 4; ++i) {
    O[((int)blockIdx.x * 512) + ((int)threadIdx.x * 4) + i] = ((float*)Os)[((int)threadIdx.x * 4) + i];
  }
}
void launch(const uint4* K, const uint4* V, float* O, int* flag, float* other) {
  main_kernel<<<8, 128, 6144>>>(K, V, O, flag, other);
}
"""
NEEDLESS = ["before K", "before V", "before O"]


def checked(kernel: str, header: str) -> FileReport:
    return check(kernel, path="k.cu", reader=Headers({"tiles.h": header}))


def told(kernel: str, header: str = TILES) -> list[str]:
    """The comments behind the barriers that are told, in a kernel without another finding than of plans."""
    report = checked(kernel, header)
    assert {each.code for each in report.findings} <= {"SMEM204", "SMEM301"}
    lines = (
        kernel.splitlines()[kernel.count("\n", 0, each.span.start)]
        for each in report.findings
        if each.code == "SMEM204"
    )
    return [line.partition("// ")[2] for line in lines]


def without(kernel: str, *comments: str) -> str:
    return "\n".join(
        line for line in kernel.splitlines() if not any(f"// {each}" in line for each in comments)
    )


def test_what_a_generator_left_behind_is_told_and_nothing_else() -> None:
    assert told(KERNEL) == NEEDLESS


def test_without_the_needless_ones_no_more_is_told() -> None:
    assert told(without(KERNEL, *NEEDLESS)) == []


@pytest.mark.parametrize("needed", ["behind K", "behind V", "behind O"])
def test_where_a_needed_one_is_missing_nothing_is_told(needed: str) -> None:
    found = {each.code for each in checked(without(KERNEL, needed), TILES).findings}
    assert found & {"SMEM201", "SMEM202"}
    assert "SMEM204" not in found


def test_ranges_that_share_bytes_need_what_was_needless() -> None:
    merged = KERNEL.replace("buf + 2048", "buf + 0").replace("buf + 4096", "buf + 0")
    assert told(merged) == []


def test_nothing_is_removed_where_ranges_could_share_bytes() -> None:
    """A plan that shares bytes may rest on the very barrier."""
    report = checked(KERNEL, TILES)
    found = [each for each in report.findings if each.code == "SMEM204"]
    assert all("as long as no ranges of dynamic shared memory share bytes" in each.message for each in found)
    assert not any(report.fixes_for(each) for each in found)


def test_a_reduction_across_warps_needs_its_barriers() -> None:
    """In the first steps threads exchange values in shared memory, in the last ones in registers."""
    text = KERNEL.replace(
        "gen::Reduce<gen::Larger, 4>::run(most[0])",
        "gen::Reduce<gen::Larger, 128>::run(most[0], (float*)((char*)buf + 6144))",
    ).replace("128, 6144>>>", "128, 6656>>>")
    assert told(text) == NEEDLESS


CALLS = """
#include "tiles.h"
static __global__ void k(const float* __restrict__ in, float* __restrict__ out, float* __restrict__ last, float* other,
                         int* flag) {
  const int t = threadIdx.x;
  float own[4] = {0.0f, 1.0f, 2.0f, 3.0f};
  unsigned bits[4] = {0u, 1u, 2u, 3u};
  out[t] = in[t];
  __syncthreads();  // it
  CALL;
  last[t] = own[0] + own[1] + bits[0];
}
void launch(const float* in, float* out, float* last, float* other, int* flag) {
  k<<<8, 128>>>(in, out, last, other, flag);
}
"""
FUNCTIONS = r"""
__device__ inline void turned(float& v) { asm volatile("neg.f32 %0, %0;" : "+f"(v)); }
__device__ inline void clobbers(float& v) { asm volatile("neg.f32 %0, %0;" : "+f"(v) : : "memory"); }
__device__ inline void nothing() { asm volatile("" ::: "memory"); }
__device__ inline void hidden(float& v) { asm volatile("" : "+f"(v)); }
__device__ inline void counts(int* f) { atomicAdd(f, 1); }
__device__ inline void releases(int* f) {
  asm volatile("red.release.gpu.global.add.s32 [%0], %1;" :: "l"(f), "r"(1));
}
__device__ inline void stores(float* p, float v) { asm volatile("st.global.f32 [%0], %1;" :: "l"(p), "f"(v)); }
__device__ inline void stores_anywhere(float* p, float v) { asm volatile("st.f32 [%0], %1;" :: "l"(p), "f"(v)); }
__device__ inline void stores_there(float* p, float v) { asm volatile("st.f32 %0, %1;" : "=m"(*p) : "f"(v)); }
__device__ inline void fetches(const float* p, float& v) {
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(p));
}
__device__ inline void acquires(int* f, unsigned& v) {
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(f));
}
__device__ inline void fences() { asm volatile("fence.acq_rel.gpu;"); }
__device__ inline void looks_at_the_clock(unsigned& v) { asm volatile("mov.u32 %0, %%clock;" : "=r"(v)); }
__device__ inline void asks_for_the_time(unsigned& v) { v = clock(); }
__device__ inline void raises(int* f) { volatile int* flag = f; *flag = 1; }
__device__ inline void writes(float& to, float v) { to = v; }
__device__ inline float& element(float* p, int i) { return p[i]; }
__device__ inline void both(float* p, float v) { p[threadIdx.x] = v; }
__device__ float table[128];
__device__ inline void keeps(float v) { table[threadIdx.x] = v; }
template <bool Tells> __device__ void perhaps(int* f, float& v) {
  if constexpr (Tells) {
    atomicExch(f, 1);
  } else {
    v = -v;
  }
}
struct Tells {
  __device__ static void fma(float& d0, float& d1, float& d2, float& d3, unsigned const& a0, unsigned const& a1,
                             unsigned const& a2, unsigned const& a3, unsigned const& b0, unsigned const& b1) {
    asm volatile("fence.acq_rel.gpu; fma.rn.f32 %0, %0, %0, %0;" : "+f"(d0));
  }
};
template <class Op> __device__ void multiplied(float* d, const unsigned* a) {
  gen::spread<Op>(d, a, a, gen::numbers<0, 1, 2, 3>{}, gen::numbers<0, 1, 2, 3>{}, gen::numbers<0, 1>{});
}
__device__ inline float looked_up(const float* p, int n) {
  float a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5], g = p[6], h = p[7];
  a = a * b + c * d - e * f + g * h; b = b * c + d * e - f * g + a * h; c = a + b - c * n; d = a - b + c - d * n;
  return a + b + c + d + e + f + g + h;
}
struct Held {
  float& to;
  __device__ Held(float& place) : to(place) {}
  __device__ void set(float v) { to = v; }
};
"""


@pytest.mark.parametrize(
    "call",
    [
        "turned(own[0])",
        "hidden(own[0])",
        "writes(own[1], own[0])",
        "element(own, 1) = own[0]",
        "own[1] = own[0]",
        "perhaps<false>(flag, own[0])",
        "multiplied<gen::M16N8K16>(own, bits)",
        "gen::multiply<16>(own, bits, bits)",
        "fetches(in + t, own[0])",
        "stores_anywhere(own + 1, own[0])",
        "own[0] = gen::Reduce<gen::Larger, 32>::run(own[0])",
        "own[0] = max(own[0], own[1])",
        "float& one = own[1]; one = own[0]",
        "*(float4*)(own + 0) = make_float4(own[1], own[0], own[3], own[2])",
    ],
)
def test_what_a_thread_does_in_registers_asks_for_no_barrier(call: str) -> None:
    assert told(CALLS.replace("CALL", call), TILES + FUNCTIONS) == ["it"]


@pytest.mark.parametrize(
    "call",
    [
        "clobbers(own[0])",
        "nothing()",
        "counts(flag)",
        "releases(flag)",
        "stores(other + t + 1, own[0])",
        "stores_anywhere(other + t + 1, own[0])",
        "stores_there(other + t + 1, own[0])",
        "fetches(other + t + 1, own[0])",
        "acquires(flag, bits[0])",
        "fences()",
        "looks_at_the_clock(bits[0])",
        "asks_for_the_time(bits[0])",
        "raises(flag)",
        "own[0] = looked_up(other + t, 4)",
        "writes(other[t + 1], own[0])",
        "element(other, t + 1) = own[0]",
        "both(other + 1, own[0])",
        "perhaps<true>(flag, own[0])",
        "multiplied<Tells>(own, bits)",
        "multiplied<gen::M16N8K16>(other, bits)",
        "float& one = other[t + 1]; one = own[0]",
        "Held(other[t + 1]).set(own[0])",
        "float* to[2] = {own, other}; to[t & 1][0] = own[0]",
    ],
)
def test_what_others_may_see_keeps_the_barrier(call: str) -> None:
    assert told(CALLS.replace("CALL", call), TILES + FUNCTIONS) == []


BOUND = """
static __global__ void k(float* out, float* other) {
  const int t = threadIdx.x;
  DECLARED;
  const float v = other[t + 1];
  __syncthreads();  // it
  USED;
}
void launch(float* out, float* other) { k<<<8, 128>>>(out, other); }
"""


@pytest.mark.parametrize(
    ("declared", "used", "expected"),
    [
        ("float& r = out[t]", "r = v", []),
        ("auto& r = out[t]", "r += v", []),
        ("auto& [x, y] = *(float2*)(out + 2 * t)", "x = v", []),
        ("float own[2]; float& r = own[1]", "r = v", ["it"]),
    ],
)
def test_a_reference_is_used_where_it_stands_not_where_it_is_bound(
    declared: str, used: str, expected: list[str]
) -> None:
    assert told(BOUND.replace("DECLARED", declared).replace("USED", used)) == expected
