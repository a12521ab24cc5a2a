"""Only what a constant of the instance selects is there."""

from __future__ import annotations

import pytest
from carets import codes
from harness import kernel_facts

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Loop, walk

STORE = "if (W) { s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); }"


def kernel(use: str) -> str:
    return f"""\
template <bool W>
__global__ void k(const float* x, float* y) {{
  __shared__ float s[256];
  {STORE}
  {use}
}}
void host(const float* x, float* y) {{ k<false><<<1, 256>>>(x, y); k<true><<<1, 256>>>(x, y); }}
"""


@pytest.mark.parametrize(
    "use",
    [
        "y[threadIdx.x] = {} ? s[threadIdx.x ^ 64] : x[threadIdx.x];",
        "if ({} && s[threadIdx.x ^ 64] > 0) y[threadIdx.x] = 1;",
        "if (!({}) || s[threadIdx.x ^ 64] > 0) y[threadIdx.x] = 1;",
        "switch ({}) {{ case true: y[threadIdx.x] = s[threadIdx.x ^ 64]; break; default: break; }}",
        "switch (int({})) {{ case 0: break; case 1: {{ y[threadIdx.x] = s[threadIdx.x ^ 64]; break; }} }}",
        "if (x[0] > 0 && {}) y[threadIdx.x] = s[threadIdx.x ^ 64];",
        "if (!(x[0] > 0 || !{})) y[threadIdx.x] = s[threadIdx.x ^ 64];",
        "for (int i = 0; i < int({}); ++i) y[i] = s[threadIdx.x ^ 64];",
        "for (int i = threadIdx.x; i < int({}); i += 256) y[i] = s[threadIdx.x ^ 64];",
        "while ({}) {{ y[0] = s[threadIdx.x ^ 64]; break; }}",
        "if (!{}) return; y[threadIdx.x] = s[threadIdx.x ^ 64];",
    ],
)
def test_the_other_arm_reads_nothing(use: str) -> None:
    assert codes(check(kernel(use.format("W")))) == []
    assert codes(check(kernel(use.format("true")))) == ["SMEM103"]  # W is false, and it is read nevertheless


def test_the_turns_of_a_loop_without_an_end_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a jump leaves it, whatever it counts."""
    monkeypatch.setattr("smem_lsp.lowering.body.statements.count_trips", None)
    body = "for (int i = 0;; ++i) { if (i == n) break; s[threadIdx.x] = i; __syncthreads(); }"
    kernel = kernel_facts(f"__global__ void k(int n) {{ __shared__ int s[64]; {body} }}").kernel
    (loop,) = [node for node in walk(kernel.body) if isinstance(node, Loop)]
    assert (loop.min_trip, loop.trips, loop.induction) == (1, None, None)
