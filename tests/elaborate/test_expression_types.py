"""Types of expressions, as a C++ compiler has them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from toolchain import cxx, require

from smem_lsp.elaborate.expression_types import expression_type
from smem_lsp.semantics.file_scope import file_constants
from smem_lsp.semantics.types import Scalar, Type, plain_type, scalar_of
from smem_lsp.source import SourceText
from smem_lsp.syntax.lexer import lex
from smem_lsp.syntax.parse import parse, parse_chunk

ABOVE = """
using u8 = unsigned char;
typedef u8 byte_t;
enum Plain { A, B = 300 };
enum Narrow : unsigned char { C = 1 };
enum class Scoped : short { D };
template <class T> struct Holder { using type = T; T held; };
struct Pair { short low; unsigned high; float real; };
bool yes;
char c;
u8 b;
byte_t t;
short s;
unsigned short us;
int i;
unsigned u;
long l;
unsigned long ul;
long long ll;
float f;
double d;
Plain plain;
Narrow narrow;
Pair pair;
Holder<u8>::type held;
u8 list[4];
int* p;
const u8 fixed = 7;
u8 narrowed(int n) { return n; }
auto trailing(int n) -> unsigned short { return n; }
template <class T> T same(T n) { return n; }
template <class T> T made(int n) { return n; }
unsigned only_declared(float);
"""

# how the type of each is spelled
TYPES = {
    "b": "unsigned char",
    "b + b": "int",
    "+c": "int",
    "-us": "int",
    "~b": "int",
    "!l": "bool",
    "b << ul": "int",
    "u << ll": "unsigned int",
    "ll >> u": "long long",
    "i + u": "unsigned int",
    "l + u": "long",
    "i * ul": "unsigned long",
    "ul + ll": "unsigned long long",
    "b / f": "float",
    "f * d": "double",
    "i < u": "bool",
    "yes && i": "bool",
    "yes + yes": "int",
    "yes ? b : s": "int",
    "yes ? b : t": "unsigned char",
    "yes ? i : u": "unsigned int",
    "yes ? i : f": "float",
    "i, b": "unsigned char",
    "(u8)i": "unsigned char",
    "byte_t(i)": "unsigned char",
    "static_cast<short>(l)": "short",
    "b += 5": "unsigned char",
    "b++": "unsigned char",
    "--s": "short",
    "list[1]": "unsigned char",
    "*list": "unsigned char",
    "p[2] + b": "int",
    "*p": "int",
    "p - p": "long",
    "pair.low": "short",
    "pair.high + i": "unsigned int",
    "pair.real * 2": "float",
    "held": "unsigned char",
    "plain + 1": "int",
    "narrow + 1": "int",
    "(int)Scoped::D": "int",
    "1u << 31": "unsigned int",
    "0x80000000": "unsigned int",
    "2147483648": "long",
    "1ull": "unsigned long long",
    "'a'": "char",
    "'a' + 1": "int",
    "1.f": "float",
    "1.0 * f": "double",
    "sizeof(int)": "unsigned long",
    "fixed": "unsigned char",
    "fixed * 2": "int",
    "narrowed(i)": "unsigned char",
    "narrowed(i) + 1": "int",
    "trailing(i)": "unsigned short",
    "same(b)": "unsigned char",
    "made<short>(i)": "short",
    "only_declared(f)": "unsigned int",
}


def found(text: str) -> Type | None:
    unit = parse(SourceText(ABOVE))
    tokens = lex(text)
    parsed = parse_chunk("expression", tokens.kinds, tokens.texts, unit.symbols)
    assert parsed is not None, text
    return plain_type(expression_type(parsed, file_constants(unit)))


@pytest.mark.parametrize("text", TYPES)
def test_types(text: str) -> None:
    kind = found(text)
    number = scalar_of(kind)
    assert isinstance(number, Scalar), kind
    assert number.name == TYPES[text]


@pytest.mark.parametrize(
    "text", ["pair", "unseen", "unseen + 1", "yes ? unseen : i", "unseen(1) + f", "*unseen"]
)
def test_what_is_not_known(text: str) -> None:
    assert scalar_of(found(text)) is None


def test_a_long_sum_is_read_once_for_each_operator() -> None:
    assert scalar_of(found(" + ".join(["b"] * 60))) == scalar_of(found("i"))


def test_a_compiler_agrees(tmp_path: Path) -> None:
    compiler = require(cxx(), "g++ is not installed")
    lines = ["#include <type_traits>", ABOVE]
    lines += [
        f'static_assert(std::is_same_v<std::decay_t<decltype({text})>, {kind}>, "{text}");'
        for text, kind in TYPES.items()
    ]
    path = tmp_path / "types.cpp"
    path.write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(
        [compiler, "-std=c++17", "-fsyntax-only", "-w", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
