"""Objects that stand between a kernel and its shared memory: accessors, functors, pointers to one object."""

from __future__ import annotations

import pytest
from harness import kernel_facts
from lowering.interpret import Run

from tests.causes import unknown

CONVERTED = """
template <typename T> struct Shared {
  __device__ operator T*() { extern __shared__ char raw[]; return reinterpret_cast<T*>(raw); }
  __device__ operator const T*() const { extern __shared__ char raw[]; return reinterpret_cast<T*>(raw); }
};
"""
ASKED = """
template <typename T> struct Shared {
  __device__ T* get() { extern __shared__ char raw[]; return reinterpret_cast<T*>(raw); }
};
"""
ADD = """
struct Add { __device__ void operator()(float* p, int i) const { p[i] += 1; } };
struct Shift { int by; __device__ void operator()(float* p, int i) const { p[i + by] = 1; } };
"""
STATE = """
struct State { float a[8]; float b[8]; int n; };
__device__ void put(State* s, int i) { s->b[i] = 1; }
__device__ void fill(State* s) { put(s, threadIdx.x); State& r = *s; r.a[threadIdx.x] = 1; r.n = 2; }
"""


def touched(above: str, statements: str) -> list[str]:
    """Bytes that the thread with threadIdx.x == 5 touches."""
    text = f"{above}\n__global__ void k(float* out, int n) {{ __shared__ float a[64]; {statements} }}\n"
    kernel = kernel_facts(text).kernel
    assert not unknown(kernel)
    assert not kernel.opaque
    return Run(kernel, {"n": 3, "blockDim.x": 256}, {"x": 5}).run()


@pytest.mark.parametrize(
    "statements",
    [
        "float* p = Shared<float>(); p[threadIdx.x] = 1;",
        "float* p = Shared<float>{}; p[threadIdx.x] = 1;",
        "Shared<float> s; float* p = s; p[threadIdx.x] = 1;",
        "const Shared<float> s; float* p = s; p[threadIdx.x] = 1;",
        "auto* p = (float*)Shared<float>(); p[threadIdx.x] = 1;",
        "auto p = static_cast<float*>(Shared<float>()); p[threadIdx.x] = 1;",
    ],
)
def test_a_conversion_to_a_pointer_is_followed(statements: str) -> None:
    assert touched(CONVERTED, statements) == ["W raw 20+4"]


def test_a_method_that_returns_shared_memory_is_followed() -> None:
    assert touched(ASKED, "Shared<float> s; float* p = s.get(); p[threadIdx.x] = 1;") == ["W raw 20+4"]


@pytest.mark.parametrize(
    ("above", "statements", "expected"),
    [
        ("", "Add()(a, threadIdx.x);", "X a 20+4"),
        ("", "Add{}(a, threadIdx.x);", "X a 20+4"),
        ("", "Shift{2}(a, threadIdx.x);", "W a 28+4"),
        (
            "template <typename F> __device__ void each(float* p) { F f; f(p, 1); }",
            "each<Add>(a);",
            "X a 4+4",
        ),
        ("template <typename F> __device__ void each(float* p) { F()(p, 1); }", "each<Add>(a);", "X a 4+4"),
        (
            "template <typename F> __device__ void each(float* p, F f) { f(p, 1); }",
            "each(a, Add());",
            "X a 4+4",
        ),
        (
            "template <typename F> __device__ void each(float* p, const F& f) { f(p, 1); }",
            "each(a, Shift{n});",
            "W a 16+4",
        ),
        (
            "template <typename F> __device__ void each(F&& f) { f(threadIdx.x); }",
            "float* q = a; each([=](int i) { q[i] = 1; });",
            "W a 20+4",
        ),
    ],
)
def test_a_functor_is_followed(above: str, statements: str, expected: str) -> None:
    assert touched(ADD + above, statements) == [expected]


def test_members_behind_a_pointer_to_one_object() -> None:
    expected = ["W state 52+4", "W state 20+4", "W state 64+4"]
    assert touched(STATE, "__shared__ State state; fill(&state);") == expected


def test_a_functor_that_is_not_known_may_do_anything() -> None:
    text = "__global__ void k(int n) { __shared__ float a[64]; Op()(a, n); }\n"
    assert unknown(kernel_facts("template <typename Op> " + text).kernel)


@pytest.mark.parametrize(
    "statements",
    [
        "a[threadIdx.x] = tex1Dfetch<float>(texture, n);",
        "a[threadIdx.x] = tex2D<float>(texture, 1.0f, 2.0f);",
        "float v; surf2Dread(&v, surface, n, 0); surf2Dwrite(v, surface, n, 1); a[threadIdx.x] = v;",
        "a[threadIdx.x] = ldg(out + n);",
    ],
)
def test_loads_of_other_memory_touch_no_shared_memory(statements: str) -> None:
    assert touched("", statements) == ["W a 20+4"]
