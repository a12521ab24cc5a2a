"""Per program point: the buffers that hold a value there, and the accesses that are still open.

The walks are those of ``liveness`` and ``interference``; their result is kept per point, to be drawn or printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import open_interfering
from smem_lsp.analysis.dataflow.liveness import DefinedBehind, LiveBefore, LivenessRecord
from smem_lsp.analysis.dataflow.masks import bits
from smem_lsp.ir.nodes import Access, Loop, Seq, walk


def live_sets(body: Seq, facts: Facts) -> dict[int, int]:
    """Per point, in order: the buffers (bit i: the one with index i) that are accessed there, or that some path has
    written and some path will read before a full write. The first and last point of a buffer are its ``Life``."""
    nodes = tuple(walk(body))
    record = LivenessRecord(facts)
    LiveBefore(record).seq(body.items, 0, 0, 0)
    # A bit of no buffer: set wherever control may come from the start.
    reached = 1 << 1 + max((node.buffer for node in nodes if isinstance(node, Access)), default=0)
    DefinedBehind(record).seq(body, reached)
    held: dict[int, int] = {}
    for node in nodes:
        own = 1 << node.buffer if isinstance(node, Access) else 0
        held[node.point] = record.live.get(node.point, 0) & record.defined.get(node.point, 0) | own
        if isinstance(node, Loop):
            end = node.end_point
            held[end] = record.live.get(end, 0) & record.defined.get(end, 0)
    return dict(sorted(held.items()))


def live_ranges(sets: Mapping[int, int], buffer: int) -> list[tuple[int, int]]:
    """The runs of neighbouring points, first and last inclusive, at which ``buffer`` is in one of ``live_sets``."""
    runs: list[tuple[int, int]] = []
    last: int | None = None  # the point before, if the buffer is in its set
    for point, mask in sets.items():
        if not mask >> buffer & 1:
            last = None
            continue
        if last is None:
            runs.append((point, point))
        else:
            runs[-1] = (runs[-1][0], point)
        last = point
    return runs


def open_accesses(body: Seq, facts: Facts) -> dict[int, tuple[int, ...]]:
    """Per access (its point): the points of the accesses to other buffers that no proved barrier has closed when it
    runs, those of a divergent branch's other arm included."""
    accesses = [node for node in walk(body) if isinstance(node, Access)]
    masks: dict[int, int] = {}
    for index, access in enumerate(accesses):
        masks[access.buffer] = masks.get(access.buffer, 0) | 1 << index
    every = (1 << len(accesses)) - 1
    found = open_interfering(body, facts, accesses, [every & ~masks[access.buffer] for access in accesses])
    return {access.point: _points(bits(open_), accesses) for access, open_ in zip(accesses, found)}


def _points(indices: Iterable[int], accesses: list[Access]) -> tuple[int, ...]:
    return tuple(accesses[index].point for index in indices)
