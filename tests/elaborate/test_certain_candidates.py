"""A function is called only where it surely is a candidate: what the types do not tell of an argument may rule it out
([over.match.viable])."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_KERNEL = """
struct Cell {{ int n; }};
template <bool B> struct If {{}};
template <> struct If<true> {{ using type = int; }};
template <class T> using Wide = typename If<(sizeof(T) > 4)>::type;
{functions}
__device__ void through(const float (&v)[64]) {{ put(v); }}
__global__ void k(float* out, const float* in, float one) {{
  __shared__ float s[64];
  const int t = threadIdx.x;
  Cell cell{{t}};
  s[t] = in[t];
  {call}
  out[t] = s[63 - t];
}}
void host(float* out, const float* in) {{ k<<<1, 64>>>(out, in, 1); }}
"""
WAITS = "{ __syncthreads(); }"


@pytest.mark.parametrize(
    ("waits", "called", "call"),
    [
        ("void put(float* p)", "void put(const float* p) {}", "put(in);"),
        ("void put(volatile float* p)", "void put(const float* p) {}", "put(in);"),
        ("void put(float (&v)[64])", "void put(const float (&v)[64]) {}", "through(s);"),
        ("template <class T> void put(T& x)", "void put(const float& x) {}", "put(1.0f);"),
        ("template <class T> void put(T& x)", "void put(double x) {}", "put(one * 2);"),
        ("template <class T> void put(T* x)", "template <class T> void put(T x) {}", "put(cell);"),
        (
            "template <class T, int N> void put(T (&x)[N])",
            "template <class T> void put(T x) {}",
            "put(cell);",
        ),
        ("template <class T, Wide<T> = 0> void put(T x)", "void put(double x) {}", "put(one);"),
        ("template <class T> void put(T* x)", "void put(float* x) {}", "put(nullptr);"),
        (
            "template <class T> void put(T x)",
            "template <class T, class... U> void put(T* x, U... r) {}",
            "put(out);",
        ),
        ("template <class T> auto put(T x) -> decltype(x.n, void())", "void put(...) {}", "put(3);"),
        ("void put(float& x)", "void put(double x) {}", "put(in[0]);"),
        ("void put(float& x)", "void put(double x) {}", "put(*(in + t));"),
        ("void put(float& x)", "void put(double x) {}", "put(*(1 + in - t));"),
    ],
)
def test_what_may_be_no_candidate_does_not_win(waits: str, called: str, call: str) -> None:
    """The barrier stands in a function that is not called."""
    before, _, declared = waits.rpartition("> ")
    waiting = f"{before + '> ' if before else ''}__device__ {declared} {WAITS}"
    head, _, other = called.rpartition("> ")
    other = f"{head + '> ' if head else ''}__device__ {other}"
    for functions in (f"{waiting}\n{other}", f"{other}\n{waiting}"):
        (kernel,) = check(_KERNEL.format(functions=functions, call=call)).kernels
        assert kernel.verdict is not None and kernel.verdict.kind.value != "race-free"


@pytest.mark.parametrize(
    ("waits", "other", "call"),
    [
        ("void put(const float* p, int n)", "void put(const float* p, double n)", "put(in, 3);"),
        ("void put(const float& x)", "void put(double x)", "put(1.0f);"),
        ("void put(float (&v)[64])", "void put(const float (&v)[64])", "put(s);"),
        ("void put(const Cell& c)", "void put(float x)", "put(cell);"),
        ("void put(float& x)", "void put(const double& x)", "put(s[t]);"),
        ("void put(float& x)", "void put(const double& x)", "put(*(s + t));"),
        ("void put(float& x)", "void put(const double& x)", "put(*&s[t]);"),
    ],
)
def test_what_surely_is_one_wins(waits: str, other: str, call: str) -> None:
    for functions in ((waits, other), (other, waits)):
        texts = [f"__device__ {each} {WAITS if each == waits else '{}'}" for each in functions]
        (kernel,) = check(_KERNEL.format(functions="\n".join(texts), call=call)).kernels
        assert kernel.verdict is not None and kernel.verdict.kind.value == "race-free", functions


@pytest.mark.parametrize(
    ("functions", "call"),
    [
        ("template <class T> __device__ auto put(T&& x) -> decltype(+x);", "put(s[t]);"),
        (
            "struct Kept { const float& r; __device__ Kept(const volatile float& q); };",
            "Kept kept(s[t / 2]);",
        ),
    ],
)
def test_what_is_not_in_sight_may_only_read_what_it_is_handed(functions: str, call: str) -> None:
    """No race is told of it, and no verdict rests on it."""
    text = f"""
    {functions}
    __global__ void k(float* out) {{
      __shared__ float s[64];
      const int t = threadIdx.x;
      const float first = s[63 - t];
      {call}
      out[t] = first;
    }}
    void host(float* out) {{ k<<<1, 64>>>(out); }}
    """
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None and kernel.verdict.kind.value == "undecided"
    assert not [each for each in check(text).findings if each.code == "SMEM201"]
