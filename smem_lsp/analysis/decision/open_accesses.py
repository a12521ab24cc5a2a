"""Open accesses of a kernel, each set beside the way on which it is open."""

from __future__ import annotations

from smem_lsp.analysis.decision.path_classes import InIteration, Mark, NotTaken, PathClass

_MOST_WAYS = 64  # kept apart at one point; beyond, what was not taken is forgotten
_MOST_NOT_TAKEN = 3  # decisions that one way remembers
MOST_TURNS = 8  # of a loop that are counted meanwhile

State = dict[PathClass, int]  # open accesses, as bits


def before_back_edge(decisions: frozenset[Mark]) -> frozenset[Mark]:
    """The same once the back edge is crossed: they belong to the iteration before."""
    return frozenset(NotTaken(d.point, d.arm, True) if isinstance(d, NotTaken) else d for d in decisions)


def in_flight(state: State) -> State:
    return {way: open_ for way, open_ in state.items() if way.flight is not None}


def with_mark(way: PathClass, mark: Mark) -> PathClass:
    tells_iteration = way.flight is not None and isinstance(mark, InIteration)
    if (len(way.decisions) >= _MOST_NOT_TAKEN and not tells_iteration) or way.several:
        return way
    return way._replace(decisions=way.decisions | {mark})


def one_iteration_on(way: PathClass, loop: int) -> PathClass:
    """The same in the next iteration of a loop that was entered on the way. It is known of copies in flight."""
    for mark in way.decisions:
        if isinstance(mark, InIteration) and mark.point == loop and not mark.before:
            kept = way.decisions - {mark}
            if way.flight is not None and mark.number < MOST_TURNS:
                kept |= {InIteration(loop, mark.number + 1)}
            return way._replace(decisions=kept)
    return way


def marked(state: State, mark: Mark) -> State:
    found: State = {}
    for way, open_ in state.items():
        add(found, with_mark(way, mark), open_)
    return bounded(found)


def ending(end: State, mark: Mark, mine: int) -> State:
    """At the end of an iteration of a loop: what it has opened itself is marked. ``mine``: accesses of the loop."""
    found: State = {}
    for way, open_ in end.items():
        if way.crossed is None:
            add(found, with_mark(way, mark), open_ & mine)
            add(found, way, open_ & ~mine)
        else:
            add(found, way, open_)
    return bounded(found)


def add(state: State, way: PathClass, open_: int) -> None:
    if open_:
        state[way] = state.get(way, 0) | open_


def with_access(state: State, way: PathClass, bit: int) -> State:
    return state if not bit else {**state, way: state.get(way, 0) | bit}


def joined(one: State, other: State) -> State:
    if not other or one is other:
        return one
    found = dict(one)
    for way, open_ in other.items():
        add(found, way, open_)
    return bounded(found)


def bounded(state: State) -> State:
    """A way with decisions needs no mention where the same accesses come along without; and not too many."""
    if len(state) == 1 or not any(way.decisions for way in state):
        return state  # the others are one for each loop
    found: State = {}
    for way, open_ in state.items():
        plain = state.get(way._replace(decisions=frozenset()), 0) if way.decisions else 0
        add(found, way, open_ & ~plain)
    if len(found) <= _MOST_WAYS:
        return found
    return without_decisions(found)


def without_decisions(state: State) -> State:
    """The same without what was decided on the way."""
    found: State = {}
    for way, open_ in state.items():
        add(found, way._replace(decisions=frozenset()), open_)
    return found
