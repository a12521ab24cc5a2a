"""Quotients, remainders and operations on bits as sums of digits."""

from __future__ import annotations

import random

import pytest

from smem_lsp.analysis.decision.formulas import Expression, Formula, number
from smem_lsp.analysis.decision.mixed_radix import MixedRadix
from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.analysis.decision.solver import Satisfiability, solve
from smem_lsp.engine import check

EFFORT = 2_000_000
MOST = 255


class Numbers:
    """Variables of formulas, and the digits of the numbers that are made of them."""

    def __init__(self) -> None:
        self.side: list[Formula] = []
        self.digits = MixedRadix(self.unknown, self.side)
        self.names: dict[str, Expression] = {}

    def unknown(self, name: str, low: int | None, high: int | None) -> Expression:
        if name not in self.names:
            found = self.names[name] = Expression(f"v{len(self.names)}")
            self.digits.ranges[found.text] = low, high
            self.side += [found >= low] if low is not None else []
            self.side += [found <= high] if high is not None else []
        return self.names[name]


def grown(
    numbers: Numbers, chance: random.Random, threads: tuple[Expression, Expression]
) -> tuple[Expression, str]:
    """A random number that is made of two others, and the same in Python, of ``t`` and ``u``."""
    known = [(threads[0], "t"), (threads[1], "u")]
    for _ in range(chance.randint(2, 5)):
        one, text = chance.choice(known)
        other, more = chance.choice(known)
        by, kind = chance.choice((2, 3, 4, 8, 12, 32, 64)), chance.randrange(6)
        if kind == 0:
            known.append((numbers.digits.divided(one, by)[0], f"({text} // {by})"))
        elif kind == 1:
            known.append((numbers.digits.divided(one, by)[1], f"({text} % {by})"))
        elif kind == 2:
            known.append((one + other * by, f"({text} + {more} * {by})"))
        elif kind == 3:
            known.append((one - other, f"({text} - {more})"))
        else:
            name = chance.choice("&|^")
            one, other = (numbers.digits.divided(each, 256)[1] for each in (one, other))
            made = numbers.digits.of_bits(name, one, other, 8)
            assert made is not None
            known.append((made, f"(({text} % 256) {name} ({more} % 256))"))
    return known[-1]


@pytest.mark.parametrize("seed", range(40))
def test_digits_are_those_of_the_number(seed: int) -> None:
    chance = random.Random(seed)
    numbers = Numbers()
    threads = numbers.unknown("t", 0, MOST), numbers.unknown("u", None, None)
    made, text = grown(numbers, chance, threads)
    result = numbers.unknown("result", None, None)
    for _ in range(3):
        t, u = chance.randint(0, MOST), chance.randint(-300, 300)
        asked = [threads[0].equals(t), threads[1].equals(u), result.equals(made), *numbers.side]
        found = solve(asked, [result, *threads], EFFORT)
        assert found.outcome is Satisfiability.SOME
        assert [found.values[each.text] for each in (result, *threads)] == [
            eval(text, {"t": t, "u": u}),
            t,
            u,
        ]


@pytest.mark.parametrize("seed", range(40))
def test_numbers_are_equal_where_their_digits_are(seed: int) -> None:
    chance = random.Random(seed)
    numbers = Numbers()
    threads = numbers.unknown("t", 0, MOST), numbers.unknown("u", 0, MOST)
    one, text = grown(numbers, chance, threads)
    other, more = grown(numbers, chance, threads[::-1])
    t, u = chance.randint(0, MOST), chance.randint(0, MOST)
    left, right = eval(text, {"t": t, "u": u}), eval(more, {"t": u, "u": t})
    for added in (0, left - right, left - right + chance.choice((1, -1, 4, 32))):
        equal = numbers.digits.equal(one, other + added)
        size, other_size = chance.randint(1, 16), chance.randint(1, 16)
        meet = numbers.digits.overlap(one, size, other + added, other_size)
        given = [threads[0].equals(t), threads[1].equals(u), *numbers.side]
        assert (solve([equal, *given], (), EFFORT).outcome is Satisfiability.SOME) is (left == right + added)
        met = left < right + added + other_size and right + added < left + size
        assert (solve([meet, *given], (), EFFORT).outcome is Satisfiability.SOME) is met


def test_a_remainder_of_a_remainder_is_a_part_of_it() -> None:
    numbers = Numbers()
    t = numbers.unknown("t", 0, MOST)
    lane = numbers.digits.divided(t, 32)[1]
    assert numbers.digits.divided(lane, 8)[1].text == numbers.digits.divided(t, 8)[1].text


def test_bits_that_the_other_number_has_not_are_added() -> None:
    numbers = Numbers()
    row, column = numbers.unknown("row", 0, 7), numbers.unknown("column", 0, 15)
    joined = numbers.digits.of_bits("|", row * 16, column, 7)
    assert joined is not None
    assert (joined - row * 16 - column).known == 0
    common = numbers.digits.of_bits("&", row * 16, column, 7)
    assert common is not None
    assert common.known == 0


def test_formulas_are_decided_by_what_is_left_of_both_sides() -> None:
    a, b = Expression("v0"), Expression("v1")
    assert (a * 4 + b < b + a * 4 + 1).known is True
    assert (a * 4).equals(b * 4 + 2).known is False
    assert (a + 1).equals(a).known is False
    assert (a - a).text == number(0).text


TILE = """\
__global__ void k(const int *in, int *out) {{
  __shared__ int tile[16][8][8];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (!(lane & 4)) {{
    int row = (lane % 4) * 2, column = lane / 8;
    tile[row][warp][column] = in[t];
    tile[row + {below}][warp][column] = in[t + 512];
    tile[row][warp][column + {beside}] = in[t + 1024];
  }}
  __syncthreads();
  out[t] = tile[t / 64][t / 8 % 8][t % 8];
}}
void go(const int *in, int *out) {{ k<<<1, 256>>>(in, out); }}
"""


@pytest.mark.parametrize(
    ("below", "beside", "free"), [(1, 4, True), (9, 4, True), (2, 4, False), (1, 3, False)]
)
def test_lanes_that_share_out_a_tile_among_them(below: int, beside: int, *, free: bool) -> None:
    (found,) = check(TILE.format(below=below, beside=beside)).facts[0].analysis.verdicts
    assert found.kind is (VerdictKind.RACE_FREE if free else VerdictKind.RACY), found.reasons


SWIZZLED = """\
__global__ void k(const int *in, int *out) {{
  __shared__ int s[{size}];
  int t = threadIdx.x;
  for (int i = 0; i < 4; i++) {{
    int row = t / 8 + 32 * i, column = t % 8;
    s[row * 8 + ({column})] = in[t + 256 * i];
  }}
  __syncthreads();
  out[t] = s[t];
}}
void go(const int *in, int *out) {{ k<<<1, 256>>>(in, out); }}
"""


@pytest.mark.parametrize(
    ("column", "free"),
    [
        ("column ^ (row % 8)", True),
        ("column ^ (row & 7)", True),
        ("column ^ (row / 2 % 4)", True),
        ("column | (row % 8)", False),
        ("column & (row % 8)", False),
        ("column ^ (row % 16)", False),
    ],
)
def test_columns_that_are_turned_about_by_their_row(column: str, *, free: bool) -> None:
    (found,) = check(SWIZZLED.format(size=1032, column=column)).facts[0].analysis.verdicts
    assert found.kind is (VerdictKind.RACE_FREE if free else VerdictKind.RACY), found.reasons


SUMMED_SWIZZLE = """\
__global__ void __launch_bounds__(128) k(const uint4* in, uint4* out) {
  __shared__ uint4 s[512];
  int t = threadIdx.x;
  for (int i = 0; i < 4; ++i) {
    s[i * 128 + (t >> 3) * 8 + ((((t & 63) >> 5) + ((t & 7) >> 2)) & 1) * 4
      + ((((t & 31) >> 4) + ((t & 3) >> 1)) & 1) * 2 + ((((t & 15) >> 3) + (t & BITS)) & 1)] = in[i * 128 + t];
  }
  __syncthreads();
  for (int i = 0; i < 4; ++i) { out[i * 128 + t] = s[511 - i * 128 - t]; }
}
void run(const uint4* in, uint4* out) { k<<<1, 128>>>(in, out); }
"""


@pytest.mark.parametrize(("bits", "kind"), [("1", VerdictKind.RACE_FREE), ("2", VerdictKind.RACY)])
def test_a_swizzle_of_sums_is_decided_in_a_known_block(bits: str, kind: VerdictKind) -> None:
    (verdict,) = check(SUMMED_SWIZZLE.replace("BITS", bits)).facts[0].analysis.verdicts
    assert verdict.kind is kind
