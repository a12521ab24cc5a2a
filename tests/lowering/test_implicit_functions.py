"""Which function runs where none is spelled: constructors against conversion functions ([over.match.copy]), operators
that are written otherwise ([over.match.oper]), assignments of parts ([class.copy.assign])."""

from __future__ import annotations

import pytest
from which_is_called import cases

from smem_lsp.config import Config
from smem_lsp.engine import check

_OWN, _HALF = "s[threadIdx.x] = 1;", "s[threadIdx.x / 2] = threadIdx.x;"


def _verdict(declared: str, statements: str, called: str, other: str, standard: str = "") -> str:
    text = declared.replace("CALLED", called).replace("OTHER", other)
    text = f"__shared__ int s[64];\n{text}\n__global__ void k(int n) {{ {statements} }}"
    text += "\nvoid host() { k<<<1, 64>>>(1); }"
    config = Config(defines=(f"__cplusplus={standard}",) if standard else ())
    (report,) = check(text, config=config).kernels
    assert report.verdict is not None
    return report.verdict.kind.value


def _both(declared: str, statements: str, standard: str = "") -> list[str]:
    """What is said where CALLED is apart for each thread, and where OTHER is."""
    return [_verdict(declared, statements, *each, standard) for each in ((_OWN, _HALF), (_HALF, _OWN))]


@pytest.mark.parametrize(
    ("declared", "statements"),
    cases(
        """
struct Y; struct X { X() {} X(const Y&) { CALLED } };
struct Y { operator X() const { OTHER return X(); } };
> Y y; X x(y);

struct Y; struct X { X() {} X(const Y&) { CALLED } };
struct Y { operator X() const { OTHER return X(); } };
> Y y; X x{y};

struct Y; struct X { X() {} X(Y&) { CALLED } };
struct Y { operator X() const { OTHER return X(); } };
> Y y; X x = y;

struct Y; struct X { X() {} X(const Y&) { OTHER } };
struct Y { operator X() { CALLED return X(); } };
> Y y; X x = y;

struct Y; struct X { X() {} X(const Y&) { OTHER } };
struct Y { operator X() { CALLED return X(); } };
void take(X) {}
> Y y; take(y);

struct Y; struct X { X() {} X(const Y&) { OTHER } };
struct Y { operator X() { CALLED return X(); } };
> Y y; X x; x = y;

struct Y; struct X { X() {} explicit X(Y&) { OTHER } };
struct Y { operator X() const { CALLED return X(); } };
> Y y; X x = y;

struct Y; struct X { X() {} X(const Y&) { CALLED } };
struct Y { explicit operator X() { OTHER return X(); } };
> Y y; X x = y;

struct X { X() {} template <class T> X(const T&) { OTHER } };
struct Y { operator X() const { CALLED return X(); } };
> Y y; X x = y;

struct X { X() {} X(int) { OTHER } };
struct Y { operator int() const { OTHER return 1; } operator X() const { CALLED return X(); } };
> Y y; X x = y;
"""
    ),
)
def test_a_constructor_and_a_conversion_compete_for_what_an_object_is_made_of(
    declared: str, statements: str
) -> None:
    assert _both(declared, statements) == ["race-free", "racy"]


@pytest.mark.parametrize(
    ("declared", "statements"),
    cases(
        """
struct Y; struct X { X() {} X(const Y&) { CALLED } };
struct Y { operator X() const { OTHER return X(); } };
> Y y; X x = y;

struct B {}; struct Y; struct X { X() {} X(const B&) { CALLED } };
struct Y : B { operator X() const { OTHER return X(); } };
> Y y; X x(y);

struct X { X() {} template <class T> X(const T&) { CALLED } };
struct Y { operator X() const { OTHER return X(); } };
> Y y; X x(y);

struct X {}; struct Y { explicit operator X() const { return X(); } };
void take(X) { OTHER } void take(...) { CALLED }
> Y y; take(y);

struct X { X(int*) {} }; struct Y {};
void take(X) { OTHER } void take(...) { CALLED }
> Y y; take(y);

struct A { A(int) {} }; struct X { X(A) {} };
void take(X) { OTHER } void take(...) { CALLED }
> take(3);

struct X {}; struct Y { operator X() { return X(); } };
void take(X) { OTHER } void take(...) { CALLED }
> const Y y{}; take(y);
"""
    ),
)
def test_no_conversion_is_taken_for_sure_that_may_not_be_made(declared: str, statements: str) -> None:
    """No two of them for one argument, none that is explicit or of another object ([over.best.ics]/4)."""
    assert set(_both(declared, statements)) == {"undecided"}


_TRUTH = """
struct X {
  X() {} X(int) {}
  operator bool() const { CALLED return true; }
  bool operator==(const X&) const { OTHER return true; }
  bool operator==(bool) const { OTHER return true; }
};
"""


@pytest.mark.parametrize(
    ("standard", "verdicts"),
    [("", ["race-free", "racy"]), ("201402L", ["race-free", "racy"]), ("202002L", ["racy", "race-free"])],
)
def test_no_operator_is_written_by_another_one_before_cpp_20(standard: str, verdicts: list[str]) -> None:
    """[over.match.oper]/3.4"""
    assert _both(_TRUTH, "X x, y; if (x != y) {}", standard) == verdicts
    assert _both(_TRUTH, "X x; if (true == x) {}", standard) == verdicts
    only = "struct X { bool operator==(const X&) const { CALLED return true; } };"
    assert _both(only, "X x, y; if (x != y) {}", standard) == ["race-free", "racy"]


@pytest.mark.parametrize(
    ("declared", "statements"),
    cases(
        """
struct B { B& operator=(const B&) { OTHER return *this; } B& operator=(int) { CALLED return *this; } };
struct X : B { using B::operator=; };
> X x; x = 3;

struct B { B& operator=(int) { CALLED return *this; } };
struct X : B { using B::operator=; X& operator=(float) { OTHER return *this; } };
> X x; x = 3;

struct B { B& operator=(const B&) { CALLED return *this; } B& operator=(B&) { OTHER return *this; } };
struct X { B b; };
> X x, y; x = y;

struct B { B& operator=(const B&) { CALLED return *this; } B& operator=(B&) { OTHER return *this; } };
struct X : B {};
> X x, y; x = y;

struct B { B& operator=(const B&) { CALLED return *this; } B& operator=(B&) { OTHER return *this; } };
struct X { B b; X& operator=(const X&) = default; };
> X x, y; x = y;

struct B { B& operator=(B&) { return *this; } };
struct A { A& operator=(const A&) { OTHER return *this; } A& operator=(A&) { CALLED return *this; } };
struct X { B b; A a; };
> X x, y; x = y;

struct B { template <class T> B& operator=(T&) { CALLED return *this; } };
> B x, y; x = y;

struct B {
  B& operator=(const B&) { CALLED return *this; }
  template <class T> B& operator=(T&) { OTHER return *this; }
};
struct X { B b; };
> X x, y; x = y;

struct B { B() {} B(const B&) { CALLED } B(B&) { OTHER } };
struct X { B b; };
> X x; X y(x);

struct B { B() {} B(const B&) { CALLED } B(B&) { OTHER } };
struct X : B {};
> X x; X y = x;

struct B { B() {} B(const B&) { OTHER } B(B&&) { CALLED } };
struct X : B {};
> X x; X y = static_cast<X&&>(x);

struct B { B() {} template <class T> B(T&) { CALLED } B(int) { OTHER } };
> B x; B y = x;

struct B { B() {} B(const B&) { CALLED } template <class T> B(T&) { OTHER } };
struct X { B b; };
> X x; X y = x;
"""
    ),
)
def test_a_part_is_copied_and_assigned_as_the_implicit_function_sees_it(
    declared: str, statements: str
) -> None:
    """It takes a ``const`` object where all parts do ([class.copy.ctor]/7, [class.copy.assign]/2), and competes with
    what is written and with what ``using`` brings in."""
    assert _both(declared, statements) == ["race-free", "racy"]


@pytest.mark.parametrize(
    ("declared", "statements"),
    cases(
        """
struct B { B& operator=(const B&) { OTHER return *this; } B& operator=(B&&) = default; };
> B x; x = B();

struct B { B& operator=(B&&) { OTHER return *this; } B& operator=(const B&) = default; };
> B x, y; x = y;

struct B { B() {} B(const B&) { OTHER } B(B&&) = default; };
void take(B) {}
> B x; take(static_cast<B&&>(x));

struct B { template <class T> B& operator=(T&) { OTHER return *this; } };
> B x; const B y{}; x = y;

struct B { B() {} template <class T> B(const T&) { OTHER } };
> B x; B y = x;
"""
    ),
)
def test_a_function_that_nobody_wrote_may_win(declared: str, statements: str) -> None:
    assert _both(declared, statements) == ["race-free", "race-free"]


@pytest.mark.parametrize(
    ("declared", "statements"),
    cases(
        """
struct S; using CS = const S&;
struct S { S() {} S(CS) { CALLED } void g() { OTHER } };
> S q; S p = q;

struct S { using Self = S; S() {} S(const Self&) { CALLED } void g() { OTHER } };
> S q; S p(q);

struct S { using Self = S; S() {} S(const Self&) { CALLED } void g() { OTHER } };
void f(S) {}
> S q; f(q);

struct S { using Self = S; Self& operator=(const Self&) { CALLED return *this; } void g() { OTHER } };
> S q, r; r = q;

struct S { using Ref = const S&; S& operator=(Ref) { CALLED return *this; } void g() { OTHER } };
struct W { S m; };
> W q, r; r = q;

struct S { using Ref = const S&; S() {} S(Ref) { CALLED } void g() { OTHER } };
struct W { S m; };
> W q; W r = q;

template <class T> struct S { typedef S<T> Self; S() {} S(const Self&) { CALLED } void g() { OTHER } };
> S<int> q; S<int> r = q;

struct S { using Self = S; S() {} S(Self&&) { CALLED } S(const Self&) { OTHER } };
> S q; S r = static_cast<S&&>(q);

struct B { }; struct S : B { using Other = B; S() {} S(const Other&) { OTHER } void g() { CALLED } };
> S q; S r = q; r.g();

struct S { int x; }; decltype(auto) get(S& q) { return (q).x; }
void f(int&) { OTHER } void f(int&&) { CALLED }
> S q{}; f(get(q));

struct S { int x; }; decltype(auto) get(S& q) { return (q.x); }
void f(int&) { CALLED } void f(int&&) { OTHER }
> S q{}; f(get(q));
"""
    ),
)
def test_a_type_is_the_same_by_any_name_and_in_parentheses(declared: str, statements: str) -> None:
    assert _both(declared, statements) == ["race-free", "racy"]


def test_decltype_of_a_member_of_what_is_in_parentheses_is_no_reference() -> None:
    declared = "struct S { int x; };"
    statements = "S q{1}; decltype((q).x) r = q.x; r = 2; if (q.x == 1) { CALLED } else { OTHER }"
    assert _verdict(declared, statements, _HALF, _OWN) != "race-free"
