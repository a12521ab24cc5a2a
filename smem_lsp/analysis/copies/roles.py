"""Threads that share the work: some fill stages of a ring and others wait for them, each in a loop of its own.

Where two arms of a branch count through loops of equally many iterations, these are followed in pairs: one of the
threads that issue, then one of those that wait. A wait ends the same phase whatever the order, so what has landed for
such a pair has landed when both arms are over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from smem_lsp.ir.copy_events import ProxyEvent, ProxyWait
from smem_lsp.ir.nodes import (
    NO_OBJECT,
    Assignment,
    Barrier,
    BarrierKind,
    Branch,
    CopyWaitKind,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
    of_own_iteration,
    walk,
)
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Const, Op, Sym, Thread, Unknown, Value, Var, variables_of
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.operators import Operator

_DEEPEST = 16
_MAY_CHANGE = frozenset((Operator.LOAD, Operator.ELEMENT, Operator.CALL))  # from one time to the next
_OTHER = ProxyWait(-1, CopyWaitKind.UNKNOWN, 0, Row(0), NO_OBJECT, ProxyEvent.OTHER)


class _Counter(NamedTuple):
    """A variable that each iteration of a loop changes once. ``first``: what it is before the first one."""

    variable: int
    first: Value
    update: Value


class _Found(NamedTuple):
    before: list[Node]
    loop: Loop
    after: list[Node]
    counters: tuple[_Counter, ...]


def assigned(nodes: Iterable[Node]) -> dict[int, list[Value]]:
    """Variable -> all that is assigned to it."""
    found: dict[int, list[Value]] = {}
    for node in nodes:
        if isinstance(node, Assignment):
            found.setdefault(node.variable, []).append(node.value)
    return found


@dataclass(frozen=True, slots=True)
class Roles:
    """``assigns``: variable -> all that is assigned to it in the kernel; ``happening``: the nodes
    (points) that have to do with the asynchronous proxy."""

    assigns: Mapping[int, Sequence[Value]]
    happening: frozenset[int]

    def pairs(self, node: Branch) -> Iterator[tuple[Seq, list[Node]]]:
        """An arm of a branch, with it and the other arm as two threads run them."""
        if not self._by_place(node.condition) or any(map(_stops, walk(Seq((node,))))):
            return
        for one, other in ((node.then, node.otherwise), (node.otherwise, node.then)):
            if self._counted(one.items, True) is not None and self._counted(other.items, False) is not None:
                yield one, self._together(one.items, other.items, {})

    def _together(
        self, one: Sequence[Node], other: Sequence[Node], iterations: Mapping[int, Value]
    ) -> list[Node]:
        """``iterations``: variables that count the iterations which both are in -> the same symbol for both."""
        first, second = self._counted(one, True), self._counted(other, False)
        if first is not None and second is not None:
            alike = self._alike(first, second, iterations)
            if alike is not None:
                loop = self._paired(first.loop, second.loop, {**iterations, **alike})
                after = self._together(first.after, second.after, iterations)
                return [*first.before, _OTHER, *second.before, _OTHER, loop, *after]
        return [*one, _OTHER, *other, _OTHER]

    def _paired(self, one: Loop, other: Loop, iterations: Mapping[int, Value]) -> Loop:
        (first, step), (second, other_step) = _body_of(one), _body_of(other)
        steps = [*step, _OTHER, *other_step, _OTHER]
        return replace(one, body=Seq((*self._together(first, second, iterations), *steps)), tail=len(steps))

    def _counted(self, nodes: Sequence[Node], issuing: bool) -> _Found | None:
        """The first loop that counts its iterations and has to do with the proxy. Of threads that issue, those that
        come there; of those that wait, some thread does for certain."""
        for at, node in enumerate(nodes):
            checkpoint()
            if node.point not in self.happening:
                continue
            if isinstance(node, Loop):
                counters = self._counters(node, nodes[:at])
                if counters and not any(isinstance(each, Jump) for each in of_own_iteration(node.body)):
                    return _Found(list(nodes[:at]), node, list(nodes[at + 1 :]), counters)
            if isinstance(node, Branch):
                arms = [
                    each
                    for each in (node.then, node.otherwise)
                    if any(inner.point in self.happening for inner in each)
                ]
                inner = self._counted(arms[0].items, issuing) if len(arms) == 1 else None
                if inner is not None and (issuing or self._by_place(node.condition)):
                    before, after = [*nodes[:at], *inner.before], [*inner.after, *nodes[at + 1 :]]
                    return inner._replace(before=before, after=after)
        return None

    def _alike(self, one: _Found, other: _Found, iterations: Mapping[int, Value]) -> dict[int, Value] | None:
        """Have two loops equally many iterations? Then the variables that count them in the same numbers."""
        if (one.loop.late, one.loop.min_trip) != (other.loop.late, other.loop.min_trip):
            return None
        known = one.loop.trips is not None and one.loop.trips == other.loop.trips
        named: dict[int, Value] = {}
        for each in (one, other):
            named.update((counter.variable, Sym(f"turn {i}")) for i, counter in enumerate(each.counters))
        inside = {**iterations, **named}
        same = [
            (self._shared(a, among), self._shared(b, among))
            for a, b, among in (
                *((a.first, b.first, iterations) for a, b in zip(one.counters, other.counters)),
                *((a.update, b.update, inside) for a, b in zip(one.counters, other.counters)),
                *((a, b, inside) for a, b in zip(_conditions(one.loop), _conditions(other.loop))),
            )
        ]
        if len(one.counters) == len(other.counters) and all(a is not None and a == b for a, b in same):
            iteration = {f"turn {i}": Sym(f"turn {i} of {one.loop.point}") for i in range(len(one.counters))}
            return {
                variable: iteration[name.name] for variable, name in named.items() if isinstance(name, Sym)
            }
        return {} if known else None

    def _counters(self, loop: Loop, before: Sequence[Node]) -> tuple[_Counter, ...]:
        """The variables that decide how often a loop runs; none: not known which."""
        changed, each_iteration = assigned(walk(loop.body)), assigned(loop.body)
        made, here = assigned(walk(Seq(tuple(before)))), assigned(before)
        found = []
        for variable in dict.fromkeys(v for each in _conditions(loop) for v in variables_of(each)):
            if variable not in changed:
                continue
            first, update = here.get(variable, []), each_iteration.get(variable, [])
            if len(changed[variable]) != 1 or not update or not first or made[variable] != first:
                return ()
            if self._shared(update[0], {variable: Sym("turn")}) is None:
                return ()
            found.append(_Counter(variable, first[-1], update[0]))
        return tuple(found)

    def _shared(self, value: Value, iterations: Mapping[int, Value], deep: int = 0) -> Value | None:
        """A value that is the same for all threads, by what it is made of; None: it may not be."""
        if isinstance(value, Var):
            given = self.assigns.get(value.index, ())
            if value.index in iterations:
                return iterations[value.index]
            return (
                self._shared(given[0], iterations, deep + 1) if len(given) == 1 and deep < _DEEPEST else None
            )
        if isinstance(value, Op):
            if value.operator in _MAY_CHANGE:
                return None
            parts = [self._shared(each, iterations, deep) for each in value.args]
            known = tuple(each for each in parts if each is not None)
            return replace(value, args=known) if len(known) == len(parts) else None
        if isinstance(value, Sym):
            return None if "::" in value.name else value
        if isinstance(value, Unknown):
            return value if value.uniform and value.access is None and not value.escaped else None
        return value if isinstance(value, Const) else None

    def _by_place(self, value: Value, deep: int = 0) -> bool:
        """Does only the place of a thread in its block decide?"""
        if isinstance(value, Var):
            given = self.assigns.get(value.index, ())
            return len(given) == 1 and deep < _DEEPEST and self._by_place(given[0], deep + 1)
        if isinstance(value, Op):
            return all(self._by_place(each, deep) for each in value.args)
        return isinstance(value, Const | Thread) or (
            isinstance(value, Sym) and value.name.startswith("blockDim.")
        )


def _body_of(loop: Loop) -> tuple[Sequence[Node], Sequence[Node]]:
    """What a `continue` skips, and what it does not."""
    at = len(loop.body) - loop.tail
    return loop.body.items[:at], loop.body.items[at:]


def _conditions(loop: Loop) -> tuple[Value, Value]:
    return loop.condition, loop.condition if loop.again is None else loop.again


def _stops(node: Node) -> bool:
    """Does the whole block wait here, or a thread leave the kernel?"""
    if isinstance(node, Jump):
        return node.kind is JumpKind.RETURN
    return isinstance(node, Barrier) and node.kind in (BarrierKind.BLOCK, BarrierKind.CLUSTER)
