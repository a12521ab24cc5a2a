"""Members of classes whose layout is not known, and elements of types whose size is not known.

They have their places in a layout of our own, which tells them apart and shows where two threads meet.
"""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.rules.model import Finding, Severity

CODEC = """\
struct Codec {
  int bit;
  int failed;
  Tables tables;
  int words[300];
};
"""
KERNEL = """\
{codec}__global__ void k(const int* in, int* out, int which) {{
  __shared__ Codec codec;
  Codec* c = &codec;
  int t = threadIdx.x;
{body}
}}
void host(const int* in, int* out) {{ k<<<4, 128>>>(in, out, 0); }}
"""
IN_UNITS = """\
template <typename T>
__global__ void k(const T* in, T* out, int n) {{
  extern __shared__ char raw[];
  T* row = (T*)raw;
  int t = threadIdx.x;
{body}
}}
template <typename T> void host(const T* in, T* out, int n) {{ k<T><<<1, 256, 8192>>>(in, out, n); }}
"""
LOOP = """\
  if (t == 0) c->failed = 0;
  __syncthreads();
  while (!c->failed) {{{ordered}
    if (t == 0 && in[blockIdx.x] > 7) c->failed = 1;
    __syncthreads();
  }}
"""


def races(text: str) -> list[Finding]:
    return [each for each in check(text).findings if each.code in ("SMEM201", "SMEM202", "SMEM205")]


def of_codec(body: str) -> str:
    return KERNEL.format(codec=CODEC, body=body)


def test_a_member_is_the_same_place_wherever_it_is_named() -> None:
    (found,) = races(of_codec("  c->words[t] = in[t];\n  out[t] = codec.words[t ^ 32];"))
    assert found.severity is Severity.ERROR
    assert "writes `codec.words`" in found.message


def test_the_flag_of_a_loop_that_one_thread_sets_is_told() -> None:
    found = races(of_codec(LOOP.format(ordered="")))
    assert {each.severity for each in found} == {Severity.WARNING}
    assert all("`codec.failed`" in each.message for each in found)


def test_a_barrier_behind_the_condition_of_the_loop_orders_the_flag() -> None:
    assert not races(of_codec(LOOP.format(ordered="\n    __syncthreads();")))


def test_different_members_are_apart() -> None:
    body = "  c->words[t] = in[t];\n  if (t == 0) c->bit = 1;\n  if (t == 1) c->failed = 1;"
    (kernel,) = check(of_codec(body)).kernels
    assert kernel.verdict.kind.value == "race-free"


@pytest.mark.parametrize(
    "body",
    [
        "  int* raw = (int*)&codec;\n  raw[t] = in[t];\n  out[t] = codec.words[t ^ 32];",
        "  int* p = which ? codec.words : (int*)&codec;\n  p[t] = in[t];\n  out[t] = codec.words[t ^ 32];",
        "  int* p = codec.words;\n  if (which) p = (int*)&codec;\n  p[t] = in[t];\n  out[t] = codec.bit;",
    ],
)
def test_bytes_of_the_object_and_its_members_are_not_compared(body: str) -> None:
    (kernel,) = check(of_codec(body)).kernels
    assert kernel.verdict.kind.value == "undecided"
    assert not races(of_codec(body))


def test_no_byte_of_a_member_is_out_of_bounds() -> None:
    report = check(of_codec("  c->words[t] = in[t];\n  codec.bit = 2;"))
    assert not [each for each in report.findings if each.code == "SMEM402"]


def test_elements_of_unknown_size_are_counted() -> None:
    body = """\
  for (int i = 0; i < n; i++) {
    row[t] = in[i * 256 + t];
    __syncthreads();
    out[i * 256 + t] = row[t ^ 32];
  }"""
    (found,) = races(IN_UNITS.format(body=body))
    assert "of `raw`" in found.message and "byte" not in found.message
    assert "in the next iteration" in found.message


def test_parts_of_unknown_elements_are_apart() -> None:
    body = """\
  T* col = row + blockDim.x;
  row[t] = in[t];
  col[t] = in[t + 256];
  __syncthreads();
  out[t] = row[t ^ 32] + col[t ^ 32];"""
    (kernel,) = check(IN_UNITS.format(body=body)).kernels
    assert kernel.verdict.kind.value == "race-free"


def test_elements_that_are_counted_from_two_bytes_are_not_compared() -> None:
    body = "  T* col = (T*)(raw + n);\n  row[t] = in[t];\n  out[t] = col[t];"
    (kernel,) = check(IN_UNITS.format(body=body)).kernels
    assert kernel.verdict.kind.value == "undecided"
    assert not races(IN_UNITS.format(body=body))


def test_elements_of_a_helper_of_several_types_are_not_compared() -> None:
    helper = """\
template <typename U> __device__ void put(char* raw, int at, U value) { U* row = (U*)raw; row[at] = value; }
"""
    body = "  put(raw, t, in[t]);\n  put(raw, t + 1, in[0] ? which(in) : other(in));"
    text = helper + IN_UNITS.format(body=body)
    (kernel,) = check(text).kernels
    assert kernel.verdict.kind.value == "undecided"
    assert not [each for each in races(text) if each.severity is Severity.ERROR]
