"""Block barriers that all threads of a block run in one arm of a branch or the other.

If both arms of a branch run equally many barriers and the branch splits the block between warps, these are the same
barriers in two places: the idiom of warp specialisation. Found by evaluation: the samples are the one known block
shape, or blocks of 64, 256 and 512 threads, with two assignments of unrelated large values to the free symbols.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.analysis.threads.assignments import assignments
from smem_lsp.analysis.threads.uniformity import Control, Levels
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Around, Barrier, Branch, Dims, Jump, Loop, Node, Region, Seq, placed, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_THREADS = (64, 256, 512)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Points of block barriers that not all threads are proved to run. ``paired``: all run it in one arm or the
    other."""

    paired: frozenset[int]


def judge(body: Seq, levels: Levels, control: Control, dims: Dims | None) -> Verdicts:
    """Verdicts on the block barriers that ``control`` does not prove. ``dims``: the block's shape, if one is known or
    assumed."""
    values = levels.values
    samples = [dims] if dims is not None else samples_for(values)
    paired: set[int] = set()
    for node, around in placed(body):
        if (
            isinstance(node, Barrier)
            and node.of_block
            and not node.guess
            and node.point not in control.barriers
        ):
            if _pairing(around, values, levels, samples) == {True}:
                paired.add(node.point)
    return Verdicts(frozenset(paired))


def samples_for(values: ValueFacts, single: str = "") -> list[Dims]:
    """Blocks to try if none is known, in as many dimensions as the kernel reads: from two warps on. ``single``: axes in
    which they have one thread."""
    axes = values.axes()
    if "x" not in single:
        axes = "".join(axis for axis in axes if axis not in single)
    if "z" in axes:
        return [(8, 4, 2), (8, 8, 4), (8, 8, 8)]
    if "y" in axes:
        return [(32, 2, 1), (32, 8, 1), (16, 16, 1), (32, 16, 1)]
    return [(threads, 1, 1) for threads in _THREADS]


# ---- both arms -------------------------------------------------------------------------------------------------------


def _pairing(around: Around, values: ValueFacts, levels: Levels, samples: Sequence[Dims]) -> set[bool] | None:
    """Do both arms of the innermost branch run equally many barriers? For each number of lanes that a warp may have:
    does it then split the block between warps, or a warp? None if it is no such branch or unknown."""
    node = around[-1] if around else None
    if not isinstance(node, Branch) or any(not _agreed(each, values, levels) for each in around[:-1]):
        return None
    counts = [_straight_barriers(arm) for arm in (node.then, node.otherwise)]
    if counts[0] != counts[1] or not counts[0]:
        return None
    condition = values.conditions[node.point]
    sizes = values.table.warp_sizes
    whole = dict.fromkeys(sizes, True)
    for dims in samples:
        checkpoint()
        for symbols in assignments([condition], dims, given=values.given):
            mask = Evaluator(dims, symbols).values(condition)
            if mask is None:
                return None
            truth = [bool(each) for each in mask]
            for size in sizes:
                warps = (truth[start : start + size] for start in range(0, len(truth), size))
                whole[size] = whole[size] and all(len(set(warp)) == 1 for warp in warps)
    return set(whole.values())


def _agreed(node: Region, values: ValueFacts, levels: Levels) -> bool:
    """Do all threads that come to a branch or loop decide alike?"""
    loop = values.loops.get(node.point)
    terms = (values.conditions[node.point],) if loop is None else (loop.first, loop.again, *loop.exits)
    return all(map(levels.uniform, terms))


def _straight_barriers(seq: Seq) -> int | None:
    """How many block barriers every thread runs in ``seq``; None: unknown."""
    count = 0
    for node in seq.items:
        if isinstance(node, Barrier):
            if not node.of_block:
                return None
            count += 1
        elif (isinstance(node, (Branch, Loop)) and _matters(node)) or isinstance(node, Jump):
            return None
    return count


def _matters(node: Node) -> bool:
    return any(isinstance(each, (Barrier, Jump)) for each in walk(Seq((node,))))
