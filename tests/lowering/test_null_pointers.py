"""An address of shared memory is no null pointer, as long as nothing else is assigned to the variable it is in."""

from __future__ import annotations

import pytest
from harness import kernel_facts

from smem_lsp.analysis.decision.conditions import positions
from smem_lsp.ir.nodes import Access, walk
from smem_lsp.terms.language import Const

SETS = (
    "__device__ void clear(float*& p) { p = nullptr; } __device__ void clear(float** p) { *p = nullptr; }"
    "__device__ void unseen(float** p); struct Two { float* p; float* q; };"
)


def is_reached(statements: str) -> bool:
    """Is it known that every thread comes to the access of ``a``?"""
    text = f"{SETS} __global__ void k(float* out, int n) {{ __shared__ float a[64]; {statements} }}\n"
    facts = kernel_facts(text)
    found = positions(facts.kernel.body, facts.analysis.flow.values)
    *_, access = (node for node in walk(facts.kernel.body) if isinstance(node, Access))
    return all(isinstance(each.term, Const) for each in found[access.point].conditions)


@pytest.mark.parametrize(
    "statements",
    [
        "float* p = a; if (p) p[0] = 1;",
        "float* p = a + threadIdx.x; if (p != nullptr) p[0] = 1;",
        "float* p = &a[n]; float* q = p + 1; if (NULL == q) return; q[0] = 1;",
        "if (a) a[0] = 1;",
        "float* p = nullptr; p = a; if (p) p[0] = 1;",
    ],
)
def test_an_address_of_shared_memory(statements: str) -> None:
    assert is_reached(statements)


@pytest.mark.parametrize(
    "statements",
    [
        "float* p = n > 2 ? a : nullptr; if (p) a[0] = 1;",
        "float* p = a; if (n > 2) p = nullptr; if (p) a[0] = 1;",
        "float* p = a; if (n > 2) p = nullptr; float* q = p; if (q) a[0] = 1;",
        "float* p = a; float*& q = p; if (n > 2) q = nullptr; if (p) a[0] = 1;",
        "float* p = a; float** q = &p; if (n > 2) *q = nullptr; if (p) a[0] = 1;",
        "float* p = a; if (n > 2) clear(p); if (p) a[0] = 1;",
        "float* p = a; if (n > 2) clear(&p); if (p) a[0] = 1;",
        "float* p = a; unseen(&p); if (p) a[0] = 1;",
        "float* p = a; auto set = [&]() { p = nullptr; }; if (n > 2) set(); if (p) a[0] = 1;",
        "float* p = out; if (n > 2) p = a; if (p) a[0] = 1;",
        "Two t; t.p = a; if (n > 2) t.p = nullptr; if (t.p) a[0] = 1;",
        "Two t = {a, a}; if (n > 2) t = Two{nullptr, a}; if (t.p) a[0] = 1;",
        "float* p[2] = {a, nullptr}; if (p[n]) a[0] = 1;",
        "unsigned p = __cvta_generic_to_shared(a); if (p) a[0] = 1;",
    ],
)
def test_what_may_be_null(statements: str) -> None:
    assert not is_reached(statements)
