"""What is true of a thread that has gone through an iteration of a loop: it took none of the jumps that leave the loop.

Two accesses that meet over the back edge of a loop, or one of which stands behind it, are those of one thread in an
iteration and of another one that has that iteration behind it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from smem_lsp.analysis.decision.conditions import Condition, Position, conditions_of
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Branch, Jump, JumpKind, Loop, Node, Seq
from smem_lsp.ir.walks import Descent
from smem_lsp.source import record

Leaving = tuple[Condition, ...]
"""What holds for a thread that jumps out of a loop."""


@record
class Exits:
    """``outside``: of the conditions of the jumps, how many hold in front of the first iteration already; ``leaving``:
    for each jump in an iteration; ``breaks``: does one of all its jumps lead right behind the loop? ``reached``: it is
    known who comes to the loop."""

    outside: int
    leaving: tuple[Leaving, ...]
    breaks: bool
    reached: bool


def loop_exits(body: Seq, values: ValueFacts, positions: Mapping[int, Position]) -> Mapping[int, Exits]:
    """By loop (point). A jump that stands in an inner loop, or under a condition that is not known, is left out."""
    found = _ExitFinder(values, positions)
    found.seq(body, _Inside())
    return {
        point: Exits(
            outside,
            () if point in found.unclear else tuple(found.leaving[point]),
            point in found.breaks,
            point in found.reached,
        )
        for point, outside in found.outside.items()
    }


@record
class _Inside:
    """``loop``: the innermost one; ``known``: are all conditions in it on the way here known? ``reached``: those around
    it, too? ``once``: does something stand around that a ``break`` leaves, and that is no loop?"""

    loop: int | None = None
    known: bool = True
    reached: bool = True
    once: bool = False


class _ExitFinder(Descent[_Inside]):
    def __init__(self, values: ValueFacts, positions: Mapping[int, Position]) -> None:
        self.values = values
        self.positions = positions
        self.outside: dict[int, int] = {}
        self.leaving: defaultdict[int, list[Leaving]] = defaultdict(list)
        self.breaks: set[int] = set()
        self.reached: set[int] = set()
        self.unclear: set[int] = set()  # loops of which an iteration may end where no condition says so

    def arm(self, node: Branch, here: _Inside, truth: bool) -> _Inside:
        asked = node.point in self.values.conditions
        return replace(here, known=here.known and asked, reached=here.reached and asked)

    def iterations(self, node: Loop, here: _Inside) -> Iterable[_Inside]:
        facts = self.values.loops.get(node.point)
        if facts is not None and facts.once:
            return (replace(here, once=True),)
        if facts is not None:
            head = [*conditions_of(facts.head, True, node.point)] if facts.tested else []
            self.outside[node.point] = len(self.positions[node.point].conditions) + len(head)
            self.reached.update((node.point,) if here.reached else ())
        known = facts is not None
        return (_Inside(node.point, known, here.reached and known),)

    def step(self, node: Node, here: _Inside) -> _Inside:
        if isinstance(node, Jump) and here.loop is not None:
            self.jump(node, here.loop, known=here.known, once=here.once)
        return here

    def jump(self, node: Jump, loop: int, *, known: bool, once: bool) -> None:
        if node.kind is JumpKind.CONTINUE and once:
            self.unclear.add(loop)
        if node.kind is JumpKind.CONTINUE or (node.kind is JumpKind.BREAK and once):
            return
        if node.kind is JumpKind.BREAK:
            self.breaks.add(loop)
        if known and loop in self.outside:
            self.leaving[loop].append(self.positions[node.point].conditions)


def passed_loops(
    exits: Mapping[int, Exits],
    uniform: frozenset[int],
    around: tuple[int, ...],
    common: int,
    crossed: int | None,
) -> tuple[int, ...]:
    """Of the loops ``around`` a first access those whose iterations a second thread has behind it: the one that is
    crossed, and inner ones that all threads run alike. ``common``: how many of them both accesses stand in."""
    start = common if crossed is None else around.index(crossed) if crossed in around else len(around)
    found = list[int]()
    for loop in around[start:]:
        inside = exits.get(loop)
        alike = inside is not None and inside.reached and not inside.breaks and loop in uniform
        if loop != crossed and not alike:
            break
        found.append(loop)
    return tuple(found)


def not_taken(exits: Mapping[int, Exits], passed: tuple[int, ...], crossed: int | None) -> Iterator[Leaving]:
    """What does not hold, all of it, for a thread that has passed iterations of these loops."""
    known = exits[crossed].outside if crossed in exits and crossed is not None else 0
    for loop in passed:
        if loop in exits:
            yield from (each[known:] for each in exits[loop].leaving)
