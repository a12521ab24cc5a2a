"""Functions of the bits of one number (CUDA math API, "Integer Intrinsics"): a record for each, from which follows all
that is known of it."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from smem_lsp.source import record


class Counting(enum.Enum):
    """Which of the bits that are set the result is made of."""

    EACH = enum.auto()  # the sum of what each of them stands for
    HIGHEST = enum.auto()  # what that one stands for
    LOWEST = enum.auto()


@record
class BitFunction:
    """``value``: what the stub files call it; ``name``: that of the function, and of its terms; ``stands_for``: what
    each bit of the operand stands for in the result, the lowest bit first, never below 0; ``of_none``: the result where
    no bit is set."""

    value: str
    name: str
    counting: Counting
    stands_for: tuple[int, ...]
    of_none: int = 0

    @property
    def spelling(self) -> str:
        """The operator of its terms."""
        return f"{self.name}()"

    @property
    def bits(self) -> int:
        """How many the operand has."""
        return len(self.stands_for)

    @property
    def most(self) -> int:
        """The largest result."""
        if self.counting is Counting.EACH:
            return sum(self.stands_for)
        return max(self.of_none, *self.stands_for)

    def of(self, n: int) -> int:
        """What it makes of a number, of which it takes the low bits."""
        n &= (1 << self.bits) - 1
        if not n:
            return self.of_none
        if self.counting is Counting.EACH:
            return sum(each for at, each in enumerate(self.stands_for[: n.bit_length()]) if n >> at & 1)
        return self.stands_for[(n if self.counting is Counting.HIGHEST else n & -n).bit_length() - 1]


_FUNCTIONS: Sequence[BitFunction] = (
    BitFunction("popcount", "__popc", Counting.EACH, (1,) * 32),
    BitFunction("popcount", "__popcll", Counting.EACH, (1,) * 64),
    BitFunction("leading_zeros", "__clz", Counting.HIGHEST, tuple(reversed(range(32))), of_none=32),
    BitFunction("leading_zeros", "__clzll", Counting.HIGHEST, tuple(reversed(range(64))), of_none=64),
    BitFunction("first_set", "__ffs", Counting.LOWEST, tuple(range(1, 33))),  # counted from 1
    BitFunction("first_set", "__ffsll", Counting.LOWEST, tuple(range(1, 65))),
    BitFunction("reversed", "__brev", Counting.EACH, tuple(1 << at for at in reversed(range(32)))),
    BitFunction("reversed", "__brevll", Counting.EACH, tuple(1 << at for at in reversed(range(64)))),
    BitFunction("bytes_reversed", "__nv_bswap16", Counting.EACH, tuple(1 << (at ^ 8) for at in range(16))),
    BitFunction("bytes_reversed", "__nv_bswap32", Counting.EACH, tuple(1 << (at ^ 24) for at in range(32))),
    BitFunction("bytes_reversed", "__nv_bswap64", Counting.EACH, tuple(1 << (at ^ 56) for at in range(64))),
)
BIT_FUNCTIONS = {each.spelling: each for each in _FUNCTIONS}
MOST = {each.spelling: each.most for each in _FUNCTIONS}
COUNTS = frozenset(each.spelling for each in _FUNCTIONS if each.value == "popcount")
_BY_VALUE = {(each.value, each.bits): each for each in _FUNCTIONS}
VALUES = frozenset(each.value for each in _FUNCTIONS)


def bit_function(value: str, bits: int) -> BitFunction | None:
    """What ``value(...)`` of the stub files means where the operand has so many bits; None: no function of bits."""
    return _BY_VALUE.get((value, bits))
