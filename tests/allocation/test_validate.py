"""The validator accepts what the allocators make and rejects what was tampered with."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from smem_lsp.allocation.best import best
from smem_lsp.allocation.curve import curve
from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.allocation.stack import stack
from smem_lsp.allocation.validate import validate
from smem_lsp.analysis.dataflow.conflicts import Conflicts, pair
from smem_lsp.analysis.dataflow.interference import conflicts
from smem_lsp.analysis.dataflow.liveness import liveness

from .generate import text
from .suite import ROWS, Row
from .trees import Tree, parse


def judge(tree: Tree, items: list[Item], plan: Plan) -> list[str]:
    return [
        violation.words(lambda row: row.number)
        for violation in validate(items, plan, tree.body, tree.facts, tree.fixed)
    ]


def all_plans(tree: Tree, items: list[Item]) -> list[Plan]:
    found = conflicts(tree.body, tree.facts, tree.fixed)
    return [
        declared(items),
        stack(items, tree.body, tree.facts, found),
        *curve(items, tree.body, tree.facts, tree.fixed),
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_plans_of_the_reference_kernels_are_valid(row: Row) -> None:
    tree = parse(row.tree, tuple(row.sizes))
    items = tree.items(row.sizes, row.aligns)
    for plan in all_plans(tree, items):
        assert judge(tree, items, plan) == []
        if plan.barriers:
            assert judge(tree, items, replace(plan, barriers=plan.barriers[1:])) != []


def test_plans_of_random_kernels_are_valid() -> None:
    rng = random.Random(21)
    sizes = {"a": 8, "b": 12, "c": 20, "d": 64}
    for _ in range(700):
        source = text(rng, "abcd", slots=0.3)
        tree = parse(source, tuple(sizes))
        items = tree.items(sizes, {"d": 16})
        for plan in all_plans(tree, items):
            assert judge(tree, items, plan) == [], (source, plan)


def test_stack_and_best_stay_valid_with_added_barriers() -> None:
    rng = random.Random(22)
    sizes = {"a": 8, "b": 12, "c": 20, "d": 64}
    for _ in range(300):
        tree = parse(text(rng, "abcd", slots=0.3), tuple(sizes))
        items = tree.items(sizes)
        places = sorted(tree.facts.places)
        added = frozenset(rng.sample(places, min(2, len(places))))
        found = conflicts(tree.body, tree.facts, tree.fixed, added)
        for plan in (stack(items, tree.body, tree.facts, found, added), best(items, found)):
            assert judge(tree, items, replace(plan, barriers=tuple(sorted(added)))) == []


def overlapping(items: list[Item], a: int, b: int, shift: int = 0) -> Plan:
    """All buffers apart, but b on top of a (``shift`` bytes further)."""
    offsets: dict[int, int] = {}
    end = 0
    for item in items:
        offsets[item.index] = end
        end += 256
    offsets[b] = offsets[a] + shift
    return Plan("best", max(offsets[item.index] + item.size for item in items), offsets)


def test_the_validator_and_the_walks_agree_on_every_pair() -> None:
    """They are two methods: one joins sets on the tree, the other looks what a graph lets one reach."""
    rng = random.Random(23)
    names = "abcde"
    total = 0
    for _ in range(700):
        source = text(rng, names, slots=0.3)
        tree = parse(source, tuple(names))
        items = tree.items(dict.fromkeys(names, 64))
        found = conflicts(tree.body, tree.facts, tree.fixed)
        early = liveness(tree.body, tree.facts).reads_before_write
        for a in range(len(names)):
            for b in range(a):
                key = pair(a, b)
                same = judge(tree, items, overlapping(items, a, b)) == []
                shifted = judge(tree, items, overlapping(items, a, b, 4)) == []
                if not key & early:
                    assert same is not found.apart(a, b), (source, a, b)
                    assert shifted is (same and key not in found.equal), (source, a, b)
                elif not found.apart(a, b):
                    assert same
                total += 1
    assert total == 7000


def mutate(rng: random.Random, items: list[Item], plan: Plan) -> Plan | None:
    """One buffer moved onto another."""
    a, b = rng.sample(items, 2)
    offsets = dict(plan.offsets)
    offsets[b.index] = offsets[a.index] // b.align * b.align
    if offsets == plan.offsets:
        return None
    return replace(plan, offsets=offsets, bytes=max(offsets[item.index] + item.size for item in items))


def clashing(items: list[Item], plan: Plan, found: Conflicts) -> bool:
    for at, a in enumerate(items):
        for b in items[at + 1 :]:
            low, other = plan.offsets[a.index], plan.offsets[b.index]
            overlap = low < other + b.size and other < low + a.size
            at_one_offset = low == other or pair(a.index, b.index) not in found.equal
            if overlap and (found.apart(a.index, b.index) or not at_one_offset):
                return True
    return False


def test_tampered_plans_are_rejected() -> None:
    rng = random.Random(24)
    rejected = 0
    for row in ROWS * 8:
        tree = parse(row.tree, tuple(row.sizes))
        items = tree.items(row.sizes, row.aligns)
        if len(items) < 2:
            continue
        found = conflicts(tree.body, tree.facts, tree.fixed)
        changed = mutate(rng, items, best(items, found))
        if changed is not None and clashing(items, changed, found):
            assert judge(tree, items, changed) != [], (row.name, changed)
            rejected += 1
    assert rejected > 100


def test_reasons_in_words() -> None:
    tree = parse("Wa S Wb S rb ra")
    items = tree.items({"a": 64, "b": 64})
    assert judge(tree, items, Plan("best", 64, {0: 0, 1: 0})) == [
        "b is written at line 3 while a holds a value"
    ]
    tree = parse("Wa S ra Wb S rb")
    assert judge(tree, items, Plan("best", 64, {0: 0, 1: 0})) == [
        "no barrier between a at line 3 and b at line 4 on some path"
    ]
    tree = parse("!a Wa S ra S Wb S rb")
    assert judge(tree, items, Plan("best", 64, {0: 0, 1: 0})) == ["a never shares"]
    tree = parse("Wb S rb S ra", ("a", "b"))
    assert judge(tree, items, Plan("best", 64, {0: 0, 1: 0})) == [
        "a is read at line 5 before anything is written to it"
    ]


def test_places_and_size_are_checked() -> None:
    tree = parse("Wa Wb S ra rb")
    items = [Item(0, "a", 64, 16), Item(1, "b", 64, 16)]
    assert judge(tree, items, Plan("best", 128, {0: 0, 1: 64})) == []
    assert judge(tree, items, Plan("best", 136, {0: 0, 1: 72})) == ["b at 72 is not aligned to 16 bytes"]
    assert judge(tree, items, Plan("best", 64, {0: 0, 1: 64})) == [
        "the plan says 64 bytes, its buffers end at 128"
    ]
    assert judge(tree, items, Plan("best", 192, {0: 0, 1: 128})) == []
    assert judge(tree, items, Plan("best", 64, {0: 0})) == ["b has no offset"]


def test_a_barrier_of_the_plan_is_believed_only_at_its_place() -> None:
    tree = parse("Wa S ra Wb S rb")
    items = tree.items({"a": 64, "b": 64})
    places = [node.point for node in tree.body.items if node.point in tree.facts.places]
    accepted = [
        place
        for place in places
        if judge(tree, items, Plan("best", 64, {0: 0, 1: 0}, barriers=(place,))) == []
    ]
    assert accepted == [places[3]]
