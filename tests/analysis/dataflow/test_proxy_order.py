"""Which buffers the asynchronous proxy may not fill where threads have written another one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from smem_lsp.analysis.dataflow.proxy_order import unfenced
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Barrier,
    BarrierKind,
    Branch,
    Jump,
    JumpKind,
    Loop,
    Node,
    Proxy,
    ProxyKind,
    Seq,
)
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Const, Sym

LINE = Row(0)
WRITE = Access(1, 0, AccessKind.WRITE, None, None, LINE)
FILL = Access(2, 1, AccessKind.WRITE, None, None, LINE, length=Const(16))
FENCE = Proxy(3, ProxyKind.FENCE, None, LINE)
SYNC = Barrier(4, BarrierKind.BLOCK, None, LINE, "__syncthreads();")


def jump(kind: JumpKind) -> Jump:
    return Jump(5, kind, LINE)


def perhaps(*then: Node) -> Branch:
    return Branch(6, Sym("n"), Seq(then), Seq(), None, LINE)


def loop(*body: Node, least: int = 0) -> Loop:
    return Loop(7, 8, least, None, Sym("n"), None, Seq(body), None, LINE)


@pytest.mark.parametrize(
    "nodes",
    [
        [WRITE, FILL],
        [WRITE, SYNC, FILL],
        [WRITE, FENCE, FILL],
        [WRITE, SYNC, FENCE, FILL],  # behind the barrier it is too late
        [perhaps(WRITE), SYNC, FILL],
        [WRITE, perhaps(FENCE), SYNC, FILL],
        [WRITE, loop(FENCE, SYNC), FILL],
        [loop(FILL, WRITE)],
        [loop(FILL, WRITE, FENCE, perhaps(jump(JumpKind.CONTINUE)), SYNC)],
        [loop(WRITE, perhaps(jump(JumpKind.BREAK)), FENCE, SYNC), FILL],
        [loop(perhaps(WRITE, jump(JumpKind.BREAK)), FILL)],  # the others go on in the loop
        [perhaps(WRITE, jump(JumpKind.RETURN)), SYNC, FILL],  # no barrier waits for those who have returned
    ],
)
def test_what_no_fence_in_front_of_a_barrier_makes_visible_is_not_filled(nodes: Sequence[Node]) -> None:
    assert unfenced(Seq(tuple(nodes))) == {frozenset((0, 1))}


@pytest.mark.parametrize(
    "nodes",
    [
        [FILL, WRITE],
        [WRITE, FENCE, SYNC, FILL],
        [WRITE, perhaps(FENCE), FENCE, SYNC, FILL],
        [WRITE, loop(FENCE, SYNC, least=1), FILL],
        [loop(FILL, WRITE, FENCE, SYNC)],
    ],
)
def test_what_is_fenced_in_front_of_a_barrier_may_be(nodes: Sequence[Node]) -> None:
    assert not unfenced(Seq(tuple(nodes)))
