"""A reference that is bound to a value names an object of its own, and keeps what it held; one that is bound to a
variable sees what becomes of it.
"""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_KERNEL = """
struct Pair {{ int n; __device__ Pair& operator<<(int by) {{ n += by; return *this; }} }};
__global__ void k(const float* in, float* out) {{
  __shared__ float s[256];
  int n = threadIdx.x;
  {declared}
  s[{at}] = in[n];
  {between}
  out[n] = s[{read}];
}}
void host(const float* in, float* out) {{ k<<<1, 256>>>(in, out); }}
"""


def _verdict(declared: str, at: str, read: str, between: str = "") -> str:
    text = _KERNEL.format(declared=declared, at=at, read=read, between=between)
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    "declared",
    [
        "const int& t = threadIdx.x;",
        "auto const& t = threadIdx.x;",
        "const int& t = threadIdx.x * 2 - n;",
        "auto&& t = n + 0; t += 1; t -= 1;",
        "const int& last = 255; const int& t = last - (255 - n);",
        "const int& turned = ~n; const int t = -turned - 1;",
        "const unsigned char& t = n + 256;",
    ],
)
def test_a_value_is_kept(declared: str) -> None:
    assert _verdict(declared, "t", "n") == "race-free"
    assert _verdict(declared, "t", "n", "n = 255 - n; __syncthreads();") == "race-free"
    assert _verdict(declared, "t", "255 - t") == "racy"


@pytest.mark.parametrize("declared", ["const int& t = n;", "auto& t = n;"])
def test_a_variable_is_seen(declared: str) -> None:
    assert _verdict(declared, "t", "t") == "race-free"
    assert _verdict(declared, "t", "t", "n = 255 - n;") == "racy"


def test_an_operator_of_a_class_gives_the_object_that_it_has_changed() -> None:
    declared = "Pair p{n}; auto&& q = p << 1; const int& t = q.n;"
    assert _verdict(declared, "t", "n") == "racy"
    assert _verdict(declared, "t & 255", "t & 255") == "race-free"
    assert _verdict(declared, "t & 255", "t & 255", "p << 1;") == "racy"


def test_what_is_not_known_to_be_a_value_is_none() -> None:
    declared = "const int* p = &n; const int& t = *p;"
    assert _verdict(declared, "t", "n") != "racy"
    assert _verdict(declared, "t", "t", "n = 255 - n;") != "race-free"


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("int x = n; int t = static_cast<int&&>(x);", "race-free"),
        ("int x = n; int t = static_cast<int&&>(x) / 2;", "racy"),
        ("int t = n; static_cast<int&>(t) /= 2;", "undecided"),  # a write through a cast is not followed
        ("int t = n; int& r = static_cast<int&>(t); r /= 2;", "undecided"),
        ("float x = n; int t = reinterpret_cast<int&>(x);", "undecided"),
    ],
)
def test_a_reference_of_its_own_type_has_the_value(declared: str, expected: str) -> None:
    assert _verdict(declared, "t", "n", between="__syncthreads();") == expected
