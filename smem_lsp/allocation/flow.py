"""The control flow of a kernel as a plain graph, for the validator alone.

The walks of the analysis follow the region tree and join sets on the way; here every event is a node, every
way for control to go on is an edge, and questions are answered by looking which nodes can be reached. Two
methods that agree are worth more than one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.ir.nodes import Access, Assign, Barrier, Branch, Jump, JumpKind, Loop, Place, Seq
from smem_lsp.source import checkpoint, record


@record
class Flow:
    """``onward[n]``: where a thread may go from n. ``past[n]``: more edges that only matter to barriers.

    ``walls``: nodes that are proved barriers. ``covers``: nodes after which nothing of these buffers' old
    values is needed. ``beside``: accesses of the two arms of each divergent branch, which run at once: at
    the first node of an arm the other one has ``written``, after the last the other one has yet to
    ``read``.
    """

    onward: list[list[int]] = field(default_factory=list)
    past: dict[int, list[int]] = field(default_factory=dict)
    walls: set[int] = field(default_factory=set)
    covers: dict[int, frozenset[int]] = field(default_factory=dict)
    accesses: dict[int, Access] = field(default_factory=dict)
    beside: list[tuple[list[int], list[int]]] = field(default_factory=list)
    written: dict[int, set[int]] = field(default_factory=dict)
    read: dict[int, set[int]] = field(default_factory=dict)


def flow(body: Seq, facts: Facts, added: frozenset[int]) -> Flow:
    """The graph of ``body``; node 0 is the start. ``added``: Place points that hold a barrier."""
    out = Flow()
    _lay(body, _node(out), _node(out), _node(out), out, facts, added)
    return out


def reach(edges: Sequence[Sequence[int]], starts: Iterable[int], stops: set[int]) -> set[int]:
    """Nodes reached from ``starts`` in one step or more, without going on from a node of ``stops``."""
    seen: set[int] = set()
    todo = list(starts)
    while todo:
        checkpoint()
        for node in edges[todo.pop()]:
            if node not in seen:
                seen.add(node)
                if node not in stops:
                    todo.append(node)
    return seen


def _node(out: Flow, *before: int) -> int:
    checkpoint()
    number = len(out.onward)
    out.onward.append([])
    for node in before:
        out.onward[node].append(number)
    return number


def _lay(
    seq: Seq, here: int, at_break: int, at_continue: int, out: Flow, facts: Facts, added: frozenset[int]
) -> int:
    """Adds the nodes of ``seq`` after ``here`` and returns the node at its end."""
    for node in seq.items:
        checkpoint()
        if isinstance(node, Assign):
            continue
        if node.point in facts.covering:
            here = _node(out, here)
            out.covers[here] = facts.covering[node.point]
        if isinstance(node, Access):
            here = _node(out, here)
            out.accesses[here] = node
        elif isinstance(node, (Barrier, Place)):
            if node.point in (facts.barriers if isinstance(node, Barrier) else added):
                here = _node(out, here)
                out.walls.add(here)
        elif isinstance(node, Branch):
            arms = []
            for arm in (node.then, node.otherwise):
                first = _node(out, here)
                last = _node(out, _lay(arm, first, at_break, at_continue, out, facts, added))
                arms.append((first, last))
            join = _node(out, *(last for _, last in arms))
            if node.point not in facts.uniform:
                out.onward[here].append(join)  # a thread may skip either arm
                inside = [[each for each in range(*arm) if each in out.accesses] for arm in arms]
                out.beside.append((inside[0], inside[1]))
                for (first, last), other in zip(arms, reversed(inside), strict=True):
                    met = [out.accesses[each] for each in other]
                    out.written[first] = {access.buffer for access in met if access.kind.writes}
                    out.read[last] = {access.buffer for access in met if access.kind.reads}
            here = join
        elif isinstance(node, Loop):
            top, turn, after = _node(out, here), _node(out), _node(out)
            out.onward[_lay(node.body, top, after, turn, out, facts, added)].append(turn)
            out.onward[turn] += [top, after]
            if node.min_trip == 0:
                out.onward[here].append(after)
            elif node.point not in facts.uniform:
                # A thread may be done with the loop while another has yet to start it.
                out.past.setdefault(here, []).append(after)
            here = after
        elif isinstance(node, Jump):
            jump = _node(out, here)
            if node.kind is not JumpKind.RETURN:
                out.onward[jump].append(at_break if node.kind is JumpKind.BREAK else at_continue)
            here = _node(out) if node.point in facts.uniform else _node(out, jump)
    return here
