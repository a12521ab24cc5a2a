"""A name that nothing in sight declares, as a statement of its own, is a macro of a header that is not read: it may
wait, write and read."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.ir.causes import Opens

LAUNCH = "void h(float* p) { k<<<1, 64>>>(p); }\n"


def kernel(*statements: str) -> str:
    body = "\n".join(f"  {each}" for each in statements)
    return f"__global__ void k(float* p) {{\n  __shared__ float s[64];\n{body}\n}}\n{LAUNCH}"


@pytest.mark.parametrize("name", ["SYNC", "sync_block", "SYNC()"])
def test_it_may_be_a_barrier(name: str) -> None:
    text = kernel("s[threadIdx.x] = p[threadIdx.x];", f"{name};", "p[threadIdx.x] = s[63 - threadIdx.x];")
    report = check(f'#include "gone.h"\n{text}')
    assert not [each for each in report.findings if each.code == "SMEM201"]
    assert report.kernels[0].verdict.kind is VerdictKind.UNDECIDED


def test_it_may_write_and_read() -> None:
    read = kernel("FILL;", "__syncthreads();", "p[threadIdx.x] = s[63 - threadIdx.x];")
    written = kernel("s[threadIdx.x] = p[threadIdx.x];", "__syncthreads();", "STORE(p);")
    for text in (read, written):
        assert not {each.code for each in check(text).findings} & {"SMEM102", "SMEM103", "SMEM204"}


def test_a_name_that_is_declared_does_nothing() -> None:
    text = kernel("s[threadIdx.x] = p[threadIdx.x];", "p;", "p[threadIdx.x] = s[63 - threadIdx.x];")
    assert [each.code for each in check(text).findings] == ["SMEM201"]


@pytest.mark.parametrize(
    "statement",
    [
        "sync_block p[threadIdx.x] = s[63 - threadIdx.x];",
        "sync_block\n  v[threadIdx.x] = s[63 - threadIdx.x];",
        "float v = 0; sync_block v = s[63 - threadIdx.x]; p[threadIdx.x] = v;",
    ],
)
def test_a_word_in_front_of_what_cannot_be_declared(statement: str) -> None:
    report = check(f'#include "gone.h"\n{kernel("s[threadIdx.x] = p[threadIdx.x];", statement)}')
    assert not [each for each in report.findings if each.code.startswith("SMEM2")]
    assert report.kernels[0].verdict.kind is VerdictKind.UNDECIDED


def test_a_type_out_of_sight_is_a_type() -> None:
    text = kernel("index_t i = threadIdx.x;", "s[i] = p[i];", "__syncthreads();", "p[i] = s[63 - i];")
    (kernel_,) = check(f'#include "gone.h"\n{text}').kernels
    assert kernel_.kernel.complete and not kernel_.kernel.open(Opens.ANYTHING)


@pytest.mark.parametrize("value", ["float v = VALUE; p[threadIdx.x] = v;", "p[threadIdx.x] = value + 1;"])
def test_a_value_may_read(value: str) -> None:
    """What is written, or ordered by a barrier, may be for it; that it is not is what a proof assumes."""
    text = kernel("s[threadIdx.x] = p[threadIdx.x];", "__syncthreads();", value)
    report = check(f'#include "gone.h"\n{text}')
    assert not report.findings
    name = "VALUE" if "VALUE" in value else "value"
    assert report.kernels[0].verdict.assumes == (f"{name} reads no shared memory",)
    declared = check(f"__constant__ float {name};\n{text}")
    assert "SMEM102" in {each.code for each in declared.findings}
    assert not declared.kernels[0].verdict.assumes
