"""A header that has been read before is not read again, and does what it did."""

from __future__ import annotations

import pytest
from syntax.files import with_files

from smem_lsp.source.queries import PROCESS
from smem_lsp.syntax import includes
from smem_lsp.syntax.headers import directives_of
from smem_lsp.syntax.lexer import lex


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


def test_a_word_of_headers_is_one_object_however_often_it_stands() -> None:
    files = {"dir/a.h": "using some_name = int;\n", "dir/b.h": "struct S { some_name x, y; };\n"}
    header = with_files('#include "a.h"\n#include "b.h"\n', files).header
    words = [text for text in header.texts if text == "some_name"]
    assert len(words) == 2 and words[0] is words[1]
    assert header.offsets.itemsize == 4  # bytes
