"""Whether all threads of a block come to a barrier, as a verdict tells it."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.rules.decision_words import why


def verdict(body: str, launch: str = "k<<<8, 256>>>(p, m);") -> tuple[str, list[str]]:
    """The verdict on a kernel of 256 threads, and its reasons."""
    text = (
        "__global__ void k(float* p, int n) {\n  __shared__ float s[256];\n  const int tid = threadIdx.x;\n"
        f"  const int i = blockIdx.x * 256 + tid;\n{body}\n}}\n"
    )
    if launch:
        text += f"void host(float* p, int m) {{ {launch} }}\n"
    (facts,) = check(text).facts
    (found,) = facts.analysis.verdicts
    return found.kind.value, [str(why(each.reason)) for each in found.reasons]


@pytest.mark.parametrize(
    "body",
    [
        # a guard around the whole is a return
        "if (i < n) { s[tid] = p[i]; __syncthreads(); p[i] = s[tid ^ 1] + s[255 - tid]; }",
        "if (p[tid] > 0) { s[tid] = p[i]; __syncthreads(); p[i] = s[tid ^ 1]; }",
        # threads that have no turn left return
        "for (int j = tid; j < n; j += 256) { s[tid] = p[j]; __syncthreads(); p[j] = s[tid ^ 1]; __syncthreads(); }",
        "while (true) { if (p[tid] > 0) break; s[tid] = 1; __syncthreads(); p[i] = s[tid ^ 1]; __syncthreads(); }",
        # the solver knows that all come, where no level of uniformity does
        "if (tid < 256) { s[tid] = p[i]; __syncthreads(); } p[i] = s[tid ^ 1];",
        "for (int j = tid; j < n * 256; j += 256) { s[tid] = p[j]; __syncthreads(); p[j] = s[tid ^ 1];"
        " __syncthreads(); } s[tid] = 0;",
        "if ((tid + 256 * n) / 256 == n) { s[tid] = p[i]; __syncthreads(); } p[i] = s[tid ^ 1];",
    ],
)
def test_all_come_or_return(body: str) -> None:
    assert verdict(body) == ("race-free", [])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "if (tid < 32) __syncthreads(); __syncthreads();",
            "some threads miss this barrier and wait at another one",
        ),
        (
            "if (i < n) __syncthreads(); __syncthreads();",
            "parameters decide whether all threads come to this barrier",
        ),
        (
            "if (p[tid] > 0) __syncthreads(); __syncthreads();",
            "data decide whether all threads come to this barrier",
        ),
        ("if (f(tid)) __syncthreads(); __syncthreads();", "not proved that all threads come to this barrier"),
        (
            "if (p[n] > 0) __syncthreads(); __syncthreads(); p[i] = 0;",
            "not proved that all threads come to this barrier",
        ),
    ],
)
def test_the_reason_is_named(body: str, reason: str) -> None:
    found = verdict(body)
    assert found[0] == "undecided" and reason in found[1]


@pytest.mark.parametrize(
    "body",
    [
        # a thread that goes past the guard is not ordered with those behind the barrier
        "s[tid] = 0; if (i < n) { s[tid] = 1; __syncthreads(); p[i] = s[tid ^ 1]; } s[tid] = 2;",
        # nor one that has left the loop, or skipped a turn
        "for (int j = tid; j < n; j += 256) { s[tid] = p[j]; __syncthreads(); p[j] = s[tid ^ 1]; } s[tid] = 2;",
        "for (int j = 0; j < n; ++j) { s[tid] = j; if (p[tid] > j) continue; __syncthreads(); p[tid] = s[tid ^ 1]; }",
        # one barrier of the two is not enough
        "for (int j = tid; j < n; j += 256) { s[tid] = p[j]; __syncthreads(); p[j] = s[tid ^ 1]; }",
    ],
)
def test_it_is_not_proved(body: str) -> None:
    assert verdict(body)[0] != "race-free"


@pytest.mark.parametrize(
    ("row", "write", "come"),
    [
        ("blockIdx.x * blockDim.y + threadIdx.y", "", True),  # there is one row
        ("(blockIdx.x * blockDim.y + threadIdx.y) / n", "", True),
        ("(blockIdx.x + tid / 128) % n", "", True),
        ("(blockIdx.x + tid / 64) % n", "", False),
        ("blockIdx.x * blockDim.y + threadIdx.y", "first[j] = n;", False),  # it may change meanwhile
    ],
)
def test_threads_that_load_from_one_place_agree(row: str, write: str, come: bool) -> None:
    text = f"""
__global__ void k(int* first, float* p, int n) {{
  __shared__ float s[128];
  const int tid = threadIdx.x, row = {row}, turns = first[row + 1] - first[row];
  for (int j = 0; j < turns; ++j) {{
    s[tid] = p[j];
    __syncthreads();
    p[j] += s[127 - tid];
    __syncthreads();
    {write}
  }}
  s[tid] = 1;
  __syncthreads();
  p[tid] = s[127 - tid];
}}
void host(int* f, float* p, int m) {{ dim3 block(128, 1); k<<<8, block>>>(f, p, m); }}
"""
    (facts,) = check(text).facts
    (found,) = facts.analysis.verdicts
    assert (found.kind.value == "race-free") is come


ROUNDED = """\
template <typename T> __host__ __device__ constexpr T rounded(T a, T b) {{ return (a + b - 1) / b * b; }}
template <typename I> __global__ void k(float* p, I n) {{
  __shared__ float s[256];
  auto threads = I(blockDim.x);
  I first = threadIdx.x + threads * blockIdx.x, step = threads * gridDim.x;
  int end = {end};
  for (auto i = first; i < end; i += step) {{ s[threadIdx.x] = i; __syncthreads(); p[i] = s[255 - threadIdx.x]; }}
  __syncthreads();
}}
template <typename I> void host(float* p, I n) {{ k<<<8, 256>>>(p, n); }}
"""


@pytest.mark.parametrize(("end", "told"), [("rounded<int>(n, step)", False), ("threads + 100", True)])
def test_a_number_keeps_its_value_in_a_type_that_is_not_known(end: str, told: bool) -> None:
    found = [each for each in check(ROUNDED.format(end=end)).findings if each.code == "SMEM203"]
    assert bool(found) is told
