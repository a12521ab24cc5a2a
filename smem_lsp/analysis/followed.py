"""The variables of loops that a run of a block has to follow: those that anything rests on that it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from smem_lsp.analysis.terms import LoopVar, Opaque, Term, parts_of
from smem_lsp.analysis.values import Exit, LoopFacts, Values
from smem_lsp.source import record


@record
class Followed:
    """Loops by point, each with those of its variables that count, and what these are behind it."""

    loops: Mapping[int, LoopFacts]
    exits: Mapping[int, tuple[Exit, ...]]


def followed(values: Values, loops: Iterable[int], asked: Iterable[Term]) -> Followed:
    """``loops``: points of those that are run; ``asked``: terms whose values a run asks for besides how these go on."""
    running = [values.loops[point] for point in loops]
    moves = {each.atom: each for loop in values.loops.values() for each in loop.recurrences}
    ends = {each.value: each for exits in values.exits.values() for each in exits}
    seen: set[Term] = set()
    waiting = [*asked, *(term for loop in running for term in (loop.first, loop.head, loop.again))]
    while waiting:
        fresh = [part for part in parts_of(*waiting) if part not in seen]
        seen.update(fresh)
        waiting = []
        for part in fresh:
            if isinstance(part, LoopVar) and part in moves:
                waiting += (moves[part].init, moves[part].next)
            elif isinstance(part, Opaque):
                end = ends.get(part)
                waiting += part.sources if end is None else (end.init, end.following)
    return Followed(
        {loop.point: _with(loop, seen) for loop in running},
        {
            point: kept
            for point, exits in values.exits.items()
            if (kept := tuple(each for each in exits if each.value in seen))
        },
    )


def _with(loop: LoopFacts, seen: set[Term]) -> LoopFacts:
    kept = tuple(each for each in loop.recurrences if each.atom in seen)
    return loop if len(kept) == len(loop.recurrences) else replace(loop, recurrences=kept)
