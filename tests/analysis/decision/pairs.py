"""The answer on a pair of accesses, held against all threads of a small block under many values of parameters.

A kernel of a few accesses, drawn at random: straight on, in a loop, or in a loop with a barrier at its end. What an
access does in a thread is worked out from its guard, its index and its value alone, by Python: nothing of the terms,
the encoding or the solver is used. What no launch may do (an overflow, a division by zero) says nothing about its
thread.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from smem_lsp.analysis.decision.model import Decision, PairVerdict
from smem_lsp.analysis.decision.verdict import RaceChecker
from smem_lsp.analysis.values.block_shape import dims_of
from smem_lsp.engine import check
from smem_lsp.facts.decided import judge_of
from smem_lsp.rules.facts import KernelFacts

from .random_programs import Generator
from .running import ARITHMETIC, Undefined, loaded
from .written import Expr, name

_SMALL = (-3, -1, 0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 1000)
_LAUNCHES = 60  # of a kernel
_BLOCKS = (2, 7, 16, 32, 33, 48, 64)
_REFUTED = (PairVerdict.APART, PairVerdict.IN_BOUNDS, PairVerdict.SAME_VALUE)
_CLAIMED = (PairVerdict.RACE, PairVerdict.CONDITION)
_SIZES = ("n", "m", "blockIdx_x")
_LEFT_OPEN = (0, 1, 3)
_DATA = 20  # choices of data that may show a race
Values = Mapping[str, int | Callable[[int], int]]
Cell = tuple[int, int]  # interval, element


@dataclass(frozen=True)
class Step:
    """One access. ``kind``: R, W or A; ``does``: from the values of a thread to what it does: None, or its element and
    what it stores."""

    kind: str
    line: int
    does: Callable[[Values], tuple[int, int] | None]


@dataclass(frozen=True)
class Drawn:
    """``turns``: of the loop around all steps, 1: there is none; ``ordered``: a barrier ends each of them."""

    text: str
    steps: Sequence[Step]
    threads: int
    elements: int
    turns: int
    ordered: bool
    types: Mapping[str, str]


@dataclass
class Tally:
    """``met``: pairs that meet under some launch; ``answers``: of all pairs; ``wrong``: seed and what is wrong."""

    pairs: int = 0
    met: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.pairs += other.pairs
        self.met += other.met
        self.answers += other.answers
        self.wrong += other.wrong


def drawn(seed: int) -> Drawn:
    """The kernel of a seed."""
    made = Generator(seed)
    chance = made.chance
    made.threads = threads = chance.choice(_BLOCKS)
    made.types = {"n": chance.choice(("int", "int", "unsigned")), "m": "int"}
    made.tid = name("tid", chance.choice(("int", "int", "unsigned")))
    elements = chance.choice((16, 64, 64, 128, threads, 2 * threads))
    turns = chance.choice((1, 1, 1, 3, 4))
    ordered = turns > 1 and chance.random() < 0.5
    if turns > 1:
        made.count_with(name("i"))
    lines = [
        f"__global__ void k(int* out, const int* __restrict__ in, {made.types['n']} n, int m) {{",
        f"  __shared__ int s[{elements}];",
        f"  {made.tid.type} tid = threadIdx.x;",
    ]
    if turns > 1:
        lines.append(f"  for (int i = 0; i < {turns}; ++i) {{")
    steps = []
    for _ in range(chance.choice((3, 4, 5))):
        guard = made.condition() if chance.random() < 0.4 else Expr("", "1")
        index = made.index(elements)
        kind = chance.choice("WWRRA")
        value = chance.choice((made.number, made.load, lambda: made.expression(1)))()
        action = {"W": f"s[{index.cuda}] = {value.cuda};", "R": f"out[tid] = s[{index.cuda}];"}.get(
            kind, f"atomicAdd(&s[{index.cuda}], 1);"
        )
        lines.append(f"    if ({guard.cuda}) {action}" if guard.cuda else f"    {action}")
        steps.append(Step(kind, len(lines), _does(guard.python, index.python, value.python)))
    if ordered:
        lines.append("    __syncthreads();")
    if turns > 1:
        lines.append("  }")
    lines += [
        "}",
        "void run(int* out, const int* in, int n, int m) {",
        f"  k<<<5, {threads}>>>(out, in, n, m);",
        "}",
    ]
    return Drawn("\n".join(lines) + "\n", steps, threads, elements, turns, ordered, made.types)


def _does(guard: str, index: str, value: str) -> Callable[[Values], tuple[int, int] | None]:
    code = compile(f"(({index}), ({value})) if ({guard}) else None", "<step>", "eval")

    def does(values: Values) -> tuple[int, int] | None:
        found: tuple[int, int] | None = eval(code, {**ARITHMETIC, **values})
        return found

    return does


def launches(kernel: Drawn, chance: random.Random) -> Iterator[dict[str, int]]:
    """Values of the parameters, the place in the grid, and the choice of data."""
    kept = [each for each in _SMALL if each >= 0]
    for number in range(_LAUNCHES):
        given = {
            parameter: chance.choice(kept if type_ == "unsigned" else _SMALL)
            for parameter, type_ in kernel.types.items()
        }
        yield {**given, "blockIdx_x": chance.randrange(5), "data": number}


def meetings(kernel: Drawn, given: Mapping[str, int]) -> Mapping[PairVerdict, set[tuple[int, int]]]:
    """Pairs of steps of which two threads touch one element in one interval, one of them writing, by the answer that
    this refutes: anywhere (APART), inside of the array (IN_BOUNDS), or there, and not both storing the same."""
    touched: list[dict[Cell, list[tuple[int, int]]]] = [defaultdict(list) for _ in kernel.steps]
    for turn, thread in itertools.product(range(kernel.turns), range(kernel.threads)):
        values = _values(kernel, given, thread, turn)
        for step, cells in zip(kernel.steps, touched):
            try:
                found = step.does(values)
            except Undefined:
                continue
            if found is not None:
                cells[turn if kernel.ordered else 0, found[0]].append((thread, found[1]))
    met: dict[PairVerdict, set[tuple[int, int]]] = {answer: set() for answer in _REFUTED}
    for pair in itertools.combinations_with_replacement(range(len(kernel.steps)), 2):
        for answer in _answers(kernel, touched, pair):
            met[answer].add(pair)
    return met


def _values(kernel: Drawn, given: Mapping[str, int], thread: int, turn: int) -> Values:
    of_thread = {"tid": thread, "threadIdx_x": thread, "i": turn}
    return {**given, **of_thread, "blockDim_x": kernel.threads, "gridDim_x": 5, "G": _loads(given["data"])}


def _loads(data: int) -> Callable[[int], int]:
    return lambda index: loaded(index, data)


def _answers(
    kernel: Drawn, touched: Sequence[Mapping[Cell, Sequence[tuple[int, int]]]], pair: tuple[int, int]
) -> Iterator[PairVerdict]:
    """Those that are refuted."""
    one, other = (kernel.steps[number].kind for number in pair)
    if one == other and one in "RA":
        return
    for cell, first in touched[pair[0]].items():
        inside = 0 <= cell[1] < kernel.elements
        for (a, x), (b, y) in itertools.product(first, touched[pair[1]].get(cell, ())):
            if a != b:
                yield PairVerdict.APART
                if inside:
                    yield PairVerdict.IN_BOUNDS
                    if x != y or not one == other == "W":
                        yield PairVerdict.SAME_VALUE
                        return


def judge(seeds: Iterable[int]) -> Tally:
    """All pairs of the kernels of these seeds."""
    tally = Tally()
    for seed in seeds:
        kernel = drawn(seed)
        facts, judges = judges_of(kernel)
        decisions = [each for judge_ in judges for each in judge_.decisions()]
        natural = set[str]().union(*(judge_.asker.not_negative for judge_ in judges))
        shown: dict[PairVerdict, set[tuple[int, int]]] = {answer: set() for answer in _REFUTED}
        for given in launches(kernel, random.Random(seed)):
            if any(given.get(name_, 0) < 0 for name_ in natural):  # which the answer rules out, and says so
                continue
            for answer, met in meetings(kernel, given).items():
                shown[answer] |= met
        for pair, found in _by_pair(kernel, facts, decisions).items():
            tally.pairs += 1
            tally.met += pair in shown[PairVerdict.SAME_VALUE]
            worst = max(
                (each.answer for each in found), key=list(PairVerdict).index, default=PairVerdict.APART
            )
            tally.answers[worst.value] += 1
            for wrong in _wrong(kernel, pair, worst, found, shown):
                tally.wrong.append((seed, wrong))
    return tally


def decided(kernel: Drawn) -> Iterator[Decision]:
    """What is decided of each pair of accesses, before any run."""
    for each in judges_of(kernel)[1]:
        yield from each.decisions()


def judges_of(kernel: Drawn) -> tuple[KernelFacts, list[RaceChecker]]:
    """What is known of it, and one judge for each block that is judged."""
    (facts,) = check(kernel.text).facts
    flow = facts.analysis.launched_flow
    return facts, [judge_of(flow, verdicts, dims_of(shape)) for shape, verdicts in flow.judged]


def _by_pair(
    kernel: Drawn, facts: KernelFacts, decisions: Sequence[Decision]
) -> dict[tuple[int, int], list[Decision]]:
    """By the numbers of two steps, one of which writes."""
    number = {step.line: at for at, step in enumerate(kernel.steps)}
    found: dict[tuple[int, int], list[Decision]] = {}
    for pair in itertools.combinations_with_replacement(range(len(kernel.steps)), 2):
        one, other = (kernel.steps[at].kind for at in pair)
        if not (one == other and one in "RA"):
            found[pair] = []
    for each in decisions:
        pair = tuple(sorted((number[facts.line(each.first.line)], number[facts.line(each.second.line)])))
        found.setdefault((pair[0], pair[1]), []).append(each)
    return found


def _wrong(
    kernel: Drawn,
    pair: tuple[int, int],
    answer: PairVerdict,
    found: Sequence[Decision],
    shown: Mapping[PairVerdict, set[tuple[int, int]]],
) -> Iterator[str]:
    lines = " and ".join(str(kernel.steps[at].line) for at in pair)
    if pair in shown.get(answer, ()):
        yield f"{answer.value}, but the accesses of lines {lines} meet"
    for each in found:
        if each.answer not in _CLAIMED or each.witness is None:
            continue
        sizes = {name.replace(".", "_"): value for name, value in each.witness.sizes.items()}
        if shows(kernel, pair, sizes) is False:
            yield f"{each.answer.value} of lines {lines}, but no two threads meet with {sizes}"


def shows(kernel: Drawn, pair: tuple[int, int], sizes: Mapping[str, int]) -> bool | None:
    """Do two threads meet under the sizes of a witness? Those that it leaves open have the first of a few values for
    which all threads are defined; None: there are none."""
    left = [each for each in _SIZES if each not in sizes]
    for values in itertools.product(_LEFT_OPEN, repeat=len(left)):
        judged = False
        for number in range(_DATA):  # those of the witness are chosen by the solver
            given = {**dict(zip(left, values)), **sizes, "data": number}
            if left and not _is_defined(kernel, pair, given):
                continue
            if pair in meetings(kernel, given)[PairVerdict.SAME_VALUE]:
                return True
            judged = True
        if judged:
            return False
    return None


def _is_defined(kernel: Drawn, pair: tuple[int, int], given: Mapping[str, int]) -> bool:
    try:
        for turn, thread in itertools.product(range(kernel.turns), range(kernel.threads)):
            values = _values(kernel, given, thread, turn)
            for number in pair:
                kernel.steps[number].does(values)
    except Undefined:
        return False
    return True
