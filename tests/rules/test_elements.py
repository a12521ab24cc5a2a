"""Bytes are told by the name that the source has for them."""

from __future__ import annotations

import pytest
from rules.race_texts import kernel

from smem_lsp.engine import check

NAMED = [
    ("  __shared__ float s[256];\n", "s[t]", "s[255 - t]", "", "`s[0]`"),
    ("  __shared__ float m[16][17];\n", "m[t / 16][t % 16]", "m[t % 16][t / 16]", "", "`m[0][2]`"),
    (
        "  __shared__ State st;\n",
        "st.sum[t]",
        "st.sum[255 - t]",
        "struct State { int n; float sum[256]; };\n",
        "`st.sum[0]`",
    ),
    (
        "  __shared__ Outer o;\n",
        "o.in.acc[t / 16][t % 16]",
        "o.in.acc[15 - t / 16][15 - t % 16]",
        "struct Inner { float x; float acc[16][16]; };\nstruct Outer { double d; Inner in; };\n",
        "`o.in.acc[0][0]`",
    ),
    ("  __shared__ float2 v[256];\n", "v[t].x", "v[255 - t].x", "", "`v[0]`"),
    ("  extern __shared__ float d[];\n", "d[t]", "d[255 - t]", "", "`d[0]`"),
    (
        "  extern __shared__ unsigned char raw[];\n  float* a = reinterpret_cast<float*>(raw);\n"
        "  double* b = reinterpret_cast<double*>(raw + 1024);\n  a[t] = 0;\n",
        "b[t]",
        "b[255 - t]",
        "",
        "`b[0]`",
    ),
    (
        "  extern __shared__ unsigned char raw[];\n",
        "((float*)raw)[t]",
        "((float*)raw)[255 - t]",
        "",
        "byte 0 of `raw`",
    ),
]


@pytest.mark.parametrize(("declared", "written", "read", "types", "named"), NAMED)
def test_an_element(declared: str, written: str, read: str, types: str, named: str) -> None:
    text = kernel(
        f"  int t = threadIdx.x;\n{declared}  {written} = in[t];\n  out[t] = {read};\n",
        types,
        "k<<<1, 256, 4096>>>(in, out, n);",
    )
    (found,) = [each for each in check(text).findings if each.code == "SMEM201"]
    assert f"writes {named} (" in found.message


def test_members_of_a_union_have_a_name_each() -> None:
    text = kernel(
        "  __shared__ U u;\n  int t = threadIdx.x;\n  u.a[t] = in[t];\n  __syncthreads();\n"
        "  float x = u.a[255 - t];\n  u.b[t / 2][t % 2] = int(x);\n  __syncthreads();\n"
        "  out[t] = u.b[127 - t / 2][t % 2];\n",
        "union U { float a[256]; int b[128][2]; };\n",
    )
    (found,) = [each for each in check(text).findings if each.code == "SMEM202"]
    assert "reads `u.a[0]` (line 7), thread 0 writes it as `u.b[0][0]` (line 8)" in found.message


def test_an_index_outside_has_the_name_too() -> None:
    text = kernel(
        "  __shared__ float m[4][32];\n  int t = threadIdx.x;\n  m[t / 32][t % 32] = in[t];\n"
        "  __syncthreads();\n  out[t] = m[0][t % 32];\n"
    )
    (found,) = [each for each in check(text).findings if each.code == "SMEM402"]
    assert "writes `m[4][0]`, but it is declared `m[4][32]`" in found.message
