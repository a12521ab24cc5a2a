"""Declarations in an order that needs less padding (SMEM303)."""

from __future__ import annotations

import pytest

from smem_lsp.engine import apply, check
from smem_lsp.fixes.declarations import Refused
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.fixes.reorder import reorder_fix

KERNEL = """\
__global__ void k(const float* in, float* out) {{
{declarations}
  int tid = threadIdx.x;
  if (tid < 3) first[tid] = last[tid] = 1;
  tile[tid] = in[tid];
  __syncthreads();
  out[tid] = tile[255 - tid] + first[tid % 3] + last[tid % 3];
}}
"""
PADDED = """\
  __shared__ char first[3];  // flags
  __shared__ alignas(256) float tile[256];
  __shared__ char last[3];"""


def offered(declarations: str) -> tuple[str, Fix]:
    text = KERNEL.format(declarations=declarations)
    report = check(text)
    (finding,) = (each for each in report.findings if each.code == "SMEM303")
    (fix,) = report.fixes_for(finding)
    return text, fix


def test_lines_change_places_with_their_comments() -> None:
    text, fix = offered(PADDED)
    assert (fix.title, fix.safety) == ("Reorder tile, first, last: 1,283 → 1,030 B; unconfirmed", Safety.SAFE)
    declarations = apply(text, fix).splitlines()[1:4]
    assert declarations == [
        "  __shared__ alignas(256) float tile[256];",
        "  __shared__ char first[3];  // flags",
        "  __shared__ char last[3];",
    ]
    after = check(apply(text, fix))
    assert after.kernels[0].static_bytes == 1030 == fix.static_bytes
    assert not [each for each in after.findings if each.code == "SMEM303"]


def test_line_endings_stay() -> None:
    text, fix = offered(PADDED.replace("\n", "\r\n"))
    after = apply(text, fix)
    assert after.count("\r\n") == text.count("\r\n")
    assert sorted(after.split("\n")) == sorted(text.split("\n"))


def refusal(declarations: str) -> str:
    _, fix = offered(declarations)
    assert (fix.safety, fix.edits) == (Safety.DISPLAY, ())
    return fix.title.partition(": ")[2]


def test_code_between_the_declarations() -> None:
    between = PADDED.replace("tile[256];", "tile[256];\n  int lane = threadIdx.x % 32;")
    assert refusal(between) == "`tile` and `last` are not declared one below the other"


def test_declarators_of_one_statement() -> None:
    together = "  __shared__ char first[3], last[3];\n  __shared__ alignas(256) float tile[256];"
    assert refusal(together) == "`first` shares its line with other code"


def test_accesses_that_are_wider_than_the_type_keep_their_alignment() -> None:
    text = """\
__global__ void k(const float* in, float* out) {
  __shared__ char flag[3];
  __shared__ alignas(256) float tile[256];
  __shared__ char raw[13];
  int tid = threadIdx.x;
  if (tid < 3) flag[tid] = 1;
  if (tid < 1) *reinterpret_cast<float*>(raw) = in[tid];
  tile[tid] = in[tid];
  __syncthreads();
  out[tid] = tile[255 - tid] + flag[tid % 3] + *reinterpret_cast<float*>(raw);
}
"""
    report = check(text)
    (finding,) = (each for each in report.findings if each.code == "SMEM303")
    (fix,) = report.fixes_for(finding)
    assert fix.title == "Reorder tile, raw, flag: 1,293 → 1,040 B; unconfirmed"


VECTORS = """\
template <typename V>
static __global__ void k(const V* in, float* out) {
  __shared__ float few[130];
  __shared__ __align__(128) float line[32];
  __shared__ float row[64];
  const int t = threadIdx.x;
  if (t < 130) few[t] = t;
  if (t < 32) line[t] = t;
  if (t < 256 / sizeof(V)) reinterpret_cast<V*>(row)[t] = in[t];
  __syncthreads();
  out[t] = row[t % 64 ^ 1] + line[t % 32 ^ 1] + few[t % 130];
}
void run(const float* in, float* out) {
  k<float><<<1, 256>>>(in, out);
  k<float4><<<1, 256>>>((const float4*)in, out);
}
"""


def test_another_instance_that_reads_wider_vectors_has_a_say() -> None:
    """In this order `row` stands at 648: not where `k<float4>` can read it."""
    report = check(VECTORS)
    narrow, wide = report.facts
    assert reorder_fix(narrow, report.source, [1, 0, 2]).static_bytes == 128 + 520 + 256
    with pytest.raises(Refused, match="`row` would lose the alignment"):
        reorder_fix(narrow, report.source, [1, 0, 2], [wide])
    assert reorder_fix(narrow, report.source, [1, 2, 0], [wide]).static_bytes == 128 + 256 + 520
