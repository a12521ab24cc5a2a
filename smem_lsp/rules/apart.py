"""Why two buffers may not share bytes, in words: the accesses that show it, and what between them is no barrier."""

from __future__ import annotations

import re
from collections.abc import Iterator

from smem_lsp.analysis.dataflow.conflicts import pair
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import interference, witnesses
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Barrier,
    BarrierKind,
    Branch,
    Loop,
    Region,
    Seq,
    WarpCollective,
    placed,
    walk,
)
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import checkpoint
from smem_lsp.source.regex import regex

_DONE = {AccessKind.READ: "read", AccessKind.WRITE: "written", AccessKind.UPDATE: "updated"}
_FENCE = regex(r"\b__threadfence\w*(?=\s*\()")
_COMMENT = regex(r"//[^\n]*|/\*.*?\*/", re.S)
_MOST = 4  # things told of one pair


def open_pairs(facts: KernelFacts, under: Facts) -> dict[frozenset[int], tuple[Access, Access]]:
    """Each pair of buffers that could share bytes if a barrier were added, with the first two accesses that no proved
    barrier separates, the one that runs first in front."""
    fixed = frozenset(buffer.index for buffer in facts.kernel.buffers if buffer.fixed is not None)
    found: dict[frozenset[int], tuple[Access, Access]] = {}
    for earlier, later in witnesses(interference(facts.kernel.body, under, fixed)):
        found.setdefault(pair(earlier.buffer, later.buffer), (earlier, later))
    return found


def why_open(facts: KernelFacts, under: Facts, earlier: Access, later: Access) -> str:
    """``no proved barrier between `a`, read at line 9, and `b`, written at line 11; __syncwarp at line 10 orders the
    lanes of a warp only``"""
    names = [
        f"`{facts.kernel.buffers[each.buffer].name}`, {_DONE[each.kind]} at line {facts.line(each.line)}"
        for each in (earlier, later)
    ]
    said = f"no proved barrier between {names[0]}, and {names[1]}"
    reasons = dict.fromkeys(_reasons(facts, under, earlier, later))
    return "; ".join([said, *list(reasons)[:_MOST]])


def _reasons(facts: KernelFacts, under: Facts, earlier: Access, later: Access) -> Iterator[str]:
    nodes = list(placed(facts.kernel.body))
    around = {node.point: containers for node, containers in nodes}
    one, other = around[earlier.point], around[later.point]
    common = [each for each in one if each in other]
    beside = next(
        (each for each in common if isinstance(each, Branch) and _parts(each, earlier, later)), None
    )
    if beside is not None and beside.point not in under.uniform:
        yield f"threads may run the two arms of the branch at line {facts.line(beside.line)} at once"
        return
    loop = next((each for each in reversed(common) if isinstance(each, Loop)), None)
    back = earlier.point >= later.point
    if back and loop is not None:
        yield f"over the end of the loop at line {facts.line(loop.line)}"
    for node, containers in nodes:
        checkpoint()
        if back:
            between = loop in containers and (node.point > earlier.point or node.point < later.point)
        else:
            between = earlier.point < node.point < later.point
        if between and isinstance(node, (Barrier, WarpCollective)):
            skipped = next((each for each in containers if each not in one or each not in other), None)
            yield _no_barrier(facts, node, under, skipped)
    if not back:
        yield from _fences(facts, facts.line(earlier.line), facts.line(later.line))


def _no_barrier(
    facts: KernelFacts, node: Barrier | WarpCollective, under: Facts, skipped: Region | None
) -> str:
    """``skipped``: what stands around it, but not around both accesses."""
    spelling = node.spelling.split("(")[0].strip().rstrip(";") or "the barrier"
    what = f"{spelling} at line {facts.line(node.line)}"
    if isinstance(node, WarpCollective):
        return f"{what} orders no memory"
    if node.kind is BarrierKind.WARP:
        return f"{what} orders the lanes of a warp only"
    if not node.of_block:
        return f"{what} is not known to be for all threads"
    if node.point not in under.barriers:
        return f"{what} is not proved to be run by every thread"
    if isinstance(skipped, Branch):
        return f"{what} is run in one arm of the branch at line {facts.line(skipped.line)} only"
    if skipped is not None:
        return f"{what} is in the loop at line {facts.line(skipped.line)}, which may not run"
    return f"{what} can be jumped over"


def _fences(facts: KernelFacts, first: int, last: int) -> Iterator[str]:
    lines = facts.source.text.split("\n")[first - 1 : last]
    code = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), "\n".join(lines))
    for number, line in enumerate(code.split("\n"), start=first):
        checkpoint()
        for found in _FENCE.findall(line):
            yield f"{found} at line {number} waits for no other thread"


def _parts(branch: Branch, earlier: Access, later: Access) -> bool:
    """Do the two stand in different arms of one branch?"""
    inside = [_points(arm) for arm in (branch.then, branch.otherwise)]
    a, b = ([each.point in arm for arm in inside] for each in (earlier, later))
    return a != b


def _points(seq: Seq) -> set[int]:
    return {node.point for node in walk(seq)}
