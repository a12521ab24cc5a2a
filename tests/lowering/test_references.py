"""``T&`` and ``T&&`` are different types ([dcl.ref]), which decide what a template is and which function is called."""

from __future__ import annotations

import pytest
from which_is_called import PLAIN, RACING, verdict_in_file


def right(declared: str, statements: str) -> bool:
    """Is CALLED surely run, and OTHER surely not?"""
    bodies = (PLAIN, RACING), (RACING, PLAIN)
    return [verdict_in_file(declared, statements, *each) for each in bodies] == ["race-free", "racy"]


KIND = """
template <class T> struct Kind { static constexpr int value = 0; };
template <class T> struct Kind<T&> { static constexpr int value = 1; };
template <class T> struct Kind<T&&> { static constexpr int value = 2; };
using L = int&; using R = int&&;
struct A { int i; }; struct M { int& l; int&& r; };
int& left(int& x) { return x; } int&& right(int& x) { return static_cast<int&&>(x); } int value(int x) { return x; }
template <class T> T&& forwarded(T&& x) { return static_cast<T&&>(x); }
"""


@pytest.mark.parametrize(
    ("spelled", "kind"),
    [
        *(
            ("int", 0),
            ("int&", 1),
            ("int&&", 2),
            ("L", 1),
            ("R", 2),
            ("L&", 1),
            ("L&&", 1),
            ("R&", 1),
            ("R&&", 2),
        ),
        *(("std::add_lvalue_reference_t<R>", 1), ("std::add_rvalue_reference_t<L>", 1)),
        *(("std::add_rvalue_reference_t<int>", 2), ("std::remove_reference_t<R>", 0)),
        *(("decltype(n)", 0), ("decltype((n))", 1), ("decltype(std::move(n))", 2), ("decltype(n + 1)", 0)),
        *(
            ("decltype(l)", 1),
            ("decltype(r)", 2),
            ("decltype((r))", 1),
            ("decltype(u)", 1),
            ("decltype(v)", 2),
        ),
        *(("decltype(++n)", 1), ("decltype(n++)", 0), ("decltype(n = 3)", 1), ("decltype(*gp)", 1)),
        *(
            ("decltype(gp[1])", 1),
            ("decltype(gp)", 0),
            ("decltype(true ? n : n)", 1),
            ("decltype(true ? n : 1u)", 0),
        ),
        *(("decltype(a.i)", 0), ("decltype((a.i))", 1), ("decltype(m.l)", 1), ("decltype(m.r)", 2)),
        *(("decltype((m.r))", 1), ("decltype((A{1}.i))", 2), ("decltype(static_cast<int&&>(n))", 2)),
        *(("decltype(left(n))", 1), ("decltype(right(n))", 2), ("decltype(value(n))", 0)),
        *(("decltype(forwarded(n))", 1), ("decltype(forwarded(3))", 2)),
        *(("decltype(std::declval<int>())", 2), ("decltype(std::declval<int&>())", 1)),
        *(("decltype(std::forward<int&>(n))", 1), ("decltype(std::forward<R>(n))", 2)),
    ],
)
def test_what_a_type_is(spelled: str, kind: int) -> None:
    """Of a reference to a reference, one is made ([dcl.ref]/6); ``decltype`` is one by the category of its operand, or
    as a name is declared ([dcl.type.decltype])."""
    before = "int& l = n; int&& r = 3; auto&& u = n; auto&& v = n + 1; A a{1}; M m{n, 2};"
    assert right(
        KIND, f"{before} if constexpr (Kind<{spelled}>::value == {kind}) {{ CALLED; }} else {{ OTHER; }}"
    )
    asked = ("!std::is_reference_v", "std::is_lvalue_reference_v", "std::is_rvalue_reference_v")[kind]
    assert right(KIND, f"{before} if constexpr ({asked}<{spelled}>) {{ CALLED; }} else {{ OTHER; }}")


@pytest.mark.parametrize(
    ("argument", "of_parameter", "of_collapsed"),
    [("n", 1, 1), ("3", 0, 2), ("std::move(n)", 0, 2), ("l", 1, 1)],
)
def test_a_forwarding_reference(argument: str, of_parameter: int, of_collapsed: int) -> None:
    """[temp.deduct.call]/3"""
    for spelled, kind in (("T", of_parameter), ("T&&", of_collapsed), ("decltype(x)", of_collapsed)):
        body = f"if constexpr (Kind<{spelled}>::value == {kind}) {{ CALLED; }} else {{ OTHER; }}"
        assert right(f"{KIND} template <class T> void g(T&& x) {{ {body} }}", f"int& l = n; g({argument});")


SEVERAL = """
struct A { int i; };
void left(A&) { LEFT; } void left(const A&) { OTHER; } void left(A&&) { RIGHT; }
using L = A&; using R = A&&;
template <class T> struct Holds { T x; void go() { left(static_cast<T&&>(x)); } };
template <class T> T&& own(std::remove_reference_t<T>& x) { return static_cast<T&&>(x); }
template <class T> std::remove_reference_t<T>&& moved(T&& x) { return static_cast<std::remove_reference_t<T>&&>(x); }
R alias(A& x) { return static_cast<R>(x); } auto trailing(A& x) -> A&& { return static_cast<A&&>(x); }
decltype(auto) declared(A& x) { return static_cast<A&&>(x); } auto&& deduced(A& x) { return x; }
template <class T> void by_forward(T&& x) { left(std::forward<T>(x)); }
template <class T> void by_cast(T&& x) { left(static_cast<T&&>(x)); }
template <class T> void by_type(T&& x) { left(std::forward<decltype(x)>(x)); }
template <class T> void by_function(T&& x) { left(own<T>(x)); }
template <class T> void twice(T&& x) { by_forward(std::forward<T>(x)); }
template <class T> void by_name(T&& x) { left(x); }
void of_right(A&& x) { left(std::forward<A&&>(x)); } void of_alias(R x) { left(x); }
struct Part { A a; A&& r; };
"""


@pytest.mark.parametrize(
    ("call", "is_left"),
    [
        *(("by_forward(a);", True), ("by_forward(A{});", False), ("by_forward(std::move(a));", False)),
        *(("by_cast(a);", True), ("by_cast(A{});", False), ("by_type(a);", True), ("by_type(A{});", False)),
        *(
            ("by_function(a);", True),
            ("by_function(A{});", False),
            ("twice(a);", True),
            ("twice(A{});", False),
        ),
        *(("by_name(A{});", True), ("of_right(A{});", False), ("of_alias(A{});", True)),
        *(("left(moved(a));", False), ("left(alias(a));", False), ("left(trailing(a));", False)),
        *(("left(declared(a));", False), ("left(deduced(a));", True)),
        *(("left(static_cast<L>(a));", True), ("left(static_cast<R>(a));", False)),
        *(("left(static_cast<L&&>(a));", True), ("left(static_cast<R&>(a));", True)),
        *(("Holds<A&> h{a}; h.go();", True), ("Holds<A> h{a}; h.go();", False)),
        *(("Holds<A&> h{a}; left(std::move(h).x);", True), ("Holds<A> h{a}; left(std::move(h).x);", False)),
        *(("Part p{a, A{}}; left(p.r);", True), ("Part p{a, A{}}; left(std::move(p).r);", True)),
        *(("auto&& r = a; left(std::forward<decltype(r)>(r));", True),),
        *(("auto&& r = A{}; left(std::forward<decltype(r)>(r));", False),),
        *(("decltype((a)) r = a; left(static_cast<decltype(r)&&>(r));", True),),
        *(("decltype(std::move(a)) r = std::move(a); left(static_cast<decltype(r)>(r));", False),),
        *(("left(decltype((a))(a));", True), ("left(decltype(std::move(a))(a));", False)),
    ],
)
def test_an_overload(call: str, is_left: bool) -> None:
    """[expr.call]/13, [expr.static.cast]/1, [over.ics.rank]/3.2.3"""
    declared = SEVERAL.replace("LEFT", "CALLED" if is_left else "OTHER").replace(
        "RIGHT", "OTHER" if is_left else "CALLED"
    )
    assert right(declared, f"A a{{}}; {call}")


@pytest.mark.parametrize(
    ("declared", "call"),
    [
        ("struct A {}; using L = A&; using R = A&&; void h(L) { OTHER; } void h(R) { CALLED; }", "h(A{});"),
        (
            "struct A {}; using L = A&; using R = A&&; void h(L) { CALLED; } void h(R) { OTHER; }",
            "A a; h(a);",
        ),
        ("struct A {}; using L = A&; void h(L&&) { CALLED; } void h(A&&) { OTHER; }", "A a; h(a);"),
        (
            "struct A {}; template <class T> struct H { void h(T&&) { CALLED; } void h(const A&) { OTHER; } };",
            "A a; H<A&> x; x.h(a);",
        ),
        (
            "struct A {}; template <class T> struct H { void h(T&&) { OTHER; } void h(const A&) { CALLED; } };",
            "A a; H<A> x; x.h(a);",
        ),
        (
            "struct A {}; template <class T> void h(T) { OTHER; } template <> void h<A&>(A&) { OTHER; }"
            " template <> void h<A&&>(A&&) { CALLED; }",
            "A a; h<A&&>(std::move(a));",
        ),
        (
            "template <class A, class B> struct Same { static constexpr bool value = false; };"
            " template <class A> struct Same<A, A> { static constexpr bool value = true; };",
            "if constexpr (Same<int&, int&&>::value) { OTHER; } else { CALLED; }",
        ),
    ],
)
def test_a_parameter(declared: str, call: str) -> None:
    assert right(declared, call)


CONST = """
struct A { int i; void f() { PLAIN; } void f() const { CONST; } };
A made() { return A{}; } const A fixed() { return A{}; } const auto fixed_auto() { return A{}; }
const A& read(const A& a) { return a; } decltype(auto) in_brackets(const A& a) { return (a); }
auto& same(const A& a) { return a; } const auto& more(A& a) { return a; } auto&& any(const A& a) { return a; }
template <class T> T& id(T& a) { return a; } template <class T> auto& id_auto(T& a) { return a; }
struct B { A a; mutable A m; const A c{}; auto& get() const { return a; } auto& own() { return a; }
  auto& both() const { return a; } auto& both() { return a; } decltype(auto) whole() const { return (a); }
  decltype(auto) copied() const { return a; } decltype(auto) fixed() { return c; } auto value() { return c; }
  auto& free() const { return m; } auto trailing() const -> decltype((a)) { return a; }
  auto& local() const { auto& r = a; return r; } auto& operator[](int) const { return a; } };
"""


@pytest.mark.parametrize(
    ("statements", "constant"),
    [
        *(("auto& x = b.get(); x.f();", True), ("b.get().f();", True), ("auto&& x = b.get(); x.f();", True)),
        *(("auto x = b.get(); x.f();", False), ("auto& x = b.own(); x.f();", False)),
        *(("auto& x = cb.both(); x.f();", True), ("auto& x = b.both(); x.f();", False)),
        *(("b.whole().f();", True), ("auto& x = b.whole(); x.f();", True), ("b.copied().f();", False)),
        *(("b.fixed().f();", True), ("b.value().f();", False), ("auto& x = b.free(); x.f();", False)),
        *(
            ("b.trailing().f();", True),
            ("auto& x = b.local(); x.f();", True),
            ("auto& x = b[1]; x.f();", True),
        ),
        *(("fixed().f();", True), ("fixed_auto().f();", True), ("auto x = fixed_auto(); x.f();", False)),
        *(
            ("made().f();", False),
            ("auto&& x = made(); x.f();", False),
            ("const auto x = made(); x.f();", True),
        ),
        *(
            ("in_brackets(a).f();", True),
            ("same(a).f();", True),
            ("more(a).f();", True),
            ("any(a).f();", True),
        ),
        *(("auto& x = id(c); x.f();", True), ("auto& x = id(a); x.f();", False)),
        *(("auto& x = id_auto(c); x.f();", True), ("auto& x = id_auto(a); x.f();", False)),
        *(("decltype(b.get()) x = b.get(); x.f();", True), ("decltype(auto) x = b.get(); x.f();", True)),
        *(("decltype(auto) x = fixed(); x.f();", True), ("decltype(read(a)) x = a; x.f();", True)),
        *(("decltype(fixed()) x = fixed(); x.f();", True), ("auto&& x = fixed(); x.f();", True)),
        *(("auto g = [&]() -> auto& { return c; }; g().f();", True),),
        *(("auto g = [a]() -> auto& { return a; }; g().f();", True),),
        *(("auto g = [&]() -> const auto& { return a; }; g().f();", True),),
        *(
            ("auto g = [&x = b.get()] { x.f(); }; g();", True),
            ("auto& x = b.get(); auto& y = x; y.f();", True),
        ),
        *(("auto& x = b.get(); auto g = [&] { x.f(); }; g();", True),),
    ],
)
def test_a_deduced_result_is_const(statements: str, constant: bool) -> None:
    """[dcl.spec.auto.general], [dcl.type.decltype]"""
    words = ("OTHER", "CALLED") if constant else ("CALLED", "OTHER")
    declared = CONST.replace("PLAIN", words[0]).replace("CONST", words[1])
    assert right(declared, f"A a{{}}; const A c{{}}; B b{{}}; const B cb{{}}; {statements}")


@pytest.mark.parametrize(
    ("declared", "statements"),
    [
        (
            "void h(int) { OTHER; } void h(unsigned char) { CALLED; }",
            "unsigned char c = 1; h(decltype(c)(n));",
        ),
        ("void h(int) { OTHER; } void h(float) { CALLED; }", "h((decltype(fl))n);"),
        ("void h(int) { OTHER; } void h(float) { CALLED; }", "h(static_cast<decltype(n + fl)>(n));"),
        ("void h(int) { CALLED; } void h(float) { OTHER; }", "h(decltype(n){3});"),
        (
            "struct A { using type = float; }; void h(int) { OTHER; } void h(float) { CALLED; }",
            "A a; decltype(a)::type x = 3; h(x);",
        ),
        ("struct B { void f() { CALLED; } }; struct C : B { void f() { OTHER; } };", "B&& x = C(); x.f();"),
        ("struct Q { unsigned u; };", "Q s{3}; if ((true ? 1 : s.u) - 2 < 0) { OTHER; } else { CALLED; }"),
        (
            "struct Q { auto u() const { return 3u; } };",
            "Q s; const int x = (true ? 1 : s.u()) - 2 < 0; if (x) { OTHER; } else { CALLED; }",
        ),
    ],
)
def test_the_type_of_an_expression(declared: str, statements: str) -> None:
    """Of ``decltype`` in a cast; of a conditional operator, both arms decide it ([expr.cond]/7)."""
    assert right(declared, statements)


@pytest.mark.parametrize(
    "declared",
    [
        "namespace n { struct X { operator int() const; }; int& q(const X&); } int q(int);",
        "namespace n { enum X { E }; int& q(X); } int q(int);",
    ],
)
def test_a_call_may_mean_what_its_arguments_bring(declared: str) -> None:
    """[basic.lookup.argdep]: what the name alone finds does not tell what ``decltype`` is."""
    given = "n::E" if "enum" in declared else "n::X{}"
    asked = f"if constexpr (Kind<decltype(q({given}))>::value"
    for kind in range(3):
        assert not right(KIND + declared, f"{asked} == {kind}) {{ OTHER; }} else {{ CALLED; }}") or kind != 1
        assert not right(KIND + declared, f"{asked} == {kind}) {{ CALLED; }} else {{ OTHER; }}") or kind == 1
