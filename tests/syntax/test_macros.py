"""Macros: what they are replaced by, where their tokens stand, and those of headers that are not read."""

from __future__ import annotations

import pytest
from syntax.files import expanded, with_files

from smem_lsp.syntax.known_names import known
from smem_lsp.syntax.macros import parse_definition
from smem_lsp.syntax.preprocess import preprocess


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define N 4\nN + N1", "4 + N1"),
        ("#define N\nx N y", "x y"),
        ("#define A B\n#define B 3\nA", "3"),
        ("#define A A + 1\nA", "A + 1"),
        ("#define A B\n#define B A\nA", "A"),
        ("#define N 4\n#undef N\nN", "N"),
        ("#define N 4\n#define N 5\nN", "5"),
        ("#define F(x) (x) * 2\nF(a + 1) F", "( a + 1 ) * 2 F"),
        ("#define F(x, y) x - y\nF((a, b), c)", "( a , b ) - c"),
        ("#define F() 3\nF()", "3"),
        ("#define F (x)\nF(2)", "( x ) ( 2 )"),
        ("#define F(x) x\nF(\n  a\n)", "a"),
        ("#define F(x) G(x)\n#define G(x) x x\nF(F(a))", "a a a a"),
        ('#define F(x) #x\nF(a + "b")', '"a + \\"b\\""'),
        ("#define F(x, y) x ## y\nF(a, 1) F(, b)", "a1 b"),
        ("#define N 4\n#define F(x) x ## N\n#define G(x) x N\nF(a) G(a)", "aN a 4"),
        ("#define F(...) g(__VA_ARGS__)\nF(a, b) F()", "g ( a , b ) g ( )"),
        ("#define F(x, ...) g(x, ##__VA_ARGS__)\nF(a) F(a, b)", "g ( a ) g ( a , b )"),
        ("#define F(x, ...) g(x __VA_OPT__(,) __VA_ARGS__)\nF(a) F(a, b)", "g ( a ) g ( a , b )"),
        ("#define F(rest...) g(rest)\nF(a, b)", "g ( a , b )"),
        ("#define F(x) \\\n  x + \\\n  1\nF(2)", "2 + 1"),
        ("#define N 4 // four\nN", "4"),
        ("#define F(x) x // the value\nF(2) + 1", "2 + 1"),
        ("#define F(x, rest...) g(x, ##rest)\nF(a) F(a, b)", "g ( a ) g ( a , b )"),
        ("#define F(x, ...) g(x __VA_OPT__(, a ## x) __VA_ARGS__)\nF(1) F(2, b)", "g ( 1 ) g ( 2 , a2 b )"),
        ("#define E\n#define F(x, ...) g(x __VA_OPT__(,) __VA_ARGS__)\nF(a, E)", "g ( a )"),
        ("#define F(x) # x\nF(a+b) F( a  + b ) F('\\n')", '"a+b" "a + b" "\'\\\\n\'"'),
        ('#define F(x) #x\nF("\\n")', '"\\"\\\\n\\""'),
        ("#define F(x, y) a x ## y\nF(, b) F(1, ) F(, )", "a b a 1 a"),
        ("#define F(x, y) x ## y\nF(+, =) F(., x) F(-, >)", "+= . x ->"),
        ("#define F(x, y, z) x ## y ## z\nF(a, , c) F(a, b, c)", "ac abc"),
        ("#define CAT(a, b) CAT_(a, b)\n#define CAT_(a, b) a ## b\n#define N 4\nCAT(x, N)", "x4"),
        (
            "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\nf(y+1) + f(f(0))",
            "f ( 2 * ( y + 1 ) ) + f ( 2 * ( f ( 2 * ( 0 ) ) ) )",
        ),
        ("#define g f\n#define f(a) f(a * g)\ng(0)", "f ( 0 * f )"),
        ("#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)", "2 * 9 * g"),
        ("#define OBJ FUN\n#define FUN(x) [x]\nOBJ(1) OBJ", "[ 1 ] FUN"),
        ("#define A FUN (\n#define FUN(x) [x]\nA 1)", "[ 1 ]"),
        ("#define LP (\n#define F(x) [x]\nF LP 1)", "F ( 1 )"),
        ("#define EMPTY\n#define DEFER(x) x EMPTY\n#define F() 1\nDEFER(F)()", "F ( )"),
        ("#define F(x) [x]\nF (1) F\n(2)", "[ 1 ] [ 2 ]"),
        ("#define F(x) [x]\nF(\n#if 0\n1\n#else\n2\n#endif\n)", "[ 2 ]"),
        ("#define F(x, y) [x]\nF(1) F(1, 2, 3)", "F ( 1 ) F ( 1 , 2 , 3 )"),
        ("#define F() 3\nF( ) F(1)", "3 F ( 1 )"),
        ("#define F(x, x) x\nF(1, 2)", "F ( 1 , 2 )"),
        ("#define F(..., x) x\nF(1, 2)", "F ( 1 , 2 )"),
        ("#define x x y\n#define y x\nx", "x x"),
        ('_Pragma("unroll") for', "for"),
        ('#define UNROLL _Pragma("unroll")\nUNROLL for', "for"),
        ("__LINE__\n__LINE__ __COUNTER__ __COUNTER__", "1 2 0 1"),
        ("#def\\\nine N 4\n#define/* */M/* */5\nN M", "4 5"),
        ("# define N 4\n  #  define M N\nM", "4"),
    ],
)
def test_macros_are_replaced(text: str, expected: str) -> None:
    assert expanded(text) == expected


def test_a_token_keeps_the_offset_where_the_author_typed_it() -> None:
    text = "#define SQUARE(x) ((x) * (x))\nint y = SQUARE(value);\n"
    tokens = preprocess(text).tokens
    for spelling, offset in zip(tokens.texts, tokens.offsets):
        if offset >= 0:
            assert text[offset : offset + len(spelling)] == spelling
    values = [offset for spelling, offset in zip(tokens.texts, tokens.offsets) if spelling == "value"]
    assert values == [text.index("value")] * 2


def test_a_token_out_of_a_macro_body_points_at_its_invocation_and_is_not_editable() -> None:
    text = "#define TWICE(x) ONCE(x) + ONCE(x)\n#define ONCE(x) f(x)\na = TWICE(b);\n"
    tokens = preprocess(text).tokens
    offsets = {offset for spelling, offset in zip(tokens.texts, tokens.offsets) if spelling in ("f", "+")}
    assert offsets == {-1 - text.index("TWICE(b)")}


def test_attributes_that_name_a_memory_space_are_its_macro() -> None:
    text = (
        "#define SH __attribute__((shared))\n"
        "extern __attribute__((shared)) int a[]; SH int b; int c __attribute__((aligned(8)));"
    )
    assert expanded(text) == (
        "extern __shared__ int a [ ] ; __shared__ int b ; int c __attribute__ ( ( aligned ( 8 ) ) ) ;"
    )
    first = with_files(text, {}).tokens
    assert first.offsets[1] == -1 - text.index("__attribute__((shared)) int a")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_do_not_matter_to_continued_definitions(newline: str) -> None:
    text = "#define F(x) \\\n  x + \\\n  1\nF(2);\n".replace("\n", newline)
    assert expanded(text) == "2 + 1 ;"


def test_a_macro_may_stand_for_a_string() -> None:
    assert expanded('#define NAME "k"\nNAME') == '"k"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CUTLASS_PRAGMA_UNROLL for", "for"),
        ("CUTE_HOST_DEVICE void f();", "__forceinline__ __host__ __device__ void f ( ) ;"),
        ("C10_LAUNCH_BOUNDS_1(256)", "__launch_bounds__ ( ( ( ( 256 ) <= 1024 ) ? ( 256 ) : 256 ) )"),
        ("INT_MAX", "2147483647"),
        (
            "CUDA_KERNEL_LOOP(i, n)",
            "for ( int i = blockIdx . x * blockDim . x + threadIdx . x ; i < ( n ) ; i += blockDim . x * gridDim . x )",
        ),
        ("NV_IF_TARGET(NV_PROVIDES_SM_80, (a;), (b;))", "a ;"),
        ("NV_IF_TARGET(NV_PROVIDES_SM_80, (a, b;))", "a , b ;"),
        ("#define M_PI 3\nM_PI", "3"),
        ("#ifndef M_PI\n#define M_PI 3\n#endif\nM_PI", "3"),
        ("#ifdef FLT_MAX\na\n#endif\n#undef FLT_MAX\nFLT_MAX", "FLT_MAX"),
    ],
)
def test_macros_of_unseen_headers(text: str, expected: str) -> None:
    assert expanded(text) == expected


def test_a_header_that_is_found_defines_its_macros_itself() -> None:
    files = {"inc/cutlass/cutlass.h": "#define CUTLASS_DEVICE __device__\n"}
    assert with_files("#include <cutlass/cutlass.h>\nCUTLASS_DEVICE", files).tokens.texts == ["__device__"]


def test_every_known_macro_is_a_definition() -> None:
    names = [definition[0] for line in known().macros if (definition := parse_definition(line))]
    assert len(names) == len(known().macros)
    assert len(set(names)) == len(names)
