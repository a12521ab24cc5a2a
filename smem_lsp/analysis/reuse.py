"""Which buffers may share bytes, and what keeps the others apart.

An access stays *open* until a proved barrier; two accesses of different buffers that are open together, one
of them a write, need a barrier between them or own slots. The walk follows every path: a barrier in a
uniform branch clears only that path, a loop that may not run leaves the path round it open, and a back edge
carries open accesses into the next turn.

The tree is first boiled down to the few events that matter, and sets of open accesses are bit masks (bit i
is the i-th access): the walk is run again for every set of barriers that the curve tries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from math import gcd
from typing import NamedTuple

from smem_lsp.analysis.conflicts import Conflicts, pair
from smem_lsp.analysis.facts import Facts, Slot
from smem_lsp.analysis.liveness import Liveness, bits, liveness
from smem_lsp.analysis.outline import Stretch, outline
from smem_lsp.ir.model import Access, Barrier, Branch, Jump, Loop, Place, Seq, walk
from smem_lsp.source import record

Graph = tuple[frozenset[frozenset[int]], frozenset[frozenset[int]]]


def conflicts(
    body: Seq, facts: Facts, fixed: frozenset[int], added: frozenset[int] = frozenset()
) -> Conflicts:
    """All pairs that may not share, with ``added`` (Place points) taken as proved barriers.

    ``fixed``: buffers that never share, to which the ones read before any write are added: they are ``hard``
    against all others (reference: reuse of shared memory, 1.3 and 2).
    """
    return relate(survey(body, facts, fixed), added)


def own_slots(a: Slot, b: Slot) -> bool:
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
class Survey:
    """What no added barrier changes: hard pairs, and the tree ready for the walk of open accesses."""

    outline: Seq
    liveness: Liveness
    hard: frozenset[frozenset[int]]
    accesses: tuple[Access, ...]
    foes: tuple[int, ...]  # per access: accesses of other buffers, one of the two being a write
    owned: list[int | None]  # per access: accesses in own slots with it; None: not asked yet
    slots: tuple[Slot | None, ...]  # equal ones are one object
    apart: dict[tuple[int, int], bool] = field(default_factory=dict)  # two slots (id) -> are they own slots?
    of_buffer: dict[int, int] = field(default_factory=dict)  # buffer -> its accesses
    steps: tuple[_Step, ...] = ()

    @property
    def length(self) -> int:
        """Events of one walk, loops once: what a walk costs."""
        return _length(self.steps)


def survey(body: Seq, facts: Facts, fixed: frozenset[int]) -> Survey:
    """Everything about ``body`` that holds for any set of added barriers."""
    body = outline(body, facts)
    lives = liveness(body, facts)
    accesses = tuple(node for node in walk(body) if isinstance(node, Access))
    of_buffer: dict[int, int] = {}
    writers = 0
    for index, access in enumerate(accesses):
        of_buffer[access.buffer] = of_buffer.get(access.buffer, 0) | 1 << index
        writers |= access.kind.writes << index
    every = (1 << len(accesses)) - 1
    foes = tuple(
        (every if access.kind.writes else writers) & ~of_buffer[access.buffer] for access in accesses
    )
    known = frozenset(of_buffer) | fixed
    alone = fixed | lives.reads_before_write
    hard = frozenset(lives.overwrites) | {pair(a, b) for a in alone for b in known if a != b}
    index_of = {access.point: index for index, access in enumerate(accesses)}
    slots: dict[Slot, Slot] = {}
    for access in accesses:
        if access.point in facts.slots:
            slots.setdefault(facts.slots[access.point], facts.slots[access.point])
    found = (facts.slots.get(access.point) for access in accesses)
    return Survey(
        outline=body,
        liveness=lives,
        hard=hard,
        accesses=accesses,
        foes=foes,
        owned=[None] * len(accesses),
        slots=tuple(None if slot is None else slots[slot] for slot in found),
        of_buffer=of_buffer,
        steps=_steps(body, facts, index_of)[0] if len(known) > 1 else (),
    )


def relate(found: Survey, added: frozenset[int] = frozenset()) -> Conflicts:
    """The conflicts with ``added`` barriers, witnesses included."""
    soft: dict[frozenset[int], set[tuple[int, int]]] = {}
    equal: set[frozenset[int]] = set()
    for later, (blocking, owned) in _open_pairs(found, added):
        to = found.accesses[later]
        for index in bits(blocking):
            earlier = found.accesses[index]
            soft.setdefault(pair(earlier.buffer, to.buffer), set()).add((earlier.point, to.point))
        for index in bits(owned):
            equal.add(pair(found.accesses[index].buffer, to.buffer))
    witnesses = {key: frozenset(points) for key, points in soft.items() if key not in found.hard}
    return Conflicts(found.hard, witnesses, frozenset(equal - witnesses.keys() - found.hard))


def graph(found: Survey, added: frozenset[int]) -> Graph:
    """Only the soft and equal pairs of ``relate``: cheap enough to try thousands of sets of barriers."""
    blocking = dict.fromkeys(found.of_buffer, 0)
    owned = dict.fromkeys(found.of_buffer, 0)
    for later, (needs, own) in _open_pairs(found, added):
        buffer = found.accesses[later].buffer
        blocking[buffer] |= needs
        owned[buffer] |= own
    soft = _pairs(found, blocking) - found.hard
    return soft, _pairs(found, owned) - soft - found.hard


def _pairs(found: Survey, met: dict[int, int]) -> frozenset[frozenset[int]]:
    return frozenset(
        pair(other, buffer)
        for buffer, mask in met.items()
        if mask
        for other, accesses in found.of_buffer.items()
        if mask & accesses
    )


def open_foes(body: Seq, facts: Facts, accesses: Sequence[Access], foes: Sequence[int]) -> list[int]:
    """Per access, those of its ``foes`` (bit i: the i-th of ``accesses``) that come before it, or beside it in the
    other arm of a divergent branch, with no proved barrier between."""
    index_of = {access.point: index for index, access in enumerate(accesses)}
    hits = [0] * len(accesses)
    _walk(_steps(body, facts, index_of)[0], 0, 0, _Walk(tuple(foes), frozenset(), hits))
    return hits


def ordered_foes(
    body: Seq, facts: Facts, accesses: Sequence[Access], foes: Sequence[int], barrier: int
) -> list[int]:
    """Per access, those of its ``foes`` from which some path leads to it through the barrier at that point and through
    no other proved one."""
    index_of = {access.point: index for index, access in enumerate(accesses)}
    count = len(accesses)
    hits = [0] * count
    beyond = tuple(mask << count for mask in foes)
    run = _Walk(beyond, frozenset(), hits, barrier, count)
    _walk(_steps(body, facts, index_of)[0], 0, 0, run)
    return [mask >> count for mask in hits]


class _Step(NamedTuple):
    """One event. ``kind`` says which fields count."""

    kind: int
    number: int = 0  # access: its index; barrier: its point; jump: 0 return, 1 break, 2 continue
    first: tuple[_Step, ...] = ()  # then arm, loop body
    second: tuple[_Step, ...] = ()  # other arm
    uniform: bool = False
    skipped: bool = False  # loop: some thread may leave before the first turn
    in_first: int = 0  # divergent branch: accesses of each arm
    in_second: int = 0
    places: tuple[int, ...] = ()


_ACCESS, _PLACE, _BARRIER, _BRANCH, _LOOP, _JUMP = range(6)
_JUMPS = {"return": 0, "break": 1, "continue": 2}


def _steps(seq: Seq, facts: Facts, index_of: dict[int, int]) -> tuple[tuple[_Step, ...], int]:
    """The events of ``seq``, and the accesses among them."""
    out: list[_Step] = []
    met = 0
    for node in seq.items:
        if isinstance(node, Place):
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
            met |= in_then | in_other
            uniform = node.point in facts.uniform
            masks = (0, 0) if uniform else (in_then, in_other)
            out.append(_Step(_BRANCH, 0, then, other, uniform, False, *masks))
        elif isinstance(node, Loop):
            skipped = node.min_trip == 0 or node.point not in facts.uniform
            body, inside = _steps(node.body, facts, index_of)
            met |= inside
            out.append(_Step(_LOOP, 0, body, skipped=skipped))
        elif isinstance(node, Jump):
            out.append(_Step(_JUMP, _JUMPS.get(node.kind, 0), uniform=node.point in facts.uniform))
    return tuple(out), met


def _length(steps: tuple[_Step, ...]) -> int:
    return sum(1 + _length(step.first) + _length(step.second) for step in steps)


@record
class _Walk:
    foes: tuple[int, ...]
    added: frozenset[int]
    hits: list[int]  # per access: the foes open when it runs
    through: int = -1  # barrier that lets accesses pass, as bits that many places further up
    count: int = 0


def _walk(steps: tuple[_Step, ...], state: int, beside: int, run: _Walk) -> tuple[int, int, int]:
    """Open accesses at the end, the breaks and the continues. ``beside``: run by other threads meanwhile."""
    breaks = continues = 0
    for step in steps:
        kind = step.kind
        if kind == _ACCESS:
            number = step.number
            run.hits[number] |= (state | beside) & run.foes[number]
            state |= 1 << number
        elif kind == _PLACE:
            if not run.added.isdisjoint(step.places):
                state = 0
        elif kind == _BARRIER:
            if step.number == run.through:  # what came through it before still has
                near = state & (1 << run.count) - 1
                state = (near | state >> run.count) << run.count
            else:
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


def _open_pairs(found: Survey, added: frozenset[int]) -> Iterable[tuple[int, tuple[int, int]]]:
    """Per access that meets open foes: those that need a barrier, and those in own slots."""
    hits = [0] * len(found.accesses)
    _walk(found.steps, 0, 0, _Walk(found.foes, added, hits))
    for later, mask in enumerate(hits):
        if mask:
            owned = mask & _owned(found, later) if found.slots[later] is not None else 0
            yield later, (mask & ~owned, owned)


def _owned(found: Survey, index: int) -> int:
    known = found.owned[index]
    if known is not None:
        return known
    mine = found.slots[index]
    mask = 0
    if mine is not None:
        for other in bits(found.foes[index]):
            slot = found.slots[other]
            if slot is None:
                continue
            key = (id(slot), id(mine))
            if key not in found.apart:
                found.apart[key] = own_slots(slot, mine)
            mask |= found.apart[key] << other
    found.owned[index] = mask
    return mask
