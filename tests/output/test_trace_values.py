"""Trace: what template parameters are, and what the places of accesses are made of."""

from __future__ import annotations

from smem_lsp.engine import check
from smem_lsp.output.trace import sections
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

TEXT = """\
template <int N, typename T> __global__ void k(T* o, int n) {
  __shared__ T a[N];
  __shared__ int first;
  extern __shared__ char raw[];
  if (threadIdx.x == 0) first = o[1];
  for (int j = 0; j < 4; ++j) a[threadIdx.x + j] = o[n];
  __syncthreads();
  float* f = (float*)(raw + 128);
  f[first] = a[N - 1 - threadIdx.x];
  keep(f);
}
"""
USES = "void go(float* o) { k<64><<<1, 32>>>(o, 3); k<128><<<1, 32>>>(o, 3); }\n"


def lines(text: str, title: str) -> tuple[str, ...]:
    report = check(text, path="a.cu")
    return next(s.lines for s in sections(report, parse(SourceText(text, "a.cu")), 0) if s.title == title)


def test_bindings_of_an_instance() -> None:
    assert lines(TEXT + USES, "template bindings") == (
        "N = 64",
        "T = float",
        "launched at line 12",
        "1 other instance in sight",
    )


def test_a_template_without_instances() -> None:
    assert lines(TEXT, "template bindings") == ("no instance is in sight: the parameters are symbols",)


def test_no_template() -> None:
    assert lines("__global__ void k() { __shared__ int a; a = 1; }\n", "template bindings") == ()


def test_values_of_accesses_and_where_they_come_from() -> None:
    told = [line.partition(" ")[2] for line in lines(TEXT + USES, "values")]
    assert told[0] == "line 5: first: constant"
    assert told[1].startswith("line 6: a[(threadIdx.x + j#")
    assert told[1].endswith("is changed by the loop at line 6")
    assert told[2] == "line 9: a[(63 - threadIdx.x)]: may differ between threads"
    assert told[4].startswith("line 9: raw from byte ((?")
    assert told[4].endswith("is read from shared memory at line 9")
    assert told[5] == "line 10: raw: some bytes, unknown which"
