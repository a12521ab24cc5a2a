"""Under which conditions each shared access runs: guards, loops and earlier jumps decide which lanes are active."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from smem_lsp.analysis.terms import Op, Term
from smem_lsp.analysis.values import LoopFacts, Values
from smem_lsp.ir.model import Access, Branch, Jump, Loop, Node, Seq


@dataclass(frozen=True, slots=True)
class Guard:
    """Lanes for which ``condition`` is ``taken`` go on."""

    condition: Term
    taken: bool


@dataclass(frozen=True, slots=True)
class Left:
    """Lanes for which all ``guards`` hold have jumped away before. ``again``: in some iteration of a loop."""

    guards: tuple[Guard, ...]
    again: bool = False


Step = Guard | Left | LoopFacts
Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Located:
    """``looped``: in a loop that may run more than once."""

    access: Access
    path: Path
    looped: bool


def located(body: Seq, values: Values) -> Iterator[Located]:
    """The accesses of a kernel, in order."""
    yield from _walk(body, values, (), looped=False)


def _walk(seq: Seq, values: Values, path: Path, *, looped: bool) -> Iterator[Located]:
    for node in seq:
        if isinstance(node, Access):
            yield Located(node, path, looped)
        elif isinstance(node, Branch):
            condition = values.conditions[node.point]
            for arm, taken in ((node.then, True), (node.otherwise, False)):
                inside = (*path, *guards(condition, taken=taken))
                yield from _walk(arm, values, inside, looped=looped)
        elif isinstance(node, Loop):
            facts = values.loops.get(node.point)
            once = facts is None or facts.once
            inside = path if facts is None or once else (*path, facts)
            yield from _walk(node.body, values, inside, looped=looped or not (once or node.trips == 1))
        path = (*path, *(left for _, left in _leaving(node, values)))


def guards(condition: Term, *, taken: bool) -> tuple[Guard, ...]:
    """The conditions that all hold when ``condition`` is ``taken``."""
    if isinstance(condition, Op):
        if condition.operator == "!":
            return guards(condition.args[0], taken=not taken)
        if condition.operator == ("&&" if taken else "||"):
            return tuple(guard for each in condition.args for guard in guards(each, taken=taken))
    return (Guard(condition, taken),)


def _leaving(node: Node, values: Values) -> list[tuple[str, Left]]:
    """The jumps below ``node`` that skip what follows it, with who takes them."""
    if isinstance(node, Jump):
        return [(node.kind, Left(()))]
    if isinstance(node, Branch):
        condition = values.conditions[node.point]
        return [
            (kind, Left((*guards(condition, taken=taken), *left.guards), left.again))
            for arm, taken in ((node.then, True), (node.otherwise, False))
            for each in arm
            for kind, left in _leaving(each, values)
        ]
    if isinstance(node, Loop):
        facts = values.loops.get(node.point)
        again = facts is not None and not facts.once
        inside = (pair for each in node.body for pair in _leaving(each, values))
        # a `continue` in a switch belongs to the loop around it, one in `do {} while (0)` does not
        kept = ("return",) if again else ("return", "continue")
        return [
            (kind, Left(left.guards, left.again or again or kind == "continue"))
            for kind, left in inside
            if kind in kept
        ]
    return []
