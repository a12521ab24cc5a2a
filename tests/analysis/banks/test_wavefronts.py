"""Wavefronts of one instruction: counted by hand, and counted again word by word."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from smem_lsp.analysis.banks.wavefronts import Cost, most_in_one_bank, stride, tile_wavefronts, wavefronts

Lanes = list[int | None]


def by_words(lanes: Lanes, width: int) -> int:
    """Wavefronts, counted one word after the other: each takes the first round in which its bank is free."""
    total = 0
    group = {8: 16, 16: 8}.get(width, 32)
    for first in range(0, 32, group):
        rounds: list[dict[int, int]] = []
        for offset in lanes[first : first + group]:
            for byte in range(offset, offset + width) if offset is not None else ():
                word = byte >> 2
                if any(held.get(word & 31) == word for held in rounds):
                    continue
                free = next((held for held in rounds if word & 31 not in held), None)
                if free is None:
                    free = {}
                    rounds.append(free)
                free[word & 31] = word
        total += len(rounds)
    return total


@pytest.mark.parametrize(
    ("offset", "width", "expected", "minimum"),
    [
        (lambda t: 4 * t, 4, 1, 1),
        (lambda t: 128 * t + 20, 4, 32, 1),
        (lambda t: 132 * t + 20, 4, 1, 1),
        (lambda t: 396, 4, 1, 1),
        (lambda t: 8 * t, 4, 2, 1),
        (lambda t: 12 * t, 4, 1, 1),
        (lambda t: 16 * t, 4, 4, 1),
        (lambda t: (t & 7) * 128, 4, 8, 1),
        (lambda t: t, 1, 1, 1),
        (lambda t: 2 * t, 2, 1, 1),
        (lambda t: 128 * t, 2, 32, 1),
        (lambda t: 8 * t, 8, 2, 2),
        (lambda t: 16 * t, 8, 4, 2),
        (lambda t: 16 * t, 16, 4, 4),
        (lambda t: 128 * t, 16, 32, 4),
        (lambda t: 144 * t, 16, 4, 4),
        (lambda t: 128 * (t % 8), 16, 32, 1),
        (lambda t: 16 * (t % 8), 16, 4, 1),
    ],
)
def test_counted_as_documented(offset: Callable[[int], int], width: int, expected: int, minimum: int) -> None:
    lanes: Lanes = [offset(t) for t in range(32)]
    found = wavefronts(lanes, width)
    assert (found.wavefronts, found.minimum, found.merged) == (expected, minimum, False)
    assert by_words(lanes, width) == expected


def test_the_broadcast_of_a_fragment_is_what_the_passes_need() -> None:
    """Eight float4 for each quarter of the warp, as in the inner product of a GEMM: nothing is wasted in a pass."""
    assert wavefronts([16 * (t % 8) for t in range(32)], 16) == Cost(4, 1, 4)


@pytest.mark.parametrize(
    ("offset", "width", "expected"),
    [
        (lambda t: 0, 16, 2),  # one float4 for all
        (lambda t: 16 * (t // 8), 16, 2),
        (lambda t: 16 * (t // 2), 16, 2),
        (lambda t: 16 * (t // 4 * 2 + t % 2), 16, 2),
        (lambda t: 8 * (t // 2), 8, 1),
        (lambda t: 0, 8, 1),
    ],
)
def test_pairs_that_coincide_share_a_pass(offset: Callable[[int], int], width: int, expected: int) -> None:
    found = wavefronts([offset(t) for t in range(32)], width)
    assert (found.wavefronts, found.merged) == (expected, True)


def test_rows_of_a_matrix_go_by_eights() -> None:
    column: Lanes = [64 * 2 * t for t in range(32)]
    assert wavefronts(column, 16, rows=8) == Cost(8, 1, 1)
    assert wavefronts(column, 16, rows=16) == Cost(16, 2, 2)
    assert wavefronts(column, 16, rows=32) == Cost(32, 4, 4)
    assert wavefronts([0] * 32, 16, rows=32).merged is False


@pytest.mark.parametrize(
    ("rows", "row_bytes", "pitch", "expected"),
    [
        (16, 32, 128, (16, 4)),
        (16, 32, 144, (4, 4)),
        (16, 32, 64, (8, 4)),
        (16, 32, 32, (4, 4)),
        (16, 64, 256, (16, 8)),
        (8, 64, 1024, (8, 4)),
    ],
)
def test_no_order_of_the_lanes_moves_a_matrix_in_fewer(
    rows: int, row_bytes: int, pitch: int, expected: tuple[int, int]
) -> None:
    found = tile_wavefronts(rows, row_bytes, pitch)
    assert (found.wavefronts, found.least) == expected
    rng = random.Random(pitch)
    for width in (4, 8, 16):
        pieces = [row * pitch + at for row in range(rows) for at in range(0, row_bytes, width)]
        for _ in range(50):
            rng.shuffle(pieces)
            warps = [pieces[first : first + 32] for first in range(0, len(pieces), 32)]
            assert sum(by_words([*warp], width) for warp in warps) >= found.wavefronts


def test_inactive_lanes_ask_for_nothing() -> None:
    lanes: Lanes = [128 * t if t < 5 else None for t in range(32)]
    assert wavefronts(lanes, 4) == Cost(5, 1, 1)
    assert wavefronts([None] * 32, 4) == Cost(0, 0, 0)
    assert stride(lanes) == 128
    assert stride([4 * t * t for t in range(32)]) is None
    assert most_in_one_bank(lanes, 4) == 5


def test_no_instruction_moves_twelve_bytes() -> None:
    with pytest.raises(ValueError, match="12 bytes"):
        wavefronts([0] * 32, 12)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_random_lanes_are_counted_as_word_by_word(width: int) -> None:
    rng = random.Random(width)
    for _ in range(300):
        span = rng.choice((8, 40, 400))
        lanes: Lanes = [
            rng.randrange(span) * max(width, 4) if rng.random() < 0.9 else None for _ in range(32)
        ]
        found = wavefronts(lanes, width)
        if not found.merged:
            assert found.wavefronts == by_words(lanes, width)
        assert found.minimum <= found.least <= found.wavefronts <= by_words(lanes, width)
