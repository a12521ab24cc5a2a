"""Which variables of a thread are read again: the others need not be told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from smem_lsp.ir.nodes import Assignment, Branch, Jump, JumpKind, Loop, Node, bodies
from smem_lsp.ir.values import variables_of
from smem_lsp.ir.walks import Backward

_Live = frozenset[int]
_NONE: _Live = frozenset()


class LiveVariables(Backward[_Live]):
    """``at_iterations``: loop (its point) -> what is live at the beginning of an iteration, behind the condition;
    ``behind``: at its end. ``reads``: the variables that decide what a node does that is no branch, loop or assignment;
    it is not kept, as it may be a method of who keeps this."""

    def __init__(self, nodes: Sequence[Node], reads: Callable[[Node], Iterable[int]]) -> None:
        self._reads = reads
        self.at_iterations: dict[int, _Live] = {}
        self.behind: dict[int, _Live] = {}
        self.seq(nodes, _NONE, _NONE, _NONE)
        del self._reads

    def step(self, node: Node, live: _Live) -> _Live:
        if not isinstance(node, Assignment):
            return live.union(self._reads(node))
        return (live - {node.variable}).union(variables_of(node.value)) if node.variable in live else live

    def branch(self, node: Branch, live: _Live, breaks: _Live, continues: _Live) -> _Live:
        arms = (self.seq(arm.items, live, breaks, continues) for arm in bodies(node))
        return _NONE.union(*arms, variables_of(node.condition))

    def jump(self, node: Jump, live: _Live, breaks: _Live, continues: _Live) -> _Live:
        return {JumpKind.BREAK: breaks, JumpKind.CONTINUE: continues}.get(node.kind, _NONE)

    def loop(self, node: Loop, after: _Live) -> _Live:
        at = len(node.body) - node.tail
        body, step = node.body.items[:at], node.body.items[at:]
        again = variables_of(node.condition if node.again is None else node.again)
        around = after.union(again)
        while True:
            behind = self.seq(step, around, _NONE, _NONE)
            iteration = self.seq(body, behind, after, behind)
            if iteration <= around:
                break
            around |= iteration
        self.at_iterations[node.point], self.behind[node.point] = iteration, after
        return (after | iteration).union(variables_of(node.condition))
