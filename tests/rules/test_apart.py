"""What is said of two buffers that share no bytes because a barrier is missing."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.rules.apart import open_pairs, why_open

HEAD = (
    "__global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {\n"
    "  __shared__ float a[256];\n"
    "  __shared__ float b[256];\n"
    "  const int tid = threadIdx.x;  // smem: assume(blockDim.x == 256)\n"
    "  float v = 0;\n"
)


def said(body: str) -> list[str]:
    facts = check(f"{HEAD}{body}  out[tid] = v;\n}}\n").facts[0]
    under = facts.best[0].facts
    return [why_open(facts, under, *both) for both in open_pairs(facts, under).values()]


BEFORE = "  a[tid] = in[tid];\n  __syncthreads();\n  v += a[255 - tid];\n"  # lines 6 to 8
AFTER = "  b[tid] = v;\n  __syncthreads();\n  v += b[255 - tid];\n"


@pytest.mark.parametrize(
    ("between", "why"),
    [
        ("", []),
        ("__syncwarp();", ["__syncwarp at line 9 orders the lanes of a warp only"]),
        ("__threadfence();", ["__threadfence at line 9 waits for no other thread"]),
        ("v = __shfl_xor_sync(~0u, v, 1);", ["__shfl_xor_sync at line 9 orders no memory"]),
        (
            "if (tid < 32) __syncthreads();",
            ["__syncthreads at line 9 is not proved to be run by every thread"],
        ),
        (
            "if (n > 3) __syncthreads();",
            ["__syncthreads at line 9 is run in one arm of the branch at line 9 only"],
        ),
        (
            "for (int i = 0; i < n; ++i) __syncthreads();",
            ["__syncthreads at line 9 is in the loop at line 9, which may not run"],
        ),
        ("// __threadfence() here", []),
    ],
)
def test_what_stands_between_and_is_no_barrier(between: str, why: list[str]) -> None:
    (words,) = said(f"{BEFORE}  {between}\n{AFTER}")
    witness = "no proved barrier between `a`, read at line 8, and `b`, written at line 10"
    assert words.split("; ") == [witness, *why]


def test_arms_that_run_at_once() -> None:
    (words,) = said("  if (tid < 32) {\n    a[tid] = v;\n  } else {\n    b[255 - tid] = v;\n  }\n")
    assert words.endswith("; threads may run the two arms of the branch at line 6 at once")


def test_over_the_end_of_a_loop() -> None:
    words = said(f"  for (int i = 0; i < n; ++i) {{\n{BEFORE}  __syncthreads();\n{AFTER}  }}\n")
    assert len(words) == 1
    assert words[0].endswith(
        "`b`, read at line 13, and `a`, written at line 7; over the end of the loop at line 6"
    )


def test_nothing_is_said_where_a_barrier_separates() -> None:
    assert said(f"{BEFORE}  __syncthreads();\n{AFTER}") == []
