"""Objects in shared memory, and what their classes make of expressions: no byte that is touched through a conversion or
an operator is lost."""

from __future__ import annotations

import pytest
from harness import kernel_facts
from lowering.interpret import Run

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.decision_words import why
from tests.causes import unknown

CLASSES = """
template <typename T, int N> struct Array {
  T data[N];
  __device__ operator T*() { return data; }
  __device__ operator const T*() const { return data; }
};
template <typename T, int N> struct Derived : Array<T, N> { int n; };
template <typename T, int N> struct Indexed {
  T data[N];
  __device__ T& operator[](int i) { return reinterpret_cast<T*>(data)[i]; }
  __device__ const T& operator[](int i) const { return reinterpret_cast<const T*>(data)[i]; }
  __device__ operator T*() { return &(*this)[0]; }
};
template <typename T, int N> struct Operators {
  T data[N];
  __device__ T& operator()(int i, int j) { return data[8 * i + j]; }
  __device__ T& operator*() { return data[3]; }
  __device__ T* operator+(int i) { return data + i; }
};
struct Pair { float x, y; };
struct Arrow { Pair data[8]; __device__ Pair* operator->() { return data + 2; } };
struct Rows { float data[8][8]; __device__ float* operator[](int i) { return data[i]; } };
struct Held { float* p; };
struct Hidden {
  __device__ operator float*() { extern __shared__ float raw[]; return raw; }
  __device__ float& operator[](int i) { extern __shared__ float raw[]; return raw[i]; }
};
__device__ void put(float* p) { p[threadIdx.x] = 1; }
__device__ void put_in(Array<float, 64>& a) { put(a); }
__device__ float* of(Array<float, 64>& a) { return a; }
template <typename T> __device__ void put_into(T& a) { a[threadIdx.x] = 1; }
"""


def touched(statements: str) -> list[str]:
    """Bytes that the thread with threadIdx.x == 5 touches."""
    kernel = kernel_facts(f"{CLASSES}__global__ void k(float* out, int n) {{ {statements} }}\n").kernel
    assert not unknown(kernel)
    assert not kernel.opaque
    return Run(kernel, {"n": 3, "blockDim.x": 256}, {"x": 5}).run()


@pytest.mark.parametrize(
    "use",
    [
        "put(s);",
        "put_in(s);",
        "put_into(s);",
        "of(s)[threadIdx.x] = 1;",
        "float* p = s; p[threadIdx.x] = 1;",
        "float* p(s); p[threadIdx.x] = 1;",
        "float* p; p = s; p[threadIdx.x] = 1;",
        "float* p = n ? s : s; p[threadIdx.x] = 1;",
        "auto p = (float*)s; p[threadIdx.x] = 1;",
        "auto p = static_cast<float*>(s); p[threadIdx.x] = 1;",
        "s[threadIdx.x] = 1;",
        "*(s + threadIdx.x) = 1;",
        "*(threadIdx.x + s) = 1;",
        "Held h{s}; h.p[threadIdx.x] = 1;",
        "Held h; h.p = s; h.p[threadIdx.x] = 1;",
        "auto f = [&](float* p) { p[threadIdx.x] = 1; }; f(s);",
    ],
)
@pytest.mark.parametrize("declared", ["Array<float, 64> s", "Derived<float, 64> s"])
def test_a_conversion_to_an_address_is_followed(declared: str, use: str) -> None:
    if "Derived" in declared and "of(s)" in use:
        use = use.replace("of(s)", "of(static_cast<Array<float, 64>&>(s))")
    assert touched(f"__shared__ {declared}; {use}") == ["W s 20+4"]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("__shared__ Indexed<float, 64> s; s[threadIdx.x] = 1;", "W s 20+4"),
        ("__shared__ Indexed<float, 64> s; put(s);", "W s 20+4"),
        ("__shared__ Indexed<float, 64> s[2]; put(s[1]);", "W s 276+4"),
        ("__shared__ Rows s; s[1][threadIdx.x] = 1;", "W s 52+4"),
        ("__shared__ Rows s; float* p = s[1]; p[threadIdx.x] = 1;", "W s 52+4"),
        ("__shared__ Operators<float, 64> s; s(1, threadIdx.x) = 1;", "W s 52+4"),
        ("__shared__ Operators<float, 64> s; *s = 1;", "W s 12+4"),
        ("__shared__ Operators<float, 64> s; *(s + threadIdx.x) = 1;", "W s 20+4"),
        ("__shared__ Arrow s; s->y = 1;", "W s 20+4"),
        ("Hidden h; put(h);", "W raw 20+4"),
        ("put(Hidden());", "W raw 20+4"),
        ("Hidden h; h[threadIdx.x] = 1;", "W raw 20+4"),
        ("Hidden h; *(h + threadIdx.x) = 1;", "W raw 20+4"),
    ],
)
def test_an_operator_is_followed(statements: str, expected: str) -> None:
    assert touched(statements) == [expected]


def test_a_copy_of_an_object_is_no_conversion() -> None:
    copied = "__shared__ Array<float, 8> s; Array<float, 8> mine = s; auto other = s; mine[n] = other[n];"
    assert touched(copied) == ["R s 0+32", "R s 0+32"]


@pytest.mark.parametrize(
    "statements",
    [
        "put(s);",
        "float* p = s; p[threadIdx.x] = 1;",
        "float* p; p = s; p[threadIdx.x] = 1;",
        "s(threadIdx.x) = 1;",
        "s->x[threadIdx.x] = 1;",
        "s[threadIdx.x] = 1;",
        "float* p = s + 4; p[threadIdx.x] = 1;",
        "put(s + 4);",
        "put(s + n * threadIdx.y);",
        "outside::put(s + 4);",
        "*(s + threadIdx.x) = 1;",
    ],
)
def test_what_a_class_that_is_not_in_sight_does_is_not_race_free(statements: str) -> None:
    body = f"__shared__ Outside<float, 64> s; {statements} out[threadIdx.x] = n;"
    text = f"{CLASSES}__global__ void k(float* out, int n) {{ {body} }}\nvoid go(float* o) {{ k<<<1, 64>>>(o, 1); }}\n"
    (verdict,) = check(text).facts[0].analysis.verdicts
    assert verdict.kind is VerdictKind.UNDECIDED


def test_a_type_that_has_a_name_alone_is_a_number_where_it_is_added_to() -> None:
    body = "__shared__ count_t s; if (threadIdx.x == 0) s = n; __syncthreads(); out[threadIdx.x + s] = s + 1;"
    text = f"__global__ void k(float* out, int n) {{ {body} }}\n"
    (verdict,) = check(text).facts[0].analysis.verdicts
    assert verdict.kind is VerdictKind.RACE_FREE


@pytest.mark.parametrize("made", ["T* p = Special<T>();", "Special<T> p;", "auto p = Special<T>();"])
def test_one_of_several_specialisations_may_reach_shared_memory(made: str) -> None:
    reach = "{ __device__ operator T*() { extern __shared__ char raw[]; return (T*)raw; } };"
    special = "{ __device__ operator double*() { extern __shared__ double wide[]; return wide + 1; } };"
    classes = f"template <typename T> struct Special {reach}\ntemplate <> struct Special<double> {special}\n"
    body = f"__shared__ T own[64]; own[threadIdx.x] = n; {made} p[threadIdx.x] = own[threadIdx.x];"
    text = f"{classes}template <typename T> __global__ void k(T* out, int n) {{ {body} }}\n"
    (facts,) = check(text).facts
    (verdict,) = facts.analysis.verdicts
    assert verdict.kind is VerdictKind.UNDECIDED
    assert "what Special reaches is not followed" in str(why(verdict.reasons[0].reason).placed(facts.kernel))


CONVERTED = """
extern __shared__ float dyn[];
struct W {{ int i; __device__ operator float() const{conversion} }};
template <class T> __device__ float get({parameter}) {{ return x; }}
__global__ void k(float* out, W* g) {{
  __shared__ W w[256];
  __shared__ float a[256];
  w[threadIdx.x].i = 255 - threadIdx.x;
  dyn[threadIdx.x] = a[threadIdx.x] = 1.0f;
  float v = get<float>({given}[threadIdx.x]);
  out[threadIdx.x] = v + {after};
}}
void run(float* o, W* g) {{ k<<<1, 256, 1024>>>(o, g); }}
"""
READS, WAITS, HIDDEN = " { return dyn[i]; }", " { __syncthreads(); return i; }", ";"


@pytest.mark.parametrize("parameter", ["T x", "const T& x", "T&& x"])
@pytest.mark.parametrize(
    ("conversion", "given", "after", "expected"),
    [
        (READS, "w", "0", VerdictKind.UNDECIDED),
        (WAITS, "w", "a[255 - threadIdx.x]", VerdictKind.RACE_FREE),
        (HIDDEN, "g", "a[255 - threadIdx.x]", VerdictKind.UNDECIDED),
    ],
)
def test_what_a_template_takes_by_reference_is_converted_first(
    parameter: str, conversion: str, given: str, after: str, expected: VerdictKind
) -> None:
    """An object in shared memory, or in global memory, becomes the number that the parameter is bound to."""
    text = CONVERTED.format(conversion=conversion, parameter=parameter, given=given, after=after)
    (found,) = check(text).facts[0].analysis.verdicts
    assert found.kind is expected
