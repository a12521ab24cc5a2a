"""Classes of constants of the standard library that no header in sight declares: tags and conditions of overloads."""

from __future__ import annotations

import pytest
from which_is_called import PLAIN, RACING, cases, verdict_in_file

TAGS = """
template <class T> struct is_x : std::false_type {}; template <> struct is_x<float> : std::true_type {};
template <class T> struct wide : std::integral_constant<bool, (sizeof(T) > 4)> {};
"""


def verdict(declared: str, call: str, called: str, other: str) -> str:
    return verdict_in_file(TAGS + declared, call, called, other)


BY_TAG = "__device__ void f(std::true_type) { CALLED; } __device__ void f(std::false_type) { OTHER; }"
IF = "template <class T> __device__ typename std::enable_if<COND>::type f(T) { CALLED; }"
UNLESS = "template <class T> __device__ typename std::enable_if<!(COND)>::type f(T) { OTHER; }"


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        f"""
{BY_TAG}
> f(std::true_type()); f(std::true_type{{}});

{BY_TAG}
> f(std::is_same<int, int>()); f(std::is_same<int, int>{{}});

{BY_TAG}
> f(std::is_same<int, int>::type()); f(std::is_floating_point<float>::type{{}});

{BY_TAG}
> f(std::integral_constant<bool, sizeof(int) == 4>()); f(std::bool_constant<1>());

{BY_TAG}
> std::is_integral<int> tag; f(tag);

{BY_TAG}
> f(is_x<float>()); f(typename is_x<float>::type{{}}); f(wide<double>());

__device__ void f(std::integral_constant<int, 3>) {{ CALLED; }}
__device__ void f(std::integral_constant<int, 4>) {{ OTHER; }}
> f(std::integral_constant<int, 1 + 2>{{}});

{IF.replace("COND", "std::is_integral<T>::value")}
{UNLESS.replace("COND", "std::is_integral<T>::value")}
> f(1);

{IF.replace("COND", "is_x<T>::value && !wide<T>::value")}
{UNLESS.replace("COND", "is_x<T>::value && !wide<T>::value")}
> f(1.f);

template <class T> __device__ std::enable_if_t<is_x<T>::value> f(T) {{ CALLED; }}
template <class T> __device__ std::enable_if_t<!is_x<T>::value> f(T) {{ OTHER; }}
> f(1.f);

template <class T, std::enable_if_t<std::is_same<T, int>::value, int> = 0> __device__ void f(T) {{ CALLED; }}
template <class T, std::enable_if_t<!std::is_same<T, int>::value, int> = 0> __device__ void f(T) {{ OTHER; }}
> f(1);

template <class T> __device__ typename std::enable_if<(sizeof(T) > 4), int>::type f() {{ CALLED; return 1; }}
template <class T> __device__ typename std::enable_if<(sizeof(T) <= 4), int>::type f() {{ OTHER; return 1; }}
> f<double>();

template <class T> __device__ void f(T) {{ if constexpr (is_x<T>::value) {{ CALLED; }} else {{ OTHER; }} }}
> f(2.f);

template <class T> __device__ void f(T) {{ if constexpr (std::is_same_v<T, float>) {{ CALLED; }} else {{ OTHER; }} }}
> f(2.f);
"""
    ),
)
def test_the_one_that_a_tag_or_a_condition_chooses_is_called(declared: str, call: str) -> None:
    assert verdict(declared, call, PLAIN, RACING) == "race-free"
    assert verdict(declared, call, RACING, PLAIN) == "racy"


def test_an_alias_out_of_sight_is_none_of_a_class_of_the_program() -> None:
    declared = """
template <class T> struct chosen {};
template <class T> __device__ chosen_t<T> f(T) { CALLED; }
__device__ void f(long) { OTHER; }
"""
    assert verdict(declared, "f(1);", PLAIN, RACING) == "undecided"


def test_of_a_condition_that_is_not_known_neither_is_told() -> None:
    declared = (IF + UNLESS).replace("COND", "mystery<T>::value")
    assert verdict(declared, "f(1);", PLAIN, RACING) == "undecided"


@pytest.mark.parametrize(
    ("declared", "call"),
    [
        (
            """
template <class T> struct H {
  template <class U> static std::true_type t(typename U::q*);
  template <class U> static std::false_type t(...);
  static constexpr bool value = decltype(t<T>(0))::value;
};
struct A {};
template <class T> __device__ std::enable_if_t<!H<T>::value> f(T) { CALLED; }
template <class T> __device__ std::enable_if_t<H<T>::value> f(T) { OTHER; }
""",
            "f(A{});",
        ),
        (
            "constexpr bool t(int*) { return true; } constexpr bool t(...) { return false; }",
            "if constexpr (t(0.f)) { OTHER; } else { CALLED; }",
        ),
        (
            "int t(float*); char t(long) { return 1; } void f(int) { CALLED; } void f(char) { OTHER; }",
            "f(decltype(t((float*)0)){});",
        ),
        (
            "int t(int); char t(long) { return 1; }",
            "if constexpr (sizeof(t(1)) == 4) { CALLED; } else { OTHER; }",
        ),
        (
            """
template <class T> constexpr bool ok() { return true; } template <> constexpr bool ok<int>() { return false; }
template <class T> __device__ std::enable_if_t<!ok<T>()> f(T) { CALLED; }
template <class T> __device__ std::enable_if_t<ok<T>()> f(T) { OTHER; }
""",
            "f(1);",
        ),
    ],
)
def test_a_constant_is_not_taken_from_a_function_that_may_not_be_called(declared: str, call: str) -> None:
    for called, other in ((PLAIN, RACING), (RACING, PLAIN)):
        assert verdict(declared, call, called, other) in (
            "undecided",
            "race-free" if called == PLAIN else "racy",
        )


def test_a_member_that_a_class_has_from_a_trait_is_constant() -> None:
    declared = "struct D : std::true_type {}; void f(const bool&) { CALLED; } void f(bool&) { OTHER; }"
    assert verdict(declared, "f(D::value);", PLAIN, RACING) == "race-free"
    assert verdict(declared, "f(D::value);", RACING, PLAIN) == "racy"
