"""Sets of small numbers as bit masks, and matrices of bits as one mask for each row.

A matrix of a thousand rows has a million bits. They are never looked at one by one here: where a row has many, it is
written as text and read back, which costs a few nanoseconds for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from smem_lsp.source import checkpoint

SPARSE = 16  # a row that has less than one bit in so many is gone through bit by bit


def bits(mask: int) -> Iterator[int]:
    """The positions of the ones in ``mask``, ascending."""
    checkpoint()
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(numbers: Iterable[int]) -> int:
    """The set of ``numbers``."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def gathered(masks: Sequence[int], at: Sequence[int]) -> list[int]:
    """Of each mask, bit ``at[i]`` as bit i, and no others."""
    first = at[0] if at else 0
    if all(position == i for i, position in enumerate(at, first)):  # neighbours
        return [mask >> first & (1 << len(at)) - 1 for mask in masks]
    number = {position: i for i, position in enumerate(at)}
    width = 1 + max(at, default=0)
    return [_gathered(mask, at, number, width) for mask in masks]


def _gathered(mask: int, at: Sequence[int], number: Mapping[int, int], width: int) -> int:
    checkpoint()
    if mask.bit_count() * SPARSE < len(at):
        return mask_of(number[position] for position in bits(mask) if position in number)
    text = f"{mask:0{width}b}"[::-1]
    return int("".join([text[position] for position in reversed(at)]), 2)


def mutual(rows: Mapping[int, int]) -> dict[int, int]:
    """The rows with bit a in row b wherever bit b is in row a; those without any bit are left out."""
    found = {number: row for number, row in rows.items() if row}
    size = 1 + max((max(number, row.bit_length() - 1) for number, row in found.items()), default=0)
    if sum(map(int.bit_count, found.values())) * SPARSE < size * size:
        for number in tuple(found):
            for other in bits(rows[number]):
                found[other] = found.get(other, 0) | 1 << number
        return found
    checkpoint()
    text = [f"{found.get(number, 0):0{size}b}" for number in reversed(range(size))]
    turned = (int("".join(column), 2) for column in zip(*text))
    both = {number: found.get(number, 0) | row for number, row in zip(reversed(range(size)), turned)}
    return {number: row for number, row in both.items() if row}
