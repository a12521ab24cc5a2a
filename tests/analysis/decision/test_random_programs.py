"""Verdicts on random kernels, against all conflicts of many launches of each; the benchmark judges as many others as
one likes, ``python -m tests.benchmarks decided --kernels 100000``.
"""

from __future__ import annotations

import os

import pytest

from .judged import Tally, judge
from .patterns import sync
from .random_programs import Generator
from .running import Array, Divergent, Launch, Undefined, over, rest, run
from .written import LINE, Block, Line, Node, Written, binary, const, name

KERNELS = int(os.environ.get("SMEM_RANDOM_VERDICTS", "1700"))
PARTS = max(4, KERNELS // 100)  # of which a run takes some
S = Array("s", "int", 64, 4)


@pytest.mark.slow(seconds=30)
@pytest.mark.sampled(one_in=17)
@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_decided_is_so(part: int) -> None:
    total: Tally = judge(range(part * KERNELS // PARTS, (part + 1) * KERNELS // PARTS))
    assert total.wrong == [], "python -m tests.benchmarks decided --show SEED"
    assert total.free > total.kernels // 4
    assert total.conflicts > total.kernels // 6
    assert (
        total.unshown <= total.told // 20
    )  # of hardly any race that is told no launch can say whether there is one


def conflicts(
    statements: list[Node], *, dims: tuple[int, int, int] = (64, 1, 1)
) -> list[tuple[int, int, bool]]:
    """Lines of the conflicts, and whether lanes of one warp meet."""
    written = Written(python=["def kernel(x, y, z, bx, by, bz, block, grid):", "    s = (0, 0)"])
    written.add(statements)
    written.python.append("    yield from ()")
    found = run("\n".join(written.python), [S], Launch(dims, {}))
    return sorted((*each.lines, each.lanes) for each in found.conflicts.values())


def put(index: str, value: str = "1") -> Line:
    return Line(f"s[{index}] = {value};", f"W(s, {index}, {value}, {LINE})")


def get(index: str) -> Line:
    return Line(f"v = s[{index}];", f"v = R(s, {index}, {LINE})")


WARP = Line("__syncwarp();", f"yield ('warp', {LINE})")


def test_a_barrier_orders_the_block() -> None:
    assert conflicts([put("x"), get("63 - x")]) == [(1, 2, False)]
    assert conflicts([put("x"), sync(), get("63 - x")]) == []


def test_a_barrier_of_the_warp_orders_its_lanes() -> None:
    assert conflicts([put("x"), get("x ^ 1")]) == [(1, 2, True)]
    assert conflicts([put("x"), WARP, get("x ^ 1")]) == []
    assert conflicts([put("x"), WARP, get("x ^ 33")]) == [(1, 3, False)]


def test_equal_values_do_not_conflict() -> None:
    assert conflicts([put("0", "7")]) == []
    assert conflicts([put("0", "x")]) == [(1, 1, False), (1, 1, True)]


def test_threads_at_different_barriers_are_told_apart() -> None:
    arms = Block("if (x < 32)", "x < 32", [sync()], otherwise=[sync()])
    with pytest.raises(Divergent):
        conflicts([arms])
    assert conflicts([Block("if (x < 32)", "x < 32", [Line("return;", "return")]), sync()]) == []


def test_what_leaves_its_array_ends_the_run() -> None:
    with pytest.raises(Undefined):
        conflicts([put("x + 1")])


def test_arithmetic_is_that_of_c() -> None:
    assert (over(-7, 2), rest(-7, 2)) == (-3, -1)
    x = name("x", "unsigned")
    difference = binary("-", x, const(1))
    assert difference.type == "unsigned"
    assert eval(difference.python, {"x": 0}) == 0xFFFFFFFF
    before = binary("-", const(16), Generator(0).size)  # blockDim.x is unsigned
    assert eval(before.python, {"blockDim_x": 32}) == 0xFFFFFFF0
    assert binary("<", const(-1), x).python == "(1 if ((-1)) & 4294967295) < x else 0)".replace(
        "((-1))", "(((-1))"
    )
