"""What values rest on that threads load and compute with, in ways that are not followed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from enum import Flag

from smem_lsp.analysis.threads.uniformity import Levels
from smem_lsp.analysis.values.terms import LoopVar, Op, Opaque, Term, Thread
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_MOST = 200  # terms that are gone through


@dataclass(slots=True)
class Inputs:
    """``terms``: what is followed and differs between threads, of all that the value rests on; ``loaded``: some of it
    is loaded; ``turning``: a loop has a part in it; ``complete``: all of it is known, and no other thread has a hand in
    it; ``placed``: it is known of all that is loaded whether two threads load it from one place."""

    terms: list[Term] = field(default_factory=list)
    loaded: bool = False
    turning: bool = False
    complete: bool = True
    placed: bool = True


def inputs_of(
    value: Term, values: ValueFacts, levels: Levels, updates: Collection[int] = frozenset()
) -> Inputs:
    """Of a value that is not followed: through loads, arithmetic, functions and loops. Two threads with the same
    ``terms`` have the same value, as long as nobody writes what they load. ``updates``: accesses (points) whose results
    other threads have a hand in."""
    found = Inputs()
    moves = {each.atom: each for loop in values.loops.values() for each in loop.recurrences}
    stack, seen = [value], set[Term]()
    while stack:
        checkpoint()
        term = stack.pop()
        if term in seen or levels.uniform(term):
            continue
        seen.add(term)
        if len(seen) > _MOST:
            found.complete = False
            return found
        if term.known and not term.carried:
            found.terms.append(term)
        elif isinstance(term, LoopVar) and term in moves:
            loop = values.loops[term.loop]
            found.turning = True
            stack += (moves[term].init, moves[term].next, loop.first, loop.again, *loop.exits)
        elif isinstance(term, Opaque) and term.origin == "load":
            address = None if term.access is None else values.address(term.access)
            found.loaded = True
            alone = bool(term.sources or address) and term.access not in updates
            found.complete = found.complete and alone
            place = term.sources or address or ()
            found.placed = found.placed and not any(
                made_of(each, values, levels, updates) is Made.UNKNOWN for each in place
            )
            stack += place
        elif isinstance(term, Opaque) and term.origin in ("lost", "exit") and term.sources:
            stack += term.sources
        elif isinstance(term, Op) and _is_computed(term.operator):
            stack += term.args
        else:
            found.complete = False
    return found


class Made(Flag):
    """What a value that differs between threads is made of, as far as nothing is loaded."""

    OF_DATA = 0  # of no more than what is loaded, and of what the block agrees on
    BY_NUMBER = 1  # the number of the thread has a part in it
    UNKNOWN = 2  # something that is not followed has
    EXCHANGED = 4  # lanes of a warp exchange something, and may have the same then


def made_of(value: Term, values: ValueFacts, levels: Levels, updates: Collection[int] = frozenset()) -> Made:
    """``updates``: as in ``inputs_of``; what is found in a counter tells threads from each other as numbers do."""
    found = Made.OF_DATA
    moves = {each.atom: each for loop in values.loops.values() for each in loop.recurrences}
    stack, seen = [value], set[Term]()
    while stack:
        checkpoint()
        term = stack.pop()
        if term in seen or levels.uniform(term):
            continue
        seen.add(term)
        if len(seen) > _MOST or isinstance(term, Thread):
            found |= Made.BY_NUMBER
        elif isinstance(term, LoopVar) and term in moves:
            loop = values.loops[term.loop]
            stack += (moves[term].init, moves[term].next, loop.first, loop.again, *loop.exits)
        elif isinstance(term, Opaque) and term.origin == "load":
            found |= Made.BY_NUMBER if term.access in updates else Made.OF_DATA
        elif isinstance(term, Op):
            found |= Made.EXCHANGED if term.operator.endswith("_sync()") else Made.OF_DATA
            stack += term.args
        elif isinstance(term, Opaque) and term.sources:
            stack += term.sources
        else:
            found |= Made.UNKNOWN
        if Made.BY_NUMBER in found:
            break
    return found


def _is_computed(operator: str) -> bool:
    """Does it look at its operands only?"""
    called = operator.endswith("()") and not operator.endswith("_sync()")
    return called or operator in _COMPUTED or operator.startswith(".")


_COMPUTED = frozenset("+ - * / % & | ^ << >> < <= > >= == != && || neg ! ~ ?: min max".split())
