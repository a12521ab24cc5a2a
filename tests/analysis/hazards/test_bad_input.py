"""Kernels that are hard to follow: the answer is right or there is none, and it comes soon."""

from __future__ import annotations

import time

import pytest
from carets import codes

from smem_lsp.engine import check

HEAD = "#define SYNC() __syncthreads()\n__device__ void elsewhere(float* p);\n"
HEAD += "__device__ void fill(float* p, int d) { if (d > 0) { p[d] = d; fill(p, d - 1); } }\n"
HEAD += "__device__ void meet(float* p, int d) { if (d > 0) { __syncthreads(); meet(p, d - 1); } }\n"
HEAD += "// smem: assume(blockDim.x == 64)\n"
START = "__shared__ float s[64]; const int t = threadIdx.x; s[t] = in[t];\n"
RACES = {"SMEM201", "SMEM202", "SMEM205"}


def told(body: str) -> list[str]:
    """Codes of what is said of barriers and races."""
    text = f"{HEAD}__global__ void k(const float* in, float* out, int n) {{\n{START}{body}\n}}\n"
    return codes(check(text), among=("SMEM2",))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # irreducible flow of control: nothing is said
        ("if (n > 3) goto inside; for (int i = 0; i < n; ++i) { inside: s[t] = i; } out[t] = s[63 - t];", []),
        # what may synchronise out of sight
        ("meet(s, n); out[t] = s[63 - t];", []),
        ("elsewhere(s); out[t] = s[63 - t];", []),
        ("SYNC_ALL_THREADS out[t] = s[63 - t];", []),
        # barriers in lambdas and macros count
        ("auto sync = [&]() { __syncthreads(); }; sync(); out[t] = s[63 - t];", []),
        ("SYNC(); out[t] = s[63 - t];", []),
        ("auto sync = [&]() { __threadfence_block(); }; sync(); out[t] = s[63 - t];", ["SMEM201"]),
        ("auto sync = [&]() { __syncthreads(); }; out[t] = s[63 - t];", ["SMEM201"]),
        # recursion is not followed, but nothing in it synchronises
        ("fill(s, n); out[t] = s[63 - t];", ["SMEM201"]),
    ],
)
def test_control_that_is_not_followed(body: str, expected: list[str]) -> None:
    assert told(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "if (t < 8 && t >= 8) s[63 - t] = 1; out[t] = s[t];",
        "if (n < 3) { if (n > 5) s[63 - t] = 1; } out[t] = s[t];",
        "if (t < 16) { if (t > 40) __syncthreads(); } __syncthreads(); out[t] = s[63 - t];",
        "__syncthreads(); if (n == 2) s[t] = 5; if (n == 3) out[t] = s[63 - t];",
        "__syncthreads(); if (n > 5) s[t] = 1; if (n <= 5) out[t] = s[63 - t];",
        "__syncthreads(); if (n > 5) { s[t] = 1; if (n < 3) out[t] = s[63 - t]; }",
        "__syncthreads(); const bool all = n > 5; if (all) s[t] = 1; if (!all) out[t] = s[63 - t];",
    ],
)
def test_guards_that_contradict_each_other_make_no_race(body: str) -> None:
    assert set(told(body)) <= {"SMEM204"}


def test_three_hundred_accesses_in_one_phase() -> None:
    """Each meets nearly every other one: the first races are told, and the search ends."""
    lines = [f"s[(t + {i}) % 64] = s[t * {i + 1} % 64] + {i};" for i in range(150)]
    started = time.process_time()
    found = told("__syncthreads();\n" + "\n".join(lines))
    assert set(found) <= RACES and found
    assert (
        time.process_time() - started < 60
    )  # 3 s on an idle machine: the effort of all questions is bounded


def test_three_hundred_accesses_in_order() -> None:
    lines = [f"out[t + {i} * 64] = s[(t + {i}) % 64] + s[t * {i + 1} % 64];" for i in range(150)]
    assert told("__syncthreads();\n" + "\n".join(lines)) == []
