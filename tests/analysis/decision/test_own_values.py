"""Values in shared memory: what a thread reads that it has stored itself, and stores that leave the same bytes."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

HOST = "void host(const int* in, int* out, int n) { k<<<4, 256>>>(in, out, n); }\n"


def kind(body: str) -> VerdictKind:
    text = "__global__ void k(const int* in, int* out, int n) {\n" + body + "\n}\n" + HOST
    (found,) = check(text).facts[0].analysis.verdicts
    return found.kind


SAFE = {
    "all threads store the width that they read": "__shared__ int width; width = n - 3; out[threadIdx.x] = width;",
    "in each turn anew, with a barrier behind": "__shared__ int width; for (int i = 0; i < n; ++i) { width = n - i; "
    "out[i] = width; __syncthreads(); }",
    "what a chain of assignments stores is not read again": "__shared__ int one, other; for (int i = 0; i < n; ++i) { "
    "one = other = threadIdx.x < n ? 0 : 0; __syncthreads(); if (threadIdx.x == in[i]) other = i; __syncthreads(); }",
    "the value of an assignment": "__shared__ int s[256]; int t = s[threadIdx.x] = threadIdx.x; s[t] = 1;",
    "zeros of two widths": "__shared__ int s[256]; short* h = reinterpret_cast<short*>(s); "
    "if (threadIdx.x < 32) s[threadIdx.x] = 0; else h[threadIdx.x - 32] = 0;",
    "zeros in steps that are not followed": "extern __shared__ int d[]; for (int i = threadIdx.x; i < n; "
    "i += in[0]) d[i] = 0;",
}

UNSAFE = {
    "each thread its own": "__shared__ int width; width = n - threadIdx.x; out[threadIdx.x] = width;",
    "in each turn anew": "__shared__ int width; for (int i = 0; i < n; ++i) { width = n - i; out[i] = width; }",
    "stored by a part of them": "__shared__ int width; if (threadIdx.x < n) width = n; out[threadIdx.x] = width;",
    "read first": "__shared__ int width; for (int i = 0; i < 2; ++i) { out[i] = width; width = n; }",
    "each thread its own in a chain": "__shared__ int s[256], one; one = s[threadIdx.x] = threadIdx.x;",
    "another store behind it": "__shared__ int width; width = n; width = n + 1; out[threadIdx.x] = width;",
    "ones of two widths": "__shared__ int s[256]; short* h = reinterpret_cast<short*>(s); "
    "if (threadIdx.x < 32) s[threadIdx.x] = 1; else h[2 * (threadIdx.x - 32) + 1] = 1;",
    "one as an integer and as a number with a point": "__shared__ int s[256]; float* f = reinterpret_cast<float*>(s); "
    "if (threadIdx.x < 32) s[threadIdx.x] = 1; else f[threadIdx.x - 32] = 1;",
}


@pytest.mark.parametrize("body", SAFE.values(), ids=SAFE)
def test_equal_values_are_safe(body: str) -> None:
    assert kind(body) is VerdictKind.RACE_FREE


@pytest.mark.parametrize("body", UNSAFE.values(), ids=UNSAFE)
def test_values_that_may_differ_are_not(body: str) -> None:
    assert kind(body) is not VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    ("other", "safe"), [("__shared__ int b[1];", True), ("extern __shared__ int b[];", False)]
)
def test_a_store_under_another_name_changes_what_a_thread_has_stored_itself(other: str, safe: bool) -> None:
    text = "__global__ void k(int* out) {\n extern __shared__ int a[];\n " + other
    text += "\n a[0] = 5;\n b[0] = threadIdx.x;\n out[threadIdx.x] = a[0];\n}\n"
    (facts,) = check(text).facts
    (found,) = facts.analysis.verdicts
    left = {(facts.line(each.first.line), facts.line(each.second.line)) for each in found.decisions}
    assert ((4, 6) not in left) is safe
