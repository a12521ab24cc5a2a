"""The walk over all paths of one thread through a region tree, with a set of states: once for each branch, loop and
jump, whatever the states are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeVar

from smem_lsp.ir.nodes import Branch, Jump, JumpKind, Loop, Node
from smem_lsp.ir.values import Value
from smem_lsp.ir.walks import Flow, Ways
from smem_lsp.source import checkpoint

T = TypeVar("T")


class PathWalk(Flow[frozenset[T]]):
    """A subclass says what a node does to the states; ``returned``: those where the thread leaves the kernel."""

    none = frozenset()
    apart: ClassVar[bool] = False
    """Does each state go on whatever the others are?"""

    def __init__(self) -> None:
        self.returned: frozenset[T] = frozenset()

    def leaving(self, nodes: Iterable[Node], states: frozenset[T]) -> frozenset[T]:
        """The states in which a thread leaves some nodes, wherever it does."""
        found = self.seq(nodes, states)
        return found.end | found.breaks | found.continues | self.returned

    def join(self, one: frozenset[T], other: frozenset[T]) -> frozenset[T]:
        return one | other

    def where(self, condition: Value, states: frozenset[T], truth: bool) -> frozenset[T]:
        """The states that a condition may be ``truth`` in."""
        return states

    def arm(self, node: Branch, states: frozenset[T], truth: bool) -> frozenset[T]:
        """The states at the beginning of an arm."""
        return self.where(node.condition, states, truth)

    def heads(self, node: Loop, entered: frozenset[T], states: frozenset[T]) -> frozenset[T]:
        """The states at the beginning of an iteration, of finitely many. ``entered``: at that of the first one."""
        return states

    def jump(self, node: Jump, states: frozenset[T]) -> frozenset[T]:
        if node.kind not in (JumpKind.BREAK, JumpKind.CONTINUE):
            self.returned |= states
        return self.none

    def branch(self, node: Branch, states: frozenset[T]) -> Ways[frozenset[T]]:
        then = self.seq(node.then.items, self.arm(node, states, True))
        return self.joined(then, self.seq(node.otherwise.items, self.arm(node, states, False)))

    def loop(self, node: Loop, states: frozenset[T]) -> frozenset[T]:
        """The states behind a loop."""
        body: Sequence[Node] = node.body.items[: len(node.body) - node.tail]
        step: Sequence[Node] = node.body.items[len(body) :]
        again = node.condition if node.again is None else node.again
        once = node.trips == 1 and node.min_trip == 1
        after = self.where(node.condition, states, False) if node.min_trip == 0 else self.none
        entered = states if node.late or once else self.where(node.condition, states, True)
        seen = new = self.heads(node, entered, entered)
        while True:
            checkpoint()
            found = self.seq(body, new if self.apart else seen)
            end = self.seq(step, found.end | found.continues).end
            after |= found.breaks | (end if once else self.where(again, end, False))
            around = self.none if once else self.where(again, end, True)
            new = self.heads(node, entered, around) - seen
            if not new:
                return after
            seen |= new
