"""The control flow of a kernel as a plain graph, for the validator alone.

The walks of the analysis follow the region tree and join sets on the way; here every event is a node, every
step that control may take is an edge, and an answer is a set of nodes that can be reached. Two independent
methods that agree are worth more than one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.ir.nodes import Access, Assignment, Barrier, BarrierSite, Branch, Jump, JumpKind, Loop, Seq
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass


@record
class Flow:
    """``onward[n]``: where a thread may go from n. ``past[n]``: more edges that only matter to barriers.

    ``walls``: nodes that are proved barriers. ``covers``: nodes that overwrite these buffers whole, so that
    no older value is read after them. ``beside``: accesses of the two arms of each divergent branch, which
    run at once. ``written``: at the first node of an arm, the buffers that the other arm may have written by
    then. ``read``: at the last node of an arm, the buffers that the other arm may still read.
    """

    onward: list[list[int]] = field(default_factory=list)
    past: dict[int, list[int]] = field(default_factory=dict)
    walls: set[int] = field(default_factory=set)
    covers: dict[int, frozenset[int]] = field(default_factory=dict)
    accesses: dict[int, Access] = field(default_factory=dict)
    beside: list[tuple[frozenset[int], frozenset[int]]] = field(default_factory=list)
    written: dict[int, set[int]] = field(default_factory=dict)
    read: dict[int, set[int]] = field(default_factory=dict)


def flow(body: Seq, facts: Facts, added: frozenset[int]) -> Flow:
    """The graph of ``body``; node 0 is the start. ``added``: Place points that hold a barrier."""
    out = Flow()
    start, outside = _node(out), _Targets(_node(out), _node(out))
    _FlowBuilder(out, facts, added).seq(body, start, outside)
    return out


def carried(
    edges: Sequence[Sequence[int]], given: Mapping[int, int], ends: Mapping[int, int], *, forward: bool
) -> list[int]:
    """Per node the union of what reaches it. Along each edge, from the node that it leads to, comes what that one is
    ``given``, and what has reached it but ``ends`` there. ``forward``: the edges lead back through the program. Nodes
    count through it: all edges but those of loops come from what is known."""
    found = [0] * len(edges)
    order = range(len(edges)) if forward else range(len(edges) - 1, -1, -1)
    again: Sequence[int] = order
    while again:
        checkpoint()
        changed = set[int]()
        for node in again:
            seen = 0
            for other in edges[node]:
                seen |= given.get(other, 0) | found[other] & ~ends.get(other, 0)
            if seen != found[node]:
                found[node] = seen
                changed.add(node)
        again = [node for node in order if not changed.isdisjoint(edges[node])]
    return found


def _node(out: Flow, *before: int) -> int:
    checkpoint()
    number = len(out.onward)
    out.onward.append([])
    for node in before:
        out.onward[node].append(number)
    return number


@dataclass(frozen=True, slots=True)
class _Targets:
    """The nodes that ``break`` and ``continue`` lead to."""

    at_break: int
    at_continue: int


@dataclass(frozen=True, slots=True)
class _FlowBuilder:
    """Adds nodes to ``out``; a method takes the node in front and returns the one at the end."""

    out: Flow
    facts: Facts
    added: frozenset[int]

    def seq(self, seq: Seq, here: int, targets: _Targets) -> int:
        out, facts = self.out, self.facts
        for node in seq.items:
            checkpoint()
            if isinstance(node, Assignment):
                continue
            if node.point in facts.covering:
                here = _node(out, here)
                out.covers[here] = facts.covering[node.point]
            if isinstance(node, Access):
                here = _node(out, here)
                out.accesses[here] = node
            elif isinstance(node, (Barrier, BarrierSite)):
                if node.point in (facts.barriers if isinstance(node, Barrier) else self.added):
                    here = _node(out, here)
                    out.walls.add(here)
            elif isinstance(node, Branch):
                here = self._branch(node, here, targets)
            elif isinstance(node, Loop):
                here = self._loop(node, here)
            elif isinstance(node, Jump):
                here = self._jump(node, here, targets)
        return here

    def _branch(self, node: Branch, here: int, targets: _Targets) -> int:
        out = self.out
        arms: list[tuple[int, int]] = []  # first and last node
        for arm in (node.then, node.otherwise):
            first = _node(out, here)
            arms.append((first, _node(out, self.seq(arm, first, targets))))
        join = _node(out, *(last for _, last in arms))
        if node.point not in self.facts.uniform:
            out.onward[here].append(join)  # a thread may skip either arm
            self._beside(arms)
        return join

    def _beside(self, arms: Sequence[tuple[int, int]]) -> None:
        """The arms of a divergent branch run at once."""
        out = self.out
        inside = [frozenset(each for each in range(*arm) if each in out.accesses) for arm in arms]
        out.beside.append((inside[0], inside[1]))
        for (first, last), other in zip(arms, reversed(inside), strict=True):
            met = [out.accesses[each] for each in other]
            out.written[first] = {access.buffer for access in met if access.kind.writes}
            out.read[last] = {access.buffer for access in met if access.kind.reads}

    def _loop(self, node: Loop, here: int) -> int:
        out = self.out
        top, turn, after = _node(out, here), _node(out), _node(out)
        end = self.seq(node.body, top, _Targets(at_break=after, at_continue=turn))
        out.onward[end].append(turn)
        out.onward[turn] += [top, after]
        if node.min_trip == 0:
            out.onward[here].append(after)
        elif node.point not in self.facts.uniform:
            # A thread may be done with the loop while another has yet to start it.
            out.past.setdefault(here, []).append(after)
        return after

    def _jump(self, node: Jump, here: int, targets: _Targets) -> int:
        out = self.out
        jump = _node(out, here)
        if node.kind is not JumpKind.RETURN:
            target = targets.at_break if node.kind is JumpKind.BREAK else targets.at_continue
            out.onward[jump].append(target)
        return _node(out) if node.point in self.facts.uniform else _node(out, jump)
