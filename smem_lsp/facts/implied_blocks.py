"""Races of a kernel that nobody in sight launches, where its arrays say how large its block is.

``__shared__ float s[BLOCK]`` with ``s[threadIdx.x]`` is written for blocks of ``BLOCK`` threads, whatever that is. What
then holds for every block is told with that condition, and nothing is proved free of races by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from smem_lsp.analysis.decision.size_sets import SizeCondition
from smem_lsp.analysis.execution.program import NONE_RACE_FREE
from smem_lsp.analysis.hazards.every_block import proved_grounds
from smem_lsp.analysis.hazards.model import Hazards, Race
from smem_lsp.facts.data_flow import DataFlow
from smem_lsp.facts.decided import decide_races
from smem_lsp.ir.nodes import (
    Access,
    Barrier,
    BarrierKind,
    Jump,
    Kernel,
    Loop,
    Node,
    Seq,
    WarpCollective,
    walk,
)
from smem_lsp.ir.values import Op, Sym, Value
from smem_lsp.source import checkpoint
from smem_lsp.source.regex import regex
from smem_lsp.terms.language import Thread
from smem_lsp.terms.operators import Operator

# `N`, `Tile::rows`, a product of such, with a few more elements for the banks
_EXTENT = regex(r"((?:::)?[A-Za-z_][\w:]*(?:\s*\*\s*(?:::)?[A-Za-z_][\w:]*)*)(\s*\+\s*\d+)?")


Sizes = Mapping[str, Sequence[str]]


def implied_sizes(flow: DataFlow) -> Sizes:
    """Per axis of the block, the extents of arrays that all threads index by that coordinate alone, where their numbers
    are not known and nobody names a block. A kernel that lets lanes meet and never the block may be meant for one warp.
    """
    kernel = flow.kernel
    if kernel.launches or flow.shapes or kernel.irregular is not None or _is_of_warps(kernel):
        return {}
    found: dict[str, dict[str, None]] = {}
    padded: dict[str, dict[str, None]] = {}  # by elements that keep banks apart, or for what else they are
    for access in _of_all_threads(flow, kernel.body):
        checkpoint()
        buffer = kernel.buffers[access.buffer]
        for position, term in enumerate(flow.values.indices.get(access.point, ())):
            if (
                not isinstance(term, Thread)
                or position >= len(buffer.dims)
                or buffer.dims[position] is not None
            ):
                continue
            extent = _EXTENT.fullmatch(buffer.written.dims[position].strip())
            if extent is not None:
                (padded if extent[2] else found).setdefault(term.axis, {})[extent[1]] = None
    return {axis: tuple(found.get(axis) or padded[axis]) for axis in sorted(found.keys() | padded.keys())}


def _is_of_warps(kernel: Kernel) -> bool:
    nodes = [*walk(kernel.body)]
    kinds = {node.kind for node in nodes if isinstance(node, Barrier)}
    lanes = BarrierKind.WARP in kinds or any(isinstance(node, WarpCollective) for node in nodes)
    return lanes and BarrierKind.BLOCK not in kinds


def _of_all_threads(flow: DataFlow, seq: Seq) -> Iterator[Access]:
    """Accesses that no condition keeps a thread from, but the bound of a loop that all threads agree on: those in front
    of the first jump."""
    node: Node
    for node in seq.items:
        if any(isinstance(each, Jump) for each in walk(Seq((node,)))):
            return
        if isinstance(node, Access):
            yield node
        elif isinstance(node, Loop):
            condition = flow.values.conditions.get(node.point)
            if condition is not None and flow.levels.uniform(condition):
                yield from _of_all_threads(flow, node.body)


def as_facts(flow: DataFlow, sizes: Sizes) -> Sequence[Value]:
    """``blockDim.x == BLOCK``, for those sizes that the kernel counts with."""
    found: list[Value] = []
    for axis, text in ((axis, each) for axis, texts in sizes.items() for each in texts):
        first, *others = (Sym(flow.values.table.known_as(factor.strip())) for factor in text.split("*"))
        product: Value = first
        for each in others:
            product = Op(Operator.MULTIPLY, (product, each))
        found.append(Op(Operator.EQUAL, (Sym(f"blockDim.{axis}"), product)))
    return found


def races_in_implied_blocks(flow: DataFlow, sizes: Sizes) -> tuple[Race, ...]:
    """Those that are proved for every block above some size. ``flow``: under the facts of ``sizes``."""
    found = [list[Race]()]
    decide_races(flow, found)
    shown = Hazards(races=tuple(race for race in found[0] if not (race.untold or race.data)))
    grounds = proved_grounds(flow.kernel, flow.values, flow.control, flow.verdicts, shown, NONE_RACE_FREE)
    return tuple(
        replace(race, ground=grounds[race.key], condition=_in_blocks(race.condition, sizes))
        for race in shown.races
        if race.key in grounds
    )


def _in_blocks(condition: SizeCondition | None, sizes: Sizes) -> SizeCondition:
    """What holds in the blocks that arrays are written for."""
    blocks = tuple((axis, tuple(texts)) for axis, texts in sizes.items())
    return replace(condition or SizeCondition(()), blocks=blocks)
