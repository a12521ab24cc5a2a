"""Loops that may wait for another thread to change shared memory: a flag, a lock, a counter.

A loop that counts up to a number it reads does not wait, nor one that reads another element in every iteration, of a
ring buffer, too, or goes on to another one with an atomic operation, as where a key is put into a hash table; nor one
that tries again with what it has found, nor one that works its way to an end, whatever else ends it earlier: an error
of another thread, say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from smem_lsp.analysis.values.value_facts import LoopFacts, Recurrence, ValueFacts
from smem_lsp.ir.nodes import Access, AccessKind, GlobalAccess, Loop, walk
from smem_lsp.source import checkpoint, record
from smem_lsp.terms.language import Const, Level, LoopVar, Op, OpaqueTerm, Term, operands_of, parts_of

_COMPARISONS = frozenset(("<", "<=", ">", ">=", "!="))


def waits(node: Loop, values: ValueFacts, kept: Collection[int] = ()) -> bool:
    """May one thread after the other leave it, each when another has done something? ``kept``: atomic operations
    (points) on places that nobody gives back: a loop that goes on to another one does not wait for one."""
    facts = values.loops.get(node.point)
    if facts is None or facts.once or _works(node, facts):
        return False
    return may_wait(node, values, kept) or may_poll(node, values, kept)


def only_waits(node: Loop, values: ValueFacts) -> bool:
    """Does nothing change in it but what others do, so that one thread after the other leaves it, as at a lock?"""
    facts = values.loops.get(node.point)
    return facts is not None and not facts.recurrences and waits(node, values)


def may_wait(node: Loop, values: ValueFacts, kept: Collection[int] = ()) -> bool:
    """May it run until another thread has written something? ``kept``: as in ``waits``."""
    facts = values.loops[node.point]
    counters = _counters(facts)
    deciding = [term for term in _ends(facts) if not _counts(term, counters)]
    if all(term.known for term in deciding):
        return False  # nothing is read
    inside = {each.point: each.kind for each in walk(node.body) if isinstance(each, Access)}
    for access in _loads(deciding) & inside.keys():
        checkpoint()
        address = values.address(access)
        if address is None or not any(_moves(term, counters) for term in address):
            return True
    return AccessKind.UPDATE in inside.values() and _polls(facts, values, kept)


def may_poll(node: Loop, values: ValueFacts, kept: Collection[int] = ()) -> bool:
    """May it, or a loop in it, wait for what another thread does anywhere: to a lock or a flag in global memory, too?

    What decides it then rests on a call, an atomic operation, or a load that another thread's write may change. A load
    from memory that nobody writes does not, nor one that reads another element in every iteration. ``kept``: as in
    ``waits``.
    """
    inner = [each for each in walk(node.body) if isinstance(each, Loop)]
    every = (values.loops.get(each.point) for each in (node, *inner))
    return any(_polls(each, values, kept) for each in every if each is not None)


def _works(node: Loop, facts: LoopFacts) -> bool:
    """Does each iteration write something, by no atomic operation, and end the loop by what the thread itself has come
    to? What only waits, be it for so many iterations at most, writes nothing."""
    steps = {each.atom for each in facts.recurrences if _goes_on(each)}
    return any(_reaches(part, steps) for part in _parts(facts.head)) and any(
        isinstance(each, Access | GlobalAccess) and each.kind is AccessKind.WRITE for each in walk(node.body)
    )


def _goes_on(each: Recurrence) -> bool:
    """Is a variable moved on from what it was?"""
    following = each.next
    return isinstance(following, Op) and following.operator in ("+", "-") and each.atom in following.args


def _parts(condition: Term) -> Iterator[Term]:
    """All of which have to hold for a condition."""
    if isinstance(condition, Op) and condition.operator == "&&":
        for arg in condition.args:
            yield from _parts(arg)
    else:
        yield condition


def _reaches(condition: Term, steps: Collection[Term]) -> bool:
    return (
        isinstance(condition, Op)
        and condition.operator in _COMPARISONS
        and any(arg in steps for arg in condition.args)
    )


def _polls(facts: LoopFacts, values: ValueFacts, kept: Collection[int]) -> bool:
    moves = {each.atom: each for each in facts.recurrences}
    counters = _counters(facts)
    # what a variable is in front of the loop was found out once
    stack: list[Term] = [term for term in _ends(facts) if not _counts(term, counters)]
    seen: set[Term] = set()
    while stack:
        checkpoint()
        each = stack.pop()
        if each in seen or each in counters:
            continue
        seen.add(each)
        if isinstance(each, Op):
            stack += each.args
        elif isinstance(each, LoopVar):
            if each in moves:
                stack.append(moves[each].next)
        elif isinstance(each, OpaqueTerm) and each.origin != "unset":
            if each.serial <= facts.begins:
                continue  # read once, in front of the loop
            atomic = values.found.get(each)
            if atomic is not None and atomic in kept:
                address = values.address(atomic)
                if address is not None and any(_moves(term, counters) for term in address):
                    continue
            steady = each.origin == "load" and (
                each.level <= Level.BLOCK or any(_moves(source, counters) for source in each.sources)
            )
            if not steady:
                return True
            stack += each.sources
    return False


def _ends(facts: LoopFacts) -> Iterator[Term]:
    """What decides whether it goes on. Without ``if (next == at) break;``, and ``while (next != at)``: while it goes on
    ``at`` becomes another one, so it walks, down a heap say, or tries again with what it has found."""
    steps = {(each.atom, each.next) for each in facts.recurrences}
    for terms, operator in (((facts.head, facts.again), "!="), (facts.exits, "==")):
        for term in terms:
            pair = term.args if isinstance(term, Op) and term.operator == operator else ()
            if len(pair) != 2 or not ({pair, pair[::-1]} & steps):
                yield term


@record
class _Counters:
    """Variables that a loop moves by the same step in every iteration, each with the step, and what it moves ``round``,
    before and behind; what was known before it ``begins`` (number of a term) stays as it is, and so does what loops
    around it (``point``) move."""

    steps: Mapping[LoopVar, Term | None]
    round: frozenset[Term]
    begins: int
    point: int

    def __contains__(self, term: Term) -> bool:
        return term in self.steps or term in self.round


def _counters(facts: LoopFacts) -> _Counters:
    steps = {
        each.atom: each.by
        for each in facts.recurrences
        if each.kind == "affine" and not (isinstance(each.by, Const) and each.by.n == 0)
    }
    round_ = [each for each in facts.recurrences if _is_round(each)]
    moved = frozenset(term for each in round_ for term in (each.atom, each.next))
    return _Counters(steps, moved, facts.begins, facts.point)


def _is_round(moves: Recurrence) -> bool:
    """Does it go on to another of some places, and behind the last one to the first: ``(i + 1) % n``, ``(i + 1) & m``,
    ``i + 1 == n ? 0 : i + 1``?"""
    following = moves.next
    if not isinstance(following, Op):
        return False
    if following.operator in ("%", "&"):
        place, places = following.args
        if not _goes_on(Recurrence(moves.atom, moves.init, place, moves.kind)):
            return False
        assert isinstance(place, Op)
        (step, *more) = [each for each in place.args if each is not moves.atom] or [moves.atom]
        if not isinstance(places, Const):
            return not more and not isinstance(places, OpaqueTerm)
        count = places.n + (following.operator == "&")
        return not more and count > 1 and not (isinstance(step, Const) and step.n % count == 0)
    if following.operator != "?:":
        return False
    arms = following.args[1:]
    on = [_goes_on(Recurrence(moves.atom, moves.init, each, moves.kind)) for each in arms]
    return sorted(on) == [False, True] and isinstance(arms[on.index(False)], Const)


def _counts(condition: Term, counters: _Counters) -> bool:
    """Does a counter of the loop alone decide the condition?"""
    if not isinstance(condition, Op):
        return False
    if condition.operator in ("&&", "||", "!"):
        return all(_counts(arg, counters) for arg in condition.args)
    return condition.operator in _COMPARISONS and any(_moves(arg, counters) for arg in condition.args)


def _moves(term: Term, counters: _Counters) -> bool:
    """Does the term change in every iteration?"""
    if term in counters:
        return True
    if isinstance(term, Op) and len(term.args) == 2:
        moving = [_moves(arg, counters) for arg in term.args]
        still = [arg for arg, moves in zip(term.args, moving) if not moves]
        if len(still) != 1:
            return False
        (other,) = still
        if term.operator in ("+", "-"):
            return _stays(other, counters)
        if term.operator in ("&", "%") and isinstance(other, Const) and other is term.args[1]:
            return _goes_round(term.args[0], other.n + (term.operator == "&"), counters)
        return term.operator == "*" and getattr(other, "n", 1) != 0 and _stays(other, counters)
    return False


def _stays(term: Term, counters: _Counters) -> bool:
    """Is it the same in every iteration? What is not known has to be from before the loop."""
    if any(isinstance(each, LoopVar) and each.loop >= counters.point for each in term.carried):
        return False
    return all(each.serial <= counters.begins for each in parts_of(term) if isinstance(each, OpaqueTerm))


def _goes_round(term: Term, places: int, counters: _Counters) -> bool:
    """Is the next one of so many places another one, round and round: an element of a ring?"""
    step = _step(term, counters)
    return places > 0 and step is not None and step % places != 0


def _step(term: Term, counters: _Counters) -> int | None:
    """By how much a term that moves does so in each iteration; None: not known."""
    if isinstance(term, LoopVar):
        by = counters.steps.get(term)
        return by.n if isinstance(by, Const) else None
    assert isinstance(term, Op)
    (moving,) = (arg for arg in term.args if _moves(arg, counters))
    step = _step(moving, counters)
    if step is None or term.operator not in ("+", "-", "*"):
        return None
    if term.operator == "*":
        (factor,) = (arg for arg in term.args if arg is not moving)
        return step * factor.n if isinstance(factor, Const) else None
    return -step if term.operator == "-" and moving is term.args[1] else step


def _loads(terms: Collection[Term]) -> set[int]:
    """Points of the shared-memory loads in ``terms``."""
    every = parts_of(
        *terms, inside=lambda each: each.sources if isinstance(each, OpaqueTerm) else operands_of(each)
    )
    return {each.access for each in every if isinstance(each, OpaqueTerm) and each.access is not None}
