"""One construct inside itself."""

from __future__ import annotations

from robustness.hostile.making import hostile, kernel, lines


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
