"""Loops that end where a counter or a pointer meets another: each thread fills elements of its own, or one too many."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_KERNEL = """
struct Span {{
  int* p;
  int n;
  __device__ int* begin() const {{ return p; }}
  __device__ int* end() const {{ return p + n; }}
}};
__global__ void k(int* out, const int* in, int m) {{
  __shared__ int s[512];
  const int t = threadIdx.x;
  {loop}
  __syncthreads();
  out[t] = s[t];
}}
void host(int* out, const int* in) {{ k<<<1, 64>>>(out, in, 2); }}
"""


def _verdict(loop: str) -> str:
    (kernel,) = check(_KERNEL.format(loop=loop)).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    ("loop", "count", "more"),
    [
        ("for (int* p = s + 2 * t; p != s + 2 * t + $; ++p) *p = t;", 2, 3),
        ("for (int* p = s + 2 * t; p < s + 2 * t + $; ++p) *p = t;", 2, 3),
        ("for (int *p = s + 2 * t, *e = p + $; p != e; ++p) *p = t;", 2, 3),
        ("for (int* p = s + 2 * t + $; p != s + 2 * t; --p) *p = t;", 2, 3),
        ("int* p = s + 2 * t; int* e = p + $; while (p != e) *p++ = t;", 2, 3),
        ("for (int i = 2 * t; i != 2 * t + $; ++i) s[i] = t;", 2, 3),
        ("for (int i = 4 * t; i != 4 * t + $; i += 2) s[i] = t;", 4, 6),
        ("for (int i = 2 * t + $; i != 2 * t; --i) s[i] = t;", 2, 3),
        ("for (int& v : Span{{s + 2 * t, $}}) v = t;", 2, 3),
        ("Span all{{s, 256}}; for (int* p = all.begin() + 2 * t; p - s < 2 * t + $; ++p) *p = t;", 2, 3),
    ],
)
def test_how_far_a_loop_goes(loop: str, count: int, more: int) -> None:
    loop = loop.replace("{{", "{").replace("}}", "}")
    assert _verdict(loop.replace("$", str(count))) == "race-free"
    assert _verdict(loop.replace("$", str(more))) == "racy"


@pytest.mark.parametrize(
    "loop",
    [
        "int e = 2 * t + 2; for (int i = 2 * t; i != e; ++i) { s[i] = t; if (in[i]) e += 1; }",
        "for (int i = 2 * t; i != 2 * t + in[i]; ++i) s[i] = t;",
        "for (int i = 2 * t; i != in[0]; ++i) s[i] = t;",
        "for (int i = 2 * t; i != 2 * t + 3; i += 2) s[i] = t;",
        "for (int i = 2 * t; i != 2 * t - 2; ++i) s[i & 511] = t;",
        "for (int* p = s + 2 * t; p != s + 2 * m * t + 2; ++p) *p = t;",
    ],
)
def test_what_is_not_known_to_end_is_not_proved(loop: str) -> None:
    assert _verdict(loop) != "race-free"
