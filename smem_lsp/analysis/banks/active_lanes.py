"""The conditions under which each shared access runs: guards, loops and earlier jumps decide the active lanes."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.values.value_facts import LoopFacts, ValueFacts
from smem_lsp.ir.nodes import Access, Branch, Jump, JumpKind, Loop, Node, Seq
from smem_lsp.source import checkpoint, record
from smem_lsp.terms.language import Op, Term


@record
class Guard:
    """Only lanes for which ``condition`` is ``taken`` continue."""

    condition: Term
    taken: bool


@record
class Left:
    """Lanes for which all ``guards`` hold have left by a jump. ``again``: in some iteration of a loop."""

    guards: tuple[Guard, ...]
    again: bool = False


Step = Guard | Left | LoopFacts
Path = tuple[Step, ...]


@record
class LocatedAccess:
    """``looped``: in a loop that may run more than once."""

    access: Access
    path: Path
    looped: bool


def located(body: Seq, values: ValueFacts) -> Iterator[LocatedAccess]:
    """The accesses of a kernel, in order."""
    yield from _Paths(values).walk(body, (), looped=False)


def guards(condition: Term, *, taken: bool) -> tuple[Guard, ...]:
    """The conditions that all hold when ``condition`` is ``taken``."""
    if isinstance(condition, Op):
        if condition.operator == "!":
            return guards(condition.args[0], taken=not taken)
        if condition.operator == ("&&" if taken else "||"):
            return tuple(guard for each in condition.args for guard in guards(each, taken=taken))
    return (Guard(condition, taken),)


class _Paths:
    def __init__(self, values: ValueFacts) -> None:
        self.values = values
        self.known: dict[int, list[tuple[JumpKind, Left]]] = {}  # branch or loop -> jumps below it

    def walk(self, seq: Seq, path: Path, *, looped: bool) -> Iterator[LocatedAccess]:
        for node in seq:
            checkpoint()
            if isinstance(node, Access):
                yield LocatedAccess(node, path, looped)
            elif isinstance(node, Branch):
                condition = self.values.conditions[node.point]
                for arm, taken in ((node.then, True), (node.otherwise, False)):
                    inside = (*path, *guards(condition, taken=taken))
                    yield from self.walk(arm, inside, looped=looped)
            elif isinstance(node, Loop):
                facts = self.values.loops.get(node.point)
                once = facts is None or facts.once
                inside = path if facts is None or once else (*path, facts)
                yield from self.walk(node.body, inside, looped=looped or not (once or node.trips == 1))
            leaving = self.leaving(node)
            if leaving:
                path = (*path, *(left for _, left in leaving))

    def leaving(self, node: Node) -> list[tuple[JumpKind, Left]]:
        """The jumps below ``node`` that skip what follows it, with the lanes that take them."""
        if isinstance(node, Jump):
            return [(node.kind, Left(()))]
        if not isinstance(node, (Branch, Loop)):
            return []
        found = self.known.get(node.point)
        if found is None:
            found = self._of_branch(node) if isinstance(node, Branch) else self._of_loop(node)
            self.known[node.point] = found
        return found

    def _of_branch(self, node: Branch) -> list[tuple[JumpKind, Left]]:
        condition = self.values.conditions[node.point]
        return [
            (kind, Left((*guards(condition, taken=taken), *left.guards), left.again))
            for arm, taken in ((node.then, True), (node.otherwise, False))
            for each in arm
            for kind, left in self.leaving(each)
        ]

    def _of_loop(self, node: Loop) -> list[tuple[JumpKind, Left]]:
        facts = self.values.loops.get(node.point)
        again = facts is not None and not facts.once
        # a `continue` in a switch belongs to the loop around it, one in `do {} while (0)` does not
        kept = (JumpKind.RETURN,) if again else (JumpKind.RETURN, JumpKind.CONTINUE)
        return [
            (kind, Left(left.guards, left.again or again or kind is JumpKind.CONTINUE))
            for each in node.body
            for kind, left in self.leaving(each)
            if kind in kept
        ]
