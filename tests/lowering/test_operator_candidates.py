"""Which function an operator in an expression calls ([over.match.oper])."""

from __future__ import annotations

import pytest
from which_is_called import cases

from smem_lsp.engine import check


def verdict(declared: str, statements: str, called: int, other: int) -> str:
    """``declared`` has operators that return a number: CALLED, and OTHER ones that a wrong rule would call."""
    text = declared.replace("CALLED", str(called)).replace("OTHER", str(other))
    kernel = f"__global__ void k() {{ __shared__ float s[64]; const int t = threadIdx.x; {statements} }}"
    (report,) = check(f"{text}\n{kernel}\nvoid host() {{ k<<<1, 64>>>(); }}").kernels
    assert report.verdict is not None
    return report.verdict.kind.value


@pytest.mark.parametrize(
    ("declared", "statements"),
    cases(
        """
struct X { int operator+(double) const { return OTHER; } };
int operator+(const X&, int) { return CALLED; }
> X x; s[t / (x + 1)] = t;

struct X { int operator+(int) const { return CALLED; } };
int operator+(const X&, double) { return OTHER; }
> X x; s[t / (x + 1)] = t;

struct X { int operator+(int) const { return OTHER; } };
int operator+(X&, int) { return CALLED; }
> X x; s[t / (x + 1)] = t;

struct X { int operator+(int) { return OTHER; } };
int operator+(const X&, int) { return CALLED; }
> const X x{}; s[t / (x + 1)] = t;

struct X { int operator+(int) { return CALLED; } };
int operator+(const X&, int) { return OTHER; }
> X x; s[t / (x + 1)] = t;

struct B { int operator+(int) const { return OTHER; } };
struct X : B { };
int operator+(const X&, int) { return CALLED; }
> X x; s[t / (x + 1)] = t;

struct B { };
struct X : B { int operator+(int) const { return CALLED; } };
int operator+(const B&, int) { return OTHER; }
> X x; s[t / (x + 1)] = t;

struct X { template <class T> int operator+(T) const { return OTHER; } };
int operator+(const X&, int) { return CALLED; }
> X x; s[t / (x + 1)] = t;

struct X { int operator+(int) const { return CALLED; } };
template <class T> int operator+(const X&, T) { return OTHER; }
> X x; s[t / (x + 1)] = t;

struct Y {};
struct X { int operator+(Y) const { return OTHER; } };
int operator+(const X&, int) { return CALLED; }
> X x; s[t / (x + 1)] = t;

struct X { };
int operator+(int, const X&) { return CALLED; }
int operator+(double, const X&) { return OTHER; }
> X x; s[t / (1 + x)] = t;

struct X { enum E { A = 1 }; friend int operator+(E, E) { return CALLED; } };
> s[t / (X::A + X::A)] = t;

namespace n { struct X { }; int operator+(X, int) { return CALLED; } }
int operator+(n::X, double) { return OTHER; }
> n::X x; s[t / (x + 1)] = t;

struct X { };
namespace n { int operator+(X, int) { return OTHER; } }
int operator+(X, double) { return CALLED; }
> X x; s[t / (x + 1)] = t;

struct Y { }; namespace q { struct X { }; }
int operator+(q::X, int) { return OTHER; }
namespace n { int operator+(q::X, double) { return CALLED; } int g() { return q::X{} + 1; } }
> s[t / n::g()] = t;

namespace q { struct X { }; }
int operator+(q::X, int) { return CALLED; }
struct C { int operator+(C) const { return OTHER; } int g() const { return q::X{} + 1; } };
> C c; s[t / c.g()] = t;

struct X { struct Y { }; friend int operator+(Y, int) { return CALLED; } };
int operator+(X::Y, double) { return OTHER; }
> X::Y y; s[t / (y + 1)] = t;

struct B { int operator-() const { return OTHER; } }; struct X : B { };
int operator-(const X&) { return CALLED; }
> X x; s[t / -x] = t;

struct X { bool operator<(double) const { return OTHER == 1; } };
bool operator<(const X&, int) { return CALLED == 1; }
> X x{}; s[(x < 1) ? t : t / 2] = t;

struct B { int operator+(int) const { return CALLED; } };
struct X : B { using B::operator+; int operator+(double) const { return OTHER; } };
> X x; s[t / (x + 1)] = t;

struct B { int operator+(int) const { return OTHER; } };
struct X : B { int operator+(double) const { return CALLED; } };
> X x; s[t / (x + 1)] = t;

struct B { int operator()(int) const { return CALLED; } };
struct X : B { using B::operator(); int operator()(double) const { return OTHER; } };
> X x; s[t / x(1)] = t;

struct X { int n; };
template <class T> int g(T x) { return x + 1; }
int operator+(X, int) { return CALLED; }
> s[t / g(X{0})] = t;

struct B { }; struct X : B { };
int operator+(const B&, int) { return OTHER; }
template <class T> int operator+(const T&, int) { return CALLED; }
> X x; s[t / (x + 1)] = t;

template <class D> struct B { int operator+(int) const { return CALLED; } };
struct X : B<X> { }; int operator+(const X&, double) { return OTHER; }
struct Y : B<Y> { };
> Y x; s[t / (x + 1)] = t;

template <class T> struct V { T v; int operator+(T) const { return CALLED; } };
template <class T> int operator+(V<T>, double) { return OTHER; }
> V<int> x{1}; s[t / (x + 1)] = t;

enum E { A = 1 };
namespace n { int operator+(E, int) { return CALLED; } }
using n::operator+;
> s[t / (A + 0)] = t;
"""
    ),
)
def test_members_and_other_functions_compete(declared: str, statements: str) -> None:
    assert verdict(declared, statements, 1, 2) == "race-free"
    assert verdict(declared, statements, 2, 1) == "racy"


@pytest.mark.parametrize(
    ("declared", "statements"),
    cases(
        """
enum E { A = 1 }; enum class F { B };
int operator+(E, F) { return OTHER; }
> s[t / (A + 0)] = t;

enum E { A = 1 };
struct Y { Y(E) {} };
int operator+(Y, int) { return OTHER; }
> s[t / (A + 0)] = t;

enum E { A = 1 };
namespace n { int operator+(E, int) { return OTHER; } }
> s[t / (A + 0)] = t;

enum E { A = 1 };
int g() { return A + 0; }
int operator+(E, int) { return OTHER; }
> s[t / g()] = t;

struct X { operator int() const { return 1; } };
struct Y { }; int operator+(Y, int) { return OTHER; }
> X x; s[t / (x + 0)] = t;

struct Y { };
struct X { operator int() const { return 1; } int operator+(Y) const { return OTHER; } };
> X x; s[t / (x + 0)] = t;
"""
    ),
)
def test_the_operator_of_the_language_is_called_where_no_function_may_be(
    declared: str, statements: str
) -> None:
    assert verdict(declared, statements, 1, 2) == "race-free"


@pytest.mark.parametrize(
    ("declared", "statements"),
    cases(
        """
struct X { operator int() const { return CALLED; } };
struct Y { Y(X) {} }; int operator+(Y, double) { return OTHER; }
> X x; s[t / (x + 0)] = t;

struct Y { };
namespace n {
template <class T> struct X { T v; int operator+(Y) const { return CALLED; } };
template <class T> auto make(T v) { return X<T>{v}; }
}
struct Z { template <class T> Z(n::X<T>) {} };
int operator+(Z, Y) { return OTHER; }
> s[t / (n::make(1) + Y{})] = t;

struct Y { }; struct X { };
int operator+(X, Y) { return OTHER; }
> X x; s[t / (x + 0)] = t;
"""
    ),
)
def test_where_it_is_not_known_nothing_is_guessed(declared: str, statements: str) -> None:
    """Not the function that may be called, nor the operator of the language."""
    assert verdict(declared, statements, 2, 1) != "race-free"
    assert verdict(declared, statements, 1, 2) != "racy"


@pytest.mark.parametrize(
    ("declared", "statements"),
    cases(
        """
struct X { explicit operator bool() const { return CALLED == 1; } operator int() const { return OTHER == 1; } };
> X x; bool b(x); s[t / (b ? 1 : 2)] = t;

struct X { explicit operator bool() const { return CALLED == 1; } operator int() const { return OTHER == 1; } };
> X x; bool b{x}; s[t / (b ? 1 : 2)] = t;

struct X { explicit operator bool() const { return OTHER == 1; } operator int() const { return CALLED == 1; } };
> X x; bool b = x; s[t / (b ? 1 : 2)] = t;

struct X { explicit operator long() const { return OTHER; } operator short() const { return CALLED; } };
> X x; int n(x); s[t / n] = t;

struct X { explicit operator int() const { return CALLED; } operator short() const { return OTHER; } };
struct Y { int n; Y(const X& x) : n(x) {} };
> X x; Y y(x); s[t / y.n] = t;

template <auto N> struct P { static constexpr int value = CALLED; };
template <int N> struct P<N> { static constexpr int value = OTHER; };
> s[t / P<3u>::value] = t;

template <auto N> struct P { static constexpr int value = OTHER; };
template <int N> struct P<N> { static constexpr int value = CALLED; };
> s[t / P<3>::value] = t;

template <int N, class T> struct P { static constexpr int value = OTHER; };
template <int N> struct P<N, int> { static constexpr int value = CALLED; };
> s[t / P<3u, int>::value] = t;
"""
    ),
)
def test_what_is_asked_for_directly(declared: str, statements: str) -> None:
    assert verdict(declared, statements, 1, 2) == "race-free"
    assert verdict(declared, statements, 2, 1) == "racy"


@pytest.mark.parametrize(
    ("declared", "statements", "racy"),
    [
        ("bool operator==(E, E) { return true; }", "if (A == B) s[t / 2] = t;", True),
        ("bool operator==(E, long) { return true; }", "if (A == B) s[t / 2] = t;", False),
        ("int operator|(E, E) { return 2; }", "s[t / (A | B)] = t;", True),
        ("int operator|(E, int) { return 2; }", "s[t / (A | B)] = t;", True),
        ("int operator|(E, int) { return 2; }", "short i = 1; s[t / (A | i)] = t;", True),
        ("template <class T> bool operator==(T, T) { return true; }", "if (A == B) s[t / 2] = t;", False),
        ("template <class T> int operator|(T, T) { return 2; }", "s[t / (A | B)] = t;", True),
        ("int operator<<(E, int) { return 2; }", "s[t / (A << 3)] = t;", True),
    ],
)
def test_an_operator_of_the_language_is_better_than_what_converts_an_operand(
    declared: str, statements: str, racy: bool
) -> None:
    """For one of them, and for none worse; or where the other is a template ([over.match.best], [over.built])."""
    found = verdict(f"enum E {{ A, B }}; {declared}", statements, 1, 1)
    assert found == ("racy" if racy else "race-free")


@pytest.mark.parametrize(
    ("declared", "statements"),
    [
        ("bool operator==(E, long) { return true; }", "if (A == 1) s[t / 2] = t;"),
        ("struct X { X(int) {} }; int operator|(E, X) { return 2; }", "s[t / (A | 1)] = t;"),
        ("enum G { C }; int operator|(E, unsigned) { return 2; }", "s[t / (B | C)] = t;"),
    ],
)
def test_an_operator_that_is_better_for_one_operand_and_worse_for_another_is_not_called_for_sure(
    declared: str, statements: str
) -> None:
    assert verdict(f"enum E {{ A, B }}; {declared}", statements, 1, 1) == "undecided"


@pytest.mark.parametrize(
    ("declared", "condition", "holds"),
    [
        ("constexpr bool operator==(E, E) { return false; }", "A == A", False),
        ("constexpr bool operator==(E, E) { return true; }", "A == B", True),
        ("constexpr E operator|(E a, E b) { return E(int(a) & int(b)); }", "(A | B) == 3", False),
        (
            "constexpr E& operator|=(E& a, E b) { a = E(int(a) & int(b)); return a; }"
            "constexpr E f() { E x = A; x |= B; return x; }",
            "f() == 3",
            False,
        ),
    ],
)
def test_operators_of_enumerations_compute_constants(declared: str, condition: str, holds: bool) -> None:
    declared = f"enum E {{ A = 1, B = 2 }}; {declared}"
    assert verdict(declared, f"if constexpr ({condition}) s[t / 2] = t;", 1, 1) == (
        "racy" if holds else "race-free"
    )


def test_a_friend_may_compute_a_constant() -> None:
    declared = """
struct X {
  enum E { A = 1, B = 2 };
  friend constexpr E operator|(E a, E b) { return E(int(a) & int(b)); }
};
"""
    assert verdict(declared, "if constexpr ((X::A | X::B) == 3) s[t / 2] = t;", 1, 1) == "race-free"
