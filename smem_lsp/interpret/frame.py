"""One call of a function while it is interpreted: its names, and the paths that jump in it."""

from __future__ import annotations

from dataclasses import field
from typing import Generic, Protocol, TypeVar

from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body

Tokens = tuple[int, int]  # half-open

S = TypeVar("S")
V = TypeVar("V")  # a variable of a domain


class State(Protocol):
    """What is known on one path."""

    def copy(self: S) -> S: ...


P = TypeVar("P", bound=State)


class TooMuch(Exception):
    """There is more than is followed."""


@dataclass(eq=False, slots=True)
class JumpTarget(Generic[P]):
    """Where the jumps out of a loop, an iteration of it, or a ``switch`` go. ``depth``: how many blocks are open
    there."""

    depth: int
    paths: list[P] = field(default_factory=list)


@dataclass(eq=False)
class Frame(Generic[P, V]):
    """``base``: of the token indices of the chunk that is run; ``blocks``: the names of those that are open, None for
    one of which no more is known than that it is local; ``jumps``: to labels further down; ``labels``: those that were
    passed; ``conditions``: around the statement that is run, as tokens."""

    body: Body
    base: int = field(default=0, init=False)
    blocks: list[dict[str, V | None]] = field(default_factory=lambda: [{}], init=False)
    breaks: list[JumpTarget[P]] = field(default_factory=list, init=False)
    continues: list[JumpTarget[P]] = field(default_factory=list, init=False)
    jumps: dict[str, list[P]] = field(default_factory=dict, init=False)
    labels: set[str] = field(default_factory=set, init=False)
    conditions: list[Tokens] = field(default_factory=list, init=False)

    def at(self, node: tree.Expr | tree.Declaration | tree.Declarator) -> Tokens:
        """Where a part of the chunk that is run stands."""
        return self.base + node.lo, self.base + node.hi

    def find(self, name: str) -> tuple[V | None, bool]:
        """(the variable that a name means, whether it means something local)."""
        for block in reversed(self.blocks):
            if name in block:
                return block[name], True
        return None, False
