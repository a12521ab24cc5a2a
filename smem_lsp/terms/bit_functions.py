"""Functions of one number of 32 bits (CUDA math API, "Integer Intrinsics")."""

from __future__ import annotations

from collections.abc import Callable

_WORD = 0xFFFFFFFF


def _reversed(n: int) -> int:
    return int(f"{n & _WORD:032b}"[::-1], 2)


def _first_set(n: int) -> int:
    """The lowest bit that is set, counted from 1; 0: none."""
    n &= _WORD
    return (n & -n).bit_length()


REVERSED = "__brev()"  # its result has the 32nd bit, and is none the less no negative number
# by the spelling of the term
BIT_FUNCTIONS: dict[str, Callable[[int], int]] = {
    "__popc()": lambda n: (n & _WORD).bit_count(),
    "__clz()": lambda n: 32 - (n & _WORD).bit_length(),
    "__ffs()": _first_set,
    REVERSED: _reversed,
}
MOST = {"__popc()": 32, "__clz()": 32, "__ffs()": 32, REVERSED: _WORD}  # none is negative
