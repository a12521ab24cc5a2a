"""A fix of a race ends every race of its finding and makes no barrier that some threads miss: the fixed text is checked
again, and is proved free of races."""

from __future__ import annotations

import pytest
from rules.race_texts import REDUCE, TWICE, Headers, kernel

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import apply, check

SHARED = "  __shared__ float s[256];\n  int t = threadIdx.x;\n"
PUT = "__device__ void put(float* p, int i, float v) { p[i] = v; }\n"
FIXED = {
    "in one statement each": kernel(SHARED + "  s[t] = in[t];\n  out[t] = s[255 - t];\n"),
    "several pairs": kernel(
        SHARED + "  s[t] = in[t];\n  float a = s[255 - t];\n  a += s[254 - t & 255];\n  out[t] = a + s[0];\n"
    ),
    "behind a branch": kernel(SHARED + "  if (t < 64) s[t] = in[t];\n  out[t] = s[63 - t % 64];\n"),
    "over the back edge": kernel(
        SHARED + "  for (int k = 0; k < n; ++k) {\n    s[t] = in[k];\n    __syncthreads();\n"
        "    out[t] += s[255 - t];\n  }\n"
    ),
    "on both sides of a barrier": kernel(
        SHARED + "  for (int k = 0; k < n; ++k) {\n    s[t] = in[k];\n    out[t] += s[255 - t];\n"
        "    __syncthreads();\n  }\n"
    ),
    "in a function": kernel(SHARED + "  put(s, t, in[t]);\n  out[t] = s[255 - t];\n", PUT),
    "two uses of a function of a header": TWICE,
    "in two instances": (
        "template <int N>\n__global__ void k(const float* in, float* out) {\n  __shared__ float s[N];\n"
        "  s[threadIdx.x] = in[threadIdx.x];\n  out[threadIdx.x] = s[N - 1 - threadIdx.x];\n}\n"
        "void host(const float* in, float* out) { k<64><<<1, 64>>>(in, out); k<128><<<1, 128>>>(in, out); }\n"
    ),
}


@pytest.mark.parametrize("name", FIXED)
def test_nothing_is_left(name: str) -> None:
    text, reader = FIXED[name], Headers({"reduce.cuh": REDUCE})
    report = check(text, path="k.cu", reader=reader)
    (finding,) = [each for each in report.findings if each.code == "SMEM201"]
    fixed = apply(text, report.fixes_for(finding)[0])
    again = check(fixed, path="k.cu", reader=reader)
    assert [each.code for each in again.findings if each.code.startswith("SMEM20")] == []
    assert {each.verdict.kind for each in again.kernels} == {VerdictKind.RACE_FREE}
    assert {row.uniform for each in again.kernels for row in each.barriers} == {"proved"}
