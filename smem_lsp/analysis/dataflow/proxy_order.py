"""Buffers that the asynchronous proxy may not fill where threads have written another one.

A barrier does not order what threads write with what the proxy writes later to the same bytes: each thread that has
written needs a fence of the proxy in front of the barrier (PTX ISA, "Async proxy"). The other way round the wait for
the copy is enough.
"""

from __future__ import annotations

from smem_lsp.analysis.dataflow.conflicts import pair
from smem_lsp.ir.nodes import Access, Barrier, BarrierKind, Jump, Node, Proxy, ProxyKind, Seq
from smem_lsp.ir.paths import PathWalk

_Written = frozenset[tuple[int, bool]]  # a buffer, and whether a fence stands behind


def unfenced(body: Seq) -> frozenset[frozenset[int]]:
    """Pairs of buffers of which the asynchronous proxy fills one where a thread may have written the other with no
    fence behind."""
    run = _FenceWalk()
    run.seq(body, frozenset())
    return frozenset(run.found)


def fills_beside(access: Access) -> bool:
    """Does the asynchronous proxy write, at some time from now on?"""
    return access.beside and access.kind.writes


class _FenceWalk(PathWalk[tuple[int, bool]]):
    """What threads have written on any path, with no barrier behind a fence yet. Where one has jumped away, others go
    on and may start to fill what it has written: a barrier does not wait for threads that have returned."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[frozenset[int]] = set()

    def step(self, node: Node, written: _Written) -> _Written:
        if isinstance(node, Access):
            if fills_beside(node):
                self.found |= {pair(each, node.buffer) for each, _ in written if each != node.buffer}
            elif node.kind.writes and not node.issues:
                return written | {(node.buffer, False)}
        elif isinstance(node, Proxy) and node.kind is ProxyKind.FENCE:
            return frozenset((each, True) for each, _ in written)
        elif isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK:
            return frozenset(each for each in written if not each[1])
        return written

    def jump(self, node: Jump, written: _Written) -> _Written:
        return written
