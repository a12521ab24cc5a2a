"""The fewest bytes any layout can have: buffers that all conflict with each other."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.allocation.plan import align_up
from smem_lsp.allocation.problem import Problem, cliques
from smem_lsp.allocation.stacked_height import stacked, stacked_height
from smem_lsp.analysis.dataflow.masks import bits
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

MANY = 200  # buffers; of more than that only a clique around each is looked at
STEPS = 4000  # search nodes; the best clique found is a valid bound at any time


def lower_bound(of: Problem, among: int) -> tuple[int, int]:
    """Bytes that the items of the mask ``among`` need at least, and the mask of the clique that forces them.

    In a pile of buffers aligned to multiples of G, all but the topmost take their size rounded up to G. Every
    alignment G is tried with the buffers that have at least it; then the lowest piles of whole cliques, where
    alignments differ.
    """
    best, clique = 0, 0
    heavy: set[tuple[int, ...]] = set()
    aligns = sorted({of.align[place] for place in bits(among)})
    for step in aligns if among.bit_count() <= MANY else ():
        checkpoint()
        aligned = 0
        for place in bits(among):
            if of.align[place] % step == 0:
                aligned |= 1 << place
        found, members = _heaviest(of, aligned, step, best)
        if found > best:
            best, clique = found, members
            heavy.add(tuple(bits(members)))
    if heavy and len(aligns) == 1:
        return best, clique
    heavy.update(cliques(of, sorted(bits(among), key=lambda place: (-of.size[place], place))))
    # No lowest pile is higher than the one of rising alignment from the top.
    heights = [
        (stacked(of, sorted(members, key=lambda place: (-of.align[place], -of.size[place]))), members)
        for members in heavy
    ]
    for height, group in sorted(heights, key=lambda each: (-each[0], each[1])):
        if height <= best:
            break
        lowest = stacked_height(of, group)
        least = sum(of.size[place] for place in group) if lowest is None else lowest[0]
        if least > best:
            best, clique = least, sum(1 << place for place in group)
    return best, clique


def _heaviest(of: Problem, among: int, step: int, known: int) -> tuple[int, int]:
    """The clique of ``among`` with the most piled bytes over ``known``; ``(known, 0)``: there is none."""
    order = sorted(bits(among), key=lambda place: (-of.size[place], place))
    search = _Cliques(of, {place: align_up(of.size[place], step) for place in order}, known)
    search.grow(0, order, 0, 0)
    return search.best, search.clique


@dataclass(slots=True)
class _Cliques:
    """``rounded``: bytes of each place; ``best``: those of ``clique``, the heaviest so far; ``budget``: steps left."""

    of: Problem
    rounded: Mapping[int, int]
    best: int
    clique: int = 0
    budget: int = STEPS

    def grow(self, members: int, candidates: list[int], total: int, tail: int) -> None:
        checkpoint()
        self.budget -= 1
        if total - tail > self.best:
            self.best, self.clique = total - tail, members
        rest = sum(self.rounded[place] for place in candidates)
        for at, place in enumerate(candidates):
            if total + rest - tail <= self.best or self.budget < 0:
                return
            rest -= self.rounded[place]
            friends = [other for other in candidates[at + 1 :] if self.of.apart[place] >> other & 1]
            slack = max(tail, self.rounded[place] - self.of.size[place])
            self.grow(members | 1 << place, friends, total + self.rounded[place], slack)
