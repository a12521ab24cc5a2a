"""Texts that nobody writes and somebody may check: one construct each, as often as fits into a few megabytes.

``HOSTILE`` holds them by name; each takes how often its construct is to be repeated. They are made by rule, not
collected: what is asked of the tool is that it answers within its budget, whatever the answer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hostile:
    """``make(count)`` is the text; ``count`` the number of repetitions that the benchmark asks for."""

    make: Callable[[int], str]
    count: int


HOSTILE: dict[str, Hostile] = {}


def hostile(count: int) -> Callable[[Callable[[int], str]], Callable[[int], str]]:
    def add(make: Callable[[int], str]) -> Callable[[int], str]:
        HOSTILE[make.__name__] = Hostile(make, count)
        return make

    return add


def kernel(body: str, head: str = "", parameters: str = "float* g, int n", launch: str = "1, 256") -> str:
    call = f"\nvoid f(float* g) {{ k<<<{launch}>>>(g, 7); }}\n" if parameters == "float* g, int n" else "\n"
    return f"{head}\n__global__ void k({parameters}) {{\n{body}\n}}{call}"


def lines(count: int, line: Callable[[int], str]) -> str:
    return "\n".join(line(i) for i in range(count))


def random_of(seed: int) -> random.Random:
    return random.Random(seed)


# Many of one statement in one kernel


@hostile(100_000)
def barriers(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\ns[threadIdx.x] = g[0];\n" + "__syncthreads();\n" * n + "g[0] = s[0];"
    )


@hostile(20_000)
def barriers_between_accesses(n: int) -> str:
    step = "s[threadIdx.x] = g[{0}];\n__syncthreads();\ng[{0}] = s[255 - threadIdx.x];\n__syncthreads();"
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: step.format(i)))


@hostile(100_000)
def static_buffers(n: int) -> str:
    return kernel(lines(n, lambda i: f"__shared__ float s{i}[4];"))


@hostile(20_000)
def used_buffers(n: int) -> str:
    used = "__shared__ float s{0}[64];\ns{0}[threadIdx.x] = g[{0}];\n__syncthreads();\ng[{0}] = s{0}[63 - threadIdx.x];"
    return kernel(lines(n, lambda i: used.format(i)))


@hostile(3_000)
def live_buffers(n: int) -> str:
    declared = lines(n, lambda i: f"__shared__ float s{i}[64]; s{i}[threadIdx.x] = g[{i}];")
    return kernel(declared + "\n__syncthreads();\n" + lines(n, lambda i: f"g[{i}] = s{i}[63 - threadIdx.x];"))


@hostile(100_000)
def declarators(n: int) -> str:
    return kernel("__shared__ float " + ", ".join(f"s{i}[4]" for i in range(n)) + ";")


@hostile(100_000)
def accesses(n: int) -> str:
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: f"s[threadIdx.x] += s[{i % 256}];"))


@hostile(50_000)
def racing_accesses(n: int) -> str:
    return kernel(
        "__shared__ float s[1024];\n" + lines(n, lambda i: f"s[(threadIdx.x + {i}) % 1024] = s[{i % 999}];")
    )


@hostile(100_000)
def cases(n: int) -> str:
    body = lines(n, lambda i: f"case {i}: s[{i % 256}] = {i}; break;")
    return kernel(
        f"__shared__ float s[256];\nswitch (n) {{\n{body}\n}}\n__syncthreads();\ng[0] = s[threadIdx.x];"
    )


@hostile(50_000)
def falling_cases(n: int) -> str:
    body = lines(n, lambda i: f"case {i}: s[{i % 256}] = {i};")
    return kernel(
        f"__shared__ float s[256];\nswitch (n) {{\n{body}\n}}\n__syncthreads();\ng[0] = s[threadIdx.x];"
    )


@hostile(100_000)
def branches(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n"
        + lines(n, lambda i: f"if (n > {i}) s[threadIdx.x] = {i}; else g[{i}] = s[0];")
    )


@hostile(20_000)
def data_guards(n: int) -> str:
    return kernel(
        "__shared__ int s[256];\n"
        + lines(n, lambda i: f"if (g[threadIdx.x + {i}] > {i}) s[threadIdx.x] = {i};")
    )


@hostile(20_000)
def else_ifs(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n" + " else ".join(f"if (n == {i}) s[{i % 256}] = 1;\n" for i in range(n))
    )


@hostile(20_000)
def loops(n: int) -> str:
    loop = (
        "for (int i{0} = 0; i{0} < n; i{0}++) {{ s[threadIdx.x] += i{0}; __syncthreads(); g[i{0}] = s[0]; }}"
    )
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: loop.format(i)))


@hostile(20_000)
def returns(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n"
        + lines(n, lambda i: f"if (threadIdx.x == {i}) return;\ns[{i % 256}] = 1;")
    )


@hostile(20_000)
def gotos(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n"
        + lines(n, lambda i: f"l{i}: s[{i % 256}] = 1; if (n) goto l{n - 1 - i};")
    )


@hostile(20_000)
def assembler(n: int) -> str:
    one = 'asm volatile("st.shared.f32 [%0], %1;" :: "r"({0}), "f"(g[{0}]) : "memory");'
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: one.format(i)))


@hostile(20_000)
def asynchronous_copies(n: int) -> str:
    one = "__pipeline_memcpy_async(&s[threadIdx.x], &g[{0}], 4);\n__pipeline_commit();"
    return kernel(
        "__shared__ float s[256];\n" + lines(n, lambda i: one.format(i)) + "\n__pipeline_wait_prior(0);"
    )


@hostile(10_000)
def named_barriers(n: int) -> str:
    one = 'if (threadIdx.x < 64) asm volatile("bar.sync {0}, 64;" ::: "memory"); s[threadIdx.x] = {1};'
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: one.format(1 + i % 15, i)))


@hostile(10_000)
def mbarriers(n: int) -> str:
    return kernel(
        lines(
            n, lambda i: f"__shared__ cuda::barrier<cuda::thread_scope_block> b{i}; b{i}.arrive_and_wait();"
        )
    )


@hostile(20_000)
def shuffles(n: int) -> str:
    return kernel(
        "__shared__ float s[256]; float v = 0;\n"
        + lines(n, lambda i: f"v += __shfl_down_sync(~0u, v, {i % 32}); s[{i % 256}] = v;")
    )


@hostile(20_000)
def atomics(n: int) -> str:
    return kernel(
        "__shared__ int s[256];\n" + lines(n, lambda i: f"atomicAdd(&s[(threadIdx.x * {i}) & 255], 1);")
    )


@hostile(5_000)
def collectives(n: int) -> str:
    one = "using R{0} = cub::BlockReduce<float, {1}>; __shared__ typename R{0}::TempStorage t{0}; g[{0}] = R{0}(t{0}).Sum(g[0]);"
    return kernel(lines(n, lambda i: one.format(i, 32 + i)), "#include <cub/cub.cuh>")


@hostile(10_000)
def carved_ranges(n: int) -> str:
    carved = "float* p0 = s;\n" + lines(
        n, lambda i: f"float* p{i + 1} = p{i} + 16; p{i}[threadIdx.x % 16] = g[{i}];"
    )
    return kernel("extern __shared__ float s[];\n" + carved, launch="1, 256, 16384")


@hostile(50_000)
def pointer_chain(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\nfloat* p0 = s;\n"
        + lines(n, lambda i: f"float* p{i + 1} = p{i};")
        + f"\n*p{n} = 1;"
    )


@hostile(5_000)
def pointer_choices(n: int) -> str:
    chosen = lines(n, lambda i: f"float* p{i + 1} = n > {i} ? p{i} : s + {i % 256}; *p{i + 1} = 1;")
    return kernel("__shared__ float s[256];\nfloat* p0 = s;\n" + chosen)


@hostile(20_000)
def lambdas(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n"
        + lines(n, lambda i: f"auto l{i} = [&](int j) {{ s[j] = {i}; }}; l{i}(threadIdx.x);")
    )


@hostile(50_000)
def pragmas(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n" + "#pragma unroll\nfor (int i = 0; i < 4; i++) s[i] = 1;\n" * n
    )


@hostile(50_000)
def local_constants(n: int) -> str:
    return kernel(
        "const int c0 = 1;\n"
        + lines(n, lambda i: f"const int c{i + 1} = c{i} + 1;")
        + f"\n__shared__ float s[c{n}];"
    )


@hostile(20_000)
def index_terms(n: int) -> str:
    terms = " + ".join(f"(threadIdx.x * {i + 3}) % {i + 7}" for i in range(n))
    return kernel(f"__shared__ float s[256];\ns[{terms}] = 1;\n__syncthreads();\ng[0] = s[0];")


@hostile(2_000)
def index_products(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\ns["
        + " * ".join(["(threadIdx.x + n)"] * n)
        + "] = 1;\n__syncthreads();\ng[0] = s[0];"
    )


# Depth


@hostile(10_000)
def nested_ifs(n: int) -> str:
    return kernel("__shared__ float s[256];\n" + "if (n) {\n" * n + "s[0] = 1; __syncthreads();" + "}\n" * n)


@hostile(3_000)
def nested_loops(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n"
        + lines(n, lambda i: f"for (int i{i} = 0; i{i} < n; i{i}++) {{")
        + "s[threadIdx.x] = 1;"
        + "}" * n
    )


@hostile(200)
def walked_loops(n: int) -> str:
    nest = "".join(
        f"for (int i{i} = 0; i{i} < 9; i{i}++) {{ s{i}[threadIdx.x] = g[i{i}]; __syncthreads(); "
        for i in range(11)
    )
    unnest = "".join(f"g[{i}] = s{10 - i}[0]; __syncthreads(); }}" for i in range(11))
    return kernel(lines(11, lambda i: f"__shared__ float s{i}[256];") + (nest + unnest) * n)


@hostile(100_000)
def nested_braces(n: int) -> str:
    return kernel("{" * n + "__shared__ float s[4];" + "}" * n)


@hostile(100_000)
def open_braces(n: int) -> str:
    return "__global__ void k() " + "{" * n


@hostile(100_000)
def closing_braces(n: int) -> str:
    return "__global__ void k() {" + "}" * n


@hostile(1_000_000)
def open_parentheses(n: int) -> str:
    return "__global__ void k() { int a = " + "(" * n


@hostile(100_000)
def nested_parentheses(n: int) -> str:
    return kernel("g[0] = " + "(" * n + "1" + ")" * n + ";")


@hostile(100_000)
def nested_indices(n: int) -> str:
    return kernel("__shared__ int s[256];\ns[" + "s[" * n + "0" + "]" * n + "] = 1;")


@hostile(50_000)
def nested_calls(n: int) -> str:
    return kernel("g[0] = " + "f(" * n + "1" + ")" * n + ";", "__device__ float f(float x) { return x; }")


@hostile(100_000)
def long_sum(n: int) -> str:
    return kernel("__shared__ float s[256];\ng[0] = " + " + ".join(["s[0]"] * n) + ";")


@hostile(50_000)
def ternaries(n: int) -> str:
    return kernel("g[0] = " + " : ".join(f"n == {i} ? {i}" for i in range(n)) + " : 0;")


@hostile(100_000)
def unary_operators(n: int) -> str:
    return kernel("g[0] = " + "- " * n + "1; g[1] = " + "!" * n + "n; g[2] = " + "*&" * n + "g[0];")


@hostile(100_000)
def member_chain(n: int) -> str:
    return kernel("g[0] = a" + ".b" * n + "; g[1] = p" + "->q" * n + ";")


@hostile(100_000)
def assignments(n: int) -> str:
    return kernel("int a;\n" + "a = " * n + "1;")


@hostile(100_000)
def comma_expressions(n: int) -> str:
    return kernel("__shared__ float s[256];\n" + ", ".join(f"s[{i % 256}] = {i}" for i in range(n)) + ";")


@hostile(100_000)
def casts(n: int) -> str:
    return kernel("g[0] = " + "(int)(float)" * n + "1;")


@hostile(10_000)
def dimensions(n: int) -> str:
    return kernel("__shared__ float s" + "[1]" * n + ";\ns" + "[0]" * n + " = 1;")


@hostile(300_000)
def initialisers(n: int) -> str:
    return kernel(
        "const int t[] = {" + ", ".join(["1"] * n) + "};\n__shared__ float s[sizeof(t)];\ns[0] = t[1];"
    )


@hostile(20_000)
def nested_initialisers(n: int) -> str:
    return kernel("S t = " + "{" * n + "1" + "}" * n + ";")


@hostile(20_000)
def nested_switches(n: int) -> str:
    return kernel("__shared__ float s[256];\n" + "switch (n) { case 1: " * n + "s[0] = 1;" + "}" * n)


@hostile(20_000)
def nested_do_whiles(n: int) -> str:
    return kernel("__shared__ float s[256];\n" + "do {" * n + "s[0] = 1;" + "} while (n);" * n)


@hostile(5_000)
def duffs_devices(n: int) -> str:
    one = "switch (n % 4) {{ case 0: do {{ s[{0}] = 1; case 3: s[1] = 2; case 2: s[2] = 3; case 1: __syncthreads(); }} while (--n); }}"
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: one.format(i % 256)))


@hostile(10_000)
def nested_lambdas(n: int) -> str:
    return kernel("__shared__ float s[256];\nauto f = " + "[&] { return " * n + "s[0]" + "; }" * n + ";")


@hostile(10_000)
def nested_classes(n: int) -> str:
    return lines(n, lambda i: f"struct S{i} {{") + "int a;" + "};" * n + kernel("__shared__ S0 s;")


@hostile(10_000)
def nested_namespaces(n: int) -> str:
    return lines(n, lambda i: f"namespace n{i} {{") + kernel("__shared__ float s[4]; s[0] = 1;") + "}" * n


@hostile(20_000)
def nested_linkage(n: int) -> str:
    return 'extern "C" {' * n + kernel("__shared__ float s[4]; s[0] = 1;") + "}" * n


@hostile(20_000)
def nested_template_arguments(n: int) -> str:
    return "template <class T> struct A { T t; };\n" + kernel(
        "__shared__ " + "A<" * n + "int" + ">" * n + " s;"
    )


# Declarations outside


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


# The preprocessor


@hostile(100_000)
def macros(n: int) -> str:
    return lines(n, lambda i: f"#define M{i} {i}") + kernel(f"\n__shared__ float s[M{n - 1}]; s[0] = 1;")


@hostile(50_000)
def macro_chain(n: int) -> str:
    return (
        "#define M0 4\n"
        + lines(n, lambda i: f"#define M{i + 1} M{i}")
        + kernel(f"\n__shared__ float s[M{n}]; s[0] = 1;")
    )


@hostile(40)
def doubling_macros(n: int) -> str:
    return (
        "#define M0 1 +\n" + lines(n, lambda i: f"#define M{i + 1} M{i} M{i}") + kernel(f"\ng[0] = M{n} 1;")
    )


@hostile(20_000)
def macro_uses(n: int) -> str:
    return "#define PUT(a, b) do { s[a] = b; __syncthreads(); } while (0)" + kernel(
        "__shared__ float s[256];\n" + lines(n, lambda i: f"PUT({i % 256}, {i});")
    )


@hostile(10_000)
def nested_macro_arguments(n: int) -> str:
    return "#define F(a) (a + 1)" + kernel("g[0] = " + "F(" * n + "1" + ")" * n + ";")


@hostile(10_000)
def macro_parameters(n: int) -> str:
    names = [f"a{i}" for i in range(n)]
    return f"#define F({', '.join(names)}) {' + '.join(names)}" + kernel(
        f"\ng[0] = F({', '.join(['1'] * n)});"
    )


@hostile(50_000)
def pasted_tokens(n: int) -> str:
    return (
        "#define J(a, b) a##b\n#define L "
        + "a ## " * n
        + "b"
        + kernel("\ng[0] = L; " + "J(g, [0]) = 1; " * 1000)
    )


@hostile(2_000)
def repeated_arguments(n: int) -> str:
    return "#define R(...) __VA_ARGS__ __VA_ARGS__" + kernel(
        "\ng[0] = " + "R(" * 20 + "1 +" * n + ")" * 20 + " 1;"
    )


@hostile(20_000)
def nested_conditionals(n: int) -> str:
    return "#if 1\n" * n + kernel("__shared__ float s[4]; s[0] = 1;") + "#endif\n" * n


@hostile(50_000)
def conditionals(n: int) -> str:
    return kernel(lines(n, lambda i: f"#if X{i} > 1\ng[{i}] = 1;\n#elif defined(Y{i})\ng[1] = {i};\n#endif"))


@hostile(100_000)
def unknown_directives(n: int) -> str:
    return "#wrong\n#\n#include\n#define\n" * (n // 4) + kernel("__shared__ float s[4]; s[0] = 1;")


@hostile(20_000)
def missing_includes(n: int) -> str:
    return lines(n, lambda i: f'#include "missing{i}.h"\n#include <gone/{i}.cuh>') + kernel(
        "__shared__ float s[4]; s[0] = 1;"
    )


@hostile(20_000)
def condition_terms(n: int) -> str:
    return (
        "#if "
        + " || ".join(f"defined(A{i}) && B{i} > {i}" for i in range(n))
        + "\n#endif\n"
        + kernel("__shared__ float s[4]; s[0] = 1;")
    )


# Comments and what they state


@hostile(100_000)
def suppressions(n: int) -> str:
    return kernel(lines(n, lambda i: f"__shared__ float s{i}[4];  // smem: ignore[SMEM101]"))


@hostile(50_000)
def regions(n: int) -> str:
    return "// smem: disable[SMEM101]\n// smem: enable[SMEM101]\n" * n + kernel(
        "__shared__ float s[4]; s[0] = 1;"
    )


@hostile(50_000)
def open_regions(n: int) -> str:
    return kernel("// smem: disable[SMEM101]\n" * n + "__shared__ float s[4]; s[0] = 1;")


@hostile(50_000)
def unknown_suppressions(n: int) -> str:
    return lines(n, lambda i: f"// smem: ignore[SMEM{i}, wrong-{i}]") + kernel(
        "__shared__ float s[4]; s[0] = 1;"
    )


@hostile(20_000)
def stated_facts(n: int) -> str:
    return lines(n, lambda i: f"// smem: assume(blockDim.x == {i + 1})") + kernel(
        "__shared__ float s[4]; s[0] = 1;"
    )


@hostile(100_000)
def deep_fact(n: int) -> str:
    return f"// smem: dynamic_bytes = {'(' * n}1{')' * n}\n// smem: uniform({'!' * n}n)\n" + kernel(
        "extern __shared__ float s[]; s[0] = 1;"
    )


@hostile(5_000_000)
def long_comment(n: int) -> str:
    return "/*" + "* /" * (n // 3) + "*/" + kernel("__shared__ float s[4]; s[0] = 1;")


@hostile(200_000)
def comments(n: int) -> str:
    return kernel("/**/ // x\n" * n + "__shared__ float s[4]; s[0] = 1;")


# Long lines, long words, strange characters


def _repeated(word: str) -> Callable[[int], str]:
    return lambda n: kernel("__shared__ float s[4]; s[0] = 1;\n" + word * (n // len(word)))


for _name, _word in {
    "letters": "a", "digits": "7", "hexadecimals": "0x", "blanks": " ", "tabs": "\t", "quotes": '"', "apostrophes": "'",
    "slashes": "/", "stars": "*", "backslashes": "\\", "less": "<", "greater": ">", "hashes": "#", "ats": "@",
    "commas": ",", "semicolons": ";", "colons": "::", "equals": "=", "dots": ".", "ampersands": "&", "exponents": "1e",
    "words": "a ", "statements": "a; ", "calls": "a(); ", "generics": "a<b>", "strings": '"a" ', "raw": 'R"(', "odd": "\x7f\x01",
    "accents": "e\u0301", "bidi": "\u202e\u2066", "astral": "\U0001f600", "spliced": "\\\n", "returned": "\r", "fed": "\f\n",
    "newlines": "\n", "separators": "\u2028", "shared": "__shared__ ", "attributes": "[[a]] ", "launches_open": "k<<<", "templates": "template <",
}.items():  # fmt: skip
    HOSTILE[f"line_of_{_name}"] = Hostile(
        _repeated(_word), 2_000_000 if len(_word.encode()) > 1 else 5_000_000
    )


@hostile(1_000_000)
def long_name(n: int) -> str:
    name = "a" * n
    return kernel(f"__shared__ float {name}[4]; {name}[0] = 1; g[0] = {name}[1];")


@hostile(1_000_000)
def long_number(n: int) -> str:
    return kernel(f"__shared__ float s[{'9' * n}]; s[1{'0' * n}] = 1e{'9' * n}; g[0x{'f' * n}] = 1;")


@hostile(1_000)
def huge_values(n: int) -> str:
    return kernel(
        f"const long c = {' * '.join(['2147483647'] * n)};\n__shared__ float s[1 << 2147483647];\n__shared__ float t[c];\ns[1 << c] = 1 >> -5;"
    )


@hostile(1_000_000)
def open_comment(n: int) -> str:
    return kernel("__shared__ float s[4]; s[0] = 1;") + "/*" + "x\n" * n


@hostile(100_000)
def open_strings(n: int) -> str:
    return kernel('char* a = "x\n' * n)


@hostile(50_000)
def raw_strings(n: int) -> str:
    return kernel(lines(n, lambda i: f'const char* a{i} = R"d{i}(x)d{i - 1}")d{i}";'))


@hostile(50_000)
def open_raw_strings(n: int) -> str:
    return kernel(lines(n, lambda i: f'const char* a{i} = R"d{i}('))


def _random_bytes(n: int) -> str:
    return bytes(random_of(1).randrange(1, 256) for _ in range(n)).decode("latin-1")


def _random_tokens(n: int, words: str, seed: int) -> str:
    chosen = random_of(seed)
    return " ".join(chosen.choices(words.split(), k=n))


HOSTILE["random_bytes"] = Hostile(_random_bytes, 500_000)
HOSTILE["random_brackets"] = Hostile(lambda n: _random_tokens(n, "( ) [ ] { } < > ; , <<< >>>", 2), 500_000)
HOSTILE["random_tokens"] = Hostile(
    lambda n: _random_tokens(
        n,
        "__global__ __shared__ __device__ void float int k s g n ( ) [ ] { } < > ; , = + - * & :: . -> if else for while"
        " switch case return template typename struct union using namespace const 0 1 256 threadIdx.x __syncthreads()"
        " <<< >>> operator auto constexpr # ## \\ alignas extern static",
        3,
    ),
    300_000,
)
HOSTILE["random_kernel"] = Hostile(
    lambda n: kernel(
        "__shared__ float s[256], t[256]; int i = threadIdx.x;\n"
        + " ".join(
            random_of(4).choices(
                ["s[i] = t[i];", "t[i + 1] = s[n];", "__syncthreads();", "if (n) {", "}", "for (int j = 0; j < n; j++) {",
                 "} else {", "return;", "break;", "i += n;", "float* p = n ? s : t;", "*p = 1;", "while (i < n) {"],
                k=n,
            )
        )
    ),
    30_000,
)  # fmt: skip


# What ended a check in the past


def ended() -> Iterator[tuple[str, str]]:
    """Short texts that raised, by name."""
    use = "__shared__ float s[4]; s[threadIdx.x] = 1; __syncthreads(); g[0] = s[0];"
    yield "negative launch bounds", f"__global__ void __launch_bounds__(256,-5) k(float* g) {{ {use} }}"
    yield (
        "negative launch bytes",
        kernel("extern __shared__ float s[]; s[threadIdx.x] = 1;", launch="1, 32, 4-5"),
    )
    yield "alias of nothing", "namespace cg=;\n" + kernel(f"cg::x; cg::sync(); {use}")
    yield "empty alignment", kernel(f"alignas(())=a[0]; {use}")
    yield "negative threads", kernel(use, launch="1, -5")
    yield "no threads", kernel(use, launch="0, 0")
    yield "negative dimension", kernel("__shared__ float s[-4]; s[0] = 1;")
    yield "dimension by zero", kernel("__shared__ float s[4 / 0], t[4 % 0]; s[0] = t[0];")
    yield (
        "alignment of a third",
        kernel("__shared__ alignas(3) float s[4]; __shared__ __align__(-1) float t[4]; s[0] = t[0];"),
    )
    yield "bounds of nothing", f"__global__ void __launch_bounds__() k(float* g) {{ {use} }}"
    yield (
        "bounds of everything",
        f"__global__ void __launch_bounds__(1 << 40, 1 << 40) k(float* g) {{ {use} }}",
    )
    yield "address of a label", kernel(f"if (threadIdx.x == && blockIdx.x == 0) {use}")
    yield (
        "no coordinate",
        kernel("__shared__ float s[4]; s[threadIdx.rows] = 1; __syncthreads(); g[0] = s[threadIdx.w];"),
    )
    yield "cluster of nothing", f"__global__ void __cluster_dims__(0, -1, 5) k(float* g) {{ {use} }}"
