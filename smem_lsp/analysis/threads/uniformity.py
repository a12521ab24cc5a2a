"""Which values all threads of a block share, which decisions they take alike, and which barriers they all run.

Every value has a level, the widest group of threads that surely agree on it: const < block < warp < thread. The level
of an operation is the highest of its operands'; a value that depends on the path adds the condition's, a loop variable
that of the conditions that end the loop. Loop variables start at const and rise until nothing changes. A value read
from shared memory is at thread level, unless all threads read one address and no write to that buffer can run between
the barriers around the read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import open_interfering
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import (
    Access,
    AddressSpace,
    Assignment,
    Barrier,
    BarrierSite,
    Branch,
    Buffer,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
    bodies,
    walk,
)
from smem_lsp.ir.places import Row
from smem_lsp.ir.walks import Descent
from smem_lsp.source import checkpoint, record
from smem_lsp.source.budget import pause
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import MAX_BLOCK
from smem_lsp.terms.language import Carrier, Level, LoopVar, OpaqueTerm, Term

_MAX_ROUNDS = 6


@record
class Control:
    """Points that are proved; see ``Facts``. ``steady``: points reached by all threads of the block together.
    ``alike``: branches, loops, jumps and barriers that are uniform in every run without a race: they depend on values
    that all threads read from one address in shared memory. ``split``: calls (points) that are not followed, and
    order no threads of different warps. ``together``: branches and loops where, in every run without a race, those
    threads that come decide alike, be they the whole block or not."""

    uniform: frozenset[int]
    barriers: frozenset[int]
    places: frozenset[int]
    steady: frozenset[int]
    divergent_return: Row | None  # line of the first return that only some threads take
    alike: frozenset[int] = frozenset()
    split: frozenset[int] = frozenset()
    together: frozenset[int] = frozenset()


@dataclass(slots=True)
class Levels:
    """The level of every term. ``shape``: a block shape that is a fact; ``shared``: loads whose value is as uniform as
    their address."""

    values: ValueFacts
    bounds: Bounds
    shape: BlockShape | None = None
    shared: frozenset[int] = frozenset()
    of: dict[Carrier, Level] = field(default_factory=dict)
    _decided: dict[Term, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for load in self.values.loads:
            assert isinstance(load, OpaqueTerm) and load.access is not None
            self.of[load] = Level.BLOCK if load.access in self.shared else Level.THREAD
        self._solve()

    def level(self, term: Term) -> Level:
        """The level of a term."""
        pause()
        level = term.level
        for carrier in term.carried:
            own = self.of.get(carrier, Level.THREAD)
            if own > level:
                level = own
        return level

    def uniform(self, term: Term) -> bool:
        """Is the value the same for all threads of the block? By level, by bounds or, for a known shape, by trying."""
        found = self._decided.get(term)
        if found is None:
            found = self._decided[term] = self.level(term) <= Level.BLOCK or self._computed(term)
        return found

    def _computed(self, term: Term) -> bool:
        if not term.known:
            return False
        low, high = self.bounds.interval(term)
        if low == high:
            return True
        if self.shape is None or term.carried:
            return False
        return Evaluator(self.shape.dims).uniform_value(term) is not None

    def _solve(self) -> None:
        """The least levels at which each loop variable is at or above its start, its next value and its loop."""
        rest = [recurrence for loop in self.values.loops.values() for recurrence in loop.recurrences]
        for recurrence in rest:
            self.of[recurrence.atom] = Level.CONST
        at_index = [
            (load, self.values.address(load.access) or ())
            for load in self.values.loads
            if isinstance(load, OpaqueTerm) and load.access is not None and load.access in self.shared
        ]
        deciding = {point: (loop.first, loop.again, *loop.exits) for point, loop in self.values.loops.items()}
        changed = True
        while changed:
            checkpoint()
            changed = False
            for load, index in at_index:
                changed |= self._raise(load, index)
            for recurrence in rest:
                sources = (recurrence.init, recurrence.next, *deciding[recurrence.atom.loop])
                changed |= self._raise(recurrence.atom, sources)

    def _raise(self, carrier: Carrier, sources: Iterable[Term]) -> bool:
        checkpoint()
        level = max(map(self.level, sources), default=Level.CONST)
        if level <= self.of[carrier]:
            return False
        self.of[carrier] = level
        return True


def prove_levels(
    body: Seq,
    values: ValueFacts,
    *,
    buffers: Sequence[Buffer] = (),
    shape: BlockShape | None = None,
    upper: tuple[int, int, int] = MAX_BLOCK,
) -> tuple[Control, Levels]:
    """Control flow and the levels that it depends on.

    Loads that decide something are first assumed uniform; those that the barriers proved so do not separate from
    writes are dropped, until none remains to drop. That is sound: before the first load in a run that gives two
    threads different values, all barriers are in place, and so no write is near it.
    """
    dims = upper if shape is None else shape.dims
    levels = Levels(values, Bounds(values.loops, dims, shape is not None), shape)
    control = _control(body, levels)
    deciding = _deciding_loads(levels) if buffers else set()
    shared = _loads_of(range(len(buffers)), body, deciding)
    if not shared:
        return control, levels
    raised = replace(levels, shared=shared, of={}, _decided={})
    found = _control(body, raised)
    # no write is taken to be near any of these loads, not even one that is not in sight
    polled = any("volatile" in buffer.written.qualifiers for buffer in buffers)
    alike = frozenset() if polled else found.uniform | found.barriers
    together = frozenset() if polled else _together(body, raised)
    followed = _followed(buffers)
    seen = _loads_of(followed, body, deciding)
    for iteration in range(_MAX_ROUNDS):
        checkpoint()
        if not seen:
            break
        if iteration or seen != shared:
            raised = replace(levels, shared=seen, of={}, _decided={})
            found = _control(body, raised)
        agreed = _agreed_loads(body, values, followed, seen, found)
        if agreed == seen:
            alike -= found.uniform | found.barriers
            return replace(found, alike=alike, together=together), raised
        seen = agreed
    alike -= control.uniform | control.barriers
    return replace(control, alike=alike, together=together), levels


def _together(body: Seq, levels: Levels) -> frozenset[int]:
    conditions = levels.values.conditions
    found = (n.point for n in walk(body) if isinstance(n, Branch | Loop) and n.point in conditions)
    return frozenset(point for point in found if levels.uniform(conditions[point]))


def undisturbed_loads(
    body: Seq, values: ValueFacts, buffers: Sequence[Buffer], wanted: Collection[int], control: Control
) -> frozenset[int]:
    """The loads among ``wanted`` (points) from one address of which all threads get the same: no write to the bytes can
    run between the barriers around them."""
    followed = _followed(buffers)
    loads = _loads_of(followed, body, wanted)
    return _agreed_loads(body, values, followed, loads, control) if loads else loads


def _loads_of(buffers: Collection[int], body: Seq, points: Collection[int]) -> frozenset[int]:
    """The points in ``points`` of accesses to ``buffers``."""
    accesses = (node for node in walk(body) if isinstance(node, Access))
    return frozenset(node.point for node in accesses if node.buffer in buffers and node.point in points)


def _followed(buffers: Sequence[Buffer]) -> dict[int, int]:
    """Buffers with only known accesses -> their storage; all dynamic buffers begin at the same byte."""
    dynamic = [buffer for buffer in buffers if buffer.space is AddressSpace.DYNAMIC]
    followed = {buffer.index: buffer.index for buffer in buffers if buffer.seen}
    for buffer in dynamic:
        followed.pop(buffer.index, None)
    if all(buffer.seen for buffer in dynamic):
        followed |= {buffer.index: dynamic[0].index for buffer in dynamic}
    return followed


def _agreed_loads(
    body: Seq, values: ValueFacts, followed: Mapping[int, int], wanted: frozenset[int], control: Control
) -> frozenset[int]:
    """The loads among ``wanted`` without a write to their bytes between the barriers around them."""
    accesses = [node for node in walk(body) if isinstance(node, Access) and node.buffer in followed]
    by_storage: dict[int, list[int]] = {}
    for index, node in enumerate(accesses):
        by_storage.setdefault(followed[node.buffer], []).append(index)
    interfering = [0] * len(accesses)
    for members in by_storage.values():
        checkpoint()
        loads = [index for index in members if accesses[index].point in wanted]
        writes = [index for index in members if accesses[index].kind.writes] if loads else []
        for load in loads:
            for write in writes:
                if not _apart(accesses[load], accesses[write], values):
                    interfering[load] |= 1 << write
                    interfering[write] |= 1 << load
    disturbed = 0
    facts = Facts(uniform=control.uniform, barriers=control.barriers)
    for index, met in enumerate(open_interfering(body, facts, accesses, interfering)):
        if met:
            disturbed |= met | 1 << index
    return frozenset(
        node.point
        for index, node in enumerate(accesses)
        if node.point in wanted and not disturbed >> index & 1
    )


def _apart(one: Access, other: Access, values: ValueFacts) -> bool:
    """Are they surely different members of one object?"""
    if one.part is None or other.part is None or one.buffer != other.buffer:
        return False
    base = values.bases[one.point]
    steady = base.known and not base.carried and base.level <= Level.BLOCK
    return steady and base is values.bases[other.point] and one.part.apart(other.part)


def _deciding_loads(levels: Levels) -> set[int]:
    """Loads at a known index that decide a branch or loop not otherwise proved uniform."""
    values = levels.values
    deciding = [*values.conditions.values()]
    for loop in values.loops.values():
        deciding += [loop.first, loop.again]
    seen: set[Carrier] = set()
    open_carriers = [c for term in deciding if not levels.uniform(term) for c in term.carried]
    made_of = {r.atom: (loop, r) for loop in values.loops.values() for r in loop.recurrences}
    while open_carriers:
        checkpoint()
        carrier = open_carriers.pop()
        if carrier in seen:
            continue
        seen.add(carrier)
        if isinstance(carrier, LoopVar) and carrier in made_of:
            loop, recurrence = made_of[carrier]
            for term in (recurrence.init, recurrence.next, loop.first, loop.again, *loop.exits):
                open_carriers += term.carried
        elif isinstance(carrier, OpaqueTerm) and carrier.access is not None:
            for term in values.address(carrier.access) or ():
                open_carriers += term.carried
    loads = {carrier.access for carrier in seen if isinstance(carrier, OpaqueTerm)}
    return {access for access in loads if access is not None and values.address(access) is not None}


# ---- control ---------------------------------------------------------------------------------------------------------


class _Divergence(Descent[bool]):
    """The state: only some threads may be here. ``taken``: branches and loops (points) that all threads are taken to
    decide alike; ``returned``: line of the first return that only some threads take."""

    def __init__(self, levels: Levels, taken: frozenset[int]) -> None:
        self.levels = levels
        self.conditions = levels.values.conditions
        self.taken = taken
        self.uniform: set[int] = set()
        self.barriers: set[int] = set()
        self.places: set[int] = set()
        self.steady: set[int] = set()
        self.returned: Row | None = None

    def agreed(self, node: Branch | Loop) -> bool:
        condition = self.conditions.get(node.point)
        return condition is None or node.point in self.taken or self.levels.uniform(condition)

    def behind(self, node: Node, before: bool) -> None:
        if not before and self.returned is None:
            self.steady.add(node.point)

    def step(self, node: Node, divergent: bool) -> bool:
        if isinstance(node, Assignment):
            return divergent
        if isinstance(node, BarrierSite):
            if not divergent and self.returned is None:
                self.places.add(node.point)
            return divergent
        if isinstance(node, Barrier):
            if not divergent and node.of_block:
                self.barriers.add(node.point)
        elif isinstance(node, Jump):
            if not divergent:
                self.uniform.add(node.point)
            elif node.kind is JumpKind.RETURN and self.returned is None:
                self.returned = node.line
        self.behind(node, divergent)
        return divergent

    def branch(self, node: Branch, divergent: bool) -> bool:
        agreed = self.agreed(node)
        if agreed and not divergent:
            self.uniform.add(node.point)
        for arm in bodies(node):
            self.seq(arm.items, divergent or not agreed)
        self.behind(node, divergent)
        # if some threads jumped to the end of the body, not all are here until then
        return divergent or bool(_divergent_jumps((node,), self, divergent))

    def loop(self, node: Loop, divergent: bool) -> bool:
        facts = self.levels.values.loops.get(node.point)
        once = facts is not None and facts.once
        agreed = not divergent and _ends_alike(node, self)
        left = _left_by_some(node, self)
        if agreed and not left:
            self.uniform.add(node.point)
        if self.returned is None and not once:
            # a return that only some threads take, anywhere in the body, comes before the next iteration
            self.returned = _divergent_return(node.body, self, not agreed or left)
        # threads that leave a real loop early are missing from its next iteration on, so from its very start
        self.seq(node.body.items, not agreed or (left and not once))
        self.behind(node, divergent)
        return divergent


def control_where(body: Seq, levels: Levels, taken: frozenset[int]) -> Control:
    """Control flow where all threads decide alike at the branches and loops ``taken`` (points), as they are proved to
    or not."""
    return _control(body, levels, taken)


def _control(body: Seq, levels: Levels, taken: frozenset[int] = frozenset()) -> Control:
    walk = _Divergence(levels, taken)
    walk.seq(body, False)
    return Control(
        frozenset(walk.uniform),
        frozenset(walk.barriers),
        frozenset(walk.places),
        frozenset(walk.steady),
        walk.returned,
    )


def _divergent_jumps(items: Iterable[Node], state: _Divergence, divergent: bool) -> frozenset[JumpKind]:
    """Kinds of ``break`` and ``continue`` of the loop around ``items`` that only some threads take.

    After such a jump the other threads are alone until the end of the iteration, so any later jump takes only some,
    even on a uniform condition.
    """
    found: frozenset[JumpKind] = frozenset()
    for node in items:
        checkpoint()
        if isinstance(node, Jump):
            if divergent and node.kind is not JumpKind.RETURN:
                found |= {node.kind}
        elif isinstance(node, Branch):
            inner = divergent or not state.agreed(node)
            below = _divergent_jumps(node.then, state, inner) | _divergent_jumps(node.otherwise, state, inner)
            found |= below
            divergent = divergent or bool(below)
    return found


def _divergent_return(items: Iterable[Node], state: _Divergence, divergent: bool) -> Row | None:
    """Line of a ``return`` below that only some threads take."""
    for node in items:
        if isinstance(node, Jump) and divergent and node.kind is JumpKind.RETURN:
            return node.line
        found: Row | None = None
        if isinstance(node, Branch):
            inner = divergent or not state.agreed(node)
            found = _divergent_return(node.then, state, inner) or _divergent_return(
                node.otherwise, state, inner
            )
            divergent = divergent or bool(_divergent_jumps((node,), state, divergent))
        elif isinstance(node, Loop):
            inner = divergent or not _settled(node, state)
            found = _divergent_return(node.body, state, inner)
        if found is not None:
            return found
    return None


def _settled(node: Loop, state: _Divergence) -> bool:
    """Do all threads that start the loop end it in the same iteration?"""
    return not _left_by_some(node, state) and _ends_alike(node, state)


def _left_by_some(node: Loop, state: _Divergence) -> bool:
    """Do only some threads ``break`` out of the loop?"""
    return JumpKind.BREAK in _divergent_jumps(node.body, state, False)


def _ends_alike(node: Loop, state: _Divergence) -> bool:
    """Is the condition of the loop uniform in every iteration?"""
    facts = state.levels.values.loops.get(node.point)
    if facts is None:
        return False
    return node.point in state.taken or all(map(state.levels.uniform, (facts.first, facts.head, facts.again)))
