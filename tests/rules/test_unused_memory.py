"""SMEM101, SMEM103, SMEM104 and SMEM303: bytes that nobody uses, and those that only look so."""

from __future__ import annotations

import pytest
from carets import expect


def test_the_name_of_an_unused_buffer_is_marked() -> None:
    expect(
        """
__global__ void k(float* out) {
  __shared__ float a[256], b[4];
//                 ^ SMEM101 `a` is declared and never accessed
//                         ^ SMEM101 `b` is declared and never accessed
  out[threadIdx.x] = 0.0f;
}
"""
    )


def test_padding_is_no_waste() -> None:
    expect(
        """
__global__ void transpose(const float* in, float* out) {
  __shared__ float tile[32][33];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 32 + x];
  __syncthreads();
  out[y * 32 + x] = tile[x][y];
}
"""
    )


@pytest.mark.parametrize("use", ["out[threadIdx.x] = a[0];", "a[0] = 1.0f;", "fill(a);"])
def test_a_buffer_that_only_an_inactive_branch_uses_is_used(use: str) -> None:
    expect(
        f"""
__global__ void k(float* out) {{
  __shared__ float a[256];
#ifdef FAST
  {use}
#endif
  out[threadIdx.x] = 0.0f;
}}
"""
    )


def test_a_buffer_that_only_an_inactive_branch_reads_is_read() -> None:
    expect(
        """
__global__ void k(float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = 1.0f;
#ifdef FAST
  out[threadIdx.x] = a[255 - threadIdx.x];
#endif
}
"""
    )


def test_a_volatile_buffer_that_is_only_written_is_left_alone() -> None:
    expect(
        """
__global__ void k() {
  __shared__ volatile float a[256];
  a[threadIdx.x] = 1.0f;
}
"""
    )


def test_a_buffer_of_a_helper_is_used_where_the_helper_names_it() -> None:
    expect(
        """
__device__ void helper(float* out) {
  extern __shared__ float raw[];
#ifdef STAGED
  out[threadIdx.x] = raw[threadIdx.x];
#endif
}
__global__ void k(float* out) { helper(out); }
"""
    )


TAIL = ("SMEM104",)


def test_a_tail_that_no_thread_reaches() -> None:
    report = expect(
        """
__global__ void __launch_bounds__(128) k(const float* in, float* out) {
  __shared__ float s[256];
//                 ^ SMEM104 `s` is used up to index 127 of 256: 512 of its 1,024 B are never touched
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  out[t] = s[127 - t];
}
""",
        among=TAIL,
    )
    assert report.findings[0].data["bytes_unused"] == 512


def test_rows_that_no_thread_reaches() -> None:
    report = expect(
        """
__global__ void __launch_bounds__(128) k(const float* in, float* out) {
  __shared__ float s[64][32];
//                 ^ SMEM104 `s` is used up to index 3 of 64: 7,680 of its 8,192 B are never touched
  const int t = threadIdx.x;
  s[t / 32][t % 32] = in[t];
  __syncthreads();
  out[t] = s[3][t & 31];
}
""",
        among=TAIL,
    )
    assert report.findings[0].data["bytes_unused"] == 7680


def test_a_tail_behind_the_end_of_a_loop() -> None:
    report = expect(
        """
__global__ void __launch_bounds__(128) k(const float* in, float* out) {
  __shared__ float s[300];
//                 ^ SMEM104 `s` is used up to index 199 of 300: 400 of its 1,200 B are never touched
  const int t = threadIdx.x;
  for (int i = t; i < 200; i += 128) s[i] = in[i];
  __syncthreads();
  out[t] = s[t];
}
""",
        among=TAIL,
    )
    assert report.findings[0].data["bytes_unused"] == 400


@pytest.mark.parametrize(
    ("declaration", "body"),
    [
        pytest.param(
            "float s[150]", "s[t] = in[t]; __syncthreads(); out[t] = s[127 - t];", id="under 128 bytes"
        ),
        pytest.param(
            "float s[256]",
            "s[t] = in[t]; __syncthreads(); out[t] = s[int(in[t])];",
            id="data say which element is read",
        ),
        pytest.param(
            "float s[256]",
            "for (int i = t; i < n; i += 128) s[i] = in[i]; out[t] = s[t];",
            id="a parameter says how far a loop writes",
        ),
        pytest.param(
            "float s[256]",
            "s[t] = in[t]; fill(s); __syncthreads(); out[t] = s[127 - t];",
            id="an unknown call gets the address",
        ),
        pytest.param(
            "float s[256]",
            "float* p = s; if (n) p = out; p[t] = 1; p[t + n] = s[t];",
            id="a pointer that may lead elsewhere",
        ),
        pytest.param(
            "__align__(16) float s[512]",
            "reinterpret_cast<float4*>(s)[t] = float4(); __syncthreads(); out[t] = s[127 - t];",
            id="wider accesses reach it",
        ),
    ],
)
def test_a_tail_that_may_be_reached(declaration: str, body: str) -> None:
    expect(
        f"""
__global__ void __launch_bounds__(128) k(const float* in, float* out, int n) {{
  __shared__ {declaration};
  const int t = threadIdx.x;
  {body}
}}
""",
        among=TAIL,
    )


@pytest.mark.parametrize(
    ("declaration", "body"),
    [
        pytest.param(
            "float s[32][33]",
            "s[t / 4][t % 4] = in[t]; __syncthreads(); out[t] = s[t % 32][3];",
            id="padding of an inner dimension",
        ),
        pytest.param(
            "float s[256]",
            "s[t] = in[t]; __syncthreads(); out[t] = s[255 - t];",
            id="a larger block reaches it",
        ),
    ],
)
def test_a_tail_that_a_block_of_another_size_may_reach(declaration: str, body: str) -> None:
    expect(
        f"""
__global__ void k(const float* in, float* out, int n) {{
  __shared__ {declaration};
  const int t = threadIdx.x;
  {body}
}}
""",
        among=TAIL,
    )


def test_a_tail_of_one_instance_only_is_none() -> None:
    expect(
        """
template <int N> __global__ void __launch_bounds__(N) k(const float* in, float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[N - 1 - threadIdx.x];
}
template __global__ void k<64>(const float*, float*);
template __global__ void k<256>(const float*, float*);
""",
        among=TAIL,
    )


def test_gaps_that_another_order_would_not_have() -> None:
    report = expect(
        """
__global__ void __launch_bounds__(128) k(const float* in, float* out, int n) {
  __shared__ float a[9];
//                 ^ SMEM303 952 B between buffers are lost to alignment: 2,048 → 1,096 B
  __shared__ __align__(512) float b[128];
  __shared__ float c[9];
  __shared__ __align__(512) float d[128];
  const int t = threadIdx.x;
  a[t % 9] = c[t % 9] = b[t] = d[t] = in[t];
  __syncthreads();
  out[t] = a[t % 9] + c[t % 9] + b[t] + d[t];
}
""",
        among=("SMEM303",),
    )
    (finding,) = (each for each in report.findings if each.code == "SMEM303")
    assert (finding.data["bytes_before"], finding.data["bytes_after"]) == (2048, 1096)
    assert "`b`, `d`, `a`, `c`" in finding.message


def test_gaps_too_small_to_say() -> None:
    expect(
        """
__global__ void __launch_bounds__(128) k(const float* in, float* out, int n) {
  __shared__ char a[1];
  __shared__ __align__(64) float b[128];
  const int t = threadIdx.x;
  a[0] = 1;
  b[t] = in[t];
  __syncthreads();
  out[t] = a[0] + b[127 - t];
}
""",
        among=("SMEM303",),
    )
