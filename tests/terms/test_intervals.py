"""What operators make of intervals holds every number that they make of numbers in them."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from smem_lsp.source.integers import BINARY, COMPARISONS, UNARY, applied
from smem_lsp.terms.intervals import ANY, INFINITE, Interval, all_ones, narrowed, of_one, of_two, wrapped

ROUNDS = 150
ROUNDING = {"/", "%", ">>"}


def some(random: Random, low: int) -> Interval:
    ends = sorted((random.randint(low, 12), random.randint(low, 12)))
    return ends[0], ends[1]


def numbers(a: Interval) -> range:
    return range(a[0], a[1] + 1)


def within(n: int, a: Interval) -> bool:
    return a[0] <= n <= a[1]


@pytest.mark.parametrize("name", sorted(BINARY))
def test_they_hold_what_operators_make_of_two_numbers(name: str) -> None:
    """Operators that round, of negative numbers only where these are known to have a sign."""
    random, bounded = Random(name), 0
    for low, signed in product((0, -12), (False, True)):
        for _ in range(ROUNDS):
            a, b = some(random, low), some(random, low)
            found = of_two(name, a, b, signed=signed)
            bounded += found != ANY
            for x, y in product(numbers(a), numbers(b)):
                n = applied(name, x, y)
                assert n is None or within(n, found), (x, y)
    assert bounded > ROUNDS


def test_they_are_exact_at_single_numbers() -> None:
    for name, x, y in product(BINARY, (1, 5, 12), (1, 3)):
        n = applied(name, x, y)
        low, high = of_two(name, (x, x), (y, y))
        assert (low, high) == (n, n) or name in ("|", "^", "&", "%"), (name, x, y)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_they_hold_what_operators_make_of_one_number(name: str) -> None:
    random = Random(name)
    for _ in range(ROUNDS):
        a = some(random, -12)
        found = of_one(name, a)
        made = [UNARY[name](n) for n in numbers(a)]
        assert found == (min(made), max(made))


@pytest.mark.parametrize("name", sorted(COMPARISONS))
def test_what_is_left_where_a_comparison_holds(name: str) -> None:
    random = Random(name)
    for _ in range(ROUNDS):
        a, b = some(random, -12), some(random, -12)
        left = narrowed(a, name, b)
        assert all(within(x, left) for x, y in product(numbers(a), numbers(b)) if BINARY[name](x, y))
        assert set(numbers(left)) <= set(numbers(a))
    assert narrowed((0, 5), "&", (5, 5)) == (0, 5)


def test_what_has_no_bounds_keeps_none() -> None:
    for name in ("+", "*", "|", "^", "<<"):
        assert of_two(name, (0, INFINITE), (1, 3))[1] >= INFINITE
    for name in ("+", "-"):
        for n in (-3, 3):
            assert of_two(name, (0, INFINITE), (n, n)) == ((n if name == "+" else -n), INFINITE)
            assert of_two(name, (-INFINITE, 0), (n, n)) == (-INFINITE, (n if name == "+" else -n))
    assert of_two("-", (5, 5), (0, INFINITE)) == (-INFINITE, 5) == narrowed(ANY, "<=", (0, 5))
    assert narrowed(ANY, "<", (0, INFINITE)) == narrowed(ANY, ">", (-INFINITE, 0)) == of_one("~", ANY) == ANY
    assert of_two(">>", ANY, (1, 2), signed=True) == ANY
    assert of_two("/", ANY, (2, 2)) == of_two("/", (-4, 4), (0, 2)) == ANY
    assert of_two("/", (0, INFINITE), (2, 2)) == (0, INFINITE)
    assert of_two("%", (0, INFINITE), (4, 4)) == (0, 3) == of_two("&", ANY, (3, 3))


def test_unsigned_types_wrap() -> None:
    mask = 0xFF
    for a in ((3, 9), (-4, -1), (-4, 4), (-300, 2), (-300, -299)):
        assert all(within(n & mask if n < 0 else n, wrapped(a, mask)) for n in numbers(a))
    assert [all_ones(n) for n in (0, 1, 4, 7, INFINITE)] == [0, 1, 7, 7, INFINITE]
