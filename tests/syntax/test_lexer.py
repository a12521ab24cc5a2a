"""Tokens stand where the text spells them."""

from __future__ import annotations

import pytest
from loops import every
from test_kernels import FOLDER

from smem_lsp.syntax.lexer import comments, lex, lex_macro

KERNELS = sorted(FOLDER.glob("*.cu"))

PIECES = """\
int a = 0x1'000u + 1.5e-3f + .5f + 1e+4; // comment
/* block
   comment */ char c = '\\'', d = 'ab';
const char* s = "a \\" // no comment", *r = R"x(raw )" // still raw)x", *u = u8"é";
k<<<1, 2>>>(a <<= 2, b >>= 1, c->*d, e...);
#define LONG(x) \\
  do { x; } while (0)
x = a<b<c>>::d <=> e;
größe = 3; $dollar = 4;
"""


def spelled_where_they_stand(text: str) -> bool:
    tokens = lex(text)
    return all(text[at : at + len(each)] == each for at, each in zip(tokens.offsets, tokens.texts))


def texts(text: str) -> list[str]:
    return lex(text).texts


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@every("path", KERNELS)
def test_every_token_of_a_kernel_stands_at_its_offset(path: object, newline: str) -> None:
    text = FOLDER.joinpath(str(path)).read_text("utf-8").replace("\n", newline)
    assert spelled_where_they_stand(text)
    tokens = lex(text)
    assert list(tokens.offsets) == sorted(set(tokens.offsets))
    assert len(tokens.kinds) == len(tokens.texts) == len(tokens.offsets)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_odd_tokens_stand_at_their_offsets(newline: str) -> None:
    assert spelled_where_they_stand(PIECES.replace("\n", newline))


def test_every_beginning_of_a_text_has_exact_offsets() -> None:
    assert all(spelled_where_they_stand(PIECES[:end]) for end in range(len(PIECES) + 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<<<b>>>c", ["a", "<<<", "b", ">>>", "c"]),
        ("a<<=b>>=c", ["a", "<<=", "b", ">>=", "c"]),
        ("a->*b.*c->d", ["a", "->*", "b", ".*", "c", "->", "d"]),
        ("1'000'000 0xffull 1e-5f .5", ["1'000'000", "0xffull", "1e-5f", ".5"]),
        ("a+++b", ["a", "++", "+", "b"]),
        ("x::y<z>", ["x", "::", "y", "<", "z", ">"]),
        ("f(a...)", ["f", "(", "a", "...", ")"]),
        ("'a' '\\'' '\\n'", ["'a'", "'\\''", "'\\n'"]),
        ('"a" u8"b" L"c" U\'d\'', ['"a"', 'u8"b"', 'L"c"', "U'd'"]),
        ('"a \\" b"', ['"a \\" b"']),
        ('R"(a " ) b)"', ['R"(a " ) b)"']),
        ('R"x(a )" b)x" c', ['R"x(a )" b)x"', "c"]),
        ('u8R"(a\nb)" c', ['u8R"(a\nb)"', "c"]),
        ("a // b\nc", ["a", "c"]),
        ("a // b \\\n c\nd", ["a", "d"]),
        ("a /* b */ c /* d", ["a", "c"]),
        ("a \\\n b", ["a", "b"]),
        ("@ ` \x00", ["@", "`", "\x00"]),
    ],
)
def test_spellings(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('a = "open\nb;', ["b", ";"]),
        ("a = 'open\nb;", ["b", ";"]),
        ("a /* open\nb;", []),
        ('a R"x(open\nb;', []),
    ],
)
def test_what_is_never_closed_ends_with_its_line_or_with_the_file(text: str, rest: list[str]) -> None:
    found = texts(text)
    assert spelled_where_they_stand(text)
    assert found[len(found) - len(rest) :] == rest
    assert "b" in rest or "b" not in found


def test_a_directive_is_one_token_with_its_continuation() -> None:
    text = "#define A(x) \\\n  (x + 1) // why\nb;"
    tokens = lex(text)
    assert tokens.kinds[0] == "DIRECTIVE"
    assert tokens.texts[0].startswith("#define A(x)")
    assert tokens.texts[1:] == ["b", ";"]


def test_a_comment_in_a_directive_may_span_lines() -> None:
    assert texts("#define A /* x\n y */ 3\nb")[-1] == "b"


def test_hashes_are_operators_in_a_macro_body() -> None:
    assert lex_macro("a ## b #c")[1] == ["a", "##", "b", "#", "c"]


@pytest.mark.parametrize(
    ("text", "opened", "closed"),
    [
        ("k << <1, 32>> >(p); a", 1, 1),
        ("k<T> <<\t< 1, 32 >>  >   (p); a", 1, 1),
        ("k<<<1, 32>> >(p); a", 1, 1),
        ("k << <1, 32>>>(p); a", 1, 1),
        ("k << <1, (n >> 1) >> > (p); j << <2, 3>> >(q); a", 2, 2),
        ("k << <1, f<g<h<1>> >(3)>>>(p); a", 1, 1),
        ("vec<vec<vec<int>> >(p); a", 0, 0),  # no launch is open
        ("k<<<1, 32>>>(p); vec<vec<vec<int>> >(p); a", 1, 1),
        ("k < <<1, 32>>>(p); a", 0, 1),  # these the compiler refuses
        ("k << \n <1, 32>> >(p); a", 0, 0),
        ("k << <1, 32> >>(p); a", 1, 0),
        ("x = y << z; w = v >> 2 > (u); a", 0, 0),
    ],
)
def test_marks_of_a_launch_may_be_spelled_apart(text: str, opened: int, closed: int) -> None:
    tokens = lex(text)
    assert (tokens.kinds.count("LAUNCH_OPEN"), tokens.kinds.count("LAUNCH_CLOSE")) == (opened, closed)
    for at, each in zip(tokens.offsets, tokens.texts):
        assert text.startswith(each[:2] if each in ("<<<", ">>>") else each, at)
    assert tokens.offsets[-1] == len(text) - 1
    assert lex_macro(text)[0] == tokens.kinds


def test_comments_are_found_and_strings_are_not() -> None:
    text = 'a; // one\n"// no" /* two */ \'"\' // three'
    assert [text[span.start : span.end] for span in comments(text)] == ["// one", "/* two */", "// three"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("__shared__", "STORAGE"),
        ("float", "TYPE"),
        ("volatile", "QUALIFIER"),
        ("name", "NAME"),
        ("3.0f", "NUMBER"),
        ("'c'", "NUMBER"),
        ('R"(x)"', "STRING"),
        ("<<<", "LAUNCH_OPEN"),
        ("and", "AND_AND"),
        ("alignas", "ATTRIBUTE"),
        ("\x00", "STRAY"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert lex(text).kinds == [kind]
