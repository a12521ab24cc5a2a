"""Zones hold what is entered into them, all that follows, and nothing else."""

from __future__ import annotations

from itertools import product
from random import Random

from smem_lsp.terms.zones import (
    ZERO,
    Bounds,
    Zone,
    assigned,
    bound,
    bounds_of,
    joined,
    most_between,
    within,
    zone_of,
)

NAMES = (ZERO, -2, 0, 1, 2)
ROUNDS = 300
Values = dict[int, int]


def some_values(random: Random) -> Values:
    return {name: 0 if name == ZERO else random.randint(-9, 9) for name in NAMES}


def true_zone(random: Random, *each: Values) -> Zone:
    """A zone that holds of all of these."""
    bounds: Bounds = {}
    for _ in range(random.randint(0, 6)):
        a, b = random.sample(NAMES, 2)
        by = max(values[a] - values[b] for values in each) + random.randint(0, 3)
        assert bound(bounds, (a, 0), (b, 0), by)
    return zone_of(bounds)


def holds(zone: Zone, values: Values) -> bool:
    return all(values[a] - values[b] <= n for a, b, n in zone)


def shortest(given: list[tuple[int, int, int]]) -> dict[tuple[int, int], int] | None:
    """All that follows of differences, by Floyd and Warshall; None: they contradict each other."""
    far = 1 << 20
    known = {(a, b): 0 if a == b else far for a, b in product(NAMES, NAMES)}
    for a, b, n in given:
        known[a, b] = min(known[a, b], n)
    for via, a, b in product(NAMES, NAMES, NAMES):
        known[a, b] = min(known[a, b], known[a, via] + known[via, b])
    if any(known[name, name] < 0 for name in NAMES):
        return None
    return {pair: n for pair, n in known.items() if n < far // 2 and pair[0] != pair[1]}


def test_all_that_follows_is_entered_and_a_contradiction_is_found() -> None:
    random, wrong = Random(0), 0
    for _ in range(ROUNDS):
        bounds: Bounds = {}
        given: list[tuple[int, int, int]] = []
        for _ in range(8):
            a, b = random.sample(NAMES, 2)
            n, m, by = (random.randint(-4, 6) for _ in range(3))
            given.append((a, b, by + m - n))
            possible = bound(bounds, (a, n), (b, m), by)
            wanted = shortest(given)
            assert possible == (wanted is not None)
            if wanted is None:
                wrong += 1
                break
            assert bounds == wanted
            assert most_between(bounds, (a, n), (b, m)) == wanted[a, b] + n - m
    assert wrong > ROUNDS / 10


def test_an_assignment_holds_of_the_new_value() -> None:
    random = Random(1)
    for _ in range(ROUNDS):
        values = some_values(random)
        zone = true_zone(random, values)
        name, of, by = random.choice((0, 1, 2)), random.choice(NAMES), random.randint(-5, 5)
        after = assigned(zone, name, (of, by))
        assert holds(after, {**values, name: values[of] + by})
        if of != name:
            bounds = bounds_of(after)
            assert (
                most_between(bounds, (name, 0), (of, 0)) == by
                and most_between(bounds, (of, 0), (name, 0)) == -by
            )
        forgotten = assigned(zone, name, None)
        assert holds(forgotten, {**values, name: 1000}) and forgotten <= zone


def test_a_join_holds_wherever_one_of_them_does() -> None:
    random = Random(2)
    for _ in range(ROUNDS):
        one, other = some_values(random), some_values(random)
        zones = [true_zone(random, one), true_zone(random, other)]
        assert holds(joined(zones), one) and holds(joined(zones), other)
        both = true_zone(random, one, other)
        assert joined([both, both]) == both
    assert joined([]) == frozenset()


def test_what_is_said_of_some_numbers() -> None:
    zone = frozenset(((0, 1, 3), (1, 2, 4), (ZERO, 0, 0), (-2, 2, 1)))
    assert within(zone, (0, 1)) == {(0, 1, 3), (ZERO, 0, 0)}
    assert within(zone, (2,)) == {(-2, 2, 1)}
