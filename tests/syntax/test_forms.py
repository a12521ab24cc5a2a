"""Every form of declaration, statement and expression that CUDA code is written in, and the tree it gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from loops import every
from tree_shapes import shape, shapes

from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

FORMS = [
    line.split("  ==>  ")
    for line in (Path(__file__).parent / "forms.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("# ")
]


@every("source, expected", FORMS)
def test_form(source: str, expected: str) -> None:
    in_literal = '\\n"' in source or "\\n'" in source
    written = source if in_literal else source.replace("\\n", "\n")
    assert " ".join(shapes(written)) == expected


def functions(source: str) -> list[str]:
    """`scopes::name(number of parameters) specifiers: body` of every function."""
    found = []
    for function in parse(SourceText(source + "\n")).functions:
        island = function.island
        parameters = "?" if function.parameters is None else len(function.parameters)
        body = " ".join(shape(function.body, node) for node in function.body.statements.statements)
        name = "::".join((*filter(None, island.enclosing), function.name))
        words = "".join(f" {word}" for word in sorted(island.specifiers))
        found.append(f"{name}({parameters}){words}: {body}")
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "template <class T> struct K {\n  __device__ void m() { a(); }\n"
            "  static __global__ void k(T* p) { b(); }\n};",
            ["K::m(0) __device__: a();", "K::k(1) __global__ static: b();"],
        ),
        (
            "namespace a { namespace b {\n    __global__ void k() { c(); }\n}}",
            ["a::b::k(0) __global__: c();"],
        ),
        (
            "namespace a::b {\n  class C {\n   public:\n"
            "    C(int x) : x_(x), y_{x} { a(); }\n    ~C() { b(); }\n  };\n}",
            ["a::b::C::C(1): a();", "a::b::C::C(0): b();"],
        ),
        ("struct D : B<int> { D(int x) : B<int>(x), m{x}, n(x) { a(); } int m; };", ["D::D(1): a();"]),
        ("struct D : B<int> { D(int x) : B<int>{x}, ns::C{1} { a(); } };", ["D::D(1): a();"]),
        ("void f() try { a(); } catch (...) { b(); }\nvoid g() { c(); }", ["f(0): a();", "g(0): c();"]),
        ("struct D { D() try : x(1) { a(); } catch (...) { b(); } int x; };", ["D::D(0): a();"]),
        (
            "template <class T> requires (sizeof(T) > 2) __global__ void k(T* p) { a(); }",
            ["k(1) __global__: a();"],
        ),
        (
            "template <class T> requires C<T> && D<T> __global__ void k(T* p) { a(); }",
            ["k(1) __global__: a();"],
        ),
        ("template <C T> __global__ void k(T* p) requires (N > 3) { a(); }", ["k(1) __global__: a();"]),
        (
            "template <class T> concept C = requires(T x) { x + 1; typename T::type; };\n__global__ void k() { a(); }",
            ["k(0) __global__: a();"],
        ),
        ("template <class T> requires requires(T x) { x + 1; } void f(T x) { a(); }", ["f(1): a();"]),
        ("auto f(int x) -> decltype(x + 1) { a(); }", ["f(1): a();"]),
        ("auto f(int x) noexcept(noexcept(g(x))) -> std::vector<int> { a(); }", ["f(1): a();"]),
        ("void f() const& noexcept override final { a(); }", ["f(0): a();"]),
        ("void f() MY_NOEXCEPT { a(); }", ["f(0): a();"]),
        ("void f() [[noreturn]] { a(); }", ["f(0): a();"]),
        ("__global__ void __launch_bounds__(256, 2) k(float* p) { a(); }", ["k(1) __global__: a();"]),
        ("__launch_bounds__(256) __global__ void k(float* p) { a(); }", ["k(1) __global__: a();"]),
        ('extern "C" {\n  __global__ void k(float* p) { a(); }\n}', ["extern::k(1) __global__: a();"]),
        ("template <> __global__ void k<float>(float* p) { a(); }", ["k(1) __global__: a();"]),
        ("template <typename T> C<T>::C(int x) : y(x) { a(); }", ["C(1): a();"]),
        (
            "#if A\n__global__ void k(int a)\n#else\n__global__ void k(int a, int b)\n#endif\n{ a(); }",
            ["k(2) __global__: a();"],
        ),
        (
            "#define DEF(name, op) __global__ void name(float* p) { p[0] = p[1] op p[2]; }\nDEF(k1, +)\nDEF(k2, *)",
            [
                "k1(1) __global__: (p[0] = (p[1] + p[2]));",
                "k2(1) __global__: (p[0] = (p[1] * p[2]));",
            ],
        ),
        (
            "template <typename T>\nBOUNDS_2(256, 4)\n__global__ void k(float* p) { a(); }",
            ["k(1) __global__: a();"],
        ),
        (
            "__global__ void k(void (*f)(int), int (&r)[3], float* const* p, ...) { a(); }",
            ["k(3) __global__: a();"],
        ),
        (
            "__global__ void k(const __grid_constant__ P p, float4 v = {1, 2}, MACRO T const n) { a(); }",
            ["k(3) __global__: a();"],
        ),
        (
            "template <class... Ts> void f(F<void(int)> f, A<B<C>> x, T<Ts...>& xs, Ts&&... ys) { a(); }",
            ["f(4): a();"],
        ),
        ("std::ostream& operator<<(std::ostream& o, const T& t) { a(); }", ["<<(2): a();"]),
        ("template <int N, std::enable_if_t<(N > 3), int> = 0> void f() { a(); }", ["f(0): a();"]),
    ],
)
def test_function(source: str, expected: list[str]) -> None:
    assert functions(source) == expected
