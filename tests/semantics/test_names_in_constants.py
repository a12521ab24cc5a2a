"""What a name in a constant expression means: by its place in the text, by the arguments of a call, and by the template
arguments that a variable or a trait is specialised for."""

from __future__ import annotations

from pathlib import Path

import pytest
from which_is_called import PLAIN, RACING, cases, verdict_in_file

from smem_lsp.engine import check
from smem_lsp.environment.disk_reader import DiskReader

RIGHT, UNKNOWN = ["race-free", "racy"], ["undecided", "undecided"]


def verdicts(declared: str, value: str) -> list[str]:
    """``value``: an expression, ``==``, and what it is said to be."""
    expression, _, number = value.rpartition(" == ")
    text = f"{declared}\nconstexpr int VALUE = {expression};"
    statement = f"if (VALUE == {number}) {{ CALLED; }} else {{ OTHER; }}"
    return [verdict_in_file(text, statement, *each) for each in ((PLAIN, RACING), (RACING, PLAIN))]


@pytest.mark.parametrize(
    ("declared", "value"),
    cases(
        """
constexpr int N = 1; namespace a { constexpr int M = N; constexpr int N = 2; }
> a::M == 1

constexpr int N = 1; namespace a { constexpr int N = 2; constexpr int M = N; }
> a::M == 2

constexpr int N = 1; namespace a { constexpr int M = N, N = 2; }
> a::M == 1

constexpr int N = 1; namespace a { constexpr int N = 2, M = N; }
> a::M == 2

constexpr int N = 1; namespace a { constexpr int f(int x = N) { return x; } constexpr int N = 2; }
> a::f() == 1

constexpr int N = 1; namespace a { constexpr int f() { return N; } constexpr int N = 2; }
> a::f() == 1

constexpr int N = 1; namespace a { template <class T> constexpr int f(T) { return N; } constexpr int N = 2; }
> a::f(0) == 1

constexpr int N = 1; namespace a { struct S { static constexpr int m = N; }; constexpr int N = 2; }
> a::S::m == 1

constexpr int N = 1; namespace a { struct S { char c[N]; }; constexpr int N = 2; }
> sizeof(a::S) == 1

constexpr int N = 1; namespace a { enum { M = N }; constexpr int N = 2; }
> a::M == 1

constexpr int N = 5; namespace a { enum E { N = N }; constexpr int M = N; }
> a::M == 5

constexpr int N = 1; namespace a { template <int I = N> struct S { static constexpr int m = I; }; constexpr int N = 2; }
> a::S<>::m == 1

constexpr int N = 1; namespace a { template <class T> constexpr int v = N; constexpr int N = 2; }
> a::v<int> == 1

using T = int; namespace a { constexpr int M = sizeof(T); using T = double; }
> a::M == 4

using T = int; namespace a { using T = T; constexpr int M = sizeof(T); }
> a::M == 4

using T = char; namespace a { enum E : T { z }; using T = int; }
> sizeof(a::E) == 1

struct B { static constexpr int v = 1; }; namespace a { struct S : B {}; struct B { static constexpr int v = 2; }; }
> a::S::v == 1

struct T { char c; }; namespace a { struct T; struct T { double d; }; constexpr int M = sizeof(T); }
> a::M == 8

constexpr int f(int) { return 1; } namespace a { constexpr int M = f(0); constexpr int f(int) { return 2; } }
> a::M == 1

constexpr int f(int) { return 1; }
namespace a { constexpr int f(int); constexpr int g() { return f(0); } constexpr int f(int) { return 2; } }
> a::g() == 2

constexpr int N = 1; namespace a { constexpr int M = N; } namespace a { constexpr int N = 2; }
> a::M == 1

constexpr int N = 1; namespace a { constexpr int N = 2; namespace b { constexpr int M = N; constexpr int N = 3; } }
> a::b::M == 2

constexpr int N = 1; namespace a { constexpr int M = N; inline namespace v1 { constexpr int N = 2; } }
> a::M == 1

namespace b { constexpr int N = 1; } namespace c { constexpr int N = 2; } using b::N;
namespace a { constexpr int M = N; using c::N; }
> a::M == 1

namespace b { constexpr int N = 1; }
namespace a { constexpr int f() { return b::N; } namespace b { constexpr int N = 2; } }
> a::f() == 1

namespace b { constexpr int N = 1; }
namespace a { namespace b { constexpr int N = 2; } namespace c { constexpr int f() { return b::N; } } }
> a::c::f() == 2

namespace b { constexpr int N = 1; } using namespace b; namespace a { constexpr int M = N; constexpr int N = 2; }
> a::M == 1
"""
    ),
)
def test_a_name_means_what_is_declared_in_front_of_it(declared: str, value: str) -> None:
    assert verdicts(declared, value) == RIGHT


@pytest.mark.parametrize(
    ("declared", "statement"),
    cases(
        """
constexpr int N = 1; namespace a { __device__ int f(int x = N) { return x; } constexpr int N = 2; }
> S[threadIdx.x / a::f()] = threadIdx.x;

constexpr int N = 1; namespace a { __device__ int f() { return N; } constexpr int N = 2; }
> S[threadIdx.x / a::f()] = threadIdx.x;

constexpr int N = 2; namespace a { constexpr int N = 1; __device__ int f() { return N; } }
> S[threadIdx.x / a::f()] = threadIdx.x;

constexpr int N = 1; namespace a { __device__ int f(int x = N); constexpr int N = 1; }
__device__ int a::f(int x) { return x / N; }
> S[threadIdx.x / a::f()] = threadIdx.x;
"""
    ),
)
def test_so_it_does_in_functions(declared: str, statement: str) -> None:
    assert verdict_in_file(declared, statement, "", "") != "racy"


def test_the_place_in_a_text_is_not_forgotten_with_an_edit() -> None:
    """The declarations of a name are the same, and the function is; they only change places."""
    around = "constexpr int N = 1; namespace a {{ {} }}"
    function, number = "__device__ int f() { return N; }", "constexpr int N = 2;"
    statement = "S[threadIdx.x / a::f()] = threadIdx.x;"
    found = [
        verdict_in_file(around.format(f"{one} {other}"), statement, "", "")
        for one, other in ((function, number), (number, function), (function, number))
    ]
    assert found == ["race-free", "racy", "race-free"]


@pytest.mark.parametrize(("include", "found"), [("", "race-free"), ("constexpr int M = 0;", "undecided")])
def test_headers_stand_in_front_of_a_file_that_includes_them_first(
    tmp_path: Path, include: str, found: str
) -> None:
    (tmp_path / "n.cuh").write_text("namespace a { constexpr int N = 1; }\n")
    path = tmp_path / "k.cu"
    text = f"""{include}
#include "n.cuh"
__shared__ int S[64];
constexpr int N = 2;
namespace a {{ __global__ void k() {{ S[threadIdx.x / N] = threadIdx.x; }} }}
void host() {{ a::k<<<1, 64>>>(); }}
"""
    (report,) = check(text, path=str(path), reader=DiskReader()).kernels
    assert report.verdict is not None
    assert report.verdict.kind.value == found


BESIDE = "namespace n { enum E { z }; struct A { int i; }; constexpr int t(E) { return 2; } }"


@pytest.mark.parametrize(
    ("declared", "value"),
    cases(
        f"""
{BESIDE}
> t(n::z) == 2

constexpr int t(int) {{ return 1; }} {BESIDE}
> ::t(n::z) == 1

constexpr int t(int) {{ return 1; }} {BESIDE}
> t(3) == 1

constexpr int t(int, int) {{ return 1; }} {BESIDE}
> t(n::z) == 2

constexpr int t(int) {{ return 1; }} {BESIDE} struct O {{ static constexpr int t(int) {{ return 3; }}
  static constexpr int m() {{ return t(n::z); }} }};
> O::m() == 3
"""
    ),
)
def test_arguments_bring_the_functions_beside_their_types(declared: str, value: str) -> None:
    assert verdicts(declared, value) == RIGHT


@pytest.mark.parametrize(
    ("declared", "value"),
    cases(
        f"""
constexpr int t(int) {{ return 1; }} {BESIDE}
> t(n::z) == 2

template <class T> constexpr int t(T) {{ return 1; }} {BESIDE}
> t(n::z) == 2

constexpr int t(...) {{ return 1; }} namespace n {{ struct F {{ friend constexpr int t(F) {{ return 2; }} }}; }}
> t(n::F{{}}) == 2

constexpr int t(...) {{ return 1; }} {BESIDE} template <class T> constexpr int of(T a) {{ return t(a); }}
> of(n::z) == 2
"""
    ),
)
def test_which_of_several_is_not_guessed(declared: str, value: str) -> None:
    assert verdicts(declared, value) == UNKNOWN


ONE = "template <class T> constexpr int v = 1;"


@pytest.mark.parametrize(
    ("declared", "value"),
    cases(
        f"""
{ONE} template <> constexpr int v<int> = 2;
> v<int> == 2

{ONE} template <> constexpr int v<int> = 2;
> v<float> == 1

{ONE} template <class T> constexpr int v<T*> = 3;
> v<int*> == 3

{ONE} template <class T> constexpr int v<T&> = v<T> + 1;
> v<int&> == 2

namespace n {{ {ONE} }} template <> constexpr int n::v<int> = 2;
> n::v<int> == 2

namespace n {{ {ONE} }} template <> constexpr int ::n::v<int>{{2}};
> n::v<int> == 2

namespace n {{ inline namespace m {{ {ONE} }} }} template <> constexpr int n::v<int> = 2;
> n::v<int> == 2

namespace n {{ {ONE} }} namespace m = n; template <> constexpr int m::v<int> = 2;
> n::v<int> == 2

template <int N> constexpr int v = N * v<N - 1>; template <> constexpr int v<0> = 1;
> v<5> == 120

template <class T, class U> constexpr int v = 1; template <class T> constexpr int v<T, int> = 2;
template <> constexpr int v<int, int> = 3;
> v<int, int> * 10 + v<char, int> == 32

template <class T = int> constexpr auto v = 1; template <> constexpr auto v<int> = 2;
> v<> == 2

constexpr int v = 4; template <class T> struct A {{ static const int v; }}; template <class T> const int A<T>::v = 7;
> v == 4

template <class T> struct A {{ static constexpr int v = 1; }}; template <class T> constexpr int A<T>::v;
> A<int>::v == 1
"""
    ),
)
def test_a_variable_is_that_of_its_template_arguments(declared: str, value: str) -> None:
    assert verdicts(declared, value) == RIGHT


def test_a_member_that_is_specialised_elsewhere_is_not_guessed() -> None:
    declared = f"struct A {{ {ONE.replace('constexpr', 'static constexpr')} }};"
    assert verdicts(f"{declared} template <> constexpr int A::v<int> = 2;", "A::v<int> == 1") == UNKNOWN


A = "struct A {}; struct B {}; template <> struct std::is_integral<A> : std::true_type {};"


@pytest.mark.parametrize(
    ("declared", "value"),
    cases(
        f"""
{A}
> std::is_integral<A>::value == 1

{A}
> std::is_integral_v<A> == 1

{A}
> std::is_integral<B>::value + std::is_integral_v<B> == 0

{A}
> std::is_integral<int>::value == 1

namespace m {{ struct C {{}}; }} template <> struct std::is_pointer<m::C> : std::true_type {{}};
> std::is_pointer<m::C>::value == 1

struct C {{}}; template <> constexpr bool std::is_integral_v<C> = true;
> std::is_integral_v<C> == 1

struct C {{}}; template <> struct std::numeric_limits<C> {{ static constexpr int digits = 3; }};
> std::numeric_limits<C>::digits == 3

namespace lib {{ namespace in {{ template <class T> struct tr {{ static constexpr int value = 1; }}; }} }}
template <> struct lib::in::tr<int> {{ static constexpr int value = 2; }};
> lib::in::tr<int>::value * 10 + lib::in::tr<char>::value == 21

namespace lib {{ inline namespace v1 {{ template <class T> struct tr {{ static constexpr int value = 1; }}; }} }}
template <> struct lib::tr<int> {{ static constexpr int value = 2; }};
> lib::tr<int>::value == 2
"""
    ),
)
def test_a_trait_is_specialised_by_its_qualified_name(declared: str, value: str) -> None:
    assert verdicts(declared, value) == RIGHT


@pytest.mark.parametrize(
    ("declared", "value"),
    cases(
        """
struct G { int x; }; constexpr G g{3};
> std::is_same<decltype((g.x)), const int&>::value == 1

struct G { int x; }; constexpr G g{3};
> std::is_same<decltype(g.x), int>::value + g.x == 4

struct G { int x[2]; }; constexpr G g{{3, 4}};
> std::is_same<decltype((g.x[1])), const int&>::value == 1

struct I { int v; }; struct G { I i; }; constexpr G g{{3}};
> std::is_same<decltype((g.i.v)), const int&>::value == 1

struct G { int* p; }; constexpr G g{nullptr};
> std::is_same<decltype((g.p)), int* const&>::value == 1

struct G { int x; constexpr bool f() const { return std::is_same<decltype((this->x)), const int&>::value; } };
constexpr G g{3};
> g.f() == 1

struct G { int x; }; constexpr G g{3};
template <class T> constexpr int f(T&) { return std::is_same<T, const int>::value; }
> f(g.x) == 1
"""
    ),
)
def test_a_part_of_a_constant_object_is_constant(declared: str, value: str) -> None:
    assert verdicts(declared, value) == RIGHT
