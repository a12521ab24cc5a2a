"""SMEM204: barriers that order nothing, by the bytes that each thread touches."""

from __future__ import annotations

import pytest
from carets import expect

from smem_lsp.engine import check

JUDGED = ("SMEM204",)


def test_members_of_a_thread_s_own_element_need_no_barrier() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float2 s[256];
  const int t = threadIdx.x;
  s[t] = make_float2(in[t], in[t + 256]);
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204 no shared or global access needs this barrier
  out[t] = s[t].x - s[t].y;
}
""",
        among=JUDGED,
    )


def test_members_of_another_thread_s_element_need_one() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float2 s[256];
  const int t = threadIdx.x;
  s[t] = make_float2(in[t], in[t + 256]);
  __syncthreads();
  out[t] = s[t ^ 32].x - s[t ^ 32].y;
}
""",
        among=JUDGED,
    )


def test_the_last_part_of_a_thread_s_own_vector_needs_no_barrier() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__global__ void k(const float4* __restrict__ in, float* __restrict__ out) {
  extern __shared__ __align__(16) float s[];
  const int t = threadIdx.x;
  reinterpret_cast<float4*>(s)[t] = in[t];
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204 no shared or global access needs this barrier
  out[t] = s[4 * t + 3];
}
""",
        among=JUDGED,
    )


def test_the_first_part_of_the_next_vector_needs_one() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__global__ void k(const float4* __restrict__ in, float* __restrict__ out) {
  extern __shared__ __align__(16) float s[];
  const int t = threadIdx.x;
  reinterpret_cast<float4*>(s)[t] = in[t];
  __syncthreads();
  out[t] = s[4 * t + 4];
}
""",
        among=JUDGED,
    )


def test_two_names_of_dynamic_memory_are_the_same_bytes() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__global__ void k(const float* __restrict__ in, int* __restrict__ out) {
  extern __shared__ float a[];
  extern __shared__ int b[];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  out[t] = b[255 - t];
}
""",
        among=JUDGED,
    )


def test_the_array_of_a_helper_does_not_stand_in_the_way() -> None:
    expect(
        """
// smem: assume(blockDim.x == 256)
__device__ float sum(float v) {
  __shared__ float part[512];
  part[threadIdx.x] = v;
  __syncthreads();
  float r = part[threadIdx.x] + part[255 - threadIdx.x];
  __syncthreads();
  return r;
}
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  float v = s[255 - t];
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204 no shared or global access needs this barrier
  out[t] = sum(v) + sum(v * v);
}
""",
        among=JUDGED,
    )


HEAD = """
__device__ float total[1024];
__device__ void elsewhere();
__device__ void signal(int* f) { __threadfence(); *f = 1; }
__device__ void put(int* f) { volatile int* g = f; *g = 1; }
__device__ void wait_for(int* f) { volatile int* g = f; while (*g == 0) {} }
// smem: assume(blockDim.x == 256)
__global__ void k(const float* __restrict__ in, float* __restrict__ out, float* a, float* b, int* flag, int n) {
  __shared__ float s[256];
  __shared__ int f;
  const int t = threadIdx.x;
"""


def redundant(body: str) -> int:
    """How many barriers of a kernel are told to be redundant."""
    return sum(finding.code == "SMEM204" for finding in check(f"{HEAD}  {body}\n}}\n").findings)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("out[t] = in[t]; __syncthreads(); if (t == 0) atomicAdd(flag, 1);", id="atomic"),
        pytest.param("out[t] = in[t]; __syncthreads(); if (t == 0) *(volatile int*)flag = 1;", id="volatile"),
        pytest.param(
            "out[t] = in[t]; __syncthreads(); if (t == 0) { __threadfence(); out[n] = 1; }", id="fence"
        ),
        pytest.param("out[t] = in[t]; __syncthreads(); if (t == 0) signal(flag);", id="fence in a helper"),
        pytest.param("out[t] = in[t]; __syncthreads(); if (t == 0) put(flag);", id="volatile in a helper"),
        pytest.param("out[t] = in[t]; __syncthreads(); elsewhere();", id="a function that is not in sight"),
        pytest.param(
            "float v = a[t]; __syncthreads(); if (t == 0) atomicExch(flag, 1); b[t] = v;",
            id="a slot is given back",
        ),
    ],
)
def test_what_tells_other_blocks_of_accesses_needs_the_barrier_behind_them(body: str) -> None:
    assert redundant(body) == 0


@pytest.mark.parametrize(
    "wait",
    [
        pytest.param("while (atomicAdd(flag, 0) == 0);", id="atomic"),
        pytest.param("while (flag[0] == 0);", id="plain"),
        pytest.param("wait_for(flag);", id="in a helper"),
    ],
)
def test_what_waits_for_other_blocks_needs_the_barrier_behind_it(wait: str) -> None:
    assert redundant(f"if (t == 0) {wait} __syncthreads(); b[t] = a[t];") == 0


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(
            "float v = a[t]; __syncthreads(); a[t] = v + 1;", 1, id="an element of the thread's own"
        ),
        pytest.param("float v = a[t + 1]; __syncthreads(); a[t] = v;", 0, id="of another thread"),
        pytest.param("float v = a[t + 1]; __syncthreads(); b[t] = v;", 0, id="two pointers may be one"),
        pytest.param(
            "float v = in[t + 1]; __syncthreads(); out[t] = v;", 1, id="restricted pointers are not"
        ),
        pytest.param("for (int i = 0; i < n; ++i) { a[t] += 1; __syncthreads(); }", 1, id="in every turn"),
        pytest.param(
            "for (int i = 0; i < n; ++i) { a[i + t] += 1; __syncthreads(); }", 0, id="shifted by turns"
        ),
        pytest.param(
            "float* p = a + t; p[255 - t] = 1; __syncthreads(); p[255 - t] = t;", 0, id="own pointers"
        ),
        pytest.param(
            "((float4*)out)[t] = float4(); __syncthreads(); b[0] = out[t];", 0, id="of another width"
        ),
        pytest.param("memcpy(a + t, b, 16); __syncthreads(); b[0] = a[t + 1];", 0, id="copied bytes"),
        pytest.param(
            "total[t] = 1; __syncthreads(); out[t] = total[t + 1];", 0, id="a variable of the device"
        ),
        pytest.param(
            "if (t == 0) a[n] = 1; __syncthreads(); if (t == 0) b[0] = a[2 * n];", 1, id="of one thread alone"
        ),
        pytest.param(
            "if (t == 0) a[n] = 1; __syncthreads(); if (t == 1) b[0] = a[2 * n];", 0, id="of two threads"
        ),
        pytest.param(
            "float v = in[t]; __syncthreads(); atomicAdd(out, v);", 1, id="what nobody writes is read"
        ),
    ],
)
def test_ordinary_accesses_to_global_memory_are_decided_like_shared_ones(body: str, told: int) -> None:
    assert redundant(body) == told


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(
            "s[0] = 1; __syncthreads(); s[0] = 1; __syncthreads(); out[t] = s[0];", 1, id="same value"
        ),
        pytest.param("f = 1; __syncthreads(); f = 2; __syncthreads(); out[t] = f;", 0, id="another value"),
        pytest.param(
            "s[t] = in[t]; __syncthreads(); __syncwarp(); out[t] = s[t ^ 1];", 1, id="lanes of a warp"
        ),
        pytest.param("s[t] = in[t]; __syncthreads(); out[t] = s[t ^ 1];", 0, id="lanes that nothing orders"),
        pytest.param(
            "if (t == 0) f = n; __syncthreads(); if (t == 0) f = 2 * f; __syncthreads(); out[t] = f;",
            1,
            id="one thread alone",
        ),
        pytest.param(
            "do { __syncthreads(); if (t == 0) f = flag[0]; __syncthreads(); } while (f);",
            0,
            id="a flag for all",
        ),
        pytest.param("s[t] = in[t]; __syncthreads(); elsewhere(); out[t] = s[t];", 1, id="beside a function"),
        pytest.param("__syncthreads(); s[2 * t] = 1; __syncthreads(); s[t] = 2;", 1, id="not by its bounds"),
    ],
)
def test_a_barrier_that_no_pair_of_shared_accesses_needs(body: str, told: int) -> None:
    assert redundant(body) == told


def test_a_function_that_is_not_in_sight_may_touch_dynamic_memory() -> None:
    text = """
__device__ void elsewhere();
static __global__ void k(float* __restrict__ out) {
  extern __shared__ float s[];
  s[threadIdx.x] = 1;
  __syncthreads();
  elsewhere();
}
void host(float* out) { k<<<1, 256, 1024>>>(out); }
"""
    assert [finding.code for finding in check(text).findings if finding.code == "SMEM204"] == []
