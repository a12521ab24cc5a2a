"""Which buffers may share bytes, and why the others may not.

An access stays *open* until a proved barrier; two accesses of different buffers that are open together, one
of them a write, need a barrier between them or own slots. The walk follows every path: a barrier in a
uniform branch clears only that path, a loop that may not run leaves the path round it open, and a back edge
carries open accesses into the next iteration.

The tree is first reduced to the few events that matter, and sets of open accesses are bit masks, because the walk runs
again for every set of barriers that is tried. The accesses of a buffer are adjacent bits, and the bit above them stands
for the buffer: one addition finds the buffers of any set of accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from math import gcd
from typing import NamedTuple

from smem_lsp.analysis.dataflow.conflicts import Conflicts, Pairs, pair
from smem_lsp.analysis.dataflow.facts import Facts, Footprint
from smem_lsp.analysis.dataflow.liveness import Liveness, liveness
from smem_lsp.analysis.dataflow.masks import bits, gathered, mask_of
from smem_lsp.analysis.dataflow.proxy_order import fills_beside, unfenced
from smem_lsp.analysis.dataflow.skeleton import Stretch, outline
from smem_lsp.ir.nodes import Access, Barrier, BarrierSite, Branch, Jump, JumpKind, Loop, Seq, walk
from smem_lsp.source import checkpoint, record

Graph = tuple[
    tuple[int, ...], tuple[int, ...]
]  # per buffer those it needs a barrier from, those in own slots


def conflicts(
    body: Seq, facts: Facts, fixed: frozenset[int], added: frozenset[int] = frozenset()
) -> Conflicts:
    """All pairs that may not share, with ``added`` (Place points) taken as proved barriers.

    ``fixed``: buffers that never share, to which the ones read before any write are added: they are ``hard``
    against all others.
    """
    return relate(interference(body, facts, fixed), added)


def own_slots(a: Footprint, b: Footprint) -> bool:
    """True when no thread touches an element of another: elements of one size, different ones for t != u.

    Such a pair may share bytes without a barrier, if both buffers start at the same offset.
    """
    if a.element_bytes != b.element_bytes or len(a.starts) != len(b.starts):
        return False
    step = gcd(a.stride, b.stride)
    owner: dict[int, int] = {}
    for thread, start in enumerate(b.starts):
        residue = start % step if step else start
        owner[residue] = -1 if residue in owner else thread
    return all(
        owner.get(start % step if step else start, thread) == thread for thread, start in enumerate(a.starts)
    )


@record
class Interference:
    """The results that added barriers do not change: hard pairs, and the tree prepared for the walk."""

    outline: Seq
    facts: Facts
    liveness: Liveness
    hard: Pairs
    accesses: Mapping[int, Access]  # by its bit, in the order of the text
    fields: Mapping[int, int]  # buffer -> the bits of its accesses
    interfering: Mapping[int, int]  # bit -> accesses of other buffers, one of the two being a write
    slots: Mapping[int, Footprint | None]  # by bit; equal ones are one object
    alike: Sequence[tuple[Footprint, int]]  # each of these once, with the bits of its accesses
    steps: tuple[_Step, ...]
    # bit -> accesses about which is known whether they are in own slots with it, and those of them that are
    owned: dict[int, tuple[int, int]] = field(default_factory=dict)
    apart: dict[tuple[int, int], bool] = field(default_factory=dict)  # two slots (id) -> are they own slots?
    related: dict[frozenset[int], Conflicts] = field(default_factory=dict)  # by the barriers that are added

    @property
    def length(self) -> int:
        """Events of one walk, loops once: what a walk costs."""
        return _length(self.steps)

    def buffers(self, masks: Iterable[int]) -> Pairs:
        """Each of ``fields`` with the buffers whose own bits are in its mask."""
        own = {buffer: accesses.bit_length() for buffer, accesses in self.fields.items()}
        none = 1 + max(own.values(), default=0)
        at = [own.get(buffer, none) for buffer in range(1 + max(own, default=0))]
        return Pairs.of_rows(dict(zip(own, gathered(tuple(masks), at))))


def interference(
    body: Seq, facts: Facts, fixed: frozenset[int], like: Interference | None = None
) -> Interference:
    """Everything about ``body`` that holds for any set of added barriers. ``like``: the result for ``body`` under other
    facts, whose unchanged parts are reused."""
    known = like.facts if like is not None else None
    if like is None or (facts.barriers, facts.uniform, facts.places) != (
        like.facts.barriers,
        like.facts.uniform,
        like.facts.places,
    ):
        like = known = None
    made = _drawn(outline(body, facts), facts) if like is None else (
        like.outline, like.accesses, like.fields, like.interfering, like.steps
    )  # fmt: skip
    tree, accesses, fields, interfering, steps = made
    if (
        like is not None
        and known is not None
        and (facts.full, facts.covering) == (known.full, known.covering)
    ):
        lives = like.liveness
    else:
        lives = liveness(tree, facts)
    alone = mask_of(fixed | lives.reads_before_write)
    hard = lives.apart | Pairs.between(alone, mask_of(fields) | mask_of(fixed))
    if any(fills_beside(access) for access in accesses.values()):
        hard |= Pairs(unfenced(body))
    alike: dict[Footprint, tuple[Footprint, int]] = {}
    slots: dict[int, Footprint | None] = {}
    for bit, access in accesses.items():
        slot = facts.slots.get(access.point)
        if slot is not None:
            slot, mask = alike.get(slot, (slot, 0))
            alike[slot] = slot, mask | 1 << bit
        slots[bit] = slot
    return Interference(
        tree, facts, lives, hard, accesses, fields, interfering, slots, tuple(alike.values()), steps
    )


def _drawn(
    tree: Seq, facts: Facts
) -> tuple[Seq, dict[int, Access], dict[int, int], dict[int, int], tuple[_Step, ...]]:
    """An outline, its accesses by bit, the bits of each buffer, what interferes with each access, and its events."""
    inside = [node for node in walk(tree) if isinstance(node, Access)]
    counts: dict[int, int] = {}
    for access in inside:
        counts[access.buffer] = counts.get(access.buffer, 0) + 1
    fields: dict[int, int] = {}
    following: dict[int, int] = {}
    low = 0
    for buffer, count in counts.items():
        fields[buffer] = (1 << count) - 1 << low
        following[buffer] = low
        low += count + 1
    accesses: dict[int, Access] = {}
    every = writers = 0
    for access in inside:
        bit = following[access.buffer]
        following[access.buffer] += 1
        accesses[bit] = access
        every |= 1 << bit
        writers |= access.kind.writes << bit
    interfering = {
        bit: (every if access.kind.writes else writers) & ~fields[access.buffer]
        for bit, access in accesses.items()
    }
    index_of = {access.point: bit for bit, access in accesses.items()}
    steps = _steps(tree, facts, index_of)[0] if len(fields) > 1 else ()
    return tree, accesses, fields, interfering, steps


def relate(found: Interference, added: frozenset[int] = frozenset()) -> Conflicts:
    """The conflicts with ``added`` barriers."""
    if added not in found.related:
        soft, equal = pairs_of(found, graph(found, added))
        found.related[added] = Conflicts(found.hard, soft, equal)
    return found.related[added]


def graph(found: Interference, added: frozenset[int]) -> Graph:
    """The soft and equal pairs of ``relate``, the hard ones among them: cheap enough to try thousands of sets of
    barriers."""
    blocking = dict.fromkeys(found.fields, 0)
    owned = dict.fromkeys(found.fields, 0)
    for later, (needs, own) in _open_pairs(found, added):
        buffer = found.accesses[later].buffer
        blocking[buffer] |= needs
        owned[buffer] |= own
    fill = guards = 0
    for mask in found.fields.values():
        fill |= mask
        guards |= 1 << mask.bit_length()
    return (
        tuple(met + fill & guards if met else 0 for met in blocking.values()),
        tuple(met + fill & guards if met else 0 for met in owned.values()),
    )


def pairs_of(found: Interference, edges: Graph) -> tuple[Pairs, Pairs]:
    """The soft pairs, and those that may only start at the same offset."""
    soft, equal = (found.buffers(masks) - found.hard for masks in edges)
    return soft, equal - soft


def witnesses(
    found: Interference, added: frozenset[int] = frozenset(), most: int | None = None
) -> Iterator[tuple[Access, Access]]:
    """(open access, later access) for each two accesses of a soft pair that no proved barrier separates. ``most``:
    bound per later access."""
    for later, (needs, _) in _open_pairs(found, added):
        checkpoint()
        to = found.accesses[later]
        for bit in islice(bits(needs), most):
            earlier = found.accesses[bit]
            if pair(earlier.buffer, to.buffer) not in found.hard:
                yield earlier, to


def open_interfering(
    body: Seq, facts: Facts, accesses: Sequence[Access], interfering: Sequence[int]
) -> list[int]:
    """Per access, those of its ``interfering`` (bit i: the i-th of ``accesses``) that come before it, or beside it in
    the other arm of a divergent branch, with no proved barrier between."""
    index_of = {access.point: index for index, access in enumerate(accesses)}
    hits = dict.fromkeys(range(len(accesses)), 0)
    _walk(
        _steps(body, facts, index_of)[0], 0, 0, _IntervalWalk(dict(enumerate(interfering)), frozenset(), hits)
    )
    return list(hits.values())


@record
class Paths:
    """The events on the paths of a kernel, worked out once for questions about several of its barriers. ``count``: of
    its accesses; ``at``: which of ``steps`` a barrier (point) stands in; ``loops``: the innermost loop around it, if
    there is one."""

    steps: tuple[_Step, ...]
    count: int
    at: Mapping[int, int]
    loops: Mapping[int, _Step]


def paths_of(body: Seq, facts: Facts, accesses: Sequence[Access]) -> Paths:
    """The paths on which ``accesses`` meet proved barriers."""
    index_of = {access.point: index for index, access in enumerate(accesses)}
    steps = _steps(body, facts, index_of)[0]
    at = {point: number for number, step in enumerate(steps) for point in _numbers((step,), _BARRIER)}
    return Paths(steps, len(accesses), at, dict(_loops_around(steps, None)))


def ordered_interfering(
    paths: Paths,
    interfering: Sequence[int],
    barrier: int,
    removed: frozenset[int] = frozenset(),
    *,
    near: bool = False,
) -> dict[int, int]:
    """Per access, in their order, those of its ``interfering`` from which a path through the barrier at point
    ``barrier``, and through no other proved one that is not ``removed``, leads to it; not those without any. ``near``:
    only on paths that do not leave the innermost loop around it."""
    count = paths.count
    steps = _inside(paths, barrier) if near else _around(paths, barrier, removed)
    hits = dict.fromkeys(sorted(_numbers(steps, _ACCESS)), 0)
    beyond = {index: interfering[index] << count for index in hits}
    _walk(steps, 0, 0, _IntervalWalk(beyond, frozenset(), hits, barrier, count, removed))
    return {index: mask >> count for index, mask in hits.items() if mask}


def _inside(paths: Paths, barrier: int) -> tuple[_Step, ...]:
    loop = paths.loops.get(barrier)
    return () if loop is None else (loop,)


def _around(paths: Paths, barrier: int, removed: frozenset[int]) -> tuple[_Step, ...]:
    """What runs from the last barrier that every path in front of ``barrier`` comes through to the first one behind
    it: nothing else leads through ``barrier`` alone."""
    at, steps = paths.at.get(barrier), paths.steps
    if at is None:
        return ()

    def is_end(step: _Step) -> bool:
        return step.kind == _BARRIER and step.number != barrier and step.number not in removed

    first = next((number + 1 for number in range(at - 1, -1, -1) if is_end(steps[number])), 0)
    end = next((number for number in range(at + 1, len(steps)) if is_end(steps[number])), len(steps))
    return steps[first:end]


def _loops_around(steps: Sequence[_Step], loop: _Step | None) -> Iterator[tuple[int, _Step]]:
    """The barriers in ``steps``, each with the innermost loop around it; those without one are left out."""
    for step in steps:
        if step.kind == _BARRIER and loop is not None:
            yield step.number, loop
        inner = step if step.kind == _LOOP else loop
        yield from _loops_around(step.first, inner)
        yield from _loops_around(step.second, inner)


def _numbers(steps: Sequence[_Step], kind: int) -> Iterator[int]:
    """Of the steps of a kind in ``steps``, however deep."""
    for step in steps:
        if step.kind == kind:
            yield step.number
        yield from _numbers(step.first, kind)
        yield from _numbers(step.second, kind)


class _Step(NamedTuple):
    """One event. ``kind`` says which fields count."""

    kind: int
    number: int = 0  # access: its index; barrier: its point; jump: 0 return, 1 break, 2 continue
    first: tuple[_Step, ...] = ()  # then arm, loop body
    second: tuple[_Step, ...] = ()  # other arm
    uniform: bool = False
    skipped: bool = False  # loop: some thread may leave before the first iteration
    in_first: int = 0  # divergent branch: accesses of each arm
    in_second: int = 0
    places: tuple[int, ...] = ()


_ACCESS, _PLACE, _BARRIER, _BRANCH, _LOOP, _JUMP = range(6)
_JUMPS = {JumpKind.RETURN: 0, JumpKind.BREAK: 1, JumpKind.CONTINUE: 2}


def _steps(seq: Seq, facts: Facts, index_of: dict[int, int]) -> tuple[tuple[_Step, ...], int]:
    """The events of ``seq``, and the accesses among them."""
    out: list[_Step] = []
    met = 0
    for node in seq.items:
        checkpoint()
        if isinstance(node, BarrierSite):
            places = node.places if isinstance(node, Stretch) else (node.point,)
            if places:
                out.append(_Step(_PLACE, places=places))
        elif isinstance(node, Access):
            if node.point in index_of:
                met |= 1 << index_of[node.point]
                out.append(_Step(_ACCESS, index_of[node.point]))
        elif isinstance(node, Barrier):
            if node.point in facts.barriers:
                out.append(_Step(_BARRIER, node.point))
        elif isinstance(node, Branch):
            then, in_then = _steps(node.then, facts, index_of)
            other, in_other = _steps(node.otherwise, facts, index_of)
            if not then and not other:
                continue
            met |= in_then | in_other
            uniform = node.point in facts.uniform
            masks = (0, 0) if uniform else (in_then, in_other)
            out.append(_Step(_BRANCH, 0, then, other, uniform, False, *masks))
        elif isinstance(node, Loop):
            skipped = node.min_trip == 0 or node.point not in facts.uniform
            body, inside = _steps(node.body, facts, index_of)
            met |= inside
            if body:
                out.append(_Step(_LOOP, 0, body, skipped=skipped))
        elif isinstance(node, Jump):
            out.append(_Step(_JUMP, _JUMPS[node.kind], uniform=node.point in facts.uniform))
    return tuple(out), met


def _length(steps: tuple[_Step, ...]) -> int:
    return sum(1 + _length(step.first) + _length(step.second) for step in steps)


@record
class _IntervalWalk:
    interfering: Mapping[int, int]
    added: frozenset[int]
    hits: dict[int, int]  # per access: the interfering accesses that are open when it runs
    through: int = -1  # barrier that lets accesses pass, as bits that many places further up
    count: int = 0
    removed: frozenset[int] = frozenset()  # barriers that do not count


def _walk(steps: tuple[_Step, ...], state: int, beside: int, run: _IntervalWalk) -> tuple[int, int, int]:
    """Open accesses at the end, the breaks and the continues. ``beside``: run by other threads meanwhile."""
    breaks = continues = 0
    for step in steps:
        checkpoint()
        kind = step.kind
        if kind == _ACCESS:
            number = step.number
            run.hits[number] |= (state | beside) & run.interfering[number]
            state |= 1 << number
        elif kind == _PLACE:
            if not run.added.isdisjoint(step.places):
                state = 0
        elif kind == _BARRIER:
            if step.number == run.through:  # what came through it before still has
                near = state & (1 << run.count) - 1
                state = (near | state >> run.count) << run.count
            elif step.number not in run.removed:
                state = 0
        elif kind == _BRANCH:
            # Arms of a divergent branch run at once, so each meets all of the other; a thread may skip
            # either.
            then = _walk(step.first, state, beside | step.in_second, run)
            other = _walk(step.second, state, beside | step.in_first, run)
            state = (0 if step.uniform else state) | then[0] | other[0]
            breaks |= then[1] | other[1]
            continues |= then[2] | other[2]
        elif kind == _LOOP:
            leaves = state if step.skipped else 0
            while True:
                end, left, again = _walk(step.first, state, beside, run)
                around = state | end | again
                if around == state:
                    break
                state = around
            state = leaves | end | left | again
        else:
            if step.number == 1:
                breaks |= state
            elif step.number == 2:
                continues |= state
            # Where only some threads jump, the others go on with everything still open.
            if step.uniform:
                state = 0
    return state, breaks, continues


def _open_pairs(found: Interference, added: frozenset[int]) -> Iterable[tuple[int, tuple[int, int]]]:
    """Per access that meets open accesses that interfere: those that need a barrier, and those in own slots."""
    hits = dict.fromkeys(found.accesses, 0)
    _walk(found.steps, 0, 0, _IntervalWalk(found.interfering, added, hits))
    for later, mask in hits.items():
        if mask:
            owned = _owned(found, later, mask)
            yield later, (mask & ~owned, owned)


def _owned(found: Interference, bit: int, asked: int) -> int:
    """Those of ``asked`` that touch, as ``bit`` does, only what belongs to one thread."""
    known, owned = found.owned.get(bit, (0, 0))
    mine = found.slots[bit]
    if mine is not None and asked & ~known:
        for slot, accesses in found.alike:
            if asked & ~known & accesses:
                key = (id(slot), id(mine))
                if key not in found.apart:
                    found.apart[key] = own_slots(slot, mine)
                known |= accesses
                owned |= accesses if found.apart[key] else 0
        found.owned[bit] = known | asked, owned
    return asked & owned
