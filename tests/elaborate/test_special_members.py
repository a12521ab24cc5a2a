"""Which special members a class has, who wrote them, and where they are defined."""

from __future__ import annotations

import pytest

from smem_lsp.elaborate import conversion_functions, special_members
from smem_lsp.elaborate.conversion_functions import Wanted
from smem_lsp.elaborate.out_of_line import arguments_of_class, defined_outside, specializations
from smem_lsp.elaborate.special_members import Special
from smem_lsp.elaborate.virtual_functions import has_virtual_destructor, is_virtual
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import INT, Record
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import TranslationUnit, parse
from smem_lsp.unit.unit_facts import survey_file


def read(text: str) -> tuple[TranslationUnit, Scope]:
    unit = parse(SourceText(text))
    return unit, survey_file(unit).constants


def class_of(text: str, name: str = "T") -> Record:
    _, scope = read(text)
    found = scope.meaning((name,), (None,))
    assert isinstance(found, Record)
    return found


COPY, ASSIGN, DESTROY = Special.COPY, Special.ASSIGN, Special.DESTROY


@pytest.mark.parametrize(
    ("text", "running"),
    [
        ("struct T { int a; float* p; };", set()),
        ("struct T { T(); ~T() = default; T(const T&) = default; };", set()),
        ("struct T { ~T() {} };", {DESTROY}),
        ("struct T { ~T(); };", {DESTROY}),
        ("struct T { T(const T& other) {} };", {COPY}),
        ("struct T { T(T&& other); };", {COPY}),
        ("struct T { T(T& other, int n = 3); };", {COPY}),
        ("struct T { T(T* other); T(int n); };", set()),
        ("struct T { template <class U> T(const U& other); };", set()),
        ("struct T { T& operator=(const T& other); };", {ASSIGN}),
        ("struct T { T& operator=(int n); };", set()),
        ("struct B { ~B() {} }; struct T : B {};", {DESTROY}),
        ("struct B { ~B() {} }; struct T { int n; B b[3]; };", {DESTROY}),
        ("struct B { ~B() {} }; struct T { B* b; B& r; static B s; };", set()),
        ("struct B { B(const B&) {} B& operator=(const B&); }; struct T { B b; };", {COPY, ASSIGN}),
        ("template <class U> struct B { U u; ~B() {} }; struct T : B<int> {};", {DESTROY}),
        ("template <class U> struct B { U u; }; struct C { ~C() {} }; struct T { B<C> b; };", {DESTROY}),
        ("struct T : Unseen { int n; };", set()),
        ("struct T; ", set()),
    ],
)
def test_what_runs_where_objects_are_copied_assigned_and_end(text: str, running: set[Special]) -> None:
    record = class_of(text)
    assert {each for each in Special if special_members.runs_code(record, each)} == running


def test_a_class_template_that_holds_instances_of_itself_is_bounded() -> None:
    _, scope = read("template <int N> struct R { R<N + 1> next; }; using T = R<0>;")
    record = scope.meaning(("T",), (None,))
    assert isinstance(record, Record)
    assert special_members.runs_code(record, DESTROY)  # nobody can say that nothing does


def test_a_destructor_is_no_constructor() -> None:
    record = class_of("struct T { T(int n); T() = default; ~T(); };")
    assert len(special_members.constructors(record)) == 2
    assert special_members.destructor(record) not in (None, *special_members.constructors(record))


def test_constructors_may_be_inherited() -> None:
    above = "struct B { B(int n); }; struct T : B {"
    assert special_members.inherits_constructors(class_of(f"{above} using B::B; }};"))
    assert not special_members.inherits_constructors(class_of(f"{above} int n; }};"))


# ---- defined outside of the class ----------------------------------------------------------------------------


def outside(text: str, name: str, members: str = "T") -> list[str | None]:
    """The bodies of the members ``name`` that the class only declares, each as it is found."""
    unit, scope = read(text)
    record = scope.meaning((members,), (None,))
    assert isinstance(record, Record)
    found: list[str | None] = []
    for decl, _ in record.scope.own(name):
        assert isinstance(decl, FunctionDecl)
        spelled = [each for each in unit.functions if each.name == name.removeprefix("operator")]
        function = defined_outside(record, decl, spelled)
        found.append(None if function is None else " ".join(function.body.tokens.texts))
    return found


@pytest.mark.parametrize(
    ("text", "name", "bodies"),
    [
        ("struct T { void f(int i); }; void T::f(int j) { j; }", "f", ["j ;"]),
        ("struct T { void f(int i = 3); }; void T::f(int) { 1; }", "f", ["1 ;"]),
        ("struct T { void f(int i); }; void f(int i) { 0; }", "f", [None]),
        ("struct T { void f(int i); }; struct U { void f(int); }; void U::f(int i) { 0; }", "f", [None]),
        (
            "struct T { void f(int i); void f(float x); }; void T::f(float x) { 2; } void T::f(int i) { 1; }",
            "f",
            ["1 ;", "2 ;"],
        ),
        (
            "struct T { void f(); void f() const; }; void T::f() const { 2; } void T::f() { 1; }",
            "f",
            ["1 ;", "2 ;"],
        ),
        ("struct T { T(); ~T(); }; T::~T() { 2; } T::T() { 1; }", "T", ["1 ;", "2 ;"]),
        ("struct T { T& operator=(int i); }; T& T::operator=(int i) { i; }", "operator=", ["i ;"]),
        ("namespace n { struct T { void f(); }; } using T = n::T; void n::T::f() { 1; }", "f", ["1 ;"]),
    ],
)
def test_members_that_are_defined_outside_of_their_class(
    text: str, name: str, bodies: list[str | None]
) -> None:
    assert outside(text, name) == bodies


@pytest.mark.parametrize("argument, found", [("1", []), ("2", [("2 ;", True)]), ("x", [("2 ;", False)])])
def test_a_definition_for_one_instance_alone_is_none_of_the_others(
    argument: str, found: list[tuple[str, bool]]
) -> None:
    unit, scope = read(
        "template <int N> struct B { void f(); }; template <> void B<2>::f() { 2; }"
        f" template <int N> void B<N>::f() {{ 1; }} using T = B<{argument}>;"
    )
    record = scope.meaning(("T",), (None,))
    assert isinstance(record, Record)
    special = specializations(record, unit.functions)
    assert [(" ".join(each.body.tokens.texts), certain) for each, certain in special] == found
    (decl,) = (decl for decl, _ in record.scope.own("f"))
    assert isinstance(decl, FunctionDecl)
    general = defined_outside(record, decl, unit.functions)
    assert general is not None and general.body.tokens.texts == ["1", ";"]


def test_template_parameters_may_have_other_names_outside() -> None:
    unit, scope = read(
        "template <class A> struct B { void f(); }; template <class X> void B<X>::f() {} using T = B<int>;"
    )
    record = scope.meaning(("T",), (None,))
    assert isinstance(record, Record)
    assert arguments_of_class(record, unit.functions[0]) == (INT,)


# ---- virtual functions, conversions --------------------------------------------------------------------------


def test_a_function_is_virtual_where_a_base_says_so() -> None:
    record = class_of(
        "struct A { virtual void f(); void g(); }; struct B : A {}; struct T : B { void f(); };"
    )
    assert is_virtual(record, "f")
    assert not is_virtual(record, "g")
    assert not has_virtual_destructor(record)
    assert has_virtual_destructor(class_of("struct A { virtual ~A() {} }; struct T : A {};"))
    assert is_virtual(class_of("struct T : Unseen { void f() override; };"), "f")


@pytest.mark.parametrize(
    ("members", "asked", "used"),
    [
        ("operator bool() const;", "operatorbool", "operatorbool"),
        ("explicit operator bool() const;", "operatorbool", None),
        ("operator bool(); operator int();", "operatorbool", None),
        ("operator unsigned short() const;", "operatorunsignedshort", "operatorunsignedshort"),
        ("operator float*(); bool operator+(int); void operator()(int);", None, None),
    ],
)
def test_conversions_to_numbers(members: str, asked: str | None, used: str | None) -> None:
    record = class_of(f"struct B {{ {members} }}; struct T : B {{}};")
    known = conversion_functions.to_numbers(record)
    found = conversion_functions.wanted(known, record, Wanted(truth=True))
    assert (None if found is None else found.name) == asked
    found = conversion_functions.wanted(known, record, Wanted())
    assert (None if found is None else found.name) == used


@pytest.mark.parametrize(
    ("members", "moved"),
    [
        ("", True),
        ("T(const T&);", False),
        ("T(const T&); T(T&&);", True),
        ("T& operator=(const T&) = default;", False),
        ("~T();", False),
        ("T(int);", True),
    ],
)
def test_which_classes_have_a_move_constructor(members: str, moved: bool) -> None:
    assert special_members.moves(class_of(f"struct T {{ {members} }};"), Special.COPY) == moved


def test_constructors_from_lists() -> None:
    assert special_members.takes_list(class_of("struct T { T(int); T(std::initializer_list<int> l); };"))
    assert not special_members.takes_list(class_of("struct T { T(int); };"))
