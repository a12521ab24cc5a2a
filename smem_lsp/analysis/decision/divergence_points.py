"""Where threads part from those that come to a barrier, and what they may run instead.

Two threads that have not returned run the same barriers in the same iterations of all loops as long as they decide
alike at each fork in front of one: its branches, the iterations of the loops around it, the jumps past it. A thread
that has returned counts as arrived at every barrier.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import field, replace

from smem_lsp.analysis.decision.conditions import Condition, Position, always_jumps, conditions_of
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    Access,
    Barrier,
    BarrierKind,
    Branch,
    CopyWait,
    Jump,
    JumpKind,
    Loop,
    Node,
    Proxy,
    Remote,
    Seq,
    WarpCollective,
    of_own_iteration,
    walk,
)
from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass

_MOST_WAITS = 8  # places where those who part may wait that are looked at


@record
class Segment:
    """Nodes that threads run one after the other. ``loop``: the innermost one around them (a point; -1: none);
    ``later``: in a later iteration of it, if there is one."""

    nodes: tuple[Node, ...]
    loop: int
    later: bool = False


@record
class Fork:
    """A decision on the way to a barrier. Threads that come to it hold ``holds``, in one iteration of ``loops``; those
    for which all of ``parts`` hold go on to the barrier (``stays``), or leave. ``elsewhere``: what those who leave run;
    ``jump``: by which they do; ``again``: it is the end of an iteration of a loop; ``known``: the decision is;
    ``unseen``: some may have jumped away before, of which ``holds`` tells nothing; ``returning``: those of ``loops`` in
    whose iterations some may return, of which it tells nothing behind the first iteration."""

    node: Branch | Loop
    loops: tuple[int, ...]
    holds: tuple[Condition, ...]
    parts: tuple[Condition, ...]
    stays: bool
    elsewhere: tuple[Segment, ...]
    jump: Jump | None = None
    known: bool = True
    unseen: bool = False
    again: bool = False
    returning: frozenset[int] = frozenset()

    @property
    def key(self) -> tuple[int, int, bool, bool]:
        """What tells it from others of the kernel."""
        jump = -1 if self.jump is None else self.jump.point
        return self.node.point, jump, self.again, bool(self.parts) and self.parts[0].truth

    def is_behind(self, node: Node) -> bool:
        """Do those who go on come to ``node`` in the next iteration of the loop only?"""
        return self.again or (self.jump is not None and self.jump.point > node.point)

    def hides(self, node: Node) -> bool:
        """May some have jumped away, of which ``holds`` tells nothing, before the others come to ``node``?"""
        return self.unseen or (self.is_behind(node) and self.loops[-1] in self.returning)


@record
class DivergenceSite:
    """A barrier, or an exchange of a warp, and the forks in front of it, the outermost first."""

    node: Barrier | WarpCollective
    forks: tuple[Fork, ...]


@record
class LaterBarrier:
    """A barrier that threads come to which have left at a fork. ``later``: in a later iteration of a loop around the
    fork; ``sure``: its own conditions alone decide whether they do."""

    barrier: Barrier
    later: bool
    sure: bool


def sites(body: Seq, values: ValueFacts, where: Mapping[int, Position]) -> list[DivergenceSite]:
    """All barriers and exchanges of a kernel. ``where``: the positions of its nodes."""
    found = _DivergenceFinder(values, where)
    found.seq(body.items, _Around((), -1, (), (), ()), (), unseen=False)
    return found.sites


def waits(fork: Fork) -> tuple[list[LaterBarrier], bool]:
    """The barriers that those who leave may come to, in order; are these all?"""
    found = list(_Path().waits(fork.elsewhere))
    return found[:_MOST_WAITS], len(found) <= _MOST_WAITS


def is_idle(fork: Fork) -> bool:
    """Do those who leave run to the end of the kernel without touching shared memory or meeting others?"""
    events = Access | Barrier | WarpCollective | Proxy | CopyWait | Remote
    return not any(isinstance(node, events) for each in fork.elsewhere for node in walk(Seq(each.nodes)))


def may_call(fork: Fork, calls: Iterable[int]) -> bool:
    """Do those who leave perhaps come to one of ``calls`` (points)?"""
    node = fork.node
    if isinstance(node, Loop):
        behind = node.end_point
        if fork.jump is not None and fork.jump.kind is not JumpKind.BREAK:
            behind = node.point
        return any(call > behind for call in calls)
    if fork.jump is not None:
        return any(call > node.point for call in calls)
    inside = [each.point for each in walk(Seq((node,)))]
    own = [each.point for each in walk(Seq(fork.elsewhere[0].nodes))]
    if own and own[0] < max(inside) and fork.elsewhere[0].nodes == node.then.items:
        first, last = node.point, own[-1] + 1
    else:
        first, last = (own[0] - 1 if own else max(inside)), max(inside) + 1
    return any(first < call <= last or call > max(inside) for call in calls)


@record
class _Around:
    """``rest``: what comes behind the nodes; ``out``: behind the innermost loop; ``again``: behind its ``continue``;
    ``returning``: as in ``Fork``."""

    loops: tuple[int, ...]
    loop: int
    rest: tuple[Segment, ...]
    out: tuple[Segment, ...]
    again: tuple[Segment, ...]
    returning: frozenset[int] = frozenset()
    once: bool = False

    def inside(self, rest: tuple[Segment, ...]) -> _Around:
        return replace(self, rest=rest)


@dataclass(slots=True)
class _DivergenceFinder:
    values: ValueFacts
    where: Mapping[int, Position]
    sites: list[DivergenceSite] = field(default_factory=list)

    def seq(self, items: tuple[Node, ...], around: _Around, forks: tuple[Fork, ...], *, unseen: bool) -> None:
        for index, node in enumerate(items):
            checkpoint()
            if isinstance(node, Barrier | WarpCollective):
                self.sites.append(DivergenceSite(node, forks))
            elif isinstance(node, Branch):
                behind = (Segment(items[index + 1 :], around.loop), *around.rest)
                self.branch(node, around.inside(behind), forks, unseen=unseen)
                forks = (*forks, *self.jumped(node, around, unseen=unseen))
                unseen = unseen or _hides_jumps(node)
            elif isinstance(node, Loop):
                behind = (Segment(items[index + 1 :], around.loop), *around.rest)
                self.loop(node, around.inside(behind), forks, unseen=unseen)
                unseen = unseen or _returns(node.body)

    def branch(self, node: Branch, around: _Around, forks: tuple[Fork, ...], *, unseen: bool) -> None:
        term = self.values.conditions.get(node.point)
        for arm, other, truth in ((node.then, node.otherwise, True), (node.otherwise, node.then, False)):
            parts = () if term is None else tuple(conditions_of(term, truth, node.point))
            elsewhere = (Segment(other.items, around.loop), *around.rest)
            fork = Fork(
                node,
                around.loops,
                self.where[node.point].conditions,
                parts,
                True,
                elsewhere,
                known=term is not None,
                unseen=unseen,
                returning=around.returning,
            )
            self.seq(arm.items, around, (*forks, fork), unseen=unseen)

    def jumped(self, node: Branch, around: _Around, *, unseen: bool) -> Iterator[Fork]:
        """Those in front of what follows the branch: jumps in it."""
        for jump in _jumps_of((node,)):
            if jump.kind is JumpKind.CONTINUE or (jump.kind is JumpKind.BREAK and around.once):
                holds = self.where[node.point].conditions
                elsewhere = around.out if around.once else around.again
                found = self.jump(jump, node, around.loops, holds, elsewhere, unseen=unseen)
                yield replace(found, returning=around.returning)

    def jump(
        self,
        jump: Jump,
        node: Branch | Loop,
        loops: tuple[int, ...],
        holds: tuple[Condition, ...],
        elsewhere: tuple[Segment, ...],
        *,
        unseen: bool,
    ) -> Fork:
        parts = self.where[jump.point].conditions[len(holds) :] if jump.point in self.where else ()
        return Fork(node, loops, holds, parts, False, elsewhere, jump, known=bool(parts), unseen=unseen)

    def loop(self, node: Loop, around: _Around, forks: tuple[Fork, ...], *, unseen: bool) -> None:
        facts = self.values.loops.get(node.point)
        holds = self.where[node.point].conditions
        if facts is not None and facts.once:
            inside = _Around(
                around.loops, node.point, around.rest, around.rest, around.rest, around.returning, once=True
            )
            self.seq(node.body.items, inside, forks, unseen=unseen)
            return
        loops = (*around.loops, node.point)
        again = (Segment(node.body.items, node.point, later=True), *around.rest)
        first, head, following = (
            () if term is None else tuple(conditions_of(term, True, node.point))
            for term in ((None,) * 3 if facts is None else (facts.first, facts.head, facts.again))
        )
        known, tested = facts is not None, facts is not None and facts.tested
        if tested:
            entry = Fork(
                node, around.loops, holds, first, True, around.rest, unseen=unseen, returning=around.returning
            )
            forks = (*forks, entry)
        returning = around.returning | ({node.point} if _returns(node.body) else frozenset())
        within = (*holds, *head) if tested else holds
        iteration = Fork(
            node, loops, within, following, True, around.rest, known=known, unseen=unseen, again=True
        )
        inner = [iteration]
        for jump in _jumps_of(node.body.items):
            if jump.kind is JumpKind.BREAK:
                inner.append(self.jump(jump, node, loops, within, around.rest, unseen=unseen))
        forks = (*forks, *(replace(each, returning=returning) for each in inner))
        inside = _Around(loops, node.point, again, around.rest, again, returning)
        self.seq(node.body.items, inside, forks, unseen=unseen)


def _jumps_of(items: Iterable[Node]) -> Iterator[Jump]:
    """The jumps of the loop around ``items``, and returns, outside of the loops in them."""
    return (node for node in of_own_iteration(items) if isinstance(node, Jump))


@dataclass(slots=True)
class _Path:
    """What those run who leave. ``sure``: no jump that only some take has been passed."""

    sure: bool = True

    def waits(self, elsewhere: Iterable[Segment]) -> Iterator[LaterBarrier]:
        """The barriers on it, in order."""
        jump, loop = None, -1
        for segment in elsewhere:
            again = jump is JumpKind.CONTINUE and segment.later
            if jump is not None and segment.loop == loop and not again:
                continue  # they have jumped over it
            jump, loop = (yield from self.along(segment)), segment.loop
            if jump is JumpKind.RETURN:
                return

    def along(self, segment: Segment) -> Generator[LaterBarrier, None, JumpKind | None]:
        """Those in one segment; and the jump that all take at its end."""
        for node in segment.nodes:
            checkpoint()
            if isinstance(node, Jump):
                return node.kind
            yield from self.at(node, later=segment.later)
        return None

    def at(self, node: Node, *, later: bool) -> Iterator[LaterBarrier]:
        if isinstance(node, Barrier):
            if node.kind is not BarrierKind.WARP:
                yield LaterBarrier(node, later, self.sure)
        elif isinstance(node, Branch):
            for arm in (node.then, node.otherwise):
                yield from _inside(arm, sure=self.sure and not later, later=later)
            self.sure = self.sure and not _hides_jumps(node)
        elif isinstance(node, Loop):
            yield from _inside(node.body, sure=self.sure and not later and node.min_trip > 0, later=later)
            self.sure = self.sure and not _returns(node.body)


def _inside(seq: Seq, *, sure: bool, later: bool) -> Iterator[LaterBarrier]:
    """The barriers in an arm or a body. ``sure``: whoever comes there goes through it, if nothing in it is a jump."""
    plain = sure and not any(isinstance(each, Jump) for each in walk(seq))
    for node in walk(seq):
        if isinstance(node, Barrier) and node.kind is not BarrierKind.WARP:
            yield LaterBarrier(node, later, plain and any(item is node for item in seq.items))


def _hides_jumps(node: Branch) -> bool:
    """Is there a jump in it that not all take who come to its arm?"""
    arms = (node.then, node.otherwise)
    return any(
        (not always_jumps(arm) and any(_jumps_of(arm.items)))
        or any(_returns(each.body) for each in walk(arm) if isinstance(each, Loop))
        for arm in arms
    )


def _returns(seq: Seq) -> bool:
    return any(isinstance(each, Jump) and each.kind is JumpKind.RETURN for each in walk(seq))
