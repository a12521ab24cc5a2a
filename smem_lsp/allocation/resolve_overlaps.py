"""Runs an allocator that knows nothing of conflicts until its layout breaks none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from smem_lsp.allocation.plan import Item
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.source import checkpoint

ROUNDS = 60  # beyond it a life is extended right to the end of the kernel
CHECKS = 1_000_000  # pairs compared, about a quarter of a second; then no layout is given

Lives = dict[int, tuple[int, int]]  # buffer -> first and last position, both inclusive


def resolve_overlaps(
    items: Sequence[Item],
    lives: Lives,
    conflicts: Conflicts,
    end: int,
    place: Callable[[Lives], dict[int, int]],
) -> dict[int, int] | None:
    """Offsets in bytes that ``place`` finds for ``lives``, extended where needed; None: there are too many buffers.

    An allocator that works on intervals sees neither back edges nor missing barriers. Where two buffers share
    bytes against ``conflicts``, the life that ends first is extended to the end of the other, in ``lives`` itself,
    and ``place`` runs again; ``end`` is a position after everything.
    """
    pairs = _pairs(items, conflicts)
    rounds = min(ROUNDS + len(items), CHECKS // (1 + len(pairs)))
    while rounds:
        checkpoint()
        offsets = place(lives)
        clashes = (pair for pair in pairs if _clash(*pair, offsets))
        clash = next(clashes, None)
        if clash is None:
            return offsets
        rounds -= 1
        hurry = rounds <= len(items)
        for a, b, _ in (clash, *clashes) if hurry else (clash,):
            earlier, later = sorted((a, b), key=lambda item: (lives[item.index][1], item.name, item.index))
            first, last = lives[earlier.index]
            lives[earlier.index] = (first, end if hurry else min(max(last + 1, lives[later.index][1]), end))
    return None


def _pairs(items: Sequence[Item], conflicts: Conflicts) -> list[tuple[Item, Item, bool]]:
    """Items that may not overlap, by name; True: they may where both start at the same offset."""
    by_name = sorted(items, key=lambda item: (item.name, item.index))
    rank = {item.index: number for number, item in enumerate(by_name)}
    only_equal = conflicts.equal - conflicts.hard - conflicts.soft
    out: list[tuple[int, int, int, bool]] = []
    for order, keys in enumerate((conflicts.hard, conflicts.soft, only_equal)):
        checkpoint()
        for one, other in keys:
            a, b = rank.get(one), rank.get(other)
            if a is not None and b is not None:
                out.append((a, b, order, keys is only_equal) if a < b else (b, a, order, keys is only_equal))
    return [(by_name[a], by_name[b], equal) for a, b, _, equal in sorted(out)]


def _clash(a: Item, b: Item, equal: bool, offsets: Mapping[int, int]) -> bool:
    checkpoint()
    low, start = offsets[a.index], offsets[b.index]
    return low < start + b.size and start < low + a.size and not (equal and low == start)
