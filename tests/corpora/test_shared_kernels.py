"""The second opinion on which kernels use shared memory."""

from __future__ import annotations

import pytest
from shared_kernels import shared_kernels

IN_THE_BODY = "__global__ void k(float* p) {\n  __shared__ float a[4];\n  a[0] = *p;\n}\n"
EXTERN = (
    "template <class T>\n__global__ void __launch_bounds__(256) k() {\n  extern __shared__ char raw[];\n}\n"
)
BY_A_HELPER = """
__device__ float sum(float v) { __shared__ float a[32]; return v + a[0]; }
__device__ float twice(float v) { return 2 * sum(v); }
__global__ void k(float* p) { *p = twice(*p); }
__global__ void other(float* p) { *p = 1; }
"""
BY_A_MACRO = (
    "#define TILE(n) \\\n  __shared__ float n[32]\n__global__ void k(float* p) { TILE(a); *p = a[0]; }\n"
)
AT_NAMESPACE_SCOPE = """
namespace n {
extern __shared__ float pool[];
__global__ void k(float* p) { pool[0] = *p; }
__global__ void other(float* p) { *p = 1; }
}
"""
TWO_KINDS = "__global__ void k() { __shared__ int a; extern __shared__ __align__(16) char b[]; a = b[0]; }"
ALIGNED = "__global__ void k() { extern __align__(align_of<T>()) __shared__ char raw[]; raw[0] = 1; }"
SPECIALISED = """
template <> __global__ void k<float>(float* p) { *p = 1; }
template <> __global__ void k<int>(int* p) { __shared__ int a; a = *p; }
"""
DEAD = f"#if 0\n{IN_THE_BODY}#else\n__global__ void live() {{ __shared__ int a; a = 1; }}\n#endif\n"
NOT_CODE = "// __shared__\n__global__ void k(float* p) { *p = 1; /* __shared__ int a; */ }\n"


@pytest.mark.parametrize(
    ("text", "kernels"),
    [
        (IN_THE_BODY, [("k", 1, 4, True, False, False)]),
        (EXTERN, [("k", 2, 4, False, True, True)]),
        (BY_A_HELPER, [("k", 4, 4, True, False, False)]),
        (BY_A_MACRO, [("k", 3, 3, True, False, False)]),
        (AT_NAMESPACE_SCOPE, [("k", 4, 4, False, True, False)]),
        (TWO_KINDS, [("k", 1, 1, True, True, False)]),
        (ALIGNED, [("k", 1, 1, False, True, False)]),
        (SPECIALISED, [("k", 3, 3, True, False, False)]),
        (DEAD, [("live", 7, 7, True, False, False)]),
        (NOT_CODE, []),
    ],
)
def test_kernels_that_use_shared_memory(text: str, kernels: list[tuple[object, ...]]) -> None:
    found = [
        (each.name, each.line, each.last_line, each.static, each.dynamic, each.launch_bounds)
        for each in shared_kernels(text)
    ]
    assert found == kernels
