"""The least bytes of a layout by trying everything, for a handful of buffers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from smem_lsp.allocation.plan import Item, align_up
from smem_lsp.analysis.dataflow.conflicts import Conflicts, Pairs, pair


def joined(items: Sequence[Item], edges: Sequence[frozenset[int]]) -> Iterator[list[list[Item]]]:
    """Every way to let some pairs coincide: piles of items at one offset."""
    for count in range(len(edges) + 1):
        for chosen in combinations(edges, count):
            piles = [[item] for item in items]
            for edge in chosen:
                hit = [pile for pile in piles if any(item.index in edge for item in pile)]
                piles = [pile for pile in piles if pile not in hit] + [
                    [item for pile in hit for item in pile]
                ]
            yield piles


def brute_force(items: Sequence[Item], found: Conflicts) -> int:
    """The least bytes, by all orders of all piles, each pile as low as the ones before it allow."""
    least = sum(item.size + item.align for item in items)  # one above the other in any order
    for piles in joined(items, sorted(found.equal, key=sorted)):
        if any(found.apart(a.index, b.index) for pile in piles for a, b in combinations(pile, 2)):
            continue
        for order in permutations(piles):
            offsets: dict[int, int] = {}
            for pile in order:
                low = 0
                for item in pile:
                    for other in items:
                        key = pair(item.index, other.index)
                        if other.index in offsets and (found.apart(*key) or key in found.equal):
                            low = max(low, offsets[other.index] + other.size)
                start = align_up(low, max(item.align for item in pile))
                offsets.update((item.index, start) for item in pile)
            least = min(least, max(offsets[item.index] + item.size for item in items))
    return least


def random_problem(rng: random.Random, count: int) -> tuple[list[Item], Conflicts]:
    """Buffers of small sizes with hard, soft and equal pairs at random."""
    items = [
        Item(i, f"b{i}", rng.choice((4, 8, 12, 20, 32, 64, 100, 132)), rng.choice((1, 4, 4, 8, 16, 64)))
        for i in range(count)
    ]
    hard: set[frozenset[int]] = set()
    soft: set[frozenset[int]] = set()
    equal: set[frozenset[int]] = set()
    density = rng.choice((0.3, 0.6, 0.8))
    for a, b in combinations(range(count), 2):
        x = rng.random()
        if x < density * 0.6:
            hard.add(pair(a, b))
        elif x < density:
            soft.add(pair(a, b))
        elif x < density + 0.15 and len(equal) < 4:
            equal.add(pair(a, b))
    return items, Conflicts(Pairs(hard), Pairs(soft), Pairs(equal))
