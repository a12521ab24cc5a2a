"""A race is told with both accesses where they stand, in functions and headers too, and the calls that lead there."""

from __future__ import annotations

import re

import pytest
from rules.race_texts import REDUCE, TWICE, Headers, kernel

from smem_lsp.engine import check
from smem_lsp.rules.model import Finding
from smem_lsp.source import SourceText
from smem_lsp.source.queries import Store


def told(text: str, code: str = "SMEM201", headers: dict[str, str] | None = None) -> Finding:
    report = check(text, path="k.cu", reader=Headers(headers or {}))
    (finding,) = [each for each in report.findings if each.code == code]
    return finding


def places(finding: Finding, text: str) -> list[str]:
    """``k.cu:5 `s` is written here``, those of the finding itself first."""
    source = SourceText(text, "k.cu")
    found = [f"k.cu:{source.line_number(finding.span.start)}"]
    for note in finding.related:
        file = note.source or source
        found.append(f"{file.path}:{file.line_number(note.span.start)} {note.message}")
    return found


def test_in_functions_of_the_file_with_the_calls_from_the_inside_out() -> None:
    text = kernel(
        "  __shared__ float q[272];\n  outer(q, threadIdx.x, in[threadIdx.x]);\n"
        "  out[threadIdx.x] = q[271 - threadIdx.x];\n",
        "__device__ void inner(float* p, int i, float v) {\n  p[i] = v;\n}\n"
        "__device__ void outer(float* p, int i, float v) {\n  inner(p + 16, i, v);\n}\n",
    )
    found = told(text)
    assert "thread 0 writes `q[16]` (line 2), thread 255 reads it (line 10)" in found.message
    assert places(found, text) == [
        "k.cu:10",
        "k.cu:2 `q` is written here",
        "k.cu:5 `inner` is called here",
        "k.cu:9 `outer` is called here",
    ]


def test_in_a_header() -> None:
    found = told(TWICE, headers={"reduce.cuh": REDUCE})
    assert "thread 255 reads `slots[0]` (reduce.cuh:14), thread 0 writes it (reduce.cuh:4)" in found.message
    assert places(found, TWICE) == [
        "k.cu:5",  # the call that leads to the second access
        "reduce.cuh:14 `slots` is read here",
        "k.cu:4 `block_sum` is called here",
        "reduce.cuh:4 `slots` is written here",
        "reduce.cuh:11 `put` is called here",
    ]
    texts = [note.source.slice(note.span) for note in found.related if note.source is not None]
    assert texts == ["slots[i]", "slots[warp]", "put(slots, warp, v)"]


def test_in_a_header_that_has_kernels_of_its_own() -> None:
    own = "__global__ void other(float* p) {\n  p[0] = 1;\n}\n"
    found = told(
        TWICE, headers={"reduce.cuh": "#pragma once\n" + own + REDUCE.removeprefix("#pragma once\n")}
    )
    assert "(reduce.cuh:17), thread 0 writes it (reduce.cuh:7)" in found.message
    texts = [note.source.slice(note.span) for note in found.related if note.source is not None]
    assert texts == ["slots[i]", "slots[warp]", "put(slots, warp, v)"]


def test_out_of_a_macro_of_a_header_where_it_is_invoked() -> None:
    header = REDUCE.replace("  slots[warp] = v;", "  STORE(slots[warp], v);")
    found = told(TWICE, headers={"reduce.cuh": "#define STORE(to, v) to = v\n" + header})
    assert "thread 0 writes it (reduce.cuh:5)" in found.message


def test_a_header_that_was_edited_above_the_function() -> None:
    cache, reader = Store(), Headers({"reduce.cuh": REDUCE})
    check(TWICE, path="k.cu", reader=reader, cache=cache)
    reader.texts["reduce.cuh"] = "// one more line\n" + REDUCE
    report = check(TWICE, path="k.cu", reader=reader, cache=cache)
    (found,) = [each for each in report.findings if each.code == "SMEM201"]
    assert "(reduce.cuh:15), thread 0 writes it (reduce.cuh:5)" in found.message


def test_the_line_of_a_call_is_never_told_twice() -> None:
    text = TWICE.replace("  float b = block_sum(in[threadIdx.x] * 2, slots);\n", "  float b = 0;\n").replace(
        "float a = block_sum(in[threadIdx.x], slots)",
        "float a = 0;\n  for (int i = 0; i < 4; ++i) { a += block_sum(in[i], slots); }",
    )
    found = told(text, headers={"reduce.cuh": REDUCE})
    assert "in the next iteration of the loop in line 5 (reduce.cuh:4)" in found.message
    stands = [(note.span, note.source) for note in found.related]
    assert len(set(stands)) == len(stands) and (found.span, None) not in stands


def test_a_lambda_and_a_method() -> None:
    body = (
        "  __shared__ float s[256];\n  auto put = [&](int i, float v) { s[i] = v; };\n"
        "  put(threadIdx.x, in[threadIdx.x]);\n  out[threadIdx.x] = s[255 - threadIdx.x];\n"
    )
    assert places(told(kernel(body)), kernel(body))[2:] == ["k.cu:4 `put` is called here"]
    method = kernel(
        "  __shared__ float s[256];\n  Slots r{s};\n  r.put(threadIdx.x, in[threadIdx.x]);\n"
        "  out[threadIdx.x] = s[255 - threadIdx.x];\n",
        "struct Slots {\n  float* p;\n  __device__ void put(int i, float v) { p[i] = v; }\n};\n",
    )
    assert places(told(method), method)[1:] == ["k.cu:3 `s` is written here", "k.cu:8 `put` is called here"]


def test_a_call_with_a_macro_among_its_arguments() -> None:
    text = kernel(
        "  __shared__ float q[256];\n  put(q, FIRST + threadIdx.x, in[0]);\n"
        "  out[threadIdx.x] = q[255 - threadIdx.x];\n",
        "#define FIRST 0\n__device__ void put(float* p, int i, float v) { p[i] = v * i; }\n",
    )
    assert places(told(text), text)[1:] == ["k.cu:2 `q` is written here", "k.cu:5 `put` is called here"]


def test_of_two_buffers_of_one_name_the_line_is_told() -> None:
    """In each message, and of those alone: `b` needs no line. They move with the kernel."""
    text = """\
static __global__ void __launch_bounds__(256) k(const float* in, float* out) {
  const int t = threadIdx.x;
  {
    __shared__ float a[256];
    a[t] = in[t];
    out[t] = a[255 - t];
  }
  {
    __shared__ float a[256];
    a[t] = 1;
  }
  {
    __shared__ float a[600], b[8];
    out[t] += a[t] + b[0];
  }
}
void host(const float* in, float* out) {
  k<<<1, 256>>>(in, out);
}
"""
    wanted = [
        ("SMEM201", "thread 0 writes `a[0]` in `a` of line 4 (line 5), thread 255 reads it (line 6)"),
        ("SMEM102", "`a` of line 9 is written and never read"),
        ("SMEM104", "`a` of line 13 is used up to index 255 of 600"),
        ("SMEM103", "`a` of line 13 is read, and nothing in the kernel has written it"),
        ("SMEM103", "`b` is read, and nothing in the kernel has written it"),
    ]
    cache = Store()
    for above in (0, 2):
        found = check("\n" * above + text, path="k.cu", cache=cache).findings
        assert len(found) == len(wanted)
        for finding, (code, words) in zip(found, wanted, strict=True):
            assert finding.code == code and further(words, above) in finding.message, finding.message


def further(words: str, lines: int) -> str:
    return re.sub(r"line (\d+)", lambda found: f"line {int(found[1]) + lines}", words)


def test_moved_kernels_take_their_calls_along() -> None:
    text = kernel(
        "  __shared__ float q[256];\n  put(q, threadIdx.x, in[threadIdx.x]);\n"
        "  out[threadIdx.x] = q[255 - threadIdx.x];\n",
        "__device__ void put(float* p, int i, float v) {\n  p[i] = v;\n}\n",
    )
    cache = Store()
    check(text, path="k.cu", cache=cache)
    moved = "// one more line\n" + text
    (found,) = [each for each in check(moved, path="k.cu", cache=cache).findings if each.code == "SMEM201"]
    assert places(found, moved)[1:] == ["k.cu:3 `q` is written here", "k.cu:7 `put` is called here"]


ONE_HELPER = """\
__device__ float exchange(float* s, float v) {
  s[threadIdx.x] = v;
  return s[255 - threadIdx.x];
}
__global__ void a(const float* in, float* out) {
  __shared__ float s[256];
  out[threadIdx.x] = exchange(s, in[threadIdx.x]);
}
__global__ void b(const float* in, float* out) {
  __shared__ float s[256];
  out[threadIdx.x] = exchange(s, in[threadIdx.x]) + 1;
}
void host(const float* in, float* out) { a<<<1, 256>>>(in, out); b<<<1, 256>>>(in, out); }
"""


def test_a_function_that_several_kernels_call_is_told_once() -> None:
    found = told(ONE_HELPER)
    assert "both stand in one call of `exchange`: a barrier has to go in there" in found.message
    assert found.message.endswith("(and in 1 other kernel)")
    assert places(found, ONE_HELPER)[2:] == [
        "k.cu:7 `exchange` is called here",
        "k.cu:11 `exchange` is called here",
    ]


def test_kernels_that_each_lack_a_barrier_of_their_own_are_told_each() -> None:
    text = ONE_HELPER.replace("  return s[255 - threadIdx.x];\n", "  return 0;\n").replace(
        "  out[threadIdx.x] = exchange(s, in[threadIdx.x])",
        "  exchange(s, in[threadIdx.x]);\n  out[threadIdx.x] = s[255 - threadIdx.x]",
    )
    found = [each for each in check(text).findings if each.code == "SMEM201"]
    assert [each.kernel for each in found] == ["a", "b"]


def test_instances_of_a_template_are_told_once() -> None:
    text = (
        "template <int N>\n__global__ void k(const float* in, float* out) {\n  __shared__ float s[N];\n"
        "  s[threadIdx.x] = in[threadIdx.x];\n  out[threadIdx.x] = s[N - 1 - threadIdx.x];\n}\n"
        "void host(const float* in, float* out) { k<64><<<1, 64>>>(in, out); k<128><<<1, 128>>>(in, out); }\n"
    )
    assert told(text).message.endswith("(in k<64> and 1 other instance)")


@pytest.mark.parametrize(("block", "codes"), [("256", ["SMEM201"]), ("32", ["SMEM205"])])
def test_a_warp_barrier_is_no_advice_where_another_instance_needs_one_of_the_block(
    block: str, codes: list[str]
) -> None:
    text = (
        "template <int N>\n__global__ void k(const float* in, float* out, int n) {\n  __shared__ float s[N];\n"
        "  for (int i = 0; i < n; ++i) {\n    s[threadIdx.x] = in[i * N + threadIdx.x];\n    __syncthreads();\n"
        "    out[i * N + threadIdx.x] = s[N - 1 - threadIdx.x];\n  }\n}\n"
        "void host(const float* in, float* out, int n) {\n  k<32><<<1, 32>>>(in, out, n);\n"
        f"  k<{block}><<<1, {block}>>>(in, out, n);\n}}\n"
    )
    found = check(text).findings
    assert [each.code for each in found if each.code in ("SMEM201", "SMEM205")] == codes
