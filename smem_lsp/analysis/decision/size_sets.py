"""For which values of parameters two threads meet or part, as data: nothing here is in words.

A condition lists sets of values, one of which is enough: ``n ≥ 33``, or ``m`` even. A set is solved for exactly, or all
that is known is that some of its values do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import IntEnum

from smem_lsp.source import record


class Relation(IntEnum):
    """Of a value to the numbers of a set."""

    ANY = 0  # (): whatever it is
    WITHIN = 1  # (least, most)
    MULTIPLE = 2  # (factor, rest): less ``rest`` it is a multiple of ``factor``
    NO_MULTIPLE = 3  # (factor, rest)
    OTHER = 4  # (number): all but that one
    UP_TO = 5  # (most): from 0
    FROM = 6  # (least)


@record
class SizeSet:
    """Values of the parameter in ``names``, or of several of which no more is known. ``exact``: all of them, and no
    others, else some of them; ``below``: 0, or the end of the multiples of a factor."""

    exact: bool
    names: tuple[str, ...]
    relation: Relation = Relation.ANY
    numbers: tuple[int, ...] = ()
    below: int = 0

    def is_in(self, other: SizeSet) -> bool:
        """Do all of them belong to ``other``, as far as bounds say?"""
        return self == other or (
            self.is_bound and other.is_bound and self.names == other.names and self.numbers >= other.numbers
        )

    @property
    def is_bound(self) -> bool:
        """Is it every value from some number on?"""
        return self.exact and self.relation is Relation.FROM


Blocks = tuple[tuple[str, tuple[str, ...]], ...]
"""By axis of the block, the extents of arrays that are its own: ``x`` is ``BLOCK``."""


@record
class SizeCondition:
    """One of ``sets`` holds, and ``blocks`` do; ``enough``: for other values it may happen, too."""

    sets: tuple[SizeSet, ...]
    blocks: Blocks = ()
    enough: bool = False

    @property
    def is_solved(self) -> bool:
        """Is more known than that there are such values?"""
        return all(each.exact for each in self.sets[:1])

    @property
    def has_no_end(self) -> bool:
        """Does the last of the sets go on from some number?"""
        return any(each.relation is Relation.FROM for each in self.sets[-1:])

    @property
    def bound(self) -> SizeSet | None:
        """The one set that it comes to, if that is every value from some number on."""
        return self.sets[0] if len(self.sets) == 1 and self.sets[0].is_bound else None

    def or_else(self, other: SizeCondition) -> SizeCondition:
        """What holds under one of the two."""
        more = tuple(each for each in other.sets if not any(each.is_in(known) for known in self.sets))
        return replace(self, sets=(*self.sets, *more)) if more else self


def for_some(names: Iterable[str]) -> SizeCondition:
    """What depends on sizes in a way that is not solved."""
    return SizeCondition((SizeSet(False, tuple(sorted(names))),))
