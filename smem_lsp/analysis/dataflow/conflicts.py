"""Which buffers may not share bytes: the result of the data-flow walks, and the input of every allocator."""

from __future__ import annotations

from smem_lsp.source import checkpoint, record


def pair(a: int, b: int) -> frozenset[int]:
    """The unordered pair of two buffer indices."""
    checkpoint()
    return frozenset((a, b))


@record
class Conflicts:
    """What may not share bytes.

    ``hard``: one is written while the other holds a value; no barrier helps. ``soft``: no proved barrier
    between two accesses. ``equal``: only at the same offset (own slots).
    Any other pair is free.
    """

    hard: frozenset[frozenset[int]] = frozenset()
    soft: frozenset[frozenset[int]] = frozenset()
    equal: frozenset[frozenset[int]] = frozenset()

    def apart(self, a: int, b: int) -> bool:
        """True when the two may not overlap at all."""
        key = pair(a, b)
        return key in self.hard or key in self.soft
