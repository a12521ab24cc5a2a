"""What threads have written and a bulk copy reads: a fence of the asynchronous proxy has to be there."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

HEAD = """\
#include <cuda/barrier>
namespace cde = cuda::device::experimental;
__device__ void unseen(float*);
__device__ void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void store(float* to, const float* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               :: "l"(to), "r"((unsigned)__cvta_generic_to_shared(from)), "r"(bytes) : "memory");
}
"""
STORE = "if (t == 0) store(out, s, sizeof(s));"
TENSOR = "if (t == 0) cde::cp_async_bulk_tensor_1d_shared_to_global(&map, 0, s);"


def told(body: str) -> int:
    text = (
        f"{HEAD}__global__ void k(const __grid_constant__ CUtensorMap map, const float* in, float* out, int n) {{\n"
        f"  __shared__ alignas(128) float s[256], other[256];\n  int t = threadIdx.x;\n  {body}\n}}\n"
    )
    return sum(finding.code == "SMEM209" for finding in check(text).findings)


@pytest.mark.parametrize(
    "body",
    [
        f"s[t] = in[t]; fence(); __syncthreads(); {STORE}",
        f"s[t] = in[t]; cde::fence_proxy_async_shared_cta(); __syncthreads(); {STORE}",
        f"s[t] = in[t]; cde::fence_proxy_async_shared_cta(); __syncthreads(); {TENSOR}",
        f"s[t] = in[t]; if (n > 3) fence(); __syncthreads(); {STORE}",
        STORE,  # nobody has written it
        f"other[t] = in[t]; __syncthreads(); {STORE} out[t] = other[255 - t];",
        f"if (n > 3) {{ s[t] = in[t]; }} else {{ {STORE} }}",
        f"s[t] = in[t]; unseen(other); __syncthreads(); {STORE}",
        "s[t] = in[t]; __syncthreads(); out[t] = s[255 - t];",
    ],
)
def test_what_is_right_or_not_known_is_silent(body: str) -> None:
    assert told(body) == 0


@pytest.mark.parametrize(
    "body",
    [
        f"s[t] = in[t]; __syncthreads(); {STORE}",
        f"s[t] = in[t]; __syncthreads(); {TENSOR}",
        f"s[t] = in[t]; __threadfence_block(); __syncthreads(); {STORE}",
        f"for (int i = 0; i < n; ++i) {{ s[t] = in[t + i]; __syncthreads(); {STORE} __syncthreads(); }}",
        f"if (n > 3) {{ s[t] = in[t]; }} else {{ s[t] = 0; }} __syncthreads(); {STORE}",
        f"atomicAdd(&s[t & 7], in[t]); __syncthreads(); {TENSOR}",
        f"s[t] = in[t]; if (n > 3) {{ __syncthreads(); {STORE} }}",
        f"s[t] = in[t]; __syncthreads(); {STORE} {TENSOR}",
    ],
)
def test_a_missing_fence_is_told_once(body: str) -> None:
    assert told(body) == 1
