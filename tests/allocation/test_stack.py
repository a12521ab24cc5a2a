"""nvFuser's stack allocator, and the declared layout."""

from __future__ import annotations

import pytest

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.allocation.stack import stack
from smem_lsp.analysis.dataflow.interference import conflicts

from .suite import MANY_SCALARS, ROWS, SCALARS, Row
from .trees import parse


def piled(source: str, sizes: dict[str, int], align: int | dict[str, int]) -> Plan:
    tree = parse(source, tuple(sizes))
    found = conflicts(tree.body, tree.facts, tree.fixed)
    return stack(tree.items(sizes, align), tree.body, tree.facts, found)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_reference_kernels(row: Row) -> None:
    tree = parse(row.tree, tuple(row.sizes))
    assert declared(tree.items(row.sizes, row.aligns)).bytes == row.declared
    assert piled(row.tree, row.sizes, row.aligns).bytes == row.stack


CHAIN = {"A": 28, "B": 32, "C": 36, "D": 40}
THREE = {"A": 28, "B": 32, "C": 36}
REORDER = {"A": 20, "B": 24, "C": 24}
LATE = {"A": 8192, "B": 1024, "C": 8192, "D": 128}


@pytest.mark.parametrize(
    ("source", "sizes", "align", "expected"),
    [
        # NVIDIA/Fuser tests/cpp/test_smem_reuse.cpp; peaks at its old (16) and present (128) alignment.
        ("WA rA WB rB", {"A": 20, "B": 24}, 16, 52),  # K1 SimpleCase
        ("WA rA WB rB", {"A": 20, "B": 24}, 128, 148),
        ("WA rA S WB rB", {"A": 20, "B": 24}, 16, 24),
        ("WA WB rA WC rB rC", REORDER, 16, 84),  # K2 NeedsReorderedPush
        ("WA WB rA WC rB rC", REORDER, 128, 276),
        ("WA WB rA S WC rB rC", REORDER, 16, 56),
        ("WA WB rA S WC rB rC", REORDER, 128, 152),
        ("WA rA WB rB WC rC", THREE, 16, 108),  # K3 PromoteReuseMultipleDownstream
        ("WA rA WB rB WC rC", THREE, 128, 284),
        ("WA rA S WB rB WC rC", THREE, 16, 80),
        ("WA rA S WB rB S WC rC", THREE, 16, 36),
        ("WA rA WB rB WC rC WD rD", CHAIN, 16, 156),  # K4 MultiplePromoteReuse
        ("WA rA WB rB WC rC WD rD", CHAIN, 128, 412),
        ("WA rA S WB rB WC rC S WD rD", CHAIN, 16, 80),
        ("WA rA S WB rB WC rC S WD rD", CHAIN, 128, 160),
        ("WA rA S WB rB S WC rC S WD rD", CHAIN, 16, 40),
        ("T4{WT rT} T6{WU rU}", {"T": 840, "U": 960}, 16, 1800),  # K5 SkippedSyncInterval
        ("T4{WT rT} S T6{WU rU}", {"T": 840, "U": 960}, 128, 960),
        # K23: the waiting room is not empty and nothing in it is dead, so a dead top is not popped.
        ("WZ WA S rZ S rA WB S WC rB S rC", {"Z": 1024, "A": 1024, "B": 1024, "C": 1024}, 128, 3072),
        # K24: a small buffer below decides.
        ("WA WD rD S WB rA S WC rC S rB", LATE, 128, 17408),
        # K30: forty scalars. Natural alignment, and what a blanket alignment costs.
        (MANY_SCALARS, dict.fromkeys(SCALARS, 4), 4, 160),
        (MANY_SCALARS, dict.fromkeys(SCALARS, 4), 16, 628),
        (MANY_SCALARS, dict.fromkeys(SCALARS, 4), 128, 4996),
    ],
)
def test_reference_answers(source: str, sizes: dict[str, int], align: int, expected: int) -> None:
    assert piled(source, sizes, align).bytes == expected


def test_declared_layout_aligns_each_buffer_in_turn() -> None:
    plan = declared(
        [Item(0, "tag", 17, 1), Item(1, "d", 256, 8), Item(2, "flag", 3, 1), Item(3, "q", 256, 16)]
    )
    assert (plan.bytes, plan.offsets) == (544, {0: 0, 1: 24, 2: 280, 3: 288})


def test_of_equal_lives_the_later_name_goes_deeper() -> None:
    plan = piled("Wa Wb Wc S ra rb rc", {"a": 4, "b": 4, "c": 4}, 4)
    assert plan.offsets == {0: 8, 1: 4, 2: 0}  # c is read last, a first
    plan = piled("L1{wa wb wc S ra rb rc}", {"a": 4, "b": 4, "c": 4}, 4)
    assert plan.offsets == {0: 8, 1: 4, 2: 0}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Wa S ra S Wb S rb", 1024),
        ("Wa S ra u{S} Wb S rb", 2048),  # not in a branch
        ("Wa S ra L0{S} Wb S rb", 2048),  # not in a loop that may not run
        ("Wa S ra L1{S} Wb S rb", 1024),
        ("Wa S ra N Wb S rb", 2048),
        ("L1{Wa S ra S Wb S rb S}", 2048),  # lives are lifted to the loop
        (
            "T1{Wa S ra S Wb S rb}",
            2048,
        ),  # one turn is not, but the walks do not rely on it: no barrier at the end
        ("T1{Wa S ra S Wb S rb S}", 1024),
        ("Wa S ra S Wb S rb S Wa S ra", 2048),  # a hole is never filled
        ("u{Wa S ra|Wb S rb}", 2048),  # exclusive branches do not share
    ],
)
def test_barriers_and_lives(source: str, expected: int) -> None:
    assert piled(source, {"a": 1024, "b": 1024}, 4).bytes == expected


def test_an_added_barrier_frees_bytes() -> None:
    tree = parse("Wa S ra Wb S rb")
    place = tree.body.items[6].point
    added = frozenset({place})
    items = tree.items({"a": 64, "b": 64})
    found = conflicts(tree.body, tree.facts, tree.fixed, added)
    assert stack(items, tree.body, tree.facts, found, added).bytes == 64


def test_a_buffer_nobody_touches_takes_its_place() -> None:
    tree = parse("Wa S ra", ("a", "b"))
    items = tree.items({"a": 64, "b": 16})
    plan = stack(items, tree.body, tree.facts, conflicts(tree.body, tree.facts, tree.fixed))
    assert set(plan.offsets) == {0, 1}
