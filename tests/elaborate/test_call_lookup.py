"""Which functions the name of a call finds ([basic.lookup.unqual], [basic.lookup.argdep])."""

from __future__ import annotations

from pathlib import Path

import pytest
from which_is_called import HALF, OWN, cases, right, verdict

from smem_lsp.engine import check
from smem_lsp.environment import DiskReader


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
struct X { enum E { A }; friend void f(E, TO) CALLED };
void f(int, TO) OTHER
> f(X::A, s, t);

struct X { struct Y {}; friend void f(Y, TO) CALLED };
struct Z { Z(X::Y) {} };
void f(Z, TO) OTHER
> f(X::Y{}, s, t);

struct X { struct Y { struct W {}; }; struct V { V(Y::W) {} }; friend void f(Y::W, TO) OTHER };
void f(X::V, TO) CALLED
> f(X::Y::W{}, s, t);

struct X { friend void f(const X&, TO) CALLED };
struct D : X { };
struct Z { Z(const D&) {} };
void f(Z, TO) OTHER
> f(D{}, s, t);

namespace n { struct X { }; void f(const X&, TO) CALLED }
struct D : n::X { };
struct Z { Z(const D&) {} };
void f(Z, TO) OTHER
> f(D{}, s, t);

struct P { struct I {}; friend void f(I, TO) OTHER };
struct O : P { struct J : I { }; };
struct Z { Z(O::J) {} };
void f(Z, TO) CALLED
> f(O::J{}, s, t);

namespace n { struct X { }; void f(const X*, TO) CALLED }
void f(const void*, TO) OTHER
> n::X x; f(&x, s, t);

namespace n { struct X { int i; }; void f(const X*, TO) CALLED }
void f(const void*, TO) OTHER
> n::X x[2]; f(x, s, t);

namespace n { enum E { A }; void f(E, TO) CALLED }
void f(int, TO) OTHER
> f(n::A, s, t);

namespace n { enum class E { A }; void f(E, TO) CALLED }
struct Z { Z(n::E) {} };
void f(Z, TO) OTHER
> f(n::E::A, s, t);

namespace n { using T = int; void f(T, TO) OTHER }
void f(double, TO) CALLED
> n::T x = 1; f(x, s, t);

namespace n { struct X {}; void f(X, TO) CALLED }
using T = n::X;
struct Z { Z(T) {} };
void f(Z, TO) OTHER
> T x; f(x, s, t);

namespace n { inline namespace v1 { struct X {}; } void f(X, TO) CALLED }
struct Z { Z(n::X) {} };
void f(Z, TO) OTHER
> n::X x; f(x, s, t);

namespace n { struct X {}; inline namespace v1 { void f(X, TO) CALLED } }
struct Z { Z(n::X) {} };
void f(Z, TO) OTHER
> n::X x; f(x, s, t);

namespace n { struct X {}; namespace v1 { void f(X, TO) OTHER } }
struct Z { Z(n::X) {} };
void f(Z, TO) CALLED
> n::X x; f(x, s, t);

namespace n { namespace m { struct X {}; } void f(m::X, TO) OTHER }
struct Z { Z(n::m::X) {} };
void f(Z, TO) CALLED
> n::m::X x; f(x, s, t);

namespace n { void f(int, TO) OTHER }
void f(double, TO) CALLED
> f(1, s, t);

namespace m { template <class T> void f(const T&, TO) CALLED }
namespace n { struct X {}; using m::f; }
struct Z { Z(n::X) {} };
void f(Z, TO) OTHER
> n::X x; f(x, s, t);

namespace m { template <class T> void f(const T&, TO) OTHER }
namespace n { struct X {}; using namespace m; }
struct Z { Z(n::X) {} };
void f(Z, TO) CALLED
> n::X x; f(x, s, t);

namespace n { struct X {}; namespace { template <class T> void f(const T&, TO) OTHER } }
struct Z { Z(n::X) {} };
void f(Z, TO) CALLED
> n::X x; f(x, s, t);

namespace n { enum E { A }; template <class T> void g(T, TO) OTHER }
template <n::E> struct B { };
struct Z { template <n::E V> Z(B<V>) {} };
void g(Z, TO) CALLED
> g(B<n::A>{}, s, t);

namespace n { template <class F> void f(F, TO) OTHER template <class F> void g(F h, TO) { f(h, s, t); } }
struct Z { template <class F> Z(F) {} };
void f(Z, TO) CALLED
> f([](int) {}, s, t);

namespace n { struct X { int i; }; void f(X, TO) OTHER }
struct Z { int i; };
void f(Z, TO) CALLED
> f({1}, s, t);
"""
    ),
)
def test_the_types_of_arguments_bring_classes_and_namespaces(declared: str, call: str) -> None:
    """[basic.lookup.argdep]/3: a class brings its friends, those of its bases, of the class that it is a member of and
    of its template arguments; a namespace what it declares, not what is in it or around it."""
    assert right(declared, call)


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
namespace n { struct X {}; void f(X, TO) OTHER }
struct Z { Z(n::X) {} };
struct C { void f(Z, TO) CALLED void g(TO) { n::X x; f(x, s, t); } };
> C c; c.g(s, t);

namespace n { struct X {}; void f(X, TO) OTHER }
struct Z { Z(n::X) {} };
struct C { static void f(Z, TO) CALLED static void g(TO) { n::X x; f(x, s, t); } };
> C::g(s, t);

namespace n { struct X {}; void f(X, TO) OTHER }
struct Z { void operator()(n::X, TO) const CALLED };
> n::X x; Z f; f(x, s, t);

namespace n { struct X {}; void f(X, TO) OTHER }
struct Z { Z(n::X) {} };
void f(Z, TO) CALLED
> n::X x; ::f(x, s, t);

namespace n { struct X {}; void f(X, TO) OTHER }
struct Z { Z(n::X) {} };
namespace m { void f(Z, TO) CALLED }
> n::X x; m::f(x, s, t);

struct X { friend void f(X, TO) OTHER };
struct Z { Z(X) {} };
void f(Z, TO) CALLED
> X x; ::f(x, s, t);

namespace n { struct X { friend void f(int, TO) OTHER }; }
namespace n { void f(double, TO) CALLED }
> n::f(1, s, t);

namespace n { struct X {}; void f(X, TO) CALLED }
struct Z { Z(n::X) {} };
namespace m { void f(Z, TO) OTHER }
> n::X x; using m::f; f(x, s, t);
"""
    ),
)
def test_arguments_bring_nothing_where_the_name_alone_says_what_it_means(declared: str, call: str) -> None:
    """[basic.lookup.argdep]/1: a member, an object, a name with qualifiers."""
    assert right(declared, call)


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
struct X { friend void f(int, TO) CALLED };
void f(int, TO);
void f(double, TO) OTHER
> f(1, s, t);

struct X { friend void f(int, TO) OTHER };
void f(double, TO) CALLED
> f(1, s, t);

struct X { friend void f(int, TO) OTHER };
void f(double, TO);
void f(double, TO) CALLED
> f(1, s, t);

void f(int, TO);
struct X { friend void f(int, TO) CALLED };
void f(double, TO) OTHER
> f(1, s, t);

namespace n { struct X { friend void f(int, TO) CALLED };
void f(int, TO); }
namespace n { void f(double, TO) OTHER }
> n::f(1, s, t);

struct X { friend void f(int, TO) OTHER void g(TO); };
void f(double, TO) CALLED
void X::g(TO) { f(1, s, t); }
> X x; x.g(s, t);

void f(double, TO) CALLED
struct X { friend void f(int, TO) OTHER void g(TO) { f(1, s, t); } };
> X x; x.g(s, t);

void f(double, TO) CALLED
struct X { friend void f(int, TO) OTHER static void g(TO) { f(1, s, t); } };
> X::g(s, t);

struct Z;
struct X { friend void f(const X&, TO) CALLED void g(TO); };
struct Z { Z(const X&) {} };
void f(Z, TO) OTHER
void X::g(TO) { f(*this, s, t); }
> X x; x.g(s, t);

void f(double, TO) CALLED
struct X { friend void f(int, TO) OTHER friend void g(X, TO) { f(1, s, t); } };
> g(X{}, s, t);

void f(int, TO) OTHER
struct X { static void f(int, TO) CALLED friend void g(X, TO) { f(1, s, t); } };
> g(X{}, s, t);

void f(int, TO) CALLED
namespace n { struct X { friend void f(double, TO) OTHER }; void g(TO) { f(1, s, t); } }
> n::g(s, t);
"""
    ),
)
def test_a_friend_is_seen_by_its_class_until_its_namespace_declares_it(declared: str, call: str) -> None:
    """[namespace.memdef]/3"""
    assert right(declared, call)


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
template <class T> struct X { T v; friend void f(X x, TO) CALLED };
struct Z { template <class T> Z(X<T>) {} };
void f(Z, TO) OTHER
> f(X<int>{1}, s, t);

template <class T> struct X { T v; friend void f(X x, int, TO) CALLED friend void f(X x, double, TO) OTHER };
> f(X<int>{1}, 1, s, t);

template <class T> struct X { T v; friend void f(X x, T, TO) CALLED };
struct Z { template <class T> Z(X<T>) {} };
void f(Z, double, TO) OTHER
> f(X<int>{1}, 1, s, t);
"""
    ),
)
def test_each_instance_of_a_class_template_defines_its_friends(declared: str, call: str) -> None:
    """[temp.friend]/5"""
    assert right(declared, call)


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
void f(int, TO) OTHER
struct B { static void f(double, TO) CALLED };
struct C : B { static void g(TO) { f(1, s, t); } };
> C::g(s, t);

void f(int, TO) OTHER
struct B { void f(double, TO) CALLED };
struct C : B { void g(TO) { f(1, s, t); } };
> C c; c.g(s, t);

void f(int, TO) CALLED
template <class T> struct B { static void f(double, TO) OTHER };
template <class T> struct C : B<T> { static void g(TO) { f(1, s, t); } };
> C<int>::g(s, t);

void f(double, TO) CALLED
void g(TO) { f(1, s, t); }
void f(int, TO) OTHER
> g(s, t);

namespace n { struct X {}; }
struct Z { Z(n::X) {} };
void f(Z, TO) CALLED
void g(TO) { f(n::X{}, s, t); }
namespace n { void f(X, TO) OTHER }
> g(s, t);

void f(double, TO) CALLED
template <class T> void g(T x, TO) { f(x, s, t); }
void f(int, TO) OTHER
> g(1, s, t);

void f(int, TO);
void f(double, TO) OTHER
void g(TO) { f(1, s, t); }
void f(int, TO) CALLED
> g(s, t);

void f(double, TO) CALLED
void g(TO) { f(1, s, t); }
void f(int, TO);
void f(int, TO) OTHER
> g(s, t);

void f(int, TO) OTHER
namespace n { void f(double, TO) CALLED void g(TO) { f(1, s, t); } }
> n::g(s, t);

struct X {};
void f(X, TO) CALLED
namespace n { struct Z { Z(X) {} }; void f(Z, TO) OTHER void g(TO) { f(X{}, s, t); } }
> n::g(s, t);

namespace m { void f(int, TO) CALLED }
using namespace m;
void f(double, TO) OTHER
> f(1, s, t);

namespace m { void f(int, TO) OTHER }
namespace n { using namespace m; void f(double, TO) CALLED void g(TO) { f(1, s, t); } }
> n::g(s, t);

namespace m { void f(int, TO) CALLED }
void f(double, TO) OTHER
> using namespace m; f(1, s, t);

namespace b { void f(int, TO) CALLED } namespace a { using namespace b; }
void f(double, TO) OTHER
using namespace a;
> f(1, s, t);

namespace m { void f(double, TO) CALLED }
void f(int, TO) OTHER
namespace n { using m::f; void g(TO) { f(1, s, t); } }
> n::g(s, t);

namespace m { void f(int, TO) CALLED }
namespace n { using m::f; void f(double, TO) OTHER void g(TO) { f(1, s, t); } }
> n::g(s, t);

namespace n { inline namespace v { void f(int, TO) CALLED } void f(double, TO) OTHER }
> n::f(1, s, t);

namespace { void f(int, TO) CALLED } void f(double, TO) OTHER
> f(1, s, t);

namespace m { void f(int, TO) CALLED } namespace n { namespace a = m; void f(double, TO) OTHER }
> n::a::f(1, s, t);

void f(int, TO) OTHER
namespace a::b { void f(double, TO) CALLED void g(TO) { f(1, s, t); } }
> a::b::g(s, t);

namespace m { void f(int, TO) OTHER }
namespace n { namespace m { void f(double, TO) CALLED } void g(TO) { m::f(1, s, t); } }
> n::g(s, t);

namespace m { void f(int, TO) CALLED }
namespace n { namespace m { void f(double, TO) OTHER } void g(TO) { ::m::f(1, s, t); } }
> n::g(s, t);

void f(int, TO) CALLED
namespace n { void g(TO) { f(1, s, t); } void f(int, TO) OTHER }
> n::g(s, t);

void f(int, TO) OTHER
struct O { static void f(int, TO) CALLED struct I { void g(TO) { f(1, s, t); } }; };
> O::I i; i.g(s, t);

void f(int, TO) OTHER
struct O { void g(TO) { f(1, s, t); } void f(int, TO) CALLED };
> O i; i.g(s, t);

extern "C" { void f(int, TO) CALLED }
void f(double, TO) OTHER
> f(1, s, t);

namespace n { struct X {}; void f(X, TO); }
struct Z { Z(n::X) {} };
void f(Z, TO) OTHER
void n::f(X, TO) CALLED
> f(n::X{}, s, t);

template <class T> void f(T, TO) OTHER
template <> void f<int>(int, TO) CALLED
> f(1, s, t);

namespace n { struct X {}; template <class T> void f(T, TO) OTHER
template <> void f(X, TO) CALLED }
> f(n::X{}, s, t);

template <class T> struct O { void f(T, TO) CALLED void f(double, TO) OTHER };
> O<int> i; i.f(1, s, t);

namespace n { void f(double, TO) CALLED }
void g(TO) { n::f(1, s, t); }
namespace n { void f(int, TO) OTHER }
> g(s, t);

void f(int, TO) OTHER
struct B { static void f(int, TO) CALLED }; struct D : B { };
> D::f(1, s, t);
"""
    ),
)
def test_the_innermost_scope_with_a_declaration_in_front_of_the_call_hides_the_rest(
    declared: str, call: str
) -> None:
    """[basic.lookup.unqual]"""
    assert right(declared, call)


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
template <class T> struct B { T v; };
struct Z { template <class T> Z(B<T>) {} };
void g(Z, TO) OTHER
namespace n { struct Y {}; void g(B<Y>, TO) CALLED }
> g(B<n::Y>{}, s, t);

namespace n { struct X { }; void f(void (*)(X), TO) CALLED }
void g(n::X) {}
struct Z { Z(void (*)(n::X)) {} };
void f(Z, TO) OTHER
> void (*p)(n::X) = g; f(p, s, t);

namespace n { struct X { }; template <class T> void f(T, TO) CALLED }
n::X g() { return {}; }
struct Z { Z(n::X (*)()) {} };
void f(Z, TO) OTHER
> n::X (*p)() = g; f(p, s, t);

namespace n { struct X { }; template <class T> void f(T, TO) CALLED }
n::X g() { return {}; }
struct Z { Z(n::X (*)()) {} };
void f(Z, TO) OTHER
> f(g, s, t);

namespace n { struct X { int i; }; template <class T> void f(T, TO) CALLED }
struct Z { Z(int n::X::*) {} };
void f(Z, TO) OTHER
> int n::X::* p = &n::X::i; f(p, s, t);

namespace n { struct X {}; void f(X, TO) OTHER }
struct Z { Z(n::X) {} };
void f(Z, TO) CALLED
> n::X x; void f(Z, float*, int); f(x, s, t);

namespace n { struct X {}; void f(X, TO) OTHER }
struct Z { Z(n::X) {} };
void f(Z, TO) CALLED
> n::X x; (f)(x, s, t);

namespace n { struct X {}; }
struct Z { Z(n::X) {} };
void f(Z, TO) OTHER
template <class T> void g(T x, TO) { f(x, s, t); }
namespace n { void f(X, TO) CALLED }
> g(n::X{}, s, t);

namespace n { template <class T> struct X { T v; }; template <class T> void f(X<T>, TO) CALLED template
<class T> X<T> make(T v) { return {v}; } }
struct Z { template <class T> Z(n::X<T>) {} };
void f(Z, TO) OTHER
> f(n::make(1), s, t);

namespace n { template <class T> struct X { T v; }; template <class T> void f(X<T>, TO) CALLED template
<class T> X<T> make(T v) { return {v}; } }
struct Z { template <class T> Z(n::X<T>) {} };
void f(Z, TO) OTHER
> auto x = n::make(1); f(x, s, t);

template <class T> struct Tr { using I = int; }; template <class U> struct Tr<U&> { };
template <class T, class = typename Tr<T>::I> void f(T&&, TO) OTHER
void f(double, TO) CALLED
> int i = 1; f(i, s, t);

template <class T> struct Tr { using I = int; }; template <class U> struct Tr<const U> { };
template <class T, class = typename Tr<T>::I> void f(T*, TO) OTHER
void f(const void*, TO) CALLED
> const int i = 1; f(&i, s, t);

struct P { }; struct D : P { };
template <class T, class = typename T::P> void f(T, TO) CALLED
struct Z { Z(D) {} };
void f(Z, TO) OTHER
> f(D{}, s, t);

struct A { int n; }; struct Z { Z(A) {} };
template <class T> auto f(T x, TO) -> decltype(x.m, void()) OTHER
void f(Z, TO) CALLED
> f(A{}, s, t);
"""
    ),
)
def test_what_is_not_known_is_not_guessed(declared: str, call: str) -> None:
    """A type that is not known may bring the function that is called."""
    assert verdict(declared, call, HALF, OWN) != "race-free"
    assert verdict(declared, call, OWN, HALF) != "racy"


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
void f(TO, int, int = 1);
void f(TO, int a, int b) CALLED
void f(TO, long) OTHER
> f(s, t, 3);

void f(TO, int a, int b) CALLED
void f(TO, long) OTHER
void f(TO, int, int = 2);
> f(s, t, 3);

void f(TO, int, int) OTHER
void f(TO, float) CALLED
void g(TO) { f(s, t, 3); }
void f(TO, int, int = 2);
> g(s, t);

void f(TO, int a, int b);
void f(TO, long) CALLED
void g(TO) { f(s, t, 3); }
void f(TO, int, int = 2) OTHER
> g(s, t);

void f(TO, int, int, int = 3);
void f(TO, int, int = 2, int);
void f(TO, int a, int b, int c) { if (a + b + c == 6) CALLED else OTHER }
> f(s, t, 1);

template <class T> void f(TO, T, int = 2);
template <class T> void f(TO, T, int n) CALLED
void f(TO, long) OTHER
> f(s, t, 3);

struct X { void f(TO, int, int = 2); void f(TO, long) OTHER };
void X::f(float* s, int t, int, int n) { if (n == 2) CALLED else OTHER }
> X x; x.f(s, t, 3);

struct X { X() {} X(TO, int b = 2); };
inline X::X(float* s, int t, int b) { if (b == 2) CALLED else OTHER }
> X x(s, t);

constexpr int b = 5;
void f(TO, int = b + 1);
void f(TO, int c) { if (c == 6) CALLED else OTHER }
> f(s, t);
"""
    ),
)
def test_a_function_has_the_default_arguments_of_all_declarations_in_front(declared: str, call: str) -> None:
    """[dcl.fct.default]/4"""
    assert right(declared, call)


def test_a_default_argument_whose_names_mean_something_else_at_the_definition_is_said() -> None:
    declared = "constexpr int b = 5; void f(TO, int = b); void f(TO, int b) { if (b == 5) CALLED else OTHER }"
    assert verdict(declared, "f(s, t);", OWN, HALF) == "undecided"


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
namespace p { void f(int, TO) CALLED }
using p::f;
namespace p { void f(char, TO) OTHER }
> f('a', s, t);

namespace p { void f(int, TO) CALLED }
namespace q { using p::f; }
namespace p { void f(char, TO) OTHER }
> q::f('a', s, t);

namespace p { void f(char, TO); void f(int, TO) OTHER }
using p::f;
namespace p { void f(char, TO) CALLED }
> f('a', s, t);
"""
    ),
)
def test_a_using_declaration_brings_in_what_stands_in_front_of_it(declared: str, call: str) -> None:
    """[namespace.udecl]/11"""
    assert right(declared, call)


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
template <class T> void f(T, TO);
void f(long, TO) CALLED
> f(3, s, t);

template <class T> void f(T, TO);
template <> void f(float, TO) CALLED
> f(3, s, t);

template <class T> void f(T, TO) CALLED
template <> void f(int, TO);
> f(3, s, t);

template <class T> void f(TO);
template <> void f<float>(TO) CALLED
template <> void f<int>(TO) OTHER
> f<double>(s, t);
"""
    ),
)
def test_a_template_that_is_only_declared_may_be_called(declared: str, call: str) -> None:
    assert {verdict(declared, call, *each) for each in ((OWN, HALF), (HALF, OWN))} == {"undecided"}


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
template <class T> void f(T, TO);
template <> void f(float, TO) CALLED
template <> void f(int, TO) OTHER
> f(3.0f, s, t);

template <class T> void f(TO);
template <> void f<float>(TO) CALLED
template <> void f<int>(TO) OTHER
> f<float>(s, t);
"""
    ),
)
def test_a_specialisation_of_it_is_called_where_the_arguments_are_its_own(declared: str, call: str) -> None:
    assert right(declared, call)


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
struct B { unsigned a : 3; };
void f(unsigned, TO) CALLED
void f(int, TO) OTHER
> B b{}; f(b.a, s, t);

struct B { unsigned a : 3; };
void f(unsigned, TO) OTHER
void f(int, TO) CALLED
> B b{}; f(b.a + 1, s, t);

struct B { unsigned a : 32; };
void f(unsigned, TO) CALLED
void f(int, TO) OTHER
> B b{}; f(+b.a, s, t);

enum E { A, B };
void f(int, TO) CALLED
void f(long, TO) OTHER
void f(float, TO) OTHER
> f(A, s, t);

template <class T> void f(const T&, TO) CALLED
void f(const int*, TO) OTHER
> int a[3]; f(a, s, t);

template <class T> void f(const T&, TO) OTHER
void f(int*, TO) CALLED
> int a[3]; f(a, s, t);

template <class T> void f(T&, TO) OTHER
void f(const int*, TO) CALLED
> const int a[3] = {}; f(a, s, t);
"""
    ),
)
def test_arguments_are_promoted_and_arrays_become_addresses(declared: str, call: str) -> None:
    """[conv.prom]/3, /5; [over.ics.rank]/3.2.1"""
    assert right(declared, call)


@pytest.mark.parametrize(
    ("text", "header", "expected"),
    [
        ('#include "h.cuh"\nvoid f(double, TO) OTHER\nvoid go(TO) { f(3, s, t); }', "void f(int, TO) CALLED",
         ["race-free", "racy"]),
        ('void f(double, TO) CALLED\nvoid go(TO) { f(3, s, t); }\n#include "h.cuh"', "void f(int, TO) OTHER",
         ["undecided", "undecided"]),
    ],
)  # fmt: skip
def test_a_header_that_is_included_behind(
    tmp_path: Path, text: str, header: str, expected: list[str]
) -> None:
    """What it declares may be behind the call: it is not known which function is meant."""
    found = []
    for each in ((OWN, HALF), (HALF, OWN)):
        kernel = "__global__ void k() { __shared__ float s[64]; go(s, threadIdx.x); }"
        for name, content in (
            ("h.cuh", header),
            ("k.cu", f"{text}\n{kernel}\nint main() {{ k<<<1, 64>>>(); }}"),
        ):
            made = (
                content.replace("CALLED", each[0]).replace("OTHER", each[1]).replace("TO", "float* s, int t")
            )
            made = made.replace("void ", "__device__ void ").replace("__global__ __device__", "__global__")
            (tmp_path / name).write_text(made)
        path = tmp_path / "k.cu"
        (report,) = check(path.read_text(), path=str(path), reader=DiskReader()).kernels
        assert report.verdict is not None
        found.append(report.verdict.kind.value)
    assert found == expected
