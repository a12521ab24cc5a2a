"""The judge of random kernels finds a race that is told and that there is not, wherever launches come to it."""

from __future__ import annotations

import pytest

from .judged import Tally, one
from .random_programs import Program
from .running import Array, Launch, run

S = Array("s", "int", 64, 4)
TEXT = """
__global__ void k(const int* in, int* out, int n, int m) {{
  __shared__ int s[64]; int tid = threadIdx.x, got = 0;
{body}
  out[tid] = got;
}}
void run(const int* in, int* out, int n, int m, int blocks) {{ k<<<blocks, 64>>>(in, out, n, m); }}
"""
PYTHON = """
def kernel(x, y, z, bx, by, bz, block, grid, n, m):
    s = (0, 0)
    tid = x
{body}
    yield from ()
"""
BODY = """{front}
  if ({condition}) {{
    s[tid] = in[tid];
    got += s[63 - tid];
  }}"""
RUN = """
    {front}
    if {condition}:
        W(s, tid, G(tid), 6)
        {between}
        R(s, 63 - tid, 7)
"""
SYNC = "yield ('block', 0)"


def program(text: str, python: str) -> Program:
    return Program(
        TEXT.format(body=text),
        PYTHON.format(body=python),
        (S,),
        ((64, 1, 1),),
        True,
        {},
        False,
        {"n": "int", "m": "int"},
        True,
        0,
        False,
    )


def judged(condition: str, between: str, front: str = "0", text: str = "") -> Tally:
    """``between``: what stands between the two accesses in what is run; the kernel has nothing there."""
    tally = Tally()
    asked = condition.replace("block ", "blockIdx.x ")
    made = program(
        BODY.format(front=text, condition=asked),
        RUN.format(front=front, condition=condition, between=between),
    )
    one(0, made, tally)
    assert tally.told == 1
    return tally


@pytest.mark.parametrize("condition", ["1", "n > 3", "n == 1234", "block == 47", "block > 3 + 64", "n != 7"])
def test_a_race_that_there_is_not(condition: str) -> None:
    tally = judged(condition, SYNC)
    assert [words for _, words in tally.wrong] == ["no run shows the race of lines 6 and 7, block (64, 1, 1)"]
    assert tally.unshown == 0


@pytest.mark.parametrize("condition", ["1", "n > 3", "n == 1234", "block == 47", "block > 3 + 64"])
def test_a_race_that_there_is(condition: str) -> None:
    tally = judged(condition, "pass")
    assert tally.wrong == [] and tally.unshown == 0


@pytest.mark.parametrize(
    "front",
    [
        f"W(s, 64 + tid, 1, 5); {SYNC}",
        f"W(s, tid - 1, 1, 5); {SYNC}",
        f"tid = whole(tid + (1 << 31), 32) & 63; {SYNC}",
        f"v = over(tid, 0); {SYNC}",
        "yield ('block', 1 if x < 32 else 2)",
    ],
)
def test_behind_what_no_launch_survives(front: str) -> None:
    """Nothing is certain of what comes then: no run speaks against the race."""
    tally = judged("1", SYNC, front)
    assert tally.wrong == [] and tally.unshown == 1


@pytest.mark.parametrize(
    "front",
    [
        f"W(s, 64 + tid if n > 9 else tid, 1, 5); {SYNC}",
        f"v = over(tid, n); {SYNC}",
        "yield ('block', 1 if x < 32 or n < 5 else 2)",
    ],
)
def test_behind_what_some_launches_survive(front: str) -> None:
    tally = judged("1", SYNC, front)
    assert len(tally.wrong) == 1 and tally.unshown == 0


def test_an_access_that_nobody_comes_to() -> None:
    """Each of the two is come to, and no launch comes to both."""
    text = "  s[tid] = in[tid];\n\n  got += s[63 - tid];"
    for condition, wrong in (("n < 9", 0), ("n > 5", 1)):
        python = f"""
    if n < 3:
        W(s, tid, G(tid), 4)
    if {condition}:
        R(s, 63 - tid, 6)
"""
        tally = Tally()
        one(0, program(text, python), tally)
        assert tally.told == 1 and len(tally.wrong) == wrong and tally.unshown == 0


LATE = """
    W(s, 4, 100, 4)
    W(s, 2 * tid & 63, tid, 5)
    W(s, tid, R(s, tid, 6), 6)
"""


@pytest.mark.parametrize("data", [2, 3])
def test_accesses_of_others_come_between(data: int) -> None:
    """What a thread finds where it has stored itself is what another one has stored there, if that comes in between:
    only then do two stores there differ."""
    python = PYTHON.format(body=LATE)

    def differ(*, mixed: bool) -> bool:
        launches = (Launch((64, 1, 1), {"n": 0, "m": 0}, data + 2 * turn) for turn in range(20))
        runs = (run(python, [S], launch, mixed=mixed) for launch in launches)
        found = (each for done in runs for each in done.conflicts.values())
        return any(each.lines == (4, 6) and each.first.kind == each.second.kind == "W" for each in found)

    assert differ(mixed=True) and not differ(mixed=False)


def test_steps_change_nothing_that_barriers_order() -> None:
    python = PYTHON.format(body=f"    W(s, tid, tid, 4)\n    {SYNC}\n    v = R(s, 63 - tid, 5)\n")
    for data in range(6):
        assert not run(python, [S], Launch((64, 1, 1), {"n": 0, "m": 0}, data), mixed=True).conflicts
