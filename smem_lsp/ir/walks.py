"""The walks through a region tree that have a state, once for all analyses: what each of them is about is a subclass.

``Descent`` carries what is known from the outside in, ``Flow`` what may hold on all paths of one thread forward and
``Backward`` the same from the end on. Walks without a state are functions of ``ir.nodes``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from smem_lsp.ir.nodes import BETWEEN_LOOKS, Branch, Jump, JumpKind, Loop, Node
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

S = TypeVar("S")


class Descent(ABC, Generic[S]):
    """From the outside in: ``here`` is what is known where a node stands; None: no more is looked at there."""

    def seq(self, nodes: Iterable[Node], here: S | None) -> S | None:
        """What is known behind ``nodes``."""
        for count, node in enumerate(nodes):
            if here is None:
                break
            if not count % BETWEEN_LOOKS:
                checkpoint()
            if isinstance(node, Branch):
                here = self.branch(node, here)
            elif isinstance(node, Loop):
                here = self.loop(node, here)
            else:
                here = self.step(node, here)
        return here

    @abstractmethod
    def step(self, node: Node, here: S) -> S | None:
        """Behind a node that is no branch or loop."""

    def arm(self, node: Branch, here: S, truth: bool) -> S | None:
        """What is known in an arm; None: it is left out."""
        return here

    def iterations(self, node: Loop, here: S) -> Iterable[S]:
        """What is known in the body of a loop, which is gone through once for each."""
        return (here,)

    def branch(self, node: Branch, here: S) -> S | None:
        for arm, truth in ((node.then, True), (node.otherwise, False)):
            self.seq(arm.items, self.arm(node, here, truth))
        return here

    def loop(self, node: Loop, here: S) -> S | None:
        for inside in self.iterations(node, here):
            self.seq(node.body.items, inside)
        return here


@dataclass(frozen=True, slots=True)
class Ways(Generic[S]):
    """The state at the end of some nodes, and at the breaks and continues in them."""

    end: S
    breaks: S
    continues: S


class Flow(ABC, Generic[S]):
    """Forward along all paths. ``none``: the state where no path leads to."""

    none: S

    @abstractmethod
    def join(self, one: S, other: S) -> S:
        """The state where either may hold."""

    @abstractmethod
    def step(self, node: Node, state: S) -> S:
        """Behind a node that is no branch, loop or jump."""

    def jump(self, node: Jump, state: S) -> S:
        """Of the threads that do not take a jump, behind it."""
        return self.none

    def seq(self, nodes: Iterable[Node], state: S) -> Ways[S]:
        breaks = continues = self.none
        for node in nodes:
            checkpoint()
            if isinstance(node, Branch):
                found = self.branch(node, state)
                state = found.end
                breaks, continues = self.join(breaks, found.breaks), self.join(continues, found.continues)
            elif isinstance(node, Loop):
                state = self.loop(node, state)
            elif isinstance(node, Jump):
                if node.kind is JumpKind.BREAK:
                    breaks = self.join(breaks, state)
                elif node.kind is JumpKind.CONTINUE:
                    continues = self.join(continues, state)
                state = self.jump(node, state)
            else:
                state = self.step(node, state)
        return Ways(state, breaks, continues)

    def branch(self, node: Branch, state: S) -> Ways[S]:
        return self.joined(self.seq(node.then.items, state), self.seq(node.otherwise.items, state))

    def joined(self, one: Ways[S], other: Ways[S]) -> Ways[S]:
        return Ways(
            self.join(one.end, other.end),
            self.join(one.breaks, other.breaks),
            self.join(one.continues, other.continues),
        )

    @abstractmethod
    def loop(self, node: Loop, state: S) -> S:
        """Behind a loop."""


class Backward(ABC, Generic[S]):
    """Backward along all paths: the state in front of nodes, from those that come behind them."""

    @abstractmethod
    def step(self, node: Node, behind: S) -> S:
        """In front of a node that is no branch, loop or jump."""

    @abstractmethod
    def branch(self, node: Branch, behind: S, breaks: S, continues: S) -> S: ...

    @abstractmethod
    def loop(self, node: Loop, behind: S) -> S: ...

    @abstractmethod
    def jump(self, node: Jump, behind: S, breaks: S, continues: S) -> S: ...

    def seq(self, nodes: Sequence[Node], behind: S, breaks: S, continues: S) -> S:
        """``breaks``, ``continues``: the states where the jumps of the loop around lead."""
        for node in reversed(nodes):
            checkpoint()
            if isinstance(node, Branch):
                behind = self.branch(node, behind, breaks, continues)
            elif isinstance(node, Loop):
                behind = self.loop(node, behind)
            elif isinstance(node, Jump):
                behind = self.jump(node, behind, breaks, continues)
            else:
                behind = self.step(node, behind)
        return behind
