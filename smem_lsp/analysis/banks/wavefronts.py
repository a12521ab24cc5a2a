"""How many wavefronts one shared-memory instruction of a warp takes.

Shared memory has 32 banks of 4 bytes; in one wavefront each bank delivers one word, to every lane that asks for it.
Lanes with up to 4 bytes go in one pass, with 8 bytes in two halves of the warp, with 16 bytes in four quarters. The
passes of a vector access meet in one where lanes coincide in pairs (measured on Volta and Turing, NVIDIA developer
forum 77228); how a program's next compilation or another architecture does that is not documented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import BANK_WIDTH, BANKS, WARP_SIZE

WIDTHS = (1, 2, 4, 8, 16)  # bytes that one instruction moves for a lane

Lanes = Sequence[int | None]  # byte offset of each lane; None: inactive


@dataclass(frozen=True, slots=True)
class Cost:
    """``minimum``: wavefronts that the distinct words of the warp need; ``least``: what the same lanes would take if
    no two of their words shared a bank, at one wavefront or more for each pass. ``merged``: passes with active lanes
    met in one."""

    wavefronts: int
    minimum: int
    least: int
    merged: bool = False


def wavefronts(lanes: Lanes, width: int, *, rows: int = 0) -> Cost:
    """The cost of one instruction with up to 32 ``lanes`` that each move ``width`` bytes.

    ``rows``: of ``ldmatrix`` and ``stmatrix``, whose first so many lanes give the address of a row; eight rows go in
    one pass. Raises ValueError for a width that no instruction has.
    """
    if width not in WIDTHS:
        raise ValueError(f"no instruction moves {width} bytes for a lane")
    asked = list(lanes[: rows or WARP_SIZE])
    size = WARP_SIZE if width <= BANK_WIDTH else WARP_SIZE * BANK_WIDTH // width
    passes = [asked[first : first + size] for first in range(0, len(asked), size)]
    joined = passes if rows or width <= BANK_WIDTH else _joined(asked, width)
    merged = _busy(joined) < _busy(passes)
    used = joined if merged else passes
    least = sum(-(-len(_words(each, width)) // BANKS) for each in used)
    total = sum(_wavefronts(each, width) for each in used)
    return Cost(total, -(-len(_words(asked, width)) // BANKS), least, merged)


def _busy(passes: Sequence[Lanes]) -> int:
    return sum(any(offset is not None for offset in each) for each in passes)


def tile_wavefronts(rows: int, row_bytes: int, pitch: int) -> Cost:
    """A lower bound for the instructions that move a matrix, whichever lane moves which word: each word must pass its
    bank. The matrix begins at a word; ``row_bytes`` and ``pitch`` are in bytes."""
    words = {
        word
        for row in range(rows)
        for word in range(row * pitch // BANK_WIDTH, (row * pitch + row_bytes - 1) // BANK_WIDTH + 1)
    }
    least = -(-len(words) // BANKS)
    return Cost(max(Counter(word % BANKS for word in words).values(), default=0), least, least)


def most_in_one_bank(lanes: Lanes, width: int) -> int:
    """The largest number of different words of one bank that a pass requests."""
    size = WARP_SIZE if width <= BANK_WIDTH else WARP_SIZE * BANK_WIDTH // width
    return max(_wavefronts(lanes[first : first + size], width) for first in range(0, WARP_SIZE, size))


def stride(lanes: Lanes) -> int | None:
    """Bytes from each active lane to the next; None if they differ."""
    active = [offset for offset in lanes if offset is not None]
    steps = {after - before for before, after in pairwise(active)}
    return steps.pop() if len(steps) == 1 else None


def _words(lanes: Lanes, width: int) -> set[int]:
    if width <= BANK_WIDTH:
        return {offset // BANK_WIDTH for offset in lanes if offset is not None}
    return {
        word
        for offset in lanes
        if offset is not None
        for word in range(offset // BANK_WIDTH, (offset + width - 1) // BANK_WIDTH + 1)
    }


def _wavefronts(lanes: Lanes, width: int) -> int:
    banks = Counter(word % BANKS for word in _words(lanes, width))
    return max(banks.values(), default=0)


def _joined(lanes: Lanes, width: int) -> list[Lanes]:
    """The passes of a vector access after pairs have met: the halves of 8 bytes in the warp, the quarters of 16 bytes
    in each half of the warp."""
    size = WARP_SIZE * BANK_WIDTH // width
    found: list[Lanes] = []
    for first in range(0, len(lanes), 2 * size):
        checkpoint()
        both = lanes[first : first + 2 * size]
        if any(_in_pairs(both, distance) for distance in (1, 2)):
            found.append(both)
        else:
            found += [both[:size], both[size:]]
    return found


def _in_pairs(lanes: Lanes, distance: int) -> bool:
    """Does every active lane t ask for the bytes of lane t ^ distance, or is that one inactive?"""
    for lane, offset in enumerate(lanes):
        other = lanes[lane ^ distance] if lane ^ distance < len(lanes) else None
        if offset is not None and other is not None and other != offset:
            return False
    return True
