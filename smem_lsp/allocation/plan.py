"""Inputs and results that all allocators share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


def align_up(offset: int, alignment: int) -> int:
    """``offset`` in bytes, rounded up to a multiple of ``alignment``."""
    return -(-offset // alignment) * alignment


def pair(a: int, b: int) -> frozenset[int]:
    """The unordered pair of two buffer indices."""
    return frozenset((a, b))


@dataclass(frozen=True, slots=True)
class Item:
    """One buffer to lay out. ``size`` and ``align`` in bytes."""

    index: int
    name: str
    size: int
    align: int


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What may not share bytes (reference: reuse of shared memory, sections 1 and 2).

    ``hard``: one is written while the other holds a value; no barrier helps. ``soft``: no proved barrier between
    two accesses, the witnesses say which (points). ``equal``: only at the same offset (own slots). Any other pair
    is free.
    """

    hard: frozenset[frozenset[int]] = frozenset()
    soft: Mapping[frozenset[int], frozenset[tuple[int, int]]] = field(default_factory=dict)
    equal: frozenset[frozenset[int]] = frozenset()

    def apart(self, a: int, b: int) -> bool:
        """True when the two may not overlap at all."""
        key = pair(a, b)
        return key in self.hard or key in self.soft


@dataclass(frozen=True, slots=True)
class Plan:
    """A layout: byte offset of every buffer by its index. ``barriers``: points of the nodes before which one is added."""

    allocator: str  # declared | stack | best
    bytes: int
    offsets: Mapping[int, int]
    lower_bound: int = 0
    optimal: bool = False
    clique: tuple[int, ...] = ()  # buffers that together force the bytes
    barriers: tuple[int, ...] = ()
    cost: int = 0  # executions of the added barriers per block, 8 for a loop of unknown count
