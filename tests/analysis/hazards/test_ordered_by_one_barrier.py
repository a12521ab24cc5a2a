"""What one barrier orders is looked for between its neighbours, and is what a walk over the whole kernel finds."""

from __future__ import annotations

import random

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import ordered_interfering, paths_of
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
    Seq,
    walk,
)
from smem_lsp.ir.places import At, Row
from smem_lsp.ir.values import Const

KERNELS = 400
NOWHERE = At(0, 0)


class Made:
    """A random region tree; half of its branches and jumps are uniform."""

    def __init__(self, seed: int) -> None:
        self.random, self.point = random.Random(seed), 0
        self.uniform: set[int] = set()
        self.body = Seq((*self.nodes(0), *self.nodes(0), *self.nodes(0)))

    def next(self) -> int:
        self.point += 1
        if self.random.random() < 0.5:
            self.uniform.add(self.point)
        return self.point

    def nodes(self, depth: int) -> tuple[Node, ...]:
        return tuple(self.node(depth) for _ in range(self.random.randint(0, 6)))

    def node(self, depth: int) -> Node:
        point, chosen = self.next(), self.random.random()
        if chosen < 0.4 or depth == 3:
            return Access(point, 0, AccessKind.WRITE, None, NOWHERE, Row(1))
        if chosen < 0.7:
            return Barrier(point, BarrierKind.BLOCK, NOWHERE, Row(1), "")
        if chosen < 0.8:
            arms = Seq(self.nodes(depth + 1)), Seq(self.nodes(depth + 1))
            return Branch(point, Const(1), *arms, NOWHERE, Row(1))
        if chosen < 0.93:
            body = Seq(self.nodes(depth + 1))
            return Loop(
                point, self.next(), self.random.randint(0, 1), None, Const(1), None, body, NOWHERE, Row(1)
            )
        kinds = (JumpKind.RETURN, JumpKind.BREAK, JumpKind.CONTINUE)
        return Jump(point, self.random.choice(kinds if depth else kinds[:1]), Row(1))


def test_a_barrier_orders_what_a_walk_over_the_whole_kernel_says() -> None:
    some = near = 0
    for seed in range(KERNELS):
        made = Made(seed)
        accesses = [node for node in walk(made.body) if isinstance(node, Access)]
        barriers = [node.point for node in walk(made.body) if isinstance(node, Barrier)]
        around = made.next()
        made.uniform.add(around)
        whole = Seq(
            (Branch(around, Const(1), made.body, Seq(()), NOWHERE, Row(1)),)
        )  # nothing stands beside it
        facts = Facts(frozenset(made.uniform), frozenset(barriers))
        paths, in_one = (paths_of(body, facts, accesses) for body in (made.body, whole))
        interfering = [made.random.getrandbits(len(accesses)) for _ in accesses]
        for barrier in barriers:
            others = (each for each in barriers if each != barrier and made.random.random() < 0.3)
            removed = frozenset(others)
            found = ordered_interfering(paths, interfering, barrier, removed)
            assert found == ordered_interfering(in_one, interfering, barrier, removed)
            inside = ordered_interfering(paths, interfering, barrier, removed, near=True)
            assert all(mask & ~found[index] == 0 for index, mask in inside.items())
            some += bool(found)
            near += bool(inside) and inside != found
    assert some > KERNELS and near > KERNELS // 10
