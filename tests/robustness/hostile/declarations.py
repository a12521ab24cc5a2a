"""Many declarations outside of kernels."""

from __future__ import annotations

from robustness.hostile.making import hostile, kernel, lines


@hostile(100_000)
def kernels(n: int) -> str:
    return lines(n, lambda i: f"__global__ void k{i}() {{}}")


@hostile(10_000)
def kernels_with_buffers(n: int) -> str:
    one = "__global__ void k{0}(float* g) {{ __shared__ float s[64], t[64]; s[threadIdx.x] = g[{0}]; __syncthreads(); g[0] = s[1]; __syncthreads(); t[threadIdx.x] = g[1]; __syncthreads(); g[1] = t[0]; }}"
    return lines(n, lambda i: one.format(i))


@hostile(30_000)
def launches(n: int) -> str:
    return (
        kernel("__shared__ float s[256];\ns[threadIdx.x] = 1;\n__syncthreads();\ng[0] = s[0];")
        + "void h(float* g) {"
        + lines(n, lambda i: f"k<<<{i}, {i % 1024 + 1}>>>(g, {i});")
        + "}"
    )


@hostile(5_000)
def instances(n: int) -> str:
    text = "template <int N> __global__ void k(float* g) { __shared__ float s[N]; s[threadIdx.x] = g[0]; __syncthreads(); g[1] = s[0]; }\n"
    return text + "void h(float* g) {" + lines(n, lambda i: f"k<{i + 1}><<<1, {i % 1024 + 1}>>>(g);") + "}"


@hostile(60)
def growing_instances(n: int) -> str:
    text = "template <int N> __device__ int f(float* s) { return f<N - 1>(s) + f<N - 2>(s + 1); }\n"
    return text + kernel(f"__shared__ float s[256];\ng[0] = f<{n}>(s);")


@hostile(10_000)
def recursive_template(n: int) -> str:
    text = "template <int N> struct F { static constexpr int v = F<N - 1>::v + 1; };\ntemplate <> struct F<0> { static constexpr int v = 0; };\n"
    return text + kernel(f"__shared__ float s[F<{n}>::v];\ns[0] = 1;")


@hostile(40)
def exponential_constexpr(n: int) -> str:
    return "constexpr int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n" + kernel(
        f"__shared__ float s[fib({n}) % 99];\ns[0] = 1;"
    )


@hostile(2_000_000_000)
def long_constexpr_loop(n: int) -> str:
    return (
        f"constexpr int f() {{ int a = 0; for (int i = 0; i < {n}; i++) a += i % 3; return a; }}\n"
        + kernel("__shared__ float s[f()];\ns[0] = 1;")
    )


@hostile(30)
def helper_tree(n: int) -> str:
    helpers = "__device__ void h0(float* s) { s[0] = 1; }\n" + lines(
        n, lambda i: f"__device__ void h{i + 1}(float* s) {{ h{i}(s); h{i}(s + 1); }}"
    )
    return helpers + kernel(f"__shared__ float s[256];\nh{n}(s);")


@hostile(20_000)
def helper_chain(n: int) -> str:
    helpers = "__device__ void h0(float* s) { s[0] = 1; }\n" + lines(
        n, lambda i: f"__device__ void h{i + 1}(float* s) {{ h{i}(s); }}"
    )
    return helpers + kernel(f"__shared__ float s[256];\nh{n}(s);")


@hostile(20_000)
def helper_calls(n: int) -> str:
    return "__device__ void h(float* s, int i) { s[i] = 1; __syncthreads(); }\n" + kernel(
        "__shared__ float s[256];\n" + lines(n, lambda i: f"h(s, {i % 256});")
    )


@hostile(5_000)
def overloads(n: int) -> str:
    text = lines(
        n,
        lambda i: f"struct T{i} {{ int a; }};\n__device__ void h(T{i}* t, float* s) {{ s[{i % 256}] = 1; }}",
    )
    return text + kernel("__shared__ float s[256];\n" + lines(n, lambda i: f"T{i} t{i}; h(&t{i}, s);"))


@hostile(100_000)
def prototypes(n: int) -> str:
    return lines(n, lambda i: f"__device__ int f{i}(int a, const float* b);") + kernel(
        "__shared__ float s[4]; s[0] = f1(0, g);"
    )


@hostile(100_000)
def members(n: int) -> str:
    return (
        "struct S {" + lines(n, lambda i: f"float m{i};") + "};" + kernel(f"__shared__ S s;\ns.m{n - 1} = 1;")
    )


@hostile(20_000)
def union_members(n: int) -> str:
    return kernel(
        "__shared__ union {"
        + lines(n, lambda i: f"float m{i}[{i % 60 + 4}];")
        + "} s;\n"
        + lines(n, lambda i: f"s.m{i}[threadIdx.x % 4] = 1;")
    )


@hostile(10_000)
def base_classes(n: int) -> str:
    return (
        "struct S0 { int a; };\n"
        + lines(n, lambda i: f"struct S{i + 1} : S{i} {{ int a{i}; }};")
        + kernel(f"__shared__ S{n} s;\ns.a = 1;")
    )


@hostile(50_000)
def aliases(n: int) -> str:
    return (
        "using T0 = int;\n"
        + lines(n, lambda i: f"using T{i + 1} = T{i};")
        + kernel(f"__shared__ T{n} s[256];\ns[0] = 1;")
    )


@hostile(26)
def doubling_types(n: int) -> str:
    return (
        "struct T0 { int a; };\n"
        + lines(n, lambda i: f"struct T{i + 1} {{ T{i} a, b; }};")
        + kernel(f"__shared__ T{n} s;\ns.a.b.a = 1;")
    )


@hostile(100_000)
def enumerators(n: int) -> str:
    return (
        "enum E { e0, "
        + ", ".join(f"e{i + 1} = e{i} + 1" for i in range(n))
        + "};"
        + kernel(f"__shared__ float s[e{n}];")
    )


@hostile(50_000)
def global_constants(n: int) -> str:
    return (
        "constexpr int c0 = 1;\n"
        + lines(n, lambda i: f"constexpr int c{i + 1} = c{i} + 1;")
        + kernel(f"__shared__ float s[c{n}];\ns[0] = 1;")
    )


@hostile(30)
def doubling_constants(n: int) -> str:
    return (
        "constexpr int c0 = 1;\n"
        + lines(n, lambda i: f"constexpr int c{i + 1} = c{i} * 3 + c{i};")
        + kernel(f"__shared__ float s[c{n}];\ns[0] = 1;")
    )


@hostile(10_000)
def parameters(n: int) -> str:
    text = ", ".join(f"float* p{i}" for i in range(n))
    return kernel(
        "__shared__ float s[256];\n" + lines(n, lambda i: f"p{i}[0] = s[{i % 256}];"), parameters=text
    )


@hostile(5_000)
def template_parameters(n: int) -> str:
    text = "template <" + ", ".join(f"int N{i}" for i in range(n)) + ">"
    return (
        text
        + kernel(
            "__shared__ float s[" + " + ".join(f"N{i}" for i in range(n)) + "];\ns[0] = 1;",
            parameters="float* g",
        )
        + "void f() { k<"
        + ", ".join(["1"] * n)
        + "><<<1, 1>>>(0); }"
    )


@hostile(50_000)
def file_scope_buffers(n: int) -> str:
    return lines(n, lambda i: f"__shared__ float s{i}[4];") + kernel("s0[0] = 1;")
