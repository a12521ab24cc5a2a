"""The exact layout: against brute force, against known optima, and its certificate."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import pytest

from smem_lsp.allocation.best import best
from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.dataflow.conflicts import Conflicts, Pairs, pair
from smem_lsp.analysis.dataflow.interference import conflicts

from .orders import brute_force, random_problem
from .suite import ROWS, Row
from .trees import parse


def at(offsets: Plan, *names: int) -> list[int]:
    return [offsets.offsets[name] for name in names]


def live(*intervals: tuple[int, int]) -> Conflicts:
    """Conflicts of half-open lives."""
    lives = list(enumerate(intervals))
    return Conflicts(
        Pairs(pair(i, j) for (i, a), (j, b) in combinations(lives, 2) if a[0] < b[1] and b[0] < a[1])
    )


def sized(sizes: Sequence[int], align: int = 4) -> list[Item]:
    return [Item(index, f"b{index}", size, align) for index, size in enumerate(sizes)]


def valid(items: Sequence[Item], plan: Plan, found: Conflicts) -> bool:
    for a, b in combinations(items, 2):
        low, other = plan.offsets[a.index], plan.offsets[b.index]
        overlap = low < other + b.size and other < low + a.size
        at_one_offset = low == other or pair(a.index, b.index) not in found.equal
        if overlap and (found.apart(a.index, b.index) or not at_one_offset):
            return False
    aligned = all(plan.offsets[item.index] % item.align == 0 for item in items)
    return aligned and plan.bytes == max(plan.offsets[item.index] + item.size for item in items)


def test_against_brute_force() -> None:
    rng = random.Random(11)
    for _ in range(500):
        items, found = random_problem(rng, rng.choice((2, 3, 4, 4, 5)))
        plan = best(items, found)
        assert valid(items, plan, found)
        assert plan.optimal
        assert plan.bytes == brute_force(items, found), (items, found)
        assert plan.lower_bound <= plan.bytes


def test_against_brute_force_with_six_buffers() -> None:
    rng = random.Random(12)
    for _ in range(40):
        items, found = random_problem(rng, 6)
        plan = best(items, found)
        assert plan.optimal
        assert plan.bytes == brute_force(items, found), (items, found)


def test_larger_problems_stay_valid_and_bounded() -> None:
    rng = random.Random(13)
    for count in (8, 12, 20, 30, 45):
        for _ in range(12):
            items, found = random_problem(rng, count)
            plan = best(items, found)
            assert valid(items, plan, found)
            assert plan.lower_bound <= plan.bytes <= declared(items).bytes
            assert plan == best(items, found)


TRICKY = live((0, 1), (0, 3), (4, 5), (2, 5), (1, 2), (3, 4), (1, 4))


def test_a_bound_that_no_layout_reaches_is_not_claimed() -> None:
    """K22, MiniMalloc InfeasibleTricky times 1024: cliques force 4096, the optimum is 5120."""
    plan = best(sized([1024 * size for size in (3, 1, 3, 1, 2, 2, 1)]), TRICKY)
    assert (plan.lower_bound, plan.bytes, plan.optimal) == (4096, 5120, True)


@pytest.mark.parametrize(
    ("sizes", "found", "expected"),
    [
        # MiniMalloc FiveBuffers.
        ([1, 1, 2, 1, 2], live((1, 2), (0, 2), (2, 3), (1, 3), (0, 1)), 3),
        # K20, Triton multi_color: its allocator takes 1504.
        (
            [64, 32, 128, 1152, 128, 1152, 256, 64, 512, 128, 512, 32, 512, 1152],
            live(
                (0, 5),
                (1, 15),
                (2, 19),
                (3, 4),
                (5, 6),
                (7, 8),
                (8, 20),
                (9, 12),
                (12, 13),
                (13, 22),
                (15, 16),
                (16, 17),
                (17, 18),
                (20, 21),
            ),
            1376,
        ),
        # K21, Triton longlive and preallocate.
        (
            [512, 512, 512, 1024, 512, 512, 1024, 512, 512, 1024, 1024],
            live(
                (0, 11), (1, 4), (2, 4), (3, 4), (4, 10), (5, 10), (6, 7), (7, 8), (8, 9), (9, 10), (10, 11)
            ),
            2560,
        ),
        (
            [512, 512, 512, 1024, 1024, 1024, 1024, 2048, 2048, 2048, 2048, 4096, 4096, 4096],
            live(
                (0, 5),
                (1, 6),
                (2, 6),
                (3, 8),
                (4, 9),
                (5, 10),
                (6, 10),
                (7, 12),
                (8, 13),
                (9, 14),
                (10, 14),
                (11, 12),
                (12, 13),
                (13, 14),
            ),
            12288,
        ),
    ],
)
def test_known_optima(sizes: list[int], found: Conflicts, expected: int) -> None:
    plan = best(sized(sizes, 1), found)
    assert (plan.bytes, plan.optimal) == (expected, True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_floor_of_the_reference_kernels(row: Row) -> None:
    """With every barrier one could wish for, only the hard pairs are left."""
    tree = parse(row.tree, tuple(row.sizes))
    found = conflicts(tree.body, tree.facts, tree.fixed)
    plan = best(tree.items(row.sizes, row.aligns), Conflicts(found.hard))
    assert (plan.bytes, plan.optimal) == (row.floor, True)


def test_the_clique_is_the_certificate() -> None:
    plan = best(sized([1024, 2048, 512]), live((0, 2), (1, 3), (2, 4)))
    assert (plan.bytes, plan.lower_bound, set(plan.clique)) == (3072, 3072, {0, 1})


def test_the_bound_knows_alignment() -> None:
    """K1 at 16 bytes: only the topmost buffer keeps its tail, so 32 + 20 is the least."""
    plan = best([Item(0, "a", 20, 16), Item(1, "b", 24, 16)], live((0, 1), (0, 1)))
    assert (plan.bytes, plan.lower_bound) == (52, 52)


def test_a_strictly_aligned_buffer_goes_first() -> None:
    """K28: 128 bytes of padding beside a tile for TMA with 1024-byte alignment."""
    plan = best([Item(0, "pad", 128, 16), Item(1, "tile", 16384, 1024)], live((0, 1), (0, 1)))
    assert (plan.bytes, at(plan, 0, 1)) == (16512, [16384, 0])


def test_holes_are_filled() -> None:
    """K24: 9216 where the stack takes 17408."""
    tree = parse("WA WD rD S WB rA S WC rC S rB", tuple("ABCD"))
    items = tree.items({"A": 8192, "B": 1024, "C": 8192, "D": 128}, 128)
    assert best(items, conflicts(tree.body, tree.facts, tree.fixed)).bytes == 9216


def test_own_slots_share_one_offset_or_none() -> None:
    shared = Conflicts(equal=Pairs({pair(0, 1)}))
    plan = best(sized([1024, 512]), shared)
    assert (plan.bytes, at(plan, 0, 1)) == (1024, [0, 0])
    # The third buffer is in the way of 1 at offset 0 only: both move up together.
    third = Conflicts(hard=Pairs({pair(1, 2)}), equal=Pairs({pair(0, 1)}))
    plan = best([Item(0, "a", 1024, 4), Item(1, "b", 512, 16), Item(2, "c", 1000, 4)], third)
    assert plan.bytes == 1512
    assert valid([Item(0, "a", 1024, 4), Item(1, "b", 512, 16), Item(2, "c", 1000, 4)], plan, third)


def test_the_declared_order_stays_when_nothing_is_saved() -> None:
    items = [Item(0, "small", 4, 4), Item(1, "large", 4096, 4)]
    plan = best(items, live((0, 1), (0, 1)))
    assert plan.offsets == declared(items).offsets
    assert plan.optimal


def test_no_buffers() -> None:
    assert best([], Conflicts()).bytes == 0
