"""Which variables of a thread are read again: the others need not be told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from smem_lsp.ir.nodes import Assign, Branch, Jump, JumpKind, Loop, Node
from smem_lsp.ir.values import variables_of
from smem_lsp.source import checkpoint

_Live = frozenset[int]
_NONE: _Live = frozenset()


class LiveVariables:
    """``at_turns``: loop (its point) -> what is live at the beginning of a turn, behind the condition; ``behind``: at
    its end. ``reads``: the variables that decide what a node does that is no branch, loop or assignment; it is not
    kept, as it may be a method of who keeps this."""

    def __init__(self, nodes: Sequence[Node], reads: Callable[[Node], Iterable[int]]) -> None:
        self._reads = reads
        self.at_turns: dict[int, _Live] = {}
        self.behind: dict[int, _Live] = {}
        self._before(nodes, _NONE, _NONE, _NONE)
        del self._reads

    def _before(self, nodes: Sequence[Node], live: _Live, breaks: _Live, continues: _Live) -> _Live:
        for node in reversed(nodes):
            checkpoint()
            if isinstance(node, Assign):
                if node.variable in live:
                    live = (live - {node.variable}).union(variables_of(node.value))
            elif isinstance(node, Branch):
                then = self._before(node.then.items, live, breaks, continues)
                live = then | self._before(node.otherwise.items, live, breaks, continues)
                live = live.union(variables_of(node.condition))
            elif isinstance(node, Loop):
                live = self._loop(node, live)
            elif isinstance(node, Jump):
                leaves = {JumpKind.BREAK: breaks, JumpKind.CONTINUE: continues}
                live = leaves.get(node.kind, _NONE)
            else:
                live = live.union(self._reads(node))
        return live

    def _loop(self, node: Loop, after: _Live) -> _Live:
        at = len(node.body) - node.tail
        body, step = node.body.items[:at], node.body.items[at:]
        again = variables_of(node.condition if node.again is None else node.again)
        around = after.union(again)
        while True:
            behind = self._before(step, around, _NONE, _NONE)
            turn = self._before(body, behind, after, behind)
            if turn <= around:
                break
            around |= turn
        self.at_turns[node.point], self.behind[node.point] = turn, after
        return (after | turn).union(variables_of(node.condition))
