"""Macros, conditionals and includes."""

from __future__ import annotations

from robustness.hostile.making import hostile, kernel, lines


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
