"""The preprocessor: conditionals, macros and includes, with the offsets of what the author typed."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from smem_lsp.source import CompileFlags, SourceText
from smem_lsp.source.queries import PROCESS
from smem_lsp.syntax import includes
from smem_lsp.syntax.headers import directives_of
from smem_lsp.syntax.known_names import KNOWN_MACROS
from smem_lsp.syntax.lexer import lex
from smem_lsp.syntax.macros import parse_definition
from smem_lsp.syntax.parse import parse
from smem_lsp.syntax.preprocess import Preprocessed, preprocess


@dataclass(frozen=True)
class Files:
    """A reader over a dictionary."""

    texts: Mapping[str, str]
    project: bool = False  # includes are looked for everywhere

    def read(self, path: str) -> str | None:
        return self.texts.get(path.replace("\\", "/"))

    def search(self, name: str, including: str) -> str | None:
        found = [path for path in self.texts if path.endswith(f"/{name}")]
        return found[0] if self.project and len(found) == 1 else None


def expanded(text: str, **files: str) -> str:
    """The active tokens, separated by blanks."""
    return " ".join(with_files(text, files).tokens.texts)


def with_files(text: str, files: Mapping[str, str]) -> Preprocessed:
    return preprocess(text, path="dir/main.cu", reader=Files(files), include_dirs=("inc",))


# ---- macros ------------------------------------------------------------------------------------------------


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


# ---- conditionals ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#if 1\na\n#else\nb\n#endif\nc", "a c"),
        ("#if 0\na\n#else\nb\n#endif\nc", "b c"),
        ("#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif", "b"),
        ("#ifdef X\na\n#else\nb\n#endif", "b"),
        ("#define X\n#ifdef X\na\n#endif", "a"),
        ("#ifndef X\na\n#endif", "a"),
        ("#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "c"),
        ("#if 1\n#if 0\na\n#else\nb\n#endif\n#else\nc\n#endif", "b"),
        ("#if defined X || !defined(Y)\na\n#endif", "a"),
        ("#define N 3\n#if N * 2 > 5 && N < 4\na\n#endif", "a"),
        ("#if UNKNOWN\na\n#else\nb\n#endif", "b"),
        ("#if __CUDA_ARCH__ >= 700\na\n#endif", "a"),
        ("#if (1 ? 2 : 0) == 2\na\n#endif", "a"),
        ("#if 1 / 0\na\n#else\nb\n#endif", "b"),
        ("#if 0\n#define N 4\n#endif\nN", "N"),
        ("#if 0\nan 'apostrophe\n#endif\na", "a"),
        ("#ifdef X\n#elifdef Y\na\n#elifndef Z\nb\n#endif", "b"),
        ("#define T defined(X) || 1\n#if T\na\n#endif", "a"),
        ("#if __has_include\n#endif\n#ifdef __has_include\na\n#endif", "a"),
        ("#if __has_feature(x) || __has_builtin(y)\na\n#else\nb\n#endif", "b"),
        ("#define HEADER <none.h>\n#if __has_include(HEADER)\na\n#else\nb\n#endif", "b"),
        ("#if defined(__CUDACC__) && __cplusplus >= 201703L\na\n#endif", "a"),
        ("#if -1 > 0u\na\n#endif", "a"),
        ("#if 0 // else\na\n#elif 1 /* b */\nb\n#endif", "b"),
        ("#if\na\n#endif\nb", "b"),
        ("#endif\n#else\na", "a"),
    ],
)
def test_only_the_active_branch_is_kept(text: str, expected: str) -> None:
    assert expanded(text) == expected


def test_a_conditional_that_is_never_closed_reaches_to_the_end() -> None:
    text = "a\n#if 0\nb\n"
    unit = preprocess(text)
    assert unit.tokens.texts == ["a"]
    assert [text[span.start : span.end] for span in unit.inactive] == ["\nb\n"]


def test_defines_of_the_settings_are_seen() -> None:
    assert preprocess("N W", defines=("N=4", "W")).tokens.texts == ["4", "1"]


# ---- includes ----------------------------------------------------------------------------------------------


def test_a_quoted_include_is_looked_up_beside_the_file_first() -> None:
    files = {"dir/a.h": "#define N 4\n", "inc/a.h": "#define N 5\n"}
    assert with_files('#include "a.h"\nN', files).tokens.texts == ["4"]
    assert with_files("#include <a.h>\nN", files).tokens.texts == ["5"]


def test_the_declarations_of_a_header_are_seen_and_its_code_is_not() -> None:
    unit = with_files(
        '#include "a.h"\nreal x;', {"dir/a.h": "using real = float;\ninline void f() { g(); }\n"}
    )
    assert unit.tokens.texts == ["real", "x", ";"]
    assert "real" in unit.header.texts


def test_headers_include_headers() -> None:
    files = {
        "dir/a.h": '#include "sub/b.h"\n',
        "dir/sub/b.h": '#include "c.h"\n',
        "dir/sub/c.h": "#define N 7\n",
    }
    assert with_files('#include "a.h"\nN', files).tokens.texts == ["7"]


def test_an_include_cycle_ends() -> None:
    files = {"dir/a.h": '#include "b.h"\n#define A 1\n', "dir/b.h": '#include "a.h"\n#define B 2\n'}
    assert with_files('#include "a.h"\n#include "a.h"\nA B', files).tokens.texts == ["1", "2"]


def test_a_header_that_includes_itself_ends() -> None:
    assert with_files('#include "a.h"\nA', {"dir/a.h": '#include "a.h"\n#define A 1\n'}).tokens.texts == ["1"]


def test_a_missing_header_is_noted() -> None:
    unit = with_files('#include "a.h"\n#include <b.h>\n#if 0\n#include "c.h"\n#endif\n', {})
    assert unit.missing == ["a.h", "b.h"]


def test_has_include_asks_the_reader() -> None:
    text = '#if __has_include("a.h") && !__has_include(<b.h>)\nyes\n#endif'
    assert with_files(text, {"dir/a.h": ""}).tokens.texts == ["yes"]


def test_a_malformed_include_is_passed_over() -> None:
    assert expanded('#include\n#include x\n#include "open\na') == "a"


def test_a_header_may_be_included_again() -> None:
    files = {"dir/list.inc": "X(1)\n", "dir/once.h": "#pragma once\nint once;\n"}
    text = (
        '#define X(n) int a##n;\n#include "list.inc"\n#undef X\n#define X(n) int b##n;\n#include "list.inc"\n'
    )
    unit = with_files(text + '#include "once.h"\n#include "../dir/once.h"\n', files)
    assert " ".join(unit.header.texts) == "int a1 ; int b1 ; int once ;"


def test_a_computed_include() -> None:
    files = {"dir/a.h": "#define A 1\n", "inc/sub/b.h": "#define B 2\n"}
    text = '#define QUOTED "a.h"\n#define ANGLED <sub/b.h>\n#include QUOTED\n#include ANGLED\nA B'
    assert with_files(text, files).tokens.texts == ["1", "2"]


def test_a_header_that_no_folder_has_is_looked_for_in_the_project() -> None:
    files = {"elsewhere/cuda/loops.hpp": "#define LOOP(i, n) for (int i = 0; i < n; ++i)\n"}
    text = '#include "cuda/loops.hpp"\nLOOP(i, 4)'
    found = preprocess(text, path="dir/main.cu", reader=Files(files, project=True))
    assert found.tokens.texts[:2] == ["for", "("]
    assert preprocess(text, path="dir/main.cu", reader=Files(files)).missing == ["cuda/loops.hpp"]


def test_what_a_compile_command_says_is_heeded() -> None:
    files = {"dir/a.h": "x", "q/a.h": "#define A 1\n", "i/b.h": "#define B 2\n", "/pre.h": "#define P 3\n"}
    flags = CompileFlags(
        include_dirs=("i",),
        quote_dirs=("q",),
        defines=("N=4", "M"),
        undefines=("__linux__",),
        includes=("/pre.h",),
    )
    text = '#include "sub/../a.h"\n#include <b.h>\nB P N M\n#ifdef __linux__\nlinux\n#endif\n'
    unit = preprocess(text, path="dir/main.cu", reader=Files(files), defines=("N=5",), flags=flags)
    assert unit.tokens.texts == ["2", "3", "5", "1"]
    unit = preprocess('#include "a.h"\nA', path="other/main.cu", reader=Files(files), flags=flags)
    assert unit.tokens.texts == ["1"]


@pytest.mark.parametrize(
    ("arch", "expected"),
    [(None, "900"), ("sm_80", "800"), ("sm_100a", "1000 1"), ("sm_120", "1200"), ("nonsense", "900")],
)
def test_the_architecture_decides(arch: str | None, expected: str) -> None:
    text = "__CUDA_ARCH__\n#ifdef __CUDA_ARCH_FEAT_SM100_ALL\n1\n#endif"
    assert " ".join(preprocess(text, arch=arch).tokens.texts) == expected


# ---- well-known names --------------------------------------------------------------------------------------


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
    names = [definition[0] for line in KNOWN_MACROS if (definition := parse_definition(line))]
    assert len(names) == len(KNOWN_MACROS)
    assert len(set(names)) == len(names)


# ---- headers read before -----------------------------------------------------------------------------------


def test_a_header_read_before_does_what_it_did() -> None:
    files = {
        "dir/a.h": '#pragma once\n#include "b.h"\n#ifdef WIDE\nusing T = double;\n#else\nusing T = float;\n#endif\n',
        "dir/b.h": "#ifndef B\n#define B\n#define N M\nstruct S { int x[N]; };\n#endif\n",
    }
    wide = "struct S { int x [ 3 ] ; } ; using T = double ;"
    narrow = "struct S { int x [ M ] ; } ; using T = float ;"
    for text, header in (
        ('#include "a.h"\nN', narrow),
        ('#define WIDE\n#define M 3\n#include "a.h"\nN', wide),
        ('#include "a.h"\n#include "b.h"\nN', narrow),
        ('#include "b.h"\n#include "a.h"\nN', narrow),
        ('#define WIDE\n#define M 3\n#include "a.h"\nN', wide),
    ):
        PROCESS.clear()
        alone = with_files(text, files)
        for unit in (alone, with_files(text, files), with_files(text, files)):
            assert " ".join(unit.header.texts) == header
            assert unit.tokens == alone.tokens
            assert unit.macros == alone.macros


def test_a_changed_header_is_seen_at_any_depth() -> None:
    files = {"dir/a.h": '#include "b.h"\n', "dir/b.h": "#define N 1\n"}
    text = '#include "a.h"\nN'
    assert with_files(text, files).tokens.texts == ["1"]
    assert with_files(text, {**files, "dir/b.h": "#define N 2\n"}).tokens.texts == ["2"]
    assert with_files(text, {"dir/a.h": files["dir/a.h"]}).tokens.texts == ["N"]
    assert with_files(text, {**files, "inc/b.h": "#define N 3\n"}).tokens.texts == ["1"]


def test_behind_much_code_only_the_macros_of_headers_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(includes, "MAX_CODE_TOKENS", 10)
    files = {
        "dir/a.h": "struct A { int a, b, c, d; };\n",
        "dir/b.h": '#ifndef B_H\n#define B_H\nstruct B {};\n/*\n#define N 5\n*/\n#define N 4 // "\n#endif\n',
        "dir/c.h": '#include "a.h"\n#include "b.h"\n',
    }
    for _ in range(3):
        unit = with_files('#include "a.h"\n#include "b.h"\nN', files)
        assert unit.tokens.texts == ["4"]
        assert ("A" in unit.header.texts, "B" in unit.header.texts) == (True, False)
        unit = with_files('#include "b.h"\n#include "a.h"\nN', files)
        assert "B" in unit.header.texts and "A" in unit.header.texts
        assert with_files('#include "c.h"\nN', files).tokens.texts == ["4"]


def test_behind_much_code_headers_with_device_functions_are_still_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(includes, "MAX_CODE_TOKENS", 10)
    monkeypatch.setattr(includes, "MAX_DEVICE_TOKENS", 30)
    files = {
        "dir/a.h": "struct A { int a, b, c, d; };\n",
        "dir/b.h": "struct B {};\n",
        "dir/f.h": '#include "b.h"\n__device__ int f(int x) { return x + 1; }\n',
        "dir/g.h": "__device__ int g(int x) { return x + x + x + x; }\n",
        "dir/h.h": "__device__ int h(int x) { return x; }\n",
    }
    for _ in range(3):
        texts = with_files(
            '#include "a.h"\n#include "f.h"\n#include "g.h"\n#include "h.h"\n', files
        ).header.texts
        assert [name in texts for name in ("A", "B", "f", "g", "h")] == [True, False, True, True, False]
        texts = with_files('#include "f.h"\n#include "a.h"\n', files).header.texts
        assert [name in texts for name in ("A", "f")] == [False, True]


def test_directives_of_a_header_are_those_that_the_lexer_sees() -> None:
    text = (
        '#if 1 /* a\n#no */ + 2\n  # define A \\\n  "b\n#c"\nx = "#d\\\n#e"; // #f \\\n#g\n/*\n#h\n*/ #i\n'
        "'#j' # k\nR\"(\n#l\n)\"\n#m\r\n#n"
    )
    tokens = lex(text)
    seen = [t for t, kind, at in zip(tokens.texts, tokens.kinds, tokens.offsets) if t[0] == "#"]
    assert [found for found in directives_of(text) if found in seen] == list(directives_of(text))
    assert {"#m", "#n"} <= {found.strip() for found in directives_of(text)}
    assert not {"#no", "#e", "#g", "#h", "#l"} & set(directives_of(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inline int f(int x) { return g(x); } int y;", "inline int f ( int x ) { } int y ;"),
        ("struct S { int x; int f() const { return x; } };", "struct S { int x ; int f ( ) const { } } ;"),
        (
            "template <class T> void f(T x) noexcept { g<<<1, 2>>>(x); }",
            "template < class T > void f ( T x ) noexcept { <<< }",
        ),
        ("void f() { __shared__ int a[4]; if (x) { y(); } }", "void f ( ) { __shared__ }"),
        ("constexpr int f(int x) { return x * 2; }", "constexpr int f ( int x ) { return x * 2 ; }"),
        ("auto f(int x) -> int { return x; }", "auto f ( int x ) -> int { }"),
        (
            "namespace a { enum E { A, B }; int x[] = {1, 2}; }",
            "namespace a { enum E { A , B } ; int x [ ] = { 1 , 2 } ; }",
        ),
        ("struct alignas(16) V { float x; };", "struct alignas ( 16 ) V { float x ; } ;"),
        ("struct alignas(16) { float x; } v;", "struct alignas ( 16 ) { float x ; } v ;"),
        ("constexpr int N{4};", "constexpr int N { 4 } ;"),
        ("void f() { never closed", "void f ( ) { never closed"),
    ],
)
def test_headers_are_kept_without_the_bodies_of_functions(text: str, expected: str) -> None:
    unit = with_files('#include "a.h"\n', {"dir/a.h": text})
    assert " ".join(unit.header.texts) == expected


# ---- bounds ------------------------------------------------------------------------------------------------


def test_a_macro_that_grows_without_end_is_cut_off() -> None:
    doubled = "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(40))
    unit = preprocess(f"{doubled}#define A40 x\nA0;\n")
    assert unit.exhausted
    assert len(unit.tokens) < 3_000_000


def test_deep_nesting_of_macros_is_cut_off() -> None:
    nested = "".join(f"#define A{i} A{i + 1}\n" for i in range(3000))
    assert preprocess(f"{nested}#define A3000 x\nA0;\n").exhausted


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(40)) + "A0;\n" * 500,
        "".join(f"#define A{i} A{i + 1} A{i + 1}\n#define B{i} A1\n" for i in range(40))
        + "".join(f"B{i};\n" for i in range(40)),
        "#define F(x) F(x)x F(x)\n" + "F(" * 40 + "a" + ")" * 40 + ";\n",
        "#define F(...) __VA_ARGS__, __VA_ARGS__\n" + "F(" * 40 + "a" + ")" * 40 + ";\n",
        "#define F(x) x\n" + "F(" * 5_000 + "a" + ")" * 5_000 + ";\n",
        "#define S(x) #x\n#define T(x) S(x)\n" + "T(" * 40 + "a" + ")" * 40 + ";\n",
        "#define C(a, b) a##b\n#define D(x) C(x, x)\n" + "D(" * 40 + "abcdefgh" + ")" * 40 + ";\n",
        "#define X " + "y " * 300_000 + "\n" + "X;\n" * 20,
    ],
)
def test_macros_without_end_take_bounded_time_and_the_rest_is_read(text: str) -> None:
    start = time.process_time()
    unit = preprocess(f"{text}#define N 4\nlast N;\n")
    assert time.process_time() - start < 2
    assert unit.tokens.texts[-3:] == ["last", "4", ";"]
    assert len(unit.problems) == 1
    assert re.search(r"expands? too far and (is|are) left as", unit.problems[0].message)
    assert len(unit.tokens) < 1_200_000


def test_the_problem_stands_where_the_author_can_do_something() -> None:
    doubled = "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(40))
    text = f"int x;\n}}\n\n{doubled}int y = A0;\n"
    (problem,) = preprocess(text).problems
    assert text[problem.span.start : problem.span.end] == "A0"
    text = 'int x;\n}\n\nint y;\n#include "a.h"\n'
    (problem,) = with_files(text, {"dir/a.h": f"{doubled}A0\n"}).problems
    assert problem.span.start == text.index("#include")


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"dir/a.h": '#include "a.h"\n#include "a.h"\n'}, '"a.h" includes itself without end'),
        ({"dir/a.h": '#include "b.h"\n', "dir/b.h": '#include "a.h"\nint b;\n'}, '"a.h" includes itself'),
        (
            {"dir/a.h": '#include "0.h"\n', **{f"dir/{i}.h": f'#include "{i + 1}.h"\n' for i in range(100)}},
            "too many headers are included",
        ),
    ],
)
def test_includes_without_end_are_one_problem(files: dict[str, str], problem: str) -> None:
    text = 'int x;\n#include "a.h"\nlast'
    unit = with_files(text, files)
    assert unit.tokens.texts == ["int", "x", ";", "last"]
    assert [p.message.startswith(problem) for p in unit.problems] == [True]
    assert text[unit.problems[0].span.start :].startswith("#include")


def test_headers_that_include_two_others_each_end() -> None:
    files = {f"dir/{i}.h": f'#include "{i + 1}.h"\n#include "{i + 1}.h"\n' for i in range(50)}
    start = time.process_time()
    with_files('#include "0.h"\n', {**files, "dir/50.h": "int x;\n"})
    assert time.process_time() - start < 2


def test_an_unclosed_invocation_in_every_line() -> None:
    start = time.process_time()
    unit = preprocess("#define F(x) x\n" + "F(a;\n" * 5_000)
    assert time.process_time() - start < 2
    assert unit.tokens.texts.count("F") == 5_000


def test_nested_invocations_end() -> None:
    assert len(preprocess("#define F(x) x x\n" + "F(" * 15 + "a" + ")" * 15).tokens) == 2**15


@pytest.mark.parametrize(
    "text", ["#define\n", "#define 3 x\n", "#define F(x\n", "#define F(x,,) x\nF(1)", "#", "##"]
)
def test_malformed_directives_are_passed_over(text: str) -> None:
    assert preprocess(f"{text}\nlast").tokens.texts[-1] == "last"


def test_an_unclosed_invocation_stays_as_it_is() -> None:
    assert expanded("#define F(x) x\nF(a; b") == "F ( a ; b"


# ---- through the parser ------------------------------------------------------------------------------------


def test_a_type_from_a_header_makes_a_declaration() -> None:
    reader = Files({"dir/types.h": "typedef float real;\n"})
    unit = parse(SourceText('#include "types.h"\nvoid f() { real * p; }', "dir/a.cu"), reader=reader)
    assert unit.names.aliases["real"] == ("float",)
