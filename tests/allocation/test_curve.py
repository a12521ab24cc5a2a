"""Bytes against barriers."""

from __future__ import annotations

import random
from itertools import combinations, pairwise

import pytest

from smem_lsp.allocation import curve as module
from smem_lsp.allocation.best import best
from smem_lsp.allocation.curve import curve
from smem_lsp.allocation.plan import Plan
from smem_lsp.analysis.dataflow.interference import conflicts
from smem_lsp.ir.nodes import BarrierSite, Branch, Loop, walk

from .generate import text
from .suite import ROWS, Row
from .trees import Tree, parse


def plans(source: str, sizes: dict[str, int], align: int | dict[str, int] = 4) -> tuple[Tree, list[Plan]]:
    tree = parse(source, tuple(sizes))
    return tree, curve(tree.items(sizes, align), tree.body, tree.facts, tree.fixed)


def points(found: list[Plan]) -> dict[int, int]:
    return {len(plan.barriers): plan.bytes for plan in found}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_reference_kernels(row: Row) -> None:
    _, found = plans(row.tree, row.sizes, row.aligns)
    assert points(found) == row.curve
    assert all(plan.optimal for plan in found)


CHAIN = {"A": 28, "B": 32, "C": 36, "D": 40}
TILES = {"A": 512, "B": 512, "C": 1024}
SIX = dict.fromkeys("abcdef", 512)
PAIR = {"a": 1024, "b": 1024}
QUARTERS = dict.fromkeys("abcd", 16384)


@pytest.mark.parametrize(
    ("source", "sizes", "align", "expected"),
    [
        # K1: 52 bytes at alignment 16, 44 at natural alignment.
        ("WA rA WB rB", {"A": 20, "B": 24}, 16, {0: 52, 1: 24}),
        ("WA rA WB rB", {"A": 20, "B": 24}, 4, {0: 44, 1: 24}),
        ("WA rA S WB rB", {"A": 20, "B": 24}, 4, {0: 24}),
        ("WA WB rA WC rB rC", {"A": 20, "B": 24, "C": 24}, 16, {0: 84, 1: 56}),  # K2
        ("WA WB rA S WC rB rC", {"A": 20, "B": 24, "C": 24}, 16, {0: 56}),
        # K3, K4: the optimum is under the stack's 108, 80, 36 and 156, 80, 40.
        ("WA rA WB rB WC rC", {"A": 28, "B": 32, "C": 36}, 16, {0: 100, 1: 60, 2: 36}),
        ("WA rA WB rB WC rC WD rD", CHAIN, 16, {0: 148, 1: 84, 2: 60, 3: 40}),
        ("T4{WT rT} T6{WU rU}", {"T": 840, "U": 960}, 16, {0: 1800, 1: 960}),  # K5
        # K6: the loop's own barrier is enough for what only the loop touches, even if it may not run.
        ("L0{wA wB S rA rB S} wC S rC", TILES, 16, {0: 1024}),
        ("WA rA L0{wA wB S rA rB S} wC S rC", TILES, 16, {0: 1536, 1: 1024}),
        ("L0{wa wb S ra rb} wc rc", {"a": 32768, "b": 32768, "c": 65536}, 16, {0: 131072, 1: 65536}),  # K7
        ("L0{wa wb S ra rb} wc rc", {"a": 16384, "b": 16384, "c": 16384}, 16, {0: 49152, 1: 32768}),  # K8
        ("Wa Wb S ra rb", {"a": 512, "b": 512}, 16, {0: 1024}),  # K9
        ("wa' ra' wb' rb'", {"a": 512, "b": 512}, 16, {0: 512}),  # K10: only if proved to stay in the thread
        ("wa ra wb rb", {"a": 512, "b": 512}, 16, {0: 1024, 1: 512}),
        # K13: elements of another size are no own slots.
        ("wa' S ra' wb\" S rb\"", {"a": 512, "b": 128}, 16, {0: 640, 1: 512}),
        ("L0{wA wB S rA rB} wC S rC", {"A": 512, "B": 1024, "C": 128}, 16, {0: 1664, 1: 1536}),  # K14
        ("L0{wA wB S rA rB} wC S rC rB", {"A": 512, "B": 1024, "C": 128}, 16, {0: 1664, 1: 1536}),  # K15
        (" ".join(f"W{n} r{n}" for n in SIX), SIX, 16, {0: 3072, 1: 1536, 2: 1024, 5: 512}),  # K16
        # K17: exclusive branches share if the condition is the same for the block.
        ("u{Wa S ra|Wb S rb} Wc S rc", {"a": 512, "b": 512, "c": 128}, 16, {0: 640, 1: 512}),
        ("d{wa ra|wb rb} Wc S rc", {"a": 512, "b": 512, "c": 128}, 16, {0: 1152, 1: 1024}),
        (" S ".join(f"W{n} S r{n}" for n in "abcd"), QUARTERS, 16, {0: 16384}),  # K18
        # Run twice: with partial writes the first values might be read again.
        (" S ".join(f"w{n} S r{n}" for n in "abcdabcd"), QUARTERS, 16, {0: 65536}),
        (" S ".join(f"W{n} S r{n}" for n in "abcdabcd"), QUARTERS, 16, {0: 16384}),
        ("Wa S ra S L0{wb wc S rb rc S}", {"a": 32768, "b": 16384, "c": 16384}, 16, {0: 32768}),  # K19
        ("Wa S ra L0{wb wc S rb rc S}", {"a": 32768, "b": 16384, "c": 16384}, 16, {0: 65536, 1: 32768}),
        ("L1{Wa S ra S Wb S rb}", PAIR, 4, {0: 2048, 1: 1024}),  # K25
        # K26, K27: a barrier that not every thread runs.
        ("Wa S ra d{S} Wb S rb", PAIR, 4, {0: 2048, 1: 1024}),
        ("Wa S ra u{S} Wb S rb", PAIR, 4, {0: 2048, 1: 1024}),
        ("Wa S ra N Wb S rb", PAIR, 4, {0: 2048, 1: 1024}),
    ],
)
def test_reference_answers(source: str, sizes: dict[str, int], align: int, expected: dict[int, int]) -> None:
    _, found = plans(source, sizes, align)
    assert points(found) == expected


def follows(tree: Tree, point: int) -> str:
    """What stands right after the place ``point``: the line (token number) of the next item, or "end"."""
    for seq in blocks(tree):
        for at, node in enumerate(seq):
            if isinstance(node, BarrierSite) and node.point == point:
                return str(seq[at + 1].line.number) if at + 1 < len(seq) else "end"
    raise AssertionError(point)


def blocks(tree: Tree) -> list[list[object]]:
    out = [list(tree.body)]
    for node in walk(tree.body):
        if isinstance(node, Branch):
            out += [list(node.then), list(node.otherwise)]
        elif isinstance(node, Loop):
            out.append(list(node.body))
    return out


@pytest.mark.parametrize(
    ("source", "expected", "cost"),
    [
        ("Wa S ra Wb S rb", ["4"], 1),  # before the write
        ("L1{Wa S ra S Wb S rb}", ["end"], 8),  # at the end of the body
        ("L1{Wa S ra S Wb S rb u{N}}", ["end"], 8),
        ("T4{Wa S ra S Wb S rb}", ["end"], 4),
        ("T4{T5{Wa S ra S Wb S rb}}", ["end"], 20),
        ("Wa S ra u{Wb|wb} S rb", ["4"], 1),  # before the branch, not in both arms
        ("wa L1{S wa ra} wb S rb", ["7"], 1),  # after the loop, not in it
        ("Wa S ra L1{wb S rb S}", ["4"], 1),  # before the loop
        ("Wa S ra R Wb rb", ["4"], 1),  # before the divergent return: not legal after it
    ],
)
def test_where_the_barrier_goes(source: str, expected: list[str], cost: int) -> None:
    tree, found = plans(source, PAIR)
    assert points(found) == {0: 2048, 1: 1024}
    assert [follows(tree, point) for point in found[-1].barriers] == expected
    assert (found[0].barriers, found[0].cost, found[-1].cost) == ((), 0, cost)


def test_no_place_where_some_threads_are_missing() -> None:
    _, found = plans("d{Wa ra Wb rb}", PAIR)
    assert points(found) == {0: 2048}


def test_a_cheap_place_beats_a_late_one() -> None:
    """Between the loops one execution, at the end of the second loop's body eight."""
    tree, found = plans("L1{wa S ra} L1{wb S rb}", PAIR)
    assert found[-1].cost == 1
    assert follows(tree, found[-1].barriers[0]) == "6"


def test_points_only_go_down() -> None:
    rng = random.Random(5)
    sizes = {"a": 8, "b": 12, "c": 20}
    for _ in range(300):
        tree, found = plans(text(rng, "abc"), sizes)
        for before, after in pairwise(found):
            assert before.bytes > after.bytes
            assert len(before.barriers) < len(after.barriers)
        assert all(set(plan.barriers) <= tree.facts.places for plan in found)


def test_candidates_lose_nothing_against_trying_every_place() -> None:
    rng = random.Random(6)
    sizes = {"a": 8, "b": 12, "c": 20}
    tried = 0
    while tried < 250:
        tree = parse(text(rng, "abc"), tuple(sizes))
        items = tree.items(sizes)
        places = sorted(tree.facts.places)
        if len(places) > 25:
            continue
        tried += 1
        found = points(curve(items, tree.body, tree.facts, tree.fixed))
        for count in (1, 2):
            least = min(
                (
                    best(items, conflicts(tree.body, tree.facts, tree.fixed, frozenset(chosen))).bytes
                    for chosen in combinations(places, count)
                    if count == 1 or tried <= 40
                ),
                default=10**9,
            )
            reached = min(size for used, size in found.items() if used <= count)
            assert reached <= least


@pytest.mark.parametrize(
    ("source", "sizes", "expected", "cost"),
    [
        # A loop whose tile and three small arrays take turns needs four barriers, one of them over its back edge.
        (
            "T4{Wa S ra WT S rT Wb S rb WU S rU}",
            {"a": 256, "T": 8192, "b": 256, "U": 8192},
            {0: 8448, 4: 8192},
            16,
        ),
        # In a chain each of the seven barriers frees what no other does.
        (" ".join(f"W{n} r{n}" for n in "abcdefgh"), dict.fromkeys("abcdefgh", 64), {0: 512, 1: 256}, 7),
    ],
)
def test_the_end_of_the_curve(
    source: str, sizes: dict[str, int], expected: dict[int, int], cost: int
) -> None:
    """Beyond three barriers: as many as the fewest bytes take, and none that could be left out."""
    tree, found = plans(source, sizes, 16)
    assert points(found).items() >= expected.items()
    end = found[-1]
    assert (end.cost, end.optimal) == (cost, False)
    for left_out in end.barriers:
        others = frozenset(end.barriers) - {left_out}
        assert (
            best(tree.items(sizes, 16), conflicts(tree.body, tree.facts, tree.fixed, others)).bytes
            > end.bytes
        )


def test_too_many_sets_of_places_are_searched_greedily(monkeypatch: pytest.MonkeyPatch) -> None:
    source = " ".join(f"W{name} r{name}" for name in SIX)
    monkeypatch.setattr(module, "SUBSETS", 1)
    tree, found = plans(source, SIX, 16)
    assert found[0].optimal
    assert found[-1].bytes == 512
    assert not found[-1].optimal
    assert not any(plan.optimal for plan in found[1:])
    assert set(found[-1].barriers) <= tree.facts.places
