"""What the conditions around an access say about the values in it.

``if (tid < 16) s[tid] = x;`` touches 16 elements, whatever the block is. A condition holds where it was tested and in
the arm behind it; behind ``if (tid >= 16) return;`` its opposite does. A term has one value from there to the access:
loop variables are those of the iteration that both are in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Branch, Jump, Kernel, Node
from smem_lsp.ir.walks import Descent
from smem_lsp.source.integers import MIRRORED, NEGATED
from smem_lsp.source.record import dataclass
from smem_lsp.terms.intervals import Interval, narrowed
from smem_lsp.terms.language import Op, Term
from smem_lsp.terms.operators import OperandType

Guards = tuple[tuple[Term, bool], ...]
"""Conditions, each with the value that it has."""

_SIGNED = (OperandType.INT, OperandType.LONG)


def guards_of(kernel: Kernel, values: ValueFacts) -> Mapping[int, Guards]:
    """Access (its point) -> the conditions that hold whenever a thread runs it."""
    walk = _Guards(values)
    walk.seq(kernel.body, ())
    return walk.found


class _Guards(Descent[Guards]):
    def __init__(self, values: ValueFacts) -> None:
        self.values = values
        self.found: dict[int, Guards] = {}

    def step(self, node: Node, holds: Guards) -> Guards:
        if isinstance(node, Access):
            self.found[node.point] = holds
        return holds

    def arm(self, node: Branch, holds: Guards, truth: bool) -> Guards:
        condition = self.values.conditions.get(node.point)
        return holds if condition is None else (*holds, (condition, truth))

    def branch(self, node: Branch, holds: Guards) -> Guards:
        super().branch(node, holds)
        for arm, truth in ((node.then, True), (node.otherwise, False)):
            if any(isinstance(each, Jump) for each in arm):  # who is behind it came through the other arm
                holds = self.arm(node, holds, not truth)
        return holds


@dataclass(slots=True)
class Guarded:
    """Bounds of terms under the conditions around an access. ``bounds``: without any."""

    bounds: Bounds
    guards: Mapping[int, Guards]
    _known: dict[Guards, Bounds] = field(default_factory=dict)

    def at(self, access: Access) -> Bounds:
        """The bounds for the threads that run the access."""
        guards = self.guards.get(access.point, ())
        if not guards:
            return self.bounds
        made = self._known.get(guards)
        if made is None:
            given: dict[Term, Interval] = dict(self.bounds.given)
            for condition, value in guards:
                for term, (low, high) in _implied(condition, value, self.bounds):
                    before = given.get(term, self.bounds.interval(term))
                    both = max(before[0], low), min(before[1], high)
                    if both[0] <= both[1]:  # else no thread gets here
                        given[term] = both
            made = Bounds(self.bounds.loops, self.bounds.upper, self.bounds.exact, given=given)
            self._known[guards] = made
        return made


def _implied(condition: Term, value: bool, bounds: Bounds) -> Iterator[tuple[Term, Interval]]:
    """Terms with bounds that they have where the condition has this value."""
    if not isinstance(condition, Op):
        if not value:
            yield condition, (0, 0)
        return
    name, args = condition.operator, condition.args
    if name == "!":
        yield from _implied(args[0], not value, bounds)
    elif name == ("&&" if value else "||"):
        for each in args:
            yield from _implied(each, value, bounds)
    elif name in NEGATED:
        a, b = (bounds.interval(each) for each in args)
        if condition.reading not in _SIGNED and min(a[0], b[0]) < 0:
            return  # an unsigned type may read a negative number as a large one
        name = name if value else NEGATED[name]
        yield args[0], narrowed(a, name, b)
        yield args[1], narrowed(b, MIRRORED[name], a)
    elif not value:
        yield condition, (0, 0)
