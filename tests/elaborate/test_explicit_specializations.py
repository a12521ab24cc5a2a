"""Templates compete for a call, and then what they are specialised for ([temp.expl.spec])."""

from __future__ import annotations

import pytest
from which_is_called import cases, right


@pytest.mark.parametrize(
    ("declared", "call"),
    cases(
        """
template <class T> void f(T, TO) OTHER
template <class T> void f(T*, TO) OTHER
template <> void f(int*, TO) CALLED
> int* p = nullptr; f(p, s, t);

template <class T> void f(T, TO) OTHER
template <> void f(int*, TO) OTHER
template <class T> void f(T*, TO) CALLED
> int* p = nullptr; f(p, s, t);

template <class T> void f(T, TO) OTHER
template <class T> void f(T*, TO) OTHER
template <> void f(int, TO) CALLED
> f(3, s, t);

template <class T> void f(T, TO) OTHER
template <class T> void f(T*, TO) CALLED
template <> void f(int, TO) OTHER
> int* p = nullptr; f(p, s, t);

template <class T> void f(T, TO) OTHER
template <class T> void f(T*, TO) CALLED
template <> void f(float*, TO) OTHER
> int* p = nullptr; f(p, s, t);

template <class T> void f(T, TO) OTHER
template <class T> void f(T, int, TO) OTHER
template <> void f(int, int, TO) CALLED
> f(3, 4, s, t);

template <class T> void f(T, TO) CALLED
template <class T> void f(T, int, TO) OTHER
template <> void f(int, int, TO) OTHER
> f(3, s, t);

template <class T> void f(T, TO) OTHER
template <> void f(int, TO) CALLED
> f(3, s, t);

template <class T> void f(T, TO) OTHER
template <class T> void f(T*, TO) OTHER
template <> void f<int>(int*, TO) CALLED
> int* p = nullptr; f(p, s, t);

template <class T> void f(T, TO) OTHER
template <> void f<int*>(int*, TO) OTHER
template <class T> void f(T*, TO) CALLED
> int* p = nullptr; f(p, s, t);
"""
    ),
)
def test_a_specialisation_is_called_where_its_template_wins(declared: str, call: str) -> None:
    assert right(declared, call)
