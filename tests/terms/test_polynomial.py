"""The laws of polynomials, on random ones: a commutative ring, and maps that keep its sums and products."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from smem_lsp.source.integers import applied
from smem_lsp.terms.polynomial import (
    MOST_PRODUCTS,
    added,
    divided,
    evaluated,
    is_nonnegative,
    mapped,
    multiplied,
    names_joined,
    of_operation,
    ratio,
    scaled,
    split,
    substituted,
)
from smem_lsp.terms.polynomial import number as value_of

Polynomial = dict[tuple[str, ...], int]
NAMES = "nmk"
ONE: Polynomial = {(): 1}
ROUNDS = 300


def some(random: Random, products: int = 4) -> Polynomial:
    """A polynomial of a few products, of up to three names each."""
    found: Polynomial = {}
    for _ in range(random.randint(0, products)):
        product = tuple(sorted(random.choices(NAMES, k=random.randint(0, 3))))
        found = added(found, {product: random.randint(-9, 9)})
    return found


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    found = multiplied(one, other, names_joined)
    assert found is not None
    return found


def number(one: Polynomial, values: dict[str, int]) -> int:
    return evaluated(one, values.__getitem__)


def rounds() -> list[Random]:
    return [Random(seed) for seed in range(ROUNDS)]


def test_they_are_a_commutative_ring() -> None:
    for random in rounds():
        a, b, c = some(random), some(random), some(random)
        assert added(a, b) == added(b, a) and times(a, b) == times(b, a)
        assert added(added(a, b), c) == added(a, added(b, c))
        assert times(times(a, b), c) == times(a, times(b, c))
        assert times(a, added(b, c)) == added(times(a, b), times(a, c))
        assert added(a, {}) == a == times(a, ONE)
        assert added(a, a, -1) == {} == times(a, {}) == scaled(a, 0)
        assert scaled(a, 7) == times(a, {(): 7}) == added({}, a, 7)


def test_the_form_is_normal() -> None:
    """No coefficient is 0, and equal functions of the names have one form."""
    for random in rounds():
        a, b = some(random), some(random)
        for each in (a, added(a, b, -1), times(a, b), scaled(a, 3)):
            assert 0 not in each.values()
        points = [{name: random.randint(-50, 50) for name in NAMES} for _ in range(40)]
        assert (a == b) == all(number(a, values) == number(b, values) for values in points)


def test_sums_and_products_are_those_of_the_values() -> None:
    for random in rounds():
        a, b, values = some(random), some(random), {name: random.randint(-9, 9) for name in NAMES}
        assert number(added(a, b, -3), values) == number(a, values) - 3 * number(b, values)
        assert number(times(a, b), values) == number(a, values) * number(b, values)


def test_a_substitution_keeps_sums_and_products() -> None:
    for random in rounds():
        a, b = some(random, 2), some(random, 2)
        values = {name: some(random, 1) for name in NAMES}

        def image(one: Polynomial, values: dict[str, Polynomial] = values) -> Polynomial:
            found = substituted(one, values.get, (), names_joined)
            assert found is not None
            return found

        assert image(added(a, b, -2)) == added(image(a), image(b), -2)
        assert image(times(a, b)) == times(image(a), image(b))
        assert image(ONE) == ONE
        assert substituted(a, lambda name: {(name,): 1}, (), names_joined) == a
        point = {name: random.randint(-9, 9) for name in NAMES}
        inner = {name: number(each, point) for name, each in values.items()}
        assert number(image(a), point) == number(a, inner)


def test_a_map_of_products_keeps_sums() -> None:
    for random in rounds():
        a, b, c = some(random), some(random), some(random)
        image: Callable[[tuple[str, ...]], Polynomial] = lambda product, c=c: times({product: 1}, c)  # noqa: E731
        assert mapped(a, image) == times(a, c)
        assert mapped(added(a, b, -2), image) == added(mapped(a, image), mapped(b, image), -2)


def test_a_division_is_exact() -> None:
    for random in rounds():
        a, by = some(random), some(random, 1)
        if by:
            assert divided(times(a, by), by) == a
        found = divided(a, by)
        assert found is None or times(found, by) == a
    assert divided({("n",): 6, (): 3}, {("n",): 3}) is None
    assert divided({("n",): 6}, {("n",): 4}) is None
    assert divided({("n",): 6}, {("n",): 2, (): 1}) is None
    assert divided({("n",): 6}, {}) is None


def test_a_ratio_is_a_number() -> None:
    for random in rounds():
        a, b, n = some(random), some(random), random.randint(-9, 9)
        if a:
            assert ratio(scaled(a, n), a) == n
        found = ratio(b, a)
        assert found is None or scaled(a, found) == b
    assert ratio({("n",): 3}, {("n",): 2}) is None
    assert ratio({}, {}) is None


def test_the_parts_of_a_split_are_joined_again() -> None:
    """As the digits of a number: of 32 and then of 4 they are those of 128."""
    for random in rounds():
        a = scaled(some(random), random.randint(1, 40))
        radix, further = random.randint(1, 40), random.randint(1, 9)
        whole, rest = split(a, radix)
        assert added(rest, whole, radix) == a
        assert all(0 < n < radix for n in rest.values()) and 0 not in whole.values()
        above, digit = split(whole, further)
        assert (above, added(rest, digit, radix)) == split(a, radix * further)


def test_what_is_surely_not_negative() -> None:
    for random in rounds():
        a, values = some(random), {name: random.randint(0, 9) for name in NAMES}
        assert not is_nonnegative(a) or number(a, values) >= 0
    assert not is_nonnegative({("n",): 1, (): -1})


@pytest.mark.parametrize(("products", "fits"), [(MOST_PRODUCTS // 8, True), (MOST_PRODUCTS // 8 + 1, False)])
def test_what_is_too_long_is_none(products: int, fits: bool) -> None:
    one = {(f"a{index}",): 1 for index in range(8)}
    other = {(f"b{index}",): 1 for index in range(products)}
    assert (multiplied(one, other, names_joined) is not None) == fits


def test_a_product_that_is_none() -> None:
    assert multiplied({("n",): 1}, {("n",): 1}, lambda one, other: None) is None
    assert substituted({("n",): 1}, lambda name: None, (), names_joined) is None


def test_operators_make_what_they_make_of_the_values() -> None:
    found = dict.fromkeys(("+", "-", "*", "<<", "neg"), 0)
    for random in rounds():
        values = {name: random.randint(-9, 9) for name in NAMES}
        for name in found:
            args = [some(random)] if name == "neg" else [some(random), some(random, random.randint(0, 1))]
            made = of_operation(name, args, (), names_joined)
            numbers = [number(each, values) for each in args]
            if made is not None:
                found[name] += 1
                known = -numbers[0] if name == "neg" else applied(name, *numbers)
                assert number(made, values) == known
    assert all(found.values())
    for name in ("/", "%", ">>", "min", "?:"):
        assert of_operation(name, [{("n",): 4}, {(): 2}], (), names_joined) is None
    assert of_operation("<<", [{("n",): 1}, {("n",): 1}], (), names_joined) is None


def test_a_number_is_a_polynomial() -> None:
    assert [value_of(each, ()) for each in ({}, {(): 3}, {("n",): 1}, {("n",): 1, (): 3})] == [
        0,
        3,
        None,
        None,
    ]


def test_what_a_polynomial_is_for_some_numbers() -> None:
    assert evaluated({("k", "n"): 2, ("n",): -1, (): 5}, {"k": 3, "n": 7}.__getitem__) == 2 * 3 * 7 - 7 + 5
