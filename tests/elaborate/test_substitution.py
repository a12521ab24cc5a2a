"""A function template takes part in a call where its declaration means something ([temp.deduct.general]/8)."""

from __future__ import annotations

import pytest
from which_is_called import HALF, OWN, cases, right, verdict


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
template <bool B, class T = void> struct On {}; template <class T> struct On<true, T> { using type = T; };
template <class T, typename On<(sizeof(T) > 4), int>::type = 0> void f(T, TO) OTHER
template <class T, typename On<(sizeof(T) <= 4), int>::type = 0> void f(T, TO) CALLED
> f(1, s, t);

template <bool B, class T = void> struct On {}; template <class T> struct On<true, T> { using type = T; };
template <class T> typename On<(sizeof(T) > 4)>::type f(T, TO) OTHER
void f(double, TO) CALLED
> f(1, s, t);

template <bool B, class T = void> struct On {}; template <class T> struct On<true, T> { using type = T; };
template <class T> using Big = typename On<(sizeof(T) > 4)>::type;
template <class T> Big<T> f(T, TO) OTHER
void f(double, TO) CALLED
> f(1, s, t);

struct H { using I = int; };
template <class T> void f(T, typename T::I, TO) OTHER
void f(double, double, TO) CALLED
> f(1, 1, s, t);

template <class T, class = typename T::I> struct W { };
template <class T> void f(T, const W<T>* = nullptr, float* s = nullptr, int t = 0) OTHER
void f(double, const void*, TO) CALLED
> f(1, nullptr, s, t);

template <class T, class = typename T::I> void f(T, TO) OTHER
void f(double, TO) CALLED
> f(1, s, t);

template <class T> using In = typename T::I;
template <class T, class = In<T>> void f(T, TO) OTHER
void f(double, TO) CALLED
> f(1, s, t);

template <class...> using Any = void;
template <class T, class = Any<typename T::I>> void f(T, TO) OTHER
void f(double, TO) CALLED
> f(1, s, t);

template <class T, bool B = (sizeof(T) > 4)> struct Of { };
template <class T> struct Of<T, true> { using type = int; };
template <class T, class = typename Of<T>::type> void f(T, TO) OTHER
void f(double, TO) CALLED
> f(1, s, t);

template <class T, bool B = (sizeof(T) > 2)> struct Of { };
template <class T> struct Of<T, true> { using type = int; };
template <class T, class = typename Of<T>::type> void f(T, TO) CALLED
void f(double, TO) OTHER
> f(1, s, t);

struct P { using type = int; }; template <class T> struct Of : P { };
template <class T, class = typename Of<T>::type> void f(T, TO) CALLED
void f(double, TO) OTHER
> f(1, s, t);

template <bool B, class T = void> struct On {}; template <class T> struct On<true, T> { using type = T; };
template <class T> auto f(T, TO) -> typename On<(sizeof(T) > 4)>::type OTHER
void f(double, TO) CALLED
> f(1, s, t);

struct D { using I = int; enum { N = 1 }; static const int M = 2; int d; };
template <class T, class = typename T::I, int = T::N, int = T::M> void f(T, TO) CALLED
struct Z { Z(D) {} };
void f(Z, TO) OTHER
> f(D{}, s, t);

struct D { template <class U> struct I { using type = U; }; };
template <class T, class = typename T::template I<int>::type> void f(T, TO) CALLED
struct Z { Z(D) {} };
void f(Z, TO) OTHER
> f(D{}, s, t);

template <class T> struct Tr { }; template <> struct Tr<int> { using I = int; };
template <class T, class = typename Tr<T>::I> void f(T, TO) CALLED
void f(double, TO) OTHER
> f(1, s, t);

template <class T> struct Tr { using I = int; }; template <> struct Tr<int> { };
template <class T, class = typename Tr<T>::I> void f(T, TO) OTHER
void f(double, TO) CALLED
> f(1, s, t);

template <class T> struct Tr { }; template <class U> struct Tr<U*> { using I = int; };
template <class T, class = typename Tr<T>::I> void f(T, TO) CALLED
void f(const void*, TO) OTHER
> int i; f(&i, s, t);
"""
    ),
)
def test_what_is_deduced_decides_whether_a_template_is_a_candidate(declared: str, call: str) -> None:
    assert right(declared, call)


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
template <unsigned N> void f(int, TO) OTHER
template <int N> void f(long, TO) CALLED
> f<-1>(1, s, t);

template <unsigned N> void f(int, TO) CALLED
template <int N> void f(long, TO) OTHER
> f<1>(1, s, t);

template <bool N> void f(int, TO) OTHER
template <int N> void f(long, TO) CALLED
> f<2>(1, s, t);

template <char N> void f(int, TO) OTHER
template <int N> void f(long, TO) CALLED
> f<300>(1, s, t);

enum E { A, B }; template <E N> void f(int, TO) OTHER
template <int N> void f(long, TO) CALLED
> f<1>(1, s, t);

enum class E { A, B }; template <int N> void f(int, TO) OTHER
template <E N> void f(long, TO) CALLED
> f<E::A>(1, s, t);

template <int* N> void f(int, TO) OTHER
template <int N> void f(long, TO) CALLED
> f<0>(1, s, t);

template <class T, T N> void f(int, TO) OTHER
template <class T, int N> void f(long, TO) CALLED
> f<unsigned, -1>(1, s, t);

template <int A, unsigned B = A> void f(int, TO) OTHER
template <int N> void f(long, TO) CALLED
> f<-1>(1, s, t);

template <int N> void f(int (&)[N], TO, char (*)[N % 2 == 0] = 0) OTHER
template <int N> void f(const int (&)[N], TO) CALLED
> int a[3]; f(a, s, t);
"""
    ),
)
def test_a_value_is_one_of_its_parameter_and_an_array_has_elements(declared: str, call: str) -> None:
    """[temp.arg.nontype]/2, [temp.deduct.general]/11"""
    assert right(declared, call)


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
template <class T> void f(int, TO, T* = 0) OTHER
template <class T> void f(long, TO) CALLED
> f<int&>(1, s, t);

template <class T> void f(int, TO, T& (*)() = 0) OTHER
template <class T> void f(long, TO) CALLED
> f<void>(1, s, t);

template <class T> void f(int, TO, T (*)[2] = 0) OTHER
template <class T> void f(long, TO) CALLED
> f<void>(1, s, t);
"""
    ),
)
def test_a_type_of_which_not_every_other_one_is_made_leaves_the_call_open(declared: str, call: str) -> None:
    assert {verdict(declared, call, *each) for each in ((OWN, HALF), (HALF, OWN))} == {"undecided"}
