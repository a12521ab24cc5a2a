"""Merges that a naive rewrite would break: each is refused, or the compiler accepts it."""

from __future__ import annotations

import re

import pytest
from fixes.two_buffers import TWO_BUFFERS
from harness import (
    compile_cubin,
    merges_offered,
    only_fix,
    promised_bytes,
)

from smem_lsp.engine import apply, check

LARGE_TILE = """\
__global__ void k(const float* in, float* out) {{
  __shared__ float tile[512];
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
{}}}
"""


def compiles_as_planned(text: str) -> bool:
    """Is the merge refused, or does nvcc accept it with the bytes in its title and without a new warning?"""
    for fix in merges_offered(text):
        compiled = compile_cubin(apply(text, fix), "sm_90")
        if compiled.error or compiled.warnings or compiled.bytes != promised_bytes(fix.title):
            return False
    return True


def test_a_host_that_is_hidden_where_the_guest_stands_is_no_host() -> None:
    assert compiles_as_planned(
        LARGE_TILE.format(
            """\
  {
    float tile[4] = {s, s, s, s};
    __shared__ float red[256];
    red[tid] = tile[tid & 3];
    __syncthreads();
    out[tid] = red[255 - tid];
  }
"""
        )
    )


def test_a_guest_that_has_the_name_of_its_host_does_not_refer_to_itself() -> None:
    assert compiles_as_planned(
        LARGE_TILE.format(
            """\
  {
    __shared__ float tile[256];
    tile[tid] = s;
    __syncthreads();
    out[tid] = tile[255 - tid];
  }
"""
        )
    )


def test_a_barrier_is_never_put_into_a_comment() -> None:
    before = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  /* from here on
  // in reverse */
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
"""
    after = apply(before, only_fix(check(before), "SMEM302"))
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", after, flags=re.DOTALL)
    assert code.count("__syncthreads();") == 3


@pytest.mark.parametrize("captures", ["", "&s"])
def test_a_lambda_that_does_not_capture_its_guest_still_compiles(captures: str) -> None:
    assert compiles_as_planned(
        TWO_BUFFERS.replace(
            "  red[tid] = s;", f"  auto put = [{captures}](int i, float x) {{ red[i] = x; }};\n  put(tid, s);"
        )
    )


def test_a_class_inside_the_kernel_that_uses_a_guest_still_compiles() -> None:
    store = "struct Put { __device__ void operator()(int i, float x) { red[i] = x; } };"
    assert compiles_as_planned(
        TWO_BUFFERS.replace("  red[tid] = s;", f"  {store}\n  Put{{}}(tid, s);\n  red[tid] += s;")
    )


def test_decltype_of_a_guest_still_compiles() -> None:
    assert compiles_as_planned(
        TWO_BUFFERS.replace("  red[tid] = s;", "  decltype(red)* p = &red;\n  (*p)[tid] = s;")
    )


def test_a_volatile_pointer_stays_volatile() -> None:
    before = TWO_BUFFERS.replace("float red[256]", "const float* volatile red[256]").replace("= s;", "= in;")
    before = before.replace("= red[255 - tid]", "= *red[255 - tid]")
    fix = only_fix(check(before), "SMEM301")
    assert "const float* volatile (&red)[256]" in apply(before, fix)
