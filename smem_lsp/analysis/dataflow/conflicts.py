"""Which buffers may not share bytes: the result of the data-flow walks, and the input of every allocator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from smem_lsp.analysis.dataflow.masks import bits, mask_of, mutual
from smem_lsp.source import checkpoint, record


def pair(a: int, b: int) -> frozenset[int]:
    """The unordered pair of two buffer indices."""
    checkpoint()
    return frozenset((a, b))


class Pairs:
    """Unordered pairs of buffers. Kept is, per buffer, the mask of those that it stands in a pair with (bit i is the
    buffer with index i): of buffers that are alive together there are too many pairs to go through."""

    __slots__ = ("_rows",)

    def __init__(self, pairs: Iterable[frozenset[int]] = ()) -> None:
        self._rows: dict[int, int] = {}
        for a, b in pairs:
            checkpoint()
            self._rows[a] = self._rows.get(a, 0) | 1 << b
            self._rows[b] = self._rows.get(b, 0) | 1 << a

    @classmethod
    def of_rows(cls, rows: Mapping[int, int]) -> Pairs:
        """``rows``: buffer -> the mask of those that it stands in a pair with, or the other way round."""
        return cls._of(mutual(rows))

    @classmethod
    def between(cls, some: int, others: int) -> Pairs:
        """Each buffer of the mask ``some`` with each other one of the mask ``others``."""
        both = {b: some * (others >> b & 1) | others * (some >> b & 1) for b in bits(some | others)}
        return cls._of(both)

    @classmethod
    def _of(cls, rows: Mapping[int, int]) -> Pairs:
        made = cls()
        apart = ((buffer, row & ~(1 << buffer)) for buffer, row in rows.items())
        made._rows = {buffer: row for buffer, row in apart if row}
        return made

    def row(self, buffer: int) -> int:
        """The mask of the buffers that it stands in a pair with."""
        return self._rows.get(buffer, 0)

    def buffers(self) -> int:
        """The mask of the buffers of all pairs."""
        return mask_of(self._rows)

    def within(self, mask: int) -> Pairs:
        """Those of two buffers of ``mask``."""
        return self._of({buffer: row & mask for buffer, row in self._rows.items() if mask >> buffer & 1})

    def __contains__(self, both: frozenset[int]) -> bool:
        a, b = both
        return bool(self.row(a) >> b & 1)

    def __iter__(self) -> Iterator[frozenset[int]]:
        for a in sorted(self._rows):
            for b in bits(self._rows[a] >> a << a):
                yield pair(a, b)

    def __len__(self) -> int:
        return sum(row.bit_count() for row in self._rows.values()) // 2

    def __or__(self, other: Pairs) -> Pairs:
        return self._of({b: self.row(b) | other.row(b) for b in self._rows.keys() | other._rows.keys()})

    def __sub__(self, other: Pairs) -> Pairs:
        return self._of({buffer: row & ~other.row(buffer) for buffer, row in self._rows.items()})

    def __le__(self, other: Pairs) -> bool:
        return not self - other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pairs) and self._rows == other._rows

    def __hash__(self) -> int:
        return hash(frozenset(self._rows.items()))

    def __repr__(self) -> str:
        return f"Pairs({[sorted(both) for both in self]})"


@record
class Conflicts:
    """What may not share bytes.

    ``hard``: one is written while the other holds a value; no barrier helps. ``soft``: no proved barrier
    between two accesses. ``equal``: only at the same offset (own slots).
    Any other pair is free.
    """

    hard: Pairs = Pairs()
    soft: Pairs = Pairs()
    equal: Pairs = Pairs()

    def apart(self, a: int, b: int) -> bool:
        """True when the two may not overlap at all."""
        key = pair(a, b)
        return key in self.hard or key in self.soft

    @property
    def every(self) -> Pairs:
        """Those that may not share bytes without more ado."""
        return self.hard | self.soft | self.equal
