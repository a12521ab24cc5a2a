"""What is true of a thread that comes to a node: conditions of the branches and loops around, and of the jumps in front
that it did not take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Assignment, BarrierSite, Branch, Jump, Loop, Node, Seq, bodies
from smem_lsp.ir.walks import Descent
from smem_lsp.source import record
from smem_lsp.terms.language import RESULTS, Op, OpaqueTerm, Term, Thread, parts_of


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
    found.seq(body.items, Position((), ()))
    return found.positions


class _Finder(Descent[Position]):
    def __init__(self, values: ValueFacts) -> None:
        self.values = values
        self.positions: dict[int, Position] = {}

    def step(self, node: Node, here: Position) -> Position:
        if isinstance(node, Assignment | BarrierSite):
            return here
        self.positions[node.point] = here
        if not isinstance(node, Jump):
            return here
        nobody = Condition(self.values.table.const(0), True, node.point)
        return Position(here.loops, (*here.conditions, nobody))

    def holds(self, seq: Seq, here: Position, more: Iterable[Condition]) -> tuple[Condition, ...]:
        """What holds at the end of an arm, in which ``more`` does."""
        start = Position(here.loops, (*here.conditions, *more))
        return (self.seq(seq.items, start) or start).conditions

    def branch(self, node: Branch, here: Position) -> Position:
        self.positions[node.point] = here
        term = self.values.conditions.get(node.point)
        if term is None:
            return super().branch(node, here) or here
        holds = here.conditions
        yes, no = (tuple(conditions_of(term, truth, node.point)) for truth in (True, False))
        then, otherwise = self.holds(node.then, here, yes), self.holds(node.otherwise, here, no)
        if always_jumps(node.then):
            return Position(here.loops, otherwise)
        if always_jumps(node.otherwise):
            return Position(here.loops, then)
        left = (then[len(holds) + len(yes) :], True), (otherwise[len(holds) + len(no) :], False)
        behind = (self.if_taken(term, truth, each, node) for found, truth in left for each in found)
        return Position(here.loops, (*holds, *behind))

    def if_taken(self, term: Term, truth: bool, inside: Condition, node: Branch) -> Condition:
        """What holds behind a branch, because ``inside`` holds at the end of the arm for which ``term`` is ``truth``: a
        thread that jumped away in it does not come there."""
        op = self.values.table.op
        other = op("!", term) if truth else term
        found = inside.term if inside.truth else op("!", inside.term)
        return Condition(op("||", other, found), True, node.point)

    def iterations(self, node: Loop, here: Position) -> Iterable[Position]:
        self.positions[node.point] = here
        facts = self.values.loops.get(node.point)
        if facts is not None and facts.once:
            return (here,)
        inside = conditions_of(facts.head, True, node.point) if facts is not None and facts.tested else ()
        return (Position((*here.loops, node.point), (*here.conditions, *inside)),)


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
        if isinstance(node, Branch) and all(map(always_jumps, bodies(node))):
            return True
    return False


def is_of_calls(term: Term) -> bool:
    """Is it made of what calls returned, and nothing that tells threads apart in sight?"""
    parts = list(parts_of(term))
    calls = any(isinstance(part, OpaqueTerm) and part.origin in RESULTS for part in parts)
    return calls and not any(isinstance(part, Thread) for part in parts)
