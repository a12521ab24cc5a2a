"""The condition that a race is told with, compared with all threads of the block, one number after the other.

Small kernels with one parameter, put together at random, are run for all threads at the bound of the condition and
right below it: the two threads that the message names meet at the bound, with the accesses of the lines that it names,
and below it nobody does.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import pytest
from carets import expect

from smem_lsp.analysis.decision.either import at_least, either
from smem_lsp.analysis.decision.model import Decision, PairVerdict
from smem_lsp.analysis.decision.size_sets import Relation, SizeCondition, SizeSet, for_some
from smem_lsp.engine import check
from smem_lsp.ir.nodes import Access
from smem_lsp.rules.decision_words import when
from smem_lsp.rules.model import Finding

_LINE_OF_FIRST = 4
_BOUND = re.compile(r"(?:when|for all) n ≥ (\d+)(?P<perhaps>, perhaps for others)?(?:, or .*)?$")
_TWO = re.compile(r"thread (\d+) .*?\(line (\d+)\), thread (\d+) .*?\(line (\d+)\)")
_BOTH = re.compile(r"threads (\d+) and (\d+) both .*?\(line (\d+)\)")


@dataclass(frozen=True)
class Statement:
    """``s[index] = in[t]``, ``out[t] = s[index]`` or a barrier, under a guard. ``step``: of a loop over ``in``, from t
    up to n."""

    kind: str  # W, R or B
    index: str = ""
    guard: str = ""
    step: int = 0

    @property
    def text(self) -> str:
        body = {
            "W": f"s[{self.index}] = in[{'i' if self.step else 't'}];",
            "R": f"out[t] = s[{self.index}];",
            "B": "__syncthreads();",
        }[self.kind]
        if self.step:
            return f"for (int i = t; i < n; i += {self.step}) {body}"
        return f"if ({self.guard}) {body}" if self.guard else body


def kernel(rng: random.Random, threads: int) -> list[Statement]:
    def index() -> str:
        c, m = rng.choice((0, 1, 31, 33, 40)), rng.choice((32, 33, 48, threads))
        ways = (
            "t",
            f"t + {c}",
            f"(t + {c}) % {m}",
            f"{threads} - 1 - t",
            f"t % {m}",
            f"t / {c + 2}",
            "t + n",
        )
        return rng.choice((*ways, f"(t * 3) % {m}", "t % n", "max(t, n) - 1"))

    def guard() -> str:
        c = rng.choice((0, 1, 31, 33, 40))
        return rng.choice(("", "t < n", f"t + {c} < n", "t >= n", f"t < n - {c}", f"n > {c}", "t < n / 2"))

    found: list[Statement] = []
    for turn in range(rng.choice((2, 3))):
        if found and rng.random() < 0.3:
            found.append(Statement("B", guard=rng.choice(("", "n > 3", "n > 33", "n > 64"))))
        if rng.random() < 0.3:
            found.append(
                Statement("W", f"i % {rng.choice((33, 64, threads))}", step=rng.choice((32, threads)))
            )
        else:
            found.append(Statement("W" if turn == 0 or rng.random() < 0.4 else "R", index(), guard()))
    return found


def source(statements: list[Statement], threads: int) -> str:
    body = "".join(f"  {each.text}\n" for each in statements)
    return (
        "__global__ void k(const float* in, float* out, int n) {\n  __shared__ float s[4096];\n"
        f"  int t = threadIdx.x;\n{body}}}\n"
        f"void h(float* p, int n) {{ k<<<1, {threads}>>>(p, p, n); }}\n"
    )


@dataclass(frozen=True)
class Touch:
    line: int
    thread: int
    kind: str
    value: int  # which element is stored


Touched = Mapping[tuple[int, int], list[Touch]]  # by the barrier interval and the element


def run(statements: list[Statement], threads: int, n: int) -> Touched:
    """What each thread touches. C++ and Python divide alike here: nothing is negative where it is divided."""
    found: dict[tuple[int, int], list[Touch]] = {}
    code = [
        (
            each,
            compile(each.guard.replace("/", "//") or "True", "guard", "eval"),
            compile(each.index.replace("/", "//") or "0", "index", "eval"),
        )
        for each in statements
    ]
    for t in range(threads):
        interval = 0
        for line, (each, guard, index) in enumerate(code, _LINE_OF_FIRST):
            if not eval(guard, {"t": t, "n": n}):  # of texts that stand above
                continue
            if each.kind == "B":
                interval += 1
                continue
            for i in range(t, n, each.step) if each.step else (t,):
                place = interval, eval(index, {"t": t, "n": n, "i": i, "max": max})
                found.setdefault(place, []).append(Touch(line, t, each.kind, i))
    return found


def meet(touched: Touched, one: int, other: int) -> Iterator[tuple[int, int]]:
    """The threads of different warps that meet with accesses of two lines."""
    for touches in touched.values():
        for a in touches:
            for b in touches:
                races = "W" in (a.kind, b.kind) and (a.kind != b.kind or a.value != b.value)
                if (a.line, b.line) == (one, other) and a.thread // 32 != b.thread // 32 and races:
                    yield a.thread, b.thread


def named(finding: Finding) -> tuple[tuple[int, int], tuple[int, int]]:
    """The threads and the lines of a message."""
    both = _BOTH.search(finding.message)
    if both is not None:
        return (int(both[1]), int(both[2])), (int(both[3]), int(both[3]))
    found = _TWO.search(finding.message)
    assert found is not None, finding.message
    return (int(found[1]), int(found[3])), (int(found[2]), int(found[4]))


def compared(seed: int) -> int:
    """How many findings with a bound there were; all of them are right."""
    rng = random.Random(seed)
    threads = rng.choice((64, 96))
    statements = kernel(rng, threads)
    text, count = source(statements, threads), 0
    for finding in check(text).findings:
        bound = _BOUND.search(finding.message)
        if finding.code != "SMEM201" or bound is None:
            continue
        least, (pair, lines) = int(bound[1]), named(finding)
        at_bound = set(meet(run(statements, threads, least), *lines))
        assert pair in at_bound or pair[::-1] in at_bound, (text, finding.message)
        if bound["perhaps"] is None and least > 1:
            below = next(meet(run(statements, threads, least - 1), *lines), None)
            assert below is None, (text, finding.message, below)
        count += 1
    return count


@pytest.mark.parametrize("seed", (0, 2, 3, 9, 13, 14, 20, 22, 23))
def test_the_threads_that_are_named_meet_at_the_bound_and_none_do_below(seed: int) -> None:
    assert compared(seed) > 0


@pytest.mark.sampled(one_in=4)
@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("part", range(8))
def test_more_threads_that_are_named_meet_at_the_bound(part: int) -> None:
    assert sum(map(compared, range(100 + 15 * part, 115 + 15 * part))) > 0


def test_the_pair_and_the_bound_are_of_one_witness() -> None:
    """Runs of the kernel choose sizes of their own, for which other threads meet."""
    expect(
        """
__global__ void k(const float* in, float* out, int batch) {
  __shared__ float s[33];
  int t = threadIdx.x;
  if (t < batch) s[t % 33] = in[t];
//               ^^^^^^^^^ SMEM201 data race (write after write): threads 0 and 33 both write `s[0]`
  __syncthreads();
  if (t < 33) out[t] = s[t];
}
void h(float* p, int batch) { k<<<1, 512>>>(p, p, batch); }
""",
        among=["SMEM201"],
    )


def test_another_block_has_a_condition_of_its_own() -> None:
    expect(
        """
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  if (n < blockDim.x) __syncthreads();
  out[t] = s[95 - t % 96];
//         ^^^^^^^^^^^^^^ SMEM201 with the 128×1×1 block of line 8, when n ≥ 128
}
void h(float* p, int n) { k<<<1, 128>>>(p, p, n); k<<<1, 96>>>(p, p, n); }
""",
        among=["SMEM201"],
    )


def one_of(*sets: SizeSet) -> SizeCondition:
    return SizeCondition(sets)


def from_on(least: int, name: str = "n") -> SizeSet:
    return SizeSet(True, (name,), Relation.FROM, (least,))


EVEN = SizeSet(True, ("n",), Relation.MULTIPLE, (2, 0))
FEW = SizeSet(True, ("n",), Relation.WITHIN, (4, 9))


def under(condition: SizeCondition | None, answer: PairVerdict = PairVerdict.CONDITION) -> Decision:
    return Decision(cast("Access", None), cast("Access", None), answer, condition=condition)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ([from_on(65)], from_on(257), "when n ≥ 65"),
        ([from_on(257)], from_on(65), "when n ≥ 65"),
        ([from_on(65)], from_on(257, "m"), "when n ≥ 65, or when m ≥ 257"),
        ([FEW], from_on(65), "when n is 4 to 9, or when n ≥ 65"),
        ([from_on(65), EVEN], from_on(70), "when n ≥ 65, or when n is even"),
        ([EVEN], EVEN, "when n is even"),
        ([EVEN], SizeSet(False, ("n",)), "when n is even, or for some n"),
    ],
)
def test_two_conditions_of_one_pair_are_told_as_one(one: list[SizeSet], other: SizeSet, both: str) -> None:
    assert when(either(under(one_of(*one)), under(one_of(other))).condition) == both


def test_what_is_not_solved_on_another_way_leaves_a_bound_that_is_enough() -> None:
    bound, even, open_ = (
        under(one_of(from_on(65))),
        under(one_of(EVEN)),
        under(for_some("n"), PairVerdict.SIZES),
    )
    enough = at_least(bound, open_)
    assert when(enough.condition) == "for all n ≥ 65, perhaps for others"
    assert when(at_least(even, open_).condition) == "when n is even"
    assert when(at_least(bound, under(None, PairVerdict.UNDECIDED)).condition) == "when n ≥ 65"
    assert when(either(enough, under(one_of(from_on(70)))).condition) == "for all n ≥ 65, perhaps for others"
    assert when(either(enough, under(one_of(from_on(33)))).condition) == "when n ≥ 33"
