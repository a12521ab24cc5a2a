"""The local variables of a kernel, by number."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from itertools import islice

from smem_lsp.lowering.state.local_scope import LocalObject
from smem_lsp.lowering.state.position import BodyPosition
from smem_lsp.semantics.types import Record
from smem_lsp.source.record import dataclass
from smem_lsp.terms.operators import OperandType

# calls that lead there, token of the chunk, name, how often it was declared there by now
Declared = tuple[tuple[int, ...], int, str, int]
NUMBERS_OF_ONE = 3
"""How many numbers each variable has, as ``Variables`` says."""


def is_plain(number: int) -> bool:
    """Is it the number of the variable itself, not of where in a buffer it points?"""
    return number % NUMBERS_OF_ONE == 0


@dataclass
class Variables:
    """Numbers of variables. The number after one counts how many bytes into a buffer the variable points, if it ever
    does, the next one which buffer that is where it may be one of several. A variable has the same number each time
    that the kernel is lowered: ``numbers`` is handed on."""

    at: BodyPosition
    numbers: dict[Declared, int]
    numbers_only: set[int] = field(default_factory=set)  # declared as numbers or vectors of them
    objects: dict[int, LocalObject] = field(default_factory=dict)  # by the variable of the object
    parameters: dict[int, Record] = field(default_factory=dict)  # the kernel's, where they are objects
    # objects that shared arrays are reached through which are not seen, each with its class
    hiding: dict[int, str] = field(default_factory=dict)
    member_of: dict[int, tuple[int, str]] = field(default_factory=dict)  # -> object, name of the member
    readings: dict[int, OperandType] = field(
        default_factory=dict
    )  # of those that are numbers of 32 and 64 bits
    _declared: Counter[tuple[tuple[int, ...], int, str]] = field(default_factory=Counter)
    _texts: list[str] = field(default_factory=list)

    def declare(self, name: str) -> int:
        """A variable that is declared here."""
        here = (self.at.path, self.at.base, name)
        self._declared[here] += 1
        return self.numbers.setdefault((*here, self._declared[here]), NUMBERS_OF_ONE * len(self.numbers))

    def member(self, of: int, name: str) -> int:
        """The variable of a member of an object."""
        return self.numbers.setdefault(((-1, of), 0, name, 0), NUMBERS_OF_ONE * len(self.numbers))

    def name(self, variable: int) -> str:
        """Of one of them."""
        self._texts += (text for _, _, text, _ in islice(self.numbers, len(self._texts), None))
        text = self._texts[variable // NUMBERS_OF_ONE]
        return (text, f"{text} in bytes", f"array of {text}")[variable % NUMBERS_OF_ONE]

    def names(self) -> tuple[str, ...]:
        """By number."""
        return tuple(
            name for _, _, text, _ in self.numbers for name in (text, f"{text} in bytes", f"array of {text}")
        )
