"""Only what a constant of the instance selects is there."""

from __future__ import annotations

import pytest
from carets import codes

from smem_lsp.engine import check

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
