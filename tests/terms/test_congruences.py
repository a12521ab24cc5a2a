"""What operators make of numbers that are known but for a multiple holds every number that they make."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from smem_lsp.source.integers import BINARY, applied
from smem_lsp.terms.congruences import Number, of_two, widened

FOLLOWED = "+ - * / % & | ^ << >> == !=".split()
ROUNDS = 400


def some(random: Random, *, exact: bool) -> Number:
    modulus = 0 if exact else random.choice((1, 2, 3, 4, 6, 8, 12))
    return random.randint(0, 9), modulus


def members(of: Number) -> list[int]:
    """The number, or the first ones."""
    n, modulus = of
    return [n + each * modulus for each in range(9)] if modulus else [n]


def holds(of: Number, n: int) -> bool:
    least, modulus = of
    return n >= least and (n - least) % modulus == 0 if modulus else n == least


@pytest.mark.parametrize("name", sorted(BINARY))
def test_they_hold_what_operators_make_of_two_numbers(name: str) -> None:
    random, told = Random(name), 0
    for exact in ((False, True), (True, False), (False, False)):
        for _ in range(ROUNDS):
            one, other = (some(random, exact=each) for each in exact)
            found = of_two(name, one, other)
            told += found is not None
            for a, b in product(members(one), members(other)):
                n = applied(name, a, b)
                assert found is None or n is None or holds(found, n), (one, other, a, b)
    assert bool(told) == (name in FOLLOWED)


def test_a_counter_keeps_its_remainder() -> None:
    random = Random(0)
    for _ in range(ROUNDS):
        first, modulus = (random.randint(0, 9), 0), random.choice((1, 2, 4, 8, 12))
        step, turn = random.randint(1, 9), random.randint(0, 9)
        each = first[0] + step * turn, 0
        found = widened(each, first, modulus)
        assert (
            found is not None
            and found[1] == modulus
            and holds(found, each[0])
            and found[0] < first[0] + modulus
        )
    assert widened((3, 0), (5, 0), 4) is None


def test_what_is_told() -> None:
    assert of_two("%", (3, 8), (4, 0)) == (3, 0)
    assert of_two("/", (9, 8), (4, 0)) == (2, 2)
    assert of_two("&", (5, 8), (3, 0)) == (1, 0)
    assert of_two("==", (1, 4), (2, 6)) == (0, 0) and of_two("==", (1, 4), (1, 6)) is None
