"""How far numbers are apart (zones: Dill, "Timing Assumptions and Verification of Finite-State Concurrent Systems";
Miné, "A New Numerical Abstract Domain Based on Difference-Bound Matrices").

``(a, b, n)`` is that ``a - b`` is ``n`` at most, for numbers that have names, which are integers themselves; ``ZERO``
names the number 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

Zone = frozenset[tuple[int, int, int]]
Side = tuple[int, int]  # a number, and what is added to it
Bounds = dict[tuple[int, int], int]

ZERO = -1


def bounds_of(zone: Zone) -> Bounds:
    return {(a, b): n for a, b, n in zone}


def zone_of(bounds: Bounds) -> Zone:
    return frozenset((a, b, n) for (a, b), n in bounds.items())


def joined(zones: Iterable[Zone]) -> Zone:
    """What holds in each of some zones."""
    every = [bounds_of(each) for each in zones]
    shared = set(every[0]).intersection(*every) if every else set()
    return zone_of({pair: max(each[pair] for each in every) for pair in shared})


def within(zone: Zone, numbers: Collection[int]) -> Zone:
    """What a zone says of these numbers, and of those that are named below 0."""
    return frozenset(
        each for each in zone if (each[0] < 0 or each[0] in numbers) and (each[1] < 0 or each[1] in numbers)
    )


def assigned(zone: Zone, name: int, value: Side | None) -> Zone:
    """Where a number gets a value; None: any."""
    of, by = (None, 0) if value is None else value
    if of == name:
        return frozenset((a, b, n + by * ((a == name) - (b == name))) for a, b, n in zone)
    kept = {(a, b): n for a, b, n in zone if name not in (a, b)}
    if of is not None:
        kept.update({(name, b): n + by for (a, b), n in kept.items() if a == of})
        kept.update({(a, name): n - by for (a, b), n in kept.items() if b == of and a != name})
        kept[name, of], kept[of, name] = by, -by
    return zone_of(kept)


def most_between(bounds: Bounds, one: Side, other: Side) -> int | None:
    """The most that ``one - other`` is; None: not known."""
    (a, n), (b, m) = one, other
    known = 0 if a == b else bounds.get((a, b))
    return None if known is None else known + n - m


def bound(bounds: Bounds, one: Side, other: Side, at_most: int) -> bool:
    """Enter that ``one - other`` is ``at_most``, or less, and what follows of it. Can it be?"""
    (a, n), (b, m) = one, other
    at_most += m - n
    least = 0 if a == b else bounds.get((b, a))
    if least is not None and at_most + least < 0:
        return False
    known = 0 if a == b else bounds.get((a, b))
    if known is not None and known <= at_most:
        return True
    into = [(a, 0), *((x, by) for (x, y), by in bounds.items() if y == a)]
    out = [(b, 0), *((y, by) for (x, y), by in bounds.items() if x == b)]
    for x, before in into:
        for y, behind in out:
            through = before + at_most + behind
            if x != y and through < bounds.get((x, y), through + 1):
                bounds[x, y] = through
    return True
