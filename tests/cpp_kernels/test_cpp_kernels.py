"""What is told of random kernels in all of C++ happens: kernels of fixed seeds, without the constructs whose holes are
known (``open_holes.py``). ``python -m tests.cpp_kernels --kernels 10000 --seed N`` looks at new ones."""

from __future__ import annotations

import sys

import pytest

from cpp_kernels.choices import Choices
from cpp_kernels.command import alone, series
from cpp_kernels.forms import TABLES
from cpp_kernels.judging import RACE_FREE, asked, judged
from cpp_kernels.kernels import Kernel, kernel_of
from cpp_kernels.open_holes import OPEN
from cpp_kernels.ranges import Number, converted, operated
from cpp_kernels.shrinking import shrunk

KERNELS = 300
PARTS = 3
PARTS_ALONE = 8  # of which a run takes one


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_told_of_random_kernels_happens(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():  # pytest-xdist shows what its processes write to stderr only
        for name, why in OPEN.items() if part == 0 else ():
            print(f"left out: {name}: {why}", file=sys.stderr, flush=True)
    count = KERNELS // PARTS
    found = dict(series(part * count, count, OPEN))
    wrong = {seed: dict(each.wrong) for seed, each in found.items() if each.wrong}
    assert wrong == {}, "python -m tests.cpp_kernels --show SEED"
    truths = [each.truth for each in found.values()]
    assert truths.count("racy") > count // 4 < truths.count("free")
    assert truths.count("racy") + truths.count("free") > count * 9 // 10
    decided = [each for each in found.values() if each.answer.verdict != "undecided"]
    assert len(decided) > count // 2


@pytest.mark.slow(seconds=20)
@pytest.mark.sampled(one_in=PARTS_ALONE)
@pytest.mark.parametrize("part", range(PARTS_ALONE))
def test_what_is_told_of_each_construct_alone_happens(part: int) -> None:
    found = list(alone(OPEN, PARTS_ALONE, part))
    assert [(form.name, form.text, dict(each.wrong)) for form, each in found if each.wrong] == []
    assert [each.truth for _, each in found if each.truth not in ("racy", "free")] == []


def test_a_kernel_comes_from_its_choices() -> None:
    kernels = [kernel_of(Choices(seed)) for seed in range(50)]
    assert kernels == [kernel_of(Choices(seed)) for seed in range(50)]
    assert kernels == [kernel_of(Choices(given=each.drawn)) for each in kernels]
    assert len({each.text for each in kernels}) > 40


def test_every_construct_occurs() -> None:
    used = {name for seed in range(3_000) for name in kernel_of(Choices(seed)).used}
    assert {name for table in TABLES for name in table} - used == {"plain"}


def test_what_is_left_out_is_a_construct_and_does_not_occur() -> None:
    names = {name for seed in range(1_000) for name in kernel_of(Choices(seed)).used}
    assert set(OPEN) <= names
    assert not {name for seed in range(300) for name in kernel_of(Choices(seed), OPEN).used} & set(OPEN)


def test_a_wrong_answer_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every kernel were told to be race-free."""

    def told(text: str) -> object:
        return type(asked(text))("race-free")

    monkeypatch.setattr("cpp_kernels.judging.asked", told)
    found = next(each for each in judged([kernel_of(Choices(seed)) for seed in range(20)]) if each.wrong)
    small = shrunk(found, RACE_FREE, ())
    assert set(small.wrong) == {RACE_FREE}
    lines = small.kernel.text.splitlines()
    assert len(lines) <= 12, small.kernel.text
    assert small.kernel.used == frozenset()


def test_a_program_that_does_not_end_has_no_truth() -> None:
    head, tail = "__global__ void k(int* o, int n) {", "}\nvoid launch(int* o) { k<<<1, 64>>>(o, 3); }\n"
    bodies = (
        "__shared__ int s[8]; s[threadIdx.x] = 1;",
        "while (n) {}",
        "__shared__ int s[8]; if (threadIdx.x < 32) __syncthreads(); else s[0] = 1, __syncthreads();",
    )
    kernels = [Kernel(f"{head} {body} {tail}", frozenset(), (), ()) for body in bodies]
    assert [each.truth.partition(":")[0] for each in judged(kernels)] == ["no end"] * 3


def test_the_range_of_a_number_is_what_compilers_make_of_it() -> None:
    number = Number("t", "int", 0, 255)
    assert converted(number, "unsigned char") == Number("t", "unsigned char", 0, 255)
    assert converted(operated(number, "+", 1), "unsigned char").high == 255
    assert converted(operated(number, "+", 1), "signed char").low == -128
    assert operated(operated(number, "-", 5), "/", 2) == Number("", "int", -2, 125)
    assert operated(number, "-", 5, "unsigned").high == (1 << 32) - 1
    assert operated(Number("t", "short", -3, 3), "%", 2) == Number("", "int", -1, 1)
