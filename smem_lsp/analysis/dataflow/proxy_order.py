"""Buffers that the asynchronous proxy may not fill where threads have written another one.

A barrier does not order what threads write with what the proxy writes later to the same bytes: each thread that has
written needs a fence of the proxy in front of the barrier (PTX ISA, "Async proxy"). The other way round the wait for
the copy is enough.
"""

from __future__ import annotations

from dataclasses import field

from smem_lsp.analysis.dataflow.conflicts import pair
from smem_lsp.ir.nodes import (
    Access,
    Barrier,
    BarrierKind,
    Branch,
    Jump,
    JumpKind,
    Loop,
    Proxy,
    ProxyKind,
    Seq,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_Written = frozenset[tuple[int, bool]]  # a buffer, and whether a fence stands behind
_NONE: _Written = frozenset()


def unfenced(body: Seq) -> frozenset[frozenset[int]]:
    """Pairs of buffers of which the asynchronous proxy fills one where a thread may have written the other with no
    fence behind."""
    run = _Walk()
    run.seq(body, _NONE)
    return frozenset(run.found)


def fills_beside(access: Access) -> bool:
    """Does the asynchronous proxy write, at some time from now on?"""
    return access.beside and access.kind.writes


@dataclass(slots=True)
class _Walk:
    """What a thread has written on any path, with no barrier behind a fence yet."""

    found: set[frozenset[int]] = field(default_factory=set)

    def seq(self, nodes: Seq, written: _Written) -> tuple[_Written, _Written, _Written]:
        """At the end, at the breaks and at the continues."""
        breaks = continues = _NONE
        for node in nodes:
            checkpoint()
            if isinstance(node, Access):
                if fills_beside(node):
                    self.found |= {pair(each, node.buffer) for each, _ in written if each != node.buffer}
                elif node.kind.writes and not node.issues:
                    written |= {(node.buffer, False)}
            elif isinstance(node, Proxy) and node.kind is ProxyKind.FENCE:
                written = frozenset((each, True) for each, _ in written)
            elif isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK:
                written = frozenset(each for each in written if not each[1])
            elif isinstance(node, Branch):
                then, other = self.seq(node.then, written), self.seq(node.otherwise, written)
                written = then[0] | other[0]
                breaks |= then[1] | other[1]
                continues |= then[2] | other[2]
            elif isinstance(node, Loop):
                while True:
                    end, left, again = self.seq(node.body, written)
                    if written >= end | again:
                        break
                    written |= end | again
                written |= left
            elif isinstance(node, Jump):
                if node.kind is JumpKind.BREAK:
                    breaks |= written
                elif node.kind is JumpKind.CONTINUE:
                    continues |= written
        return written, breaks, continues
