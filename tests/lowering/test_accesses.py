"""No way to reach a shared array is overlooked.

Two kernels are merged wrongly by whoever overlooks an access of ``b``: in the first it is written in the phase in which
``a`` is read, in the second a write would pass for a read. Each row is one way to write ``b[tid]``.
"""

from __future__ import annotations

import pytest
from harness import safe_merges

SAME_PHASE = """\
{declarations}
__global__ void k(const float* in, float* out, int n) {{
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  a[tid] = in[tid];
  __syncthreads();
  float v = a[255 - tid];
  {store}
  __syncthreads();
  if (n > 1000) b[tid] = v;
  __syncthreads();
  out[tid] = b[255 - tid];
}}
"""

OTHER_RUN = """\
{declarations}
__global__ void k(const float* in, float* out, int n) {{
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  float v = 0.0f;
  if (n > 1000) b[tid] = in[tid]; else a[tid] = in[tid];
  __syncthreads();
  if (n <= 1000) v = a[255 - tid];
  {store}
  __syncthreads();
  out[tid] = v + b[255 - tid];
}}
"""

VIEW = "struct View { float* p; __device__ float& operator()(int i) { return p[i]; } };"
HOLDER = (
    "struct Holder { float& r; __device__ void set(float x) { r = x; } __device__ ~Holder() { r = 1.0f; } };"
)
TAKER = "struct Taker { __device__ Taker(float& x) { x = 2.0f; } };"
ATOMIC = "#include <cuda/atomic>"

STORES = {
    # pointers and references
    "an element": ("", "b[tid] = v;"),
    "a pointer": ("", "float* p = b; p[tid] = v;"),
    "a pointer that moves": ("", "float* p = b + tid; *p++ = v;"),
    "a pointer that one arm sets": ("", "float* p = n > 2 ? b : nullptr; p[tid] = v;"),
    "a pointer assigned where it is used": ("", "float* p; (p = b)[tid] = v;"),
    "a pointer that a later turn sets": (
        "",
        "float* p = out; for (int i = 0; i < 2; ++i) { p[tid] = v; p = b; }",
    ),
    "a pointer in a condition": ("", "if (float* p = n > 2 ? b : nullptr) p[tid] = v;"),
    "a pointer in a loop head": ("", "for (float* p = b + tid; p < b + 256; p += 256) *p = v;"),
    "a pointer to a pointer": ("", "float* p = b; float** q = &p; (*q)[tid] = v;"),
    "a pointer set through a pointer": ("", "float* p = out; float** q = &p; *q = b; p[tid] = v;"),
    "a pointer set through a reference": ("", "float* p = out; float*& q = p; q = b; p[tid] = v;"),
    "a pointer to the array": ("", "float (*p)[256] = &b; (*p)[tid] = v;"),
    "an array of pointers": ("", "float* p[2] = {a, b}; p[1][tid] = v;"),
    "an array of one pointer": ("", "std::array<float*, 1> p{b}; *p[0] = v;"),
    "an array of pointers, set later": ("", "float* p[2]; p[1] = b; *(p[1] + tid) = v;"),
    "a reference": ("", "float& r = b[tid]; r = v;"),
    "a reference to the array": ("", "auto& r = b; r[tid] = v;"),
    "a reference to one of two": ("", "float& r = n > 3 ? b[tid] : a[tid]; r = v;"),
    "one of two": ("", "(n > 3 ? b[tid] : a[tid]) = v;"),
    "a reference to what was incremented": ("", "float& r = ++b[tid]; r = v;"),
    "decltype(auto)": ("", "decltype(auto) r = (b[tid]); r = v;"),
    "a structured binding": ("", "auto& [x, y] = reinterpret_cast<float (&)[2]>(b); x = v;"),
    "a loop over the elements": ("", "for (float& x : b) x = v;"),
    "a loop over pointers": ("", "for (auto* p : {a, b}) p[tid] = v;"),
    "the index in front": ("", "tid[b] = v;"),
    # casts
    "a vector": ("", "reinterpret_cast<float4*>(b)[tid / 4] = make_float4(v, v, v, v);"),
    "bytes": ("", "((char*)b)[tid] = 1;"),
    "void": ("", "*static_cast<float*>(static_cast<void*>(b + tid)) = v;"),
    "a reference of another type": ("", "reinterpret_cast<int&>(b[tid]) = 1;"),
    "a number": ("", "size_t at = (size_t)b; *(float*)(at + 4 * tid) = v;"),
    "an address for assembler": (
        "",
        'unsigned at = __cvta_generic_to_shared(b + tid); asm volatile("st.shared.f32 [%0], %1;" :: "r"(at), "f"(v));',
    ),
    "an operand of assembler": ("", 'asm volatile("mov.f32 %0, %1;" : "=f"(b[tid]) : "f"(v));'),
    # statements
    "the right side of a conjunction": ("", "n > 2 && (b[tid] = v);"),
    "the right side of a comma": ("", "(void)v, b[tid] = v;"),
    "an increment": ("", "b[tid]++;"),
    "a do loop": ("", "do { b[tid] = v; } while (0);"),
    "a switch": ("", "switch (n) { case 1: b[tid] = v; }"),
    "a try block": ("", "try { b[tid] = v; } catch (...) { }"),
    "a statement expression": ("", "({ b[tid] = v; });"),
    "placement new": ("", "new (&b[tid]) float(v);"),
    "a macro": ("#define STORE(i, x) b[i] = x", "STORE(tid, v);"),
    "a macro of a header that was not read": ('#include "macros.cuh"', "STORE_B(tid, v);"),
    "a statement macro of such a header": ('#include "macros.cuh"', "STORE_B\n"),
    "a macro that may be a loop": ('#include "macros.cuh"', "REPEAT(8) { b[tid] = v; }"),
    "an include inside the kernel": ("", '\n#include "phase.inc"\n'),
    # lambdas
    "a lambda": ("", "auto f = [&](int i) { b[i] = v; }; f(tid);"),
    "a lambda called on the spot": ("", "[&] { b[tid] = v; }();"),
    "a lambda in a lambda": ("", "auto f = [&](int i) { auto g = [&](int j) { b[j] = v; }; g(i); }; f(tid);"),
    "a lambda that gets a pointer": ("", "auto f = [](float* p, float x) { *p = x; }; f(b + tid, v);"),
    "a lambda that gets the array": (
        "",
        "auto f = [](float (&p)[256], int i, float x) { p[i] = x; }; f(b, tid, v);",
    ),
    "a lambda that gets a reference": ("", "auto f = [&](float& x) { x = v; }; f(b[tid]);"),
    "a lambda that gets any reference": ("", "auto f = [&](auto&& x) { x = v; }; f(b[tid]);"),
    "a lambda that returns a reference": ("", "auto f = [&](int i) -> float& { return b[i]; }; f(tid) = v;"),
    "a lambda that returns a pointer": ("", "auto f = [&] { return &b[tid]; }; *f() = v;"),
    "a capture with a name of its own": ("", "auto f = [&r = b](int i, float x) { r[i] = x; }; f(tid, v);"),
    "a pointer captured under a name": (
        "",
        "float* p = b; auto f = [q = p](int i, float x) { q[i] = x; }; f(tid, v);",
    ),
    "a default argument": ("", "auto f = [&](float* p = b) { p[tid] = v; }; f();"),
    "a template lambda": ("", "auto f = [&]<int I>(int i) { b[i] = v; }; f.template operator()<3>(tid);"),
    "the operator of a lambda": ("", "auto f = [&](int i) { b[i] = v; }; f.operator()(tid);"),
    "a pointer to a lambda": ("", "auto f = [&](int i) { b[i] = v; }; auto* g = &f; (*g)(tid);"),
    "another name of a lambda": ("", "auto f = [&] { b[tid] = v; }; auto g = f; g();"),
    "a lambda that is passed on": ("", "run([&] { b[tid] = v; });"),
    "a lambda behind a function type": ("", "std::function<void(int)> f = [&](int i) { b[i] = v; }; f(tid);"),
    # functions
    "a function": ("__device__ void store(float* p, float x) { *p = x; }", "store(b + tid, v);"),
    "a function that takes a reference": (
        "__device__ void store(float& p, float x) { p = x; }",
        "store(b[tid], v);",
    ),
    "a function with the name of a CUDA function": (
        "__device__ void saturate(float& x) { x = 1; }",
        "saturate(b[tid]);",
    ),
    "a function with the name of a math function": (
        "__device__ void clamp(float& x, float y) { x = y; }",
        "clamp(b[tid], v);",
    ),
    "a function with two underscores": ("__device__ void __helper(float& x) { x = 1; }", "__helper(b[tid]);"),
    "a template function for references": (
        "template <class T> __device__ void use(T h) { h = 1; }",
        "use<float&>(b[tid]);",
    ),
    "a function that takes an object": (TAKER + "__device__ void use(Taker t) { }", "use(b[tid]);"),
    "a library function": ("", "std::swap(v, b[tid]);"),
    "memcpy": ("", "memcpy(b + tid, &v, 4);"),
    # objects
    "an object with a pointer": (VIEW, "View s{b}; s.p[tid] = v;"),
    "what an object points to": (VIEW, "View s{b}; *(s.p + tid) = v;"),
    "an object that is called": (VIEW, "View s{b}; s(tid) = v;"),
    "a member set later": (VIEW, "View s; s.p = b; *(s.p + tid) = v;"),
    "a member of a pointed-to object": (VIEW, "View s; s.p = b; View* t = &s; t->p[tid] = v;"),
    "an object with a reference": (HOLDER, "Holder s{b[tid]}; s.set(v);"),
    "the destructor of an object": (HOLDER, "{ Holder s{b[tid]}; }"),
    "a constructor": (TAKER, "Taker s(b[tid]);"),
    "a constructor behind an equals sign": (TAKER, "Taker s = b[tid];"),
    "a temporary": (TAKER, "Taker{b[tid]};"),
    "an assignment operator": (
        "struct Proxy { float* p; __device__ Proxy& operator=(float x) { *p = x; return *this; } };",
        "Proxy s{b + tid}; s = v;",
    ),
    "a shift operator": (
        "struct Stream { }; __device__ void operator>>(Stream s, float& x) { x = 1; }",
        "Stream s; s >> b[tid];",
    ),
    "an atomic reference": (
        ATOMIC,
        "cuda::atomic_ref<float, cuda::thread_scope_block> r(b[tid]); r.store(v);",
    ),
    "an atomic reference in braces": (ATOMIC, "cuda::atomic_ref r{b[tid]}; r.store(v);"),
    "a temporary atomic reference": (ATOMIC, "cuda::atomic_ref<float>{b[tid]}.store(v);"),
    "an atomic function": ("", "atomicAdd(&b[tid], v);"),
    "a class inside the kernel": (
        "",
        "struct Put { __device__ void operator()(int i, float x) { b[i] = x; } }; Put{}(tid, v);",
    ),
    "a function of a class inside the kernel": (
        "",
        "struct Put { static __device__ void go(int i, float x) { b[i] = x; } }; Put::go(tid, v);",
    ),
}


def test_without_the_access_the_first_kernel_is_merged() -> None:
    assert safe_merges(SAME_PHASE.format(declarations="", store="")) != []


def test_without_the_access_the_second_kernel_is_merged() -> None:
    assert safe_merges(OTHER_RUN.format(declarations="", store="")) != []


@pytest.mark.parametrize(
    ("kernel", "way"),
    [
        pytest.param(kernel, way, id=f"{kernel}: {way}")
        for kernel in ("same phase", "other run")
        for way in STORES
    ],
)
def test_an_access_through(kernel: str, way: str) -> None:
    declarations, store = STORES[way]
    template = SAME_PHASE if kernel == "same phase" else OTHER_RUN
    assert safe_merges(template.format(declarations=declarations, store=store)) == []
