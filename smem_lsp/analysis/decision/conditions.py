"""What is true of a thread that comes to a node: conditions of the branches and loops around, and of the jumps in front
that it did not take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from smem_lsp.analysis.values.terms import Op, Opaque, Term, Thread, parts_of
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Assign, Branch, Jump, Loop, Node, Place, Seq
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass


@record
class Condition:
    """``term`` is not 0 (``truth``), or 0, for a thread that comes to a node. ``branch``: the point that decides."""

    term: Term
    truth: bool
    branch: int


@record
class Position:
    """Where a node stands. ``loops``: those around it (points), the outermost first; ``conditions``:
    what holds for a thread that comes there; all of them, but for jumps out of loops that are over."""

    loops: tuple[int, ...]
    conditions: tuple[Condition, ...]


def positions(body: Seq, values: ValueFacts) -> Mapping[int, Position]:
    """The positions of all nodes but assignments and places, by point."""
    found = _Finder(values)
    found.seq(body.items, (), ())
    return found.positions


@dataclass(slots=True)
class _Finder:
    values: ValueFacts
    positions: dict[int, Position] = field(default_factory=dict)

    def seq(
        self, items: Iterable[Node], loops: tuple[int, ...], holds: tuple[Condition, ...]
    ) -> tuple[Condition, ...]:
        """What holds behind ``items``."""
        for node in items:
            checkpoint()
            if not isinstance(node, Assign | Place):
                self.positions[node.point] = Position(loops, holds)
            if isinstance(node, Branch):
                holds = self.branch(node, loops, holds)
            elif isinstance(node, Loop):
                self.loop(node, loops, holds)
            elif isinstance(node, Jump):
                holds = (*holds, Condition(self.values.table.const(0), True, node.point))  # nobody comes by
        return holds

    def branch(
        self, node: Branch, loops: tuple[int, ...], holds: tuple[Condition, ...]
    ) -> tuple[Condition, ...]:
        term = self.values.conditions.get(node.point)
        if term is None:
            self.seq(node.then.items, loops, holds)
            self.seq(node.otherwise.items, loops, holds)
            return holds
        yes, no = (tuple(conditions_of(term, truth, node.point)) for truth in (True, False))
        then = self.seq(node.then.items, loops, (*holds, *yes))
        otherwise = self.seq(node.otherwise.items, loops, (*holds, *no))
        if always_jumps(node.then):
            return otherwise
        if always_jumps(node.otherwise):
            return then
        left = (then[len(holds) + len(yes) :], True), (otherwise[len(holds) + len(no) :], False)
        return (*holds, *(self.if_taken(term, truth, each, node) for found, truth in left for each in found))

    def if_taken(self, term: Term, truth: bool, inside: Condition, node: Branch) -> Condition:
        """What holds behind a branch, because ``inside`` holds at the end of the arm for which ``term`` is ``truth``: a
        thread that jumped away in it does not come there."""
        op = self.values.table.op
        other = op("!", term) if truth else term
        found = inside.term if inside.truth else op("!", inside.term)
        return Condition(op("||", other, found), True, node.point)

    def loop(self, node: Loop, loops: tuple[int, ...], holds: tuple[Condition, ...]) -> None:
        facts = self.values.loops.get(node.point)
        if facts is None:
            self.seq(node.body.items, (*loops, node.point), holds)
        elif facts.once:
            self.seq(node.body.items, loops, holds)
        else:
            inside = (*holds, *conditions_of(facts.head, True, node.point)) if facts.tested else holds
            self.seq(node.body.items, (*loops, node.point), inside)


def conditions_of(term: Term, truth: bool, point: int) -> Iterator[Condition]:
    """What holds where ``term`` does (``truth``), or does not: of ``a && b`` both, of ``a || b`` neither."""
    if isinstance(term, Op) and term.operator == "!":
        yield from conditions_of(term.args[0], not truth, point)
    elif isinstance(term, Op) and term.operator == ("&&" if truth else "||"):
        for each in term.args:
            yield from conditions_of(each, truth, point)
    else:
        yield Condition(term, truth, point)


def always_jumps(seq: Seq) -> bool:
    """Does no thread come to the end of it?"""
    for node in seq.items:
        if isinstance(node, Jump):
            return True
        if isinstance(node, Branch) and always_jumps(node.then) and always_jumps(node.otherwise):
            return True
    return False


def is_of_calls(term: Term) -> bool:
    """Is it made of what calls returned, and nothing that tells threads apart in sight?"""
    parts = list(parts_of(term))
    calls = any(isinstance(part, Opaque) and part.origin == "call" for part in parts)
    return calls and not any(isinstance(part, Thread) for part in parts)
