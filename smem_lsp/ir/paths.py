"""The walk over all paths of one thread through a region tree, with a set of states: once for each branch, loop and
jump, whatever the states are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, TypeVar

from smem_lsp.ir.nodes import Branch, Jump, JumpKind, Loop, Node
from smem_lsp.ir.values import Value
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ways(Generic[T]):
    """The states at the end of some nodes, and at the breaks and continues in them."""

    end: frozenset[T]
    breaks: frozenset[T]
    continues: frozenset[T]

    @property
    def every(self) -> frozenset[T]:
        return self.end | self.breaks | self.continues


class PathWalk(ABC, Generic[T]):
    """A subclass says what a node does to the states; ``returned``: those where the thread leaves the kernel."""

    apart: ClassVar[bool] = False
    """Does each state go on whatever the others are?"""

    def __init__(self) -> None:
        self.returned: frozenset[T] = frozenset()

    @abstractmethod
    def step(self, node: Node, states: frozenset[T]) -> frozenset[T]:
        """Behind a node that is no branch, loop or jump."""

    def where(self, condition: Value, states: frozenset[T], truth: bool) -> frozenset[T]:
        """The states that a condition may be ``truth`` in."""
        return states

    def arm(self, node: Branch, states: frozenset[T], truth: bool) -> frozenset[T]:
        """The states at the beginning of an arm."""
        return self.where(node.condition, states, truth)

    def heads(self, node: Loop, entered: frozenset[T], states: frozenset[T]) -> frozenset[T]:
        """The states at the beginning of a turn, of finitely many. ``entered``: at that of the first one."""
        return states

    def seq(self, nodes: Iterable[Node], states: frozenset[T]) -> Ways[T]:
        none: frozenset[T] = frozenset()
        breaks = continues = none
        for node in nodes:
            checkpoint()
            if isinstance(node, Branch):
                found = self.branch(node, states)
                states, breaks, continues = found.end, breaks | found.breaks, continues | found.continues
            elif isinstance(node, Loop):
                states = self.loop(node, states)
            elif isinstance(node, Jump):
                if node.kind is JumpKind.BREAK:
                    breaks |= states
                elif node.kind is JumpKind.CONTINUE:
                    continues |= states
                else:
                    self.returned |= states
                states = none
            else:
                states = self.step(node, states)
        return Ways(states, breaks, continues)

    def branch(self, node: Branch, states: frozenset[T]) -> Ways[T]:
        then = self.seq(node.then.items, self.arm(node, states, True))
        other = self.seq(node.otherwise.items, self.arm(node, states, False))
        return Ways(then.end | other.end, then.breaks | other.breaks, then.continues | other.continues)

    def loop(self, node: Loop, states: frozenset[T]) -> frozenset[T]:
        """The states behind a loop."""
        body: Sequence[Node] = node.body.items[: len(node.body) - node.tail]
        step: Sequence[Node] = node.body.items[len(body) :]
        again = node.condition if node.again is None else node.again
        once = node.trips == 1 and node.min_trip == 1
        after = self.where(node.condition, states, False) if node.min_trip == 0 else frozenset[T]()
        entered = states if node.late or once else self.where(node.condition, states, True)
        seen = new = self.heads(node, entered, entered)
        while True:
            checkpoint()
            found = self.seq(body, new if self.apart else seen)
            end = self.seq(step, found.end | found.continues).end
            after |= found.breaks | (end if once else self.where(again, end, False))
            around = frozenset[T]() if once else self.where(again, end, True)
            new = self.heads(node, entered, around) - seen
            if not new:
                return after
            seen |= new
