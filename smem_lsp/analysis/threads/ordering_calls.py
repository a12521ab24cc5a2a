"""Calls that are not followed, and may order the threads of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Branch, Kernel, Loop, Seq, walk
from smem_lsp.source import checkpoint


def ordering_calls(kernel: Kernel, control: Control) -> tuple[int, ...]:
    """Points, rising."""
    return tuple(point for point in kernel.opaque if point not in control.split)


def split_calls(
    kernel: Kernel, values: ValueFacts, control: Control, shapes: Sequence[BlockShape]
) -> frozenset[int]:
    """Those of which nothing says that they wait and to which surely one lane of a warp comes at most, with others
    elsewhere: no barrier can be there that orders what it does. ``shapes``: the blocks that somebody names."""
    return frozenset(_split(kernel, values, control, shapes) if kernel.presumed and shapes else ())


def _split(
    kernel: Kernel, values: ValueFacts, control: Control, shapes: Sequence[BlockShape]
) -> Iterator[int]:
    if control.divergent_return is not None:
        return  # those who have returned count as arrived at every barrier
    lanes = min(kernel.dialect.warp_sizes)
    blocks = [Evaluator(shape.dims) for shape in shapes]
    for node in walk(kernel.body):
        checkpoint()
        if isinstance(node, Branch):
            for truth, first, last in _arms(node):
                inside = [point for point in kernel.presumed if first < point <= last]
                if inside and all(_splits(node, values, block, lanes, truth=truth) for block in blocks):
                    yield from inside


def _arms(node: Branch) -> Iterator[tuple[bool, int, int]]:
    """The points of what an arm surely holds: behind the first, up to the last. A call at its very end is not told from
    one behind it."""
    if node.then.items:
        yield True, node.point, _last(node.then)
    if node.otherwise.items:
        yield False, node.otherwise.items[0].point - 1, _last(node.otherwise)


def _last(arm: Seq) -> int:
    return max(each.end_point if isinstance(each, Loop) else each.point for each in walk(arm))


def _splits(node: Branch, values: ValueFacts, block: Evaluator, lanes: int, *, truth: bool) -> bool:
    """Does at most one lane of each warp take the arm, and no whole warp?"""
    term = values.conditions.get(node.point)
    found = None if term is None or not term.known else block.values(term)
    if found is None:
        return False
    taken = [bool(each) is truth for each in found]
    warps = (taken[start : start + lanes] for start in range(0, len(taken), lanes))
    return not any(all(warp) or sum(warp) > 1 for warp in warps)
