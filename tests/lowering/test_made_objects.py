"""Objects that a statement makes and drops: their constructors run."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

CLASS = """\
template <class T>
struct Sum {{
  int n;
  {constructor}
  __device__ void add(T* out) {{
    __shared__ int total;
    if (threadIdx.x == 0) total = n;
    {barrier}
    out[threadIdx.x] = total;
  }}
}};
__global__ void k(int* out) {{ {statement} }}
void host(int* out) {{ k<<<1, 64>>>(out); }}
"""
PLAIN = "__device__ Sum(int count, T* out) : n(count) { add(out); }"
OPEN = "template <class... A> __device__ Sum(A... given) : n(0) { add(given...); }"


def kind(constructor: str, barrier: str, statement: str) -> VerdictKind:
    text = CLASS.format(constructor=constructor, barrier=barrier, statement=statement)
    (found,) = check(text).facts[0].analysis.verdicts
    return found.kind


@pytest.mark.parametrize(
    "statement", ["Sum<int>(3, out);", "Sum<int> s(3, out);", "auto s = Sum<int>(3, out);"]
)
def test_a_constructor_is_followed(statement: str) -> None:
    assert kind(PLAIN, "", statement) is VerdictKind.RACY
    assert kind(PLAIN, "__syncthreads();", statement) is VerdictKind.RACE_FREE


@pytest.mark.parametrize("statement", ["Sum<int>(&out[0]);", "Sum<int> s(out);"])
def test_one_that_is_not_followed_leaves_no_proof(statement: str) -> None:
    assert kind(OPEN, "", statement) is not VerdictKind.RACE_FREE


def test_a_number_that_is_made_of_nothing_is_zero() -> None:
    text = """
    template <typename T> __device__ T zero() {{ return T{{}}; }}
    __global__ void k(int* out) {{
      __shared__ int s[64];
      s[threadIdx.x + {offset}] = threadIdx.x;
      out[threadIdx.x] = s[threadIdx.x];
    }}
    void host(int* out) {{ k<<<1, 64>>>(out); }}
    """
    for offset in ("zero<int>()", "int{}", "static_cast<int>(unsigned{})"):
        (found,) = check(text.format(offset=offset)).facts[0].analysis.verdicts
        assert found.kind is VerdictKind.RACE_FREE


@pytest.mark.parametrize(("word", "expected"), [("", VerdictKind.RACE_FREE), ("extern ", VerdictKind.RACY)])
def test_extern_makes_no_object(word: str, expected: VerdictKind) -> None:
    text = f"""
struct Meeting {{ int n; __device__ Meeting() {{ __syncthreads(); }} }};
extern __device__ Meeting meeting;
__global__ void k(int* out) {{
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  {word}Meeting meeting;
  out[threadIdx.x] = s[63 - threadIdx.x];
}}
void host(int* out) {{ k<<<1, 64>>>(out); }}
"""
    (found,) = check(text).facts[0].analysis.verdicts
    assert found.kind is expected


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("W w(E::a);", "undecided"),
        ("W w(A::value);", "undecided"),
        ("W w(A::three, E::a);", "undecided"),
        ("W w(A::number(3));", "racy"),
        ("W w(A::number); s[threadIdx.x] = 1;", "race-free"),  # declares a function
        ("int f(int); int g(A::number a); s[threadIdx.x] = 1;", "race-free"),
    ],
)
def test_an_object_that_is_made_of_a_value_is_no_function(made: str, kind: str) -> None:
    (report,) = check(
        f"""
__shared__ int s[64];
enum class E {{ a }};
struct A {{ static const bool value = true; enum {{ three = 3 }}; using number = int; }};
struct W {{
  __device__ W(E) {{ s[threadIdx.x / 2] = threadIdx.x; }}
  __device__ W(int, E = E::a) {{ s[threadIdx.x / 2] = threadIdx.x; }}
}};
__global__ void k() {{ {made} }}
void host() {{ k<<<1, 64>>>(); }}
"""
    ).kernels
    assert report.verdict is not None
    assert report.verdict.kind.value == kind
