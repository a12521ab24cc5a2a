"""Sums of products with integer coefficients: the normal form of what is added and multiplied.

A polynomial maps each of its products to the coefficient in front of it. No coefficient is 0, so two polynomials are
equal for all values of their atoms exactly where they are equal mappings. An atom is whatever is neither added nor
multiplied out; a product is a sorted tuple of atoms, the empty one being 1, or anything else that can be a key: who
multiplies says how two of them are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import prod
from typing import TypeVar

from smem_lsp.source.integers import MOST_SHIFTED

P = TypeVar("P", bound=Hashable)  # a product
Q = TypeVar("Q", bound=Hashable)
A = TypeVar("A", bound=Hashable)  # an atom

MOST_PRODUCTS = 64  # that are multiplied out; what is longer is no polynomial


def added(one: Mapping[P, int], other: Mapping[P, int], times: int = 1) -> dict[P, int]:
    """``one + times * other``"""
    total = dict(one)
    for product, n in other.items():
        n = total.get(product, 0) + times * n
        if n:
            total[product] = n
        else:
            total.pop(product, None)
    return total


def scaled(one: Mapping[P, int], times: int) -> dict[P, int]:
    """``times * one``"""
    return {product: times * n for product, n in one.items()} if times else {}


def multiplied(
    one: Mapping[P, int], other: Mapping[P, int], joined: Callable[[P, P], P | None]
) -> dict[P, int] | None:
    """``one * other``. ``joined``: the product of two products. None: one of these is none, or it is too long."""
    if len(one) * len(other) > MOST_PRODUCTS:
        return None
    total: dict[P, int] = {}
    for left, m in one.items():
        for right, n in other.items():
            product = joined(left, right)
            if product is None:
                return None
            total[product] = total.get(product, 0) + m * n
    return {product: n for product, n in total.items() if n}


def number(one: Mapping[P, int], unit: P) -> int | None:
    """Its value, if it is a number. ``unit``: the product that is 1."""
    return one.get(unit, 0) if one.keys() <= {unit} else None


def of_operation(
    name: str, args: Sequence[Mapping[P, int]], unit: P, joined: Callable[[P, P], P | None]
) -> dict[P, int] | None:
    """What an operator makes of polynomials, where that is one again: a sum, a difference, a product, a negation, a
    shift to the left by a number. None: it is none, or too long."""
    if len(args) != 2:
        return scaled(args[0], -1) if name == "neg" else None
    one, other = args
    if name in ("+", "-"):
        return added(one, other, 1 if name == "+" else -1)
    if name == "*":
        return multiplied(one, other, joined)
    by = number(other, unit) if name == "<<" else None
    return None if by is None or not 0 <= by <= MOST_SHIFTED else scaled(one, 1 << by)


def evaluated(one: Mapping[tuple[A, ...], int], value: Callable[[A], int]) -> int:
    """Its value where atoms have these."""
    return sum(n * prod(map(value, product)) for product, n in one.items())


def mapped(one: Mapping[P, int], image: Callable[[P], Mapping[Q, int]]) -> dict[Q, int]:
    """The sum of the images of its products, each times its coefficient."""
    total: dict[Q, int] = {}
    for product, n in one.items():
        for each, m in image(product).items():
            total[each] = total.get(each, 0) + n * m
    return {product: n for product, n in total.items() if n}


def substituted(
    one: Mapping[tuple[A, ...], int],
    value: Callable[[A], Mapping[Q, int] | None],
    unit: Q,
    joined: Callable[[Q, Q], Q | None],
) -> dict[Q, int] | None:
    """With its atoms replaced by their values. ``unit``: the product that is 1. None: an atom has no value, or what is
    multiplied out is none or too long."""
    images: dict[tuple[A, ...], Mapping[Q, int]] = {}
    for product in one:
        image: Mapping[Q, int] | None = {unit: 1}
        for atom in product:
            other = value(atom)
            image = None if image is None or other is None else multiplied(image, other, joined)
        if image is None:
            return None
        images[product] = image
    return mapped(one, images.__getitem__)


def divided(
    one: Mapping[tuple[A, ...], int], by: Mapping[tuple[A, ...], int]
) -> dict[tuple[A, ...], int] | None:
    """The quotient of an exact division by a single product; None: it is not exact, or ``by`` is a sum or 0."""
    if len(by) != 1:
        return None
    ((factors, count),) = by.items()
    total: dict[tuple[A, ...], int] = {}
    for product, n in one.items():
        left = list(product)
        for factor in factors:
            if factor not in left:
                return None
            left.remove(factor)
        if n % count:
            return None
        total[tuple(left)] = n // count
    return total


def ratio(one: Mapping[P, int], by: Mapping[P, int]) -> int | None:
    """The number that ``by`` has to be multiplied by to be ``one``; None: there is none, or any is."""
    if not by:
        return None
    product, n = next(iter(by.items()))
    times, rest = divmod(one.get(product, 0), n)
    return times if not rest and one == scaled(by, times) else None


def split(one: Mapping[P, int], radix: int) -> tuple[Mapping[P, int], Mapping[P, int]]:
    """``(whole, rest)``: ``one`` is ``radix * whole + rest``, the coefficients of the rest being from 0 to below
    ``radix``."""
    whole: dict[P, int] = {}
    rest: dict[P, int] = {}
    for product, n in one.items():
        above, below = divmod(n, radix)
        if above:
            whole[product] = above
        if below:
            rest[product] = below
    return whole, rest


def names_joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The product of two products whose atoms are names."""
    return tuple(sorted(one + other))


def is_nonnegative(one: Mapping[P, int]) -> bool:
    """Is it surely not negative where no atom is?"""
    return all(n > 0 for n in one.values())
