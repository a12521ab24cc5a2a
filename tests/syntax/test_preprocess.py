"""The preprocessor: conditionals, macros and includes, with the offsets of what the author typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse
from smem_lsp.syntax.preprocess import Preprocessed, preprocess


@dataclass(frozen=True)
class Files:
    """A reader over a dictionary."""

    texts: Mapping[str, str]

    def read(self, path: str) -> str | None:
        return self.texts.get(path.replace("\\", "/"))


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


# ---- bounds ------------------------------------------------------------------------------------------------


def test_a_macro_that_grows_without_end_is_cut_off() -> None:
    doubled = "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(40))
    unit = preprocess(f"{doubled}#define A40 x\nA0;\n")
    assert unit.exhausted
    assert len(unit.tokens) < 3_000_000


def test_deep_nesting_of_macros_is_cut_off() -> None:
    nested = "".join(f"#define A{i} A{i + 1}\n" for i in range(3000))
    assert preprocess(f"{nested}#define A3000 x\nA0;\n").exhausted


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
