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
