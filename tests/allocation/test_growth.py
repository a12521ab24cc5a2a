"""What it takes to lay out many buffers grows as their number does, not as that of their pairs: steps are counted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from smem_lsp.allocation.layouts import layouts, task
from smem_lsp.allocation.overlaps import Overlaps
from smem_lsp.allocation.problem import cliques, problem
from smem_lsp.analysis.dataflow.conflicts import Pairs
from smem_lsp.analysis.dataflow.interference import interference, relate

from .trees import Tree, parse

FEW, MANY = 100, 400


def steps(work: Callable[[], object]) -> int:
    """Calls that it makes, a generator that goes on among them."""
    count = 0

    def told(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(told)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def _names(count: int) -> tuple[str, ...]:
    return tuple(chr(0x4E00 + number) for number in range(count))


def alive_together(count: int) -> Tree:
    """Each buffer is written at first and read at the end: every two conflict."""
    names = _names(count)
    return parse(" ".join([*(f"W{name}" for name in names), "S", *(f"r{name}" for name in names)]), names)


def in_iteration(count: int) -> Tree:
    """Each buffer is written and read, then the next, with a barrier between: no two conflict."""
    names = _names(count)
    return parse(" ".join(f"W{name} S r{name} S" for name in names), names)


@pytest.mark.parametrize("make", [alive_together, in_iteration])
def test_conflicts_are_found_without_going_through_pairs(make: Callable[[int], Tree]) -> None:
    few, many = make(FEW), make(MANY)

    def work(tree: Tree) -> int:
        return steps(lambda: relate(interference(tree.body, tree.facts, tree.fixed)))

    assert work(many) < 1.3 * MANY / FEW * work(few)
    found = relate(interference(few.body, few.facts, few.fixed))
    assert len(found.hard) == (FEW * (FEW - 1) // 2 if make is alive_together else 0)


@pytest.mark.parametrize("make", [alive_together, in_iteration])
def test_layouts_are_made_without_going_through_pairs(make: Callable[[int], Tree]) -> None:
    def work(count: int) -> int:
        tree = make(count)
        items = tree.items(dict.fromkeys(tree.buffers, 64))
        of = task(items, tree.body, tree.facts, tree.fixed)
        return steps(lambda: layouts(of))

    assert work(MANY) < 1.3 * MANY / FEW * work(FEW)


def test_buffers_that_are_all_alive_at_once_are_one_clique() -> None:
    tree = alive_together(FEW)
    items = tree.items(dict.fromkeys(tree.buffers, 64))
    of = problem(items, relate(interference(tree.body, tree.facts, tree.fixed)))
    assert cliques(of, range(FEW)) == [tuple(range(FEW))]


def test_pairs_are_the_same_as_a_set_of_them() -> None:
    some, others = (
        Pairs({frozenset((0, 1)), frozenset((1, 40))}),
        Pairs({frozenset((1, 0)), frozenset((2, 3))}),
    )
    assert set(some | others) == set(some) | set(others)
    assert set(some - others) == {frozenset((1, 40))}
    assert (len(some), frozenset((40, 1)) in some, frozenset((0, 40)) in some) == (2, True, False)
    assert Pairs.of_rows({1: 0b1, 40: 0b10}) == some
    every = Pairs.of_rows(dict.fromkeys(range(8), 255))
    assert (len(every), len(every.within(0b111))) == (28, 3)
    assert set(Pairs.between(0b11, 0b101)) == {frozenset((0, 1)), frozenset((0, 2)), frozenset((1, 2))}
    assert (some.buffers(), some.row(1), not Pairs()) == (1 << 40 | 0b11, 1 << 40 | 1, True)


def test_bytes_in_common() -> None:
    overlaps = Overlaps([0, 8, 4, 16, 8], [8, 8, 8, 4, 0])
    assert [overlaps.of(at) & ~(1 << at) for at in range(4)] == [0b00100, 0b00100, 0b10011, 0]
