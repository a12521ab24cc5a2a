"""Constant objects of classes: what their members are, whatever initialises them."""

from __future__ import annotations

import pytest

from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.file_scope import file_constants
from smem_lsp.semantics.spell_type import spell_argument
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse

ABOVE = """
enum class Mode : unsigned char { none, fast = 3 };
struct Pair { int a; int b; };
struct Opts { int tile = 16; bool pad = false; };
struct Deep { Pair first; Pair second = {7, 8}; int last = second.b + 1; };
struct Grid { int dims[3]; unsigned char kind; Mode mode; float scale; };
template <class T, int N> struct Of { T value; int size = N; };
struct Based : Pair { int c; };
struct Made { constexpr Made(int x) : a(x * 2), b(1) {} int a; int b; };
template <class T> struct Any { template <class U> constexpr Any(U u) : a(9) {} int a; };
union Either { int a; int b; };
struct Bits { int a : 3; int b : 5; };
class Hidden { int a = 1; public: int b = 2; };
struct Changes { mutable int a; int b; };
struct Anonymous { union { int a; float b; }; int c; };
struct Layers { struct { int a; }; int b; };
struct Rich {
  enum Kind { none, two = 2, three };
  enum class Level : short { low = 1, high };
  struct Inner { int q = 6; int r; };
  using Number = unsigned short;
  static constexpr int count = 5;
  static int others;
  struct { int x, y; } at = {3, 4};
  Kind kind = three;
  Level level = Level::high;
  Inner inner, more = {1, 2};
  Number n = 65537;
  int twice = count * 2;
  double share = 0.5;
  bool operator==(const Rich&) const = default;
  friend bool operator<(const Rich& a, const Rich& b) { return a.n < b.n; }
  constexpr bool wide() const noexcept { return n > 1 && share < 1; }
  template <int F> constexpr int times() const { return twice * F; }
  __host__ __device__ constexpr int total(int by = 2) const;
};
struct Holder { const Pair fixed = {1, 2}; constexpr Holder(int n) : fixed{n, n} {}
  static constexpr int asked() { return fixed.a; } };
struct alignas(16) Aligned { int a; int b; };
struct Vector { int2 at; int n; };
constexpr Pair make(int n) { return {n, n * n}; }
constexpr Pair grown(Pair p, int by) { p.a += by; p.b = p.a * 2; return p; }
constexpr int area(const Pair& p) { return p.a * p.b; }
constexpr Opts tuned(int n) { Opts made; made.tile = n; if (n > 8) made.pad = true; return made; }
constexpr Pair changed(Pair& p) { p.a = 5; return p; }
struct Shape {
  int rows, cols;
  constexpr int area() const { return rows * this->cols; }
  constexpr int scaled(int by) const { return area() * by; }
  constexpr int bump() { return ++rows; }
  static constexpr int fixed() { return 11; }
};
namespace n { constexpr Opts tuned_ = tuned(32); }
struct Config { static constexpr Opts opts = {.pad = true}; static constexpr auto pair = make(4); };
template <int N> constexpr Pair pair_of{N, N + 1};
template <Pair P> struct Sum { static constexpr int value = P.a + P.b; };
template <Pair P> struct Is { static constexpr int value = 0; };
template <> struct Is<Pair{1, 2}> { static constexpr int value = 1; };
constexpr Pair x{1, 2}, y = {1, 2}, z(x), none{}, one = {5};
const Pair w{3, 4};
extern const Pair seen;
__constant__ const Pair kept = {1, 2};
constexpr Pair table[3] = {{1, 2}, {3, 4}, {5, 6}};
"""


def value_of(expression: str) -> TypedConstant:
    meaning = file_constants(parse(SourceText(f"{ABOVE}\nconstexpr auto asked_ = {expression};"))).meaning(
        ("asked_",), (None,)
    )
    assert isinstance(meaning, TypedConstant)
    return meaning


KNOWN = {
    "x.a + x.b": 3,
    "y.b": 2,
    "z.a": 1,
    "none.a": 0,
    "one.b": 0,
    "w.a * w.b": 12,
    "Pair{3, 4}.b": 4,
    "Pair{.b = 4}.b": 4,
    "Pair{.b = 4}.a": 0,
    "Pair().a": 0,
    "Opts{}.tile": 16,
    "Opts{8}.tile": 8,
    "Opts{8}.pad": 0,
    "Opts{8, true}.pad": 1,
    "Opts{.pad = true}.tile": 16,
    "Deep{{1, 2}}.second.b": 8,
    "Deep{{1, 2}}.last": 9,
    "Deep{1, 2, 3, 4}.second.a": 3,
    "Deep{1, 2, 3, 4}.last": 5,
    "Deep{1, 2, {3, 4}}.last": 5,
    "Deep{x, make(2)}.second.b": 4,
    "Deep{x, make(2), 6}.last": 6,
    "Grid{{4, 5, 6}, 7}.dims[1]": 5,
    "Grid{{4, 5}, 7}.dims[2]": 0,
    "Grid{4, 5, 6, 7}.kind": 7,
    "Grid{4, 5, 6, 300}.kind": 44,
    "Grid{{}, 0, Mode::fast}.mode == Mode::fast": 1,
    "Grid{{}, 0, Mode::fast, 0.5f}.scale > 0": 1,
    "Grid{}.scale == 0": 1,
    "Of<char, 5>{300}.value": 44,
    "Of<char, 5>{300}.size": 5,
    "Rich{}.at.y": 4,
    "Rich{}.kind": 3,
    "Rich{}.level == Rich::Level::high": 1,
    "Rich{}.inner.q": 6,
    "Rich{}.inner.r": 0,
    "Rich{}.more.r": 2,
    "Rich{}.n": 1,
    "Rich{}.twice": 10,
    "Rich{.n = 9}.wide()": 1,
    "Rich{}.wide()": 0,
    "Rich{}.times<3>()": 30,
    "Rich{}.count": 5,
    "Rich{{7, 8}, Rich::none}.at.x": 7,
    "Aligned{1, 2}.b": 2,
    "Vector{{3, 4}, 5}.at.y": 4,
    "Vector{3, 4, 5}.n": 5,
    "make(3).b": 9,
    "grown({}, 0).a": None,
    "grown(x, 3).b": 8,
    "area(make(3))": 27,
    "area(x)": 2,
    "tuned(8).pad": 0,
    "tuned(9).pad": 1,
    "tuned(9).tile": 9,
    "Shape{3, 4}.area()": 12,
    "Shape{3, 4}.scaled(2)": 24,
    "Shape{3, 4}.fixed()": 11,
    "n::tuned_.tile": 32,
    "Config::opts.pad": 1,
    "Config::opts.tile": 16,
    "Config::pair.b": 16,
    "pair_of<4>.b": 5,
    "Sum<x>::value": 3,
    "Sum<Pair{3, 4}>::value": 7,
    "Sum<make(3)>::value": 12,
    "Is<y>::value": 1,
    "Is<Pair{2, 1}>::value": 0,
    "table[1].b": 4,
    "(true ? x : w).b": 2,
    "sizeof(x)": 8,
}


@pytest.mark.parametrize("expression", KNOWN)
def test_a_member_of_a_constant_object_has_its_value(expression: str) -> None:
    assert value_of(expression).n == KNOWN[expression]


@pytest.mark.parametrize(
    "expression",
    [
        "Based{1, 2, 3}.a",  # with a base
        "Made{1}.a",  # with constructors
        "Made(1).a",
        "Any<int>{1}.a",
        "Either{1}.b",
        "Bits{9, 1}.a",
        "Hidden{}.b",
        "Changes{1, 2}.a",
        "seen.a",
        "kept.a",  # the host may write it
        "changed(x).a",
        "Shape{3, 4}.bump()",
        "Rich{}.total()",
        "Anonymous{1, 2}.c",
        "Layers{1, 2}.b",
        "Holder::asked()",
        "Pair{1, 2, 3}.a",
        "Pair{.b = 1, .a = 2}.a",
        "Pair{.c = 1}.a",
        "Pair{unseen()}.a",
        "Deep{unseen(), 1}.first.a",
        "Pair{Based{}}.b",  # of a derived class: a copy of its base
        "Deep{Made{1}}.last",
        "Grid{{1, 2, 3, 4}}.kind",
        "table[3].b",
    ],
)
def test_a_member_that_is_not_modelled_is_not_guessed(expression: str) -> None:
    assert value_of(expression).n is None


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Sum<x>", "Sum<y>", True),
        ("Sum<x>", "Sum<Pair{1, 2}>", True),
        ("Sum<x>", "Sum<Pair{2, 1}>", False),
        ("Sum<x>", "Sum<w>", False),
    ],
)
def test_equal_objects_make_one_instance(one: str, other: str, equal: bool) -> None:
    text = f"{ABOVE}\nusing one_ = {one}; using other_ = {other};"
    scope = file_constants(parse(SourceText(text)))
    first, second = (scope.meaning((name,), (None,)) for name in ("one_", "other_"))
    assert first is not None and (first == second) is equal


@pytest.mark.parametrize(
    ("expression", "spelled"),
    [
        ("x", "Pair{1, 2}"),
        ("Opts{8, true}", "Opts{8, true}"),
        ("Grid{{1, 2, 3}, 4, Mode::fast, 0.5f}", "Grid{{1, 2, 3}, 4, 3, 0.5}"),
    ],
)
def test_an_object_is_spelled_as_a_list(expression: str, spelled: str) -> None:
    assert spell_argument(value_of(expression)) == spelled
