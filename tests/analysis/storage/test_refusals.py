"""Where the ranges of dynamic shared memory are not known, the access is named, its line, and what of it is open."""

from __future__ import annotations

import json

import pytest
from harness import kernel_facts

from smem_lsp.engine import check
from smem_lsp.output.json_ import kernel_object
from smem_lsp.rules.cause_words import bare

KERNEL = """\
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + 256;
  int tid = threadIdx.x;
  x[tid] = in[tid];
  __syncthreads();
  y[tid] = x[255 - tid];
  __syncthreads();
  out[tid] = y[tid ^ 1];
}
void go(const float* in, float* out) { k<<<2, 256, 512 * sizeof(float)>>>(in, out, 1000); }
"""


def refusals(text: str) -> list[tuple[int, str]]:
    facts = kernel_facts(text)
    doubts = () if facts.dynamic_terms is None else facts.dynamic_terms.partition.doubts
    return [(each.line and facts.line(each.line), bare(each)) for each in (*facts.dynamic_refusals, *doubts)]


def test_known_ranges_refuse_nothing() -> None:
    assert refusals(KERNEL) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (
            "x[255 - tid]",
            "x[(int)in[tid]]",
            8,
            "how far the read through `x` reaches is not known: nothing bounds a loaded value",
        ),
        ("x[255 - tid]", "x[-tid]", 8, "the read through `x` may begin 1,020 B before `smem`"),
        (
            "__syncthreads();\n  y",
            "keep(smem);\n  y",
            7,
            "the address of smem escapes (argument of keep)",
        ),
        (
            "__syncthreads();\n  y",
            "__syncthreads();\n  @ smem @;\n  y",
            8,
            "in a statement that is not understood",
        ),
        (
            "__syncthreads();\n  y",
            "__syncthreads(); if (n) goto in; { in: ; }\n  y",
            7,
            "goto",
        ),
        (
            "__syncthreads();\n  y",
            "somewhere();\n  y",
            1,
            "a call that is not followed may use the same array: somewhere is not in sight: it may have shared "
            "arrays of its own",
        ),
    ],
)
def test_a_refusal_names_what_is_open(old: str, new: str, line: int, words: str) -> None:
    text = KERNEL.replace(old, new)
    assert text != KERNEL
    assert (line, words) in refusals(text)


def test_arrays_that_ptxas_may_drop_are_no_reason() -> None:
    """They make the bytes uncertain, not what the dynamic ones are used for."""
    text = KERNEL.replace(
        "  x[tid] = in[tid];",
        '  __shared__ float own[256]; own[tid] = in[tid]; x[tid] = own[tid]; asm volatile("unheard.of;" ::: "memory");',
    )
    facts = kernel_facts(text)
    assert facts.kernel.opaque and facts.kernel.unexact is not None
    assert facts.dynamic_partition is not None


def test_what_is_never_used_is_said_too() -> None:
    text = "__global__ void k(int* out) {\n  extern __shared__ int s[];\n  out[threadIdx.x] = 1;\n}\n"
    assert refusals(text) == [(1, "nothing is read or written through it")]


def test_without_dynamic_memory_nothing_is_refused() -> None:
    assert refusals("__global__ void k(int* out) { __shared__ int s[32]; s[threadIdx.x % 32] = *out; }") == []


def test_the_json_document_has_the_reasons() -> None:
    report = check(KERNEL.replace("x[255 - tid]", "x[-tid]"))
    (kernel,) = (kernel_object(report.source, each) for each in report.kernels)
    told = json.loads(json.dumps(kernel["unknown"]))["ranges"]
    assert [each["line"] for each in told] == [8]
    assert told[0]["reason"] == "the read through `x` may begin 1,020 B before `smem`"


def test_two_pointers_of_one_range_say_which_access_joins_them() -> None:
    text = KERNEL.replace("x[255 - tid]", "x[2 * tid]").replace("512 *", "1024 *")
    text = text.replace("  int tid", "  float* z = smem + 512;\n  int tid").replace(
        "out[tid] = y", "z[tid] = y[tid];\n  out[tid] = y"
    )
    text = text.replace("y[tid ^ 1]", "z[tid]")
    words = "the read through `x` may reach past where `y` begins: they are one range"
    assert refusals(text) == [(9, words)]
    (report,) = check(text).kernels
    assert {"line": 9, "reason": words} in kernel_object(check(text).source, report)["unknown"]["ranges"]


def test_a_pointer_with_several_places_is_a_reason_where_nothing_is_divided() -> None:
    text = KERNEL.replace("smem + 256;", "n > 4 ? smem + 256 : smem + 512;").replace("512 *", "768 *")
    words = "`y` points to several places"
    assert refusals(text) == [(8, words), (10, words)]
    one = KERNEL.replace("smem + 256;", "smem + threadIdx.y;")
    assert refusals(one) == []
