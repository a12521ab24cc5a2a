"""Runs an allocator that knows nothing of conflicts until its layout breaks none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from smem_lsp.allocation.overlaps import Overlaps
from smem_lsp.allocation.plan import Item
from smem_lsp.allocation.problem import Problem, problem
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.masks import bits
from smem_lsp.source import checkpoint

ROUNDS = 60  # beyond it a life is extended right to the end of the kernel
CHECKS = 1_000_000  # pairs in all layouts together; then none is given

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
    by_name = sorted(items, key=lambda item: (item.name, item.index))
    of = problem(by_name, conflicts)
    pairs = sum(map(int.bit_count, (*of.apart, *of.equal))) // 2
    rounds = min(ROUNDS + len(items), CHECKS // (1 + pairs))
    while rounds:
        checkpoint()
        offsets = place(lives)
        clashes = _clashes(of, [offsets[item.index] for item in by_name])
        clash = next(clashes, None)
        if clash is None:
            return offsets
        rounds -= 1
        hurry = rounds <= len(items)
        for a, b in (clash, *clashes) if hurry else (clash,):
            both = sorted(
                (by_name[a], by_name[b]), key=lambda item: (lives[item.index][1], item.name, item.index)
            )
            earlier, later = both
            first, last = lives[earlier.index]
            lives[earlier.index] = (first, end if hurry else min(max(last + 1, lives[later.index][1]), end))
    return None


def _clashes(of: Problem, offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The items that share bytes but may not, the first of them in front."""
    overlaps = Overlaps(offsets, of.size)
    for a, start in enumerate(offsets):
        checkpoint()
        sharing = overlaps.of(a) >> a << a
        for b in bits(sharing & (of.apart[a] | of.equal[a])):
            if of.apart[a] >> b & 1 or start != offsets[b]:
                yield a, b
