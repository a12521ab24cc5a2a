"""Conditions on each thread's own data: which threads they let through is not known, but they let some through.

Such a condition compares what threads load from addresses of their own, with each other or with a value that all
threads share. A condition that also names the thread, or depends on a call, a vote, an atomic or a value that all
threads load from one address, does not count: it may be made to let one certain thread through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TypeGuard

from smem_lsp.analysis.execution.events import Event, LoadGuard
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import (
    WHOLE_POINTS,
    Const,
    Level,
    Op,
    OpaqueTerm,
    Sym,
    Term,
    is_truth,
    parts_of,
)

_EQUALITIES = ("==", "!=")
_MOST = 40  # terms of a condition that are looked at


@dataclass(frozen=True, slots=True)
class DataGuard:
    """``mask``: by thread, 1 where the thread may pass; ``picks``: the condition may be written to let single threads
    through; ``loads``: accesses to shared memory (points) whose values it tests."""

    mask: list[int]
    picks: bool
    loads: frozenset[int]

    def guard(
        self, open_: Mapping[int, Sequence[Event]], outer: LoadGuard | None, loop: tuple[int, int] | None
    ) -> LoadGuard:
        """The guard of the accesses that stand under the condition. ``open_``: events of this interval, by storage;
        ``outer``: the guard around; ``loop``: the outermost loop around without block barriers."""
        asked: list[Event] = []
        changing: set[int] = set()
        for events in open_.values():
            checkpoint()
            latest = {each.access.point: each for each in events if each.access.point in self.loads}
            asked += latest.values()
            if any(each.access.kind.writes for each in events):
                changing.update(each.access.buffer for each in latest.values())
        made = LoadGuard(self.picks, self.loads, tuple(asked), frozenset(changing), loop)
        return made if outer is None else outer.and_also(made)


def data_guard(
    condition: Term, truth: bool, here: Evaluator, values: ValueFacts, pointers: frozenset[str]
) -> DataGuard | None:
    """``condition`` as a condition on data; None: it is none, or something else decides, too."""
    mask = [1] * len(here.threads)
    picks = False
    reader = _GuardReader(here, values, pointers)
    for part, wanted in _conjuncts(condition, truth):
        checkpoint()
        known = here.values(part)
        if known is not None:
            mask = [int(m and bool(v) == wanted) for m, v in zip(mask, known)]
        elif not reader.decides(part):
            return None
        else:
            picks = picks or _picks(part, wanted)
    return DataGuard(mask, picks, frozenset(reader.loads)) if any(mask) else None


def below_shared(
    condition: Term, truth: bool, here: Evaluator, values: ValueFacts, pointers: frozenset[str]
) -> list[int] | None:
    """By thread of ``here``: does ``condition`` let it through where a number that all threads load is large, as sizes
    are taken to be (``threadIdx.x < *count``)? None: the condition is of another form."""
    mask = [1] * len(here.threads)
    reader = _GuardReader(here, values, pointers)
    for part, wanted in _conjuncts(condition, truth):
        checkpoint()
        known = here.values(part)
        if known is not None:
            mask = [int(m and bool(v) == wanted) for m, v in zip(mask, known)]
        elif not _is_below(part, wanted, reader):
            return None
    return mask if any(mask) else None


def _is_below(condition: Term, truth: bool, reader: _GuardReader) -> bool:
    if not isinstance(condition, Op) or condition.operator not in ("<", "<=", ">", ">="):
        return False
    below = (condition.operator in ("<", "<=")) == truth
    low, high = condition.args if below else reversed(condition.args)
    known = low.known and reader.here.value(low) is not None
    return known and _grows(high) and reader.of_data(high) is False


def _grows(term: Term) -> bool:
    """Is it data, or made of data so that it grows with them?"""
    if isinstance(term, Op) and not term.known:
        data, *others = sorted(term.args, key=lambda each: each.known)
        divides = term.operator in ("/", ">>", "<<") and data is not term.args[0]
        grows = term.operator in ("+", "*", "/", ">>", "<<", "cast", *WHOLE_POINTS) and not divides
        return grows and all(_grows(each) or isinstance(each, Const) for each in (data, *others))
    return isinstance(term, OpaqueTerm)


def _conjuncts(condition: Term, truth: bool) -> list[tuple[Term, bool]]:
    """Terms, each with the truth value that it has wherever ``condition`` is ``truth``."""
    if isinstance(condition, Op):
        if condition.operator == "!":
            return _conjuncts(condition.args[0], not truth)
        if condition.operator == ("&&" if truth else "||"):
            return [each for arg in condition.args for each in _conjuncts(arg, truth)]
    return [(condition, truth)]


def _picks(condition: Term, truth: bool) -> bool:
    """Does it test whether two values are equal? They may be so in one thread alone: the owner of something."""
    if not isinstance(condition, Op) or _compares_truths(condition):
        return False
    if condition.operator in ("&&", "||"):
        return any(_picks(arg, truth) for arg in condition.args if not arg.known)
    if condition.operator == "!":
        return _picks(condition.args[0], not truth)
    return condition.operator == ("==" if truth else "!=")


def _compares_truths(term: Term) -> TypeGuard[Op]:
    """``(a > b) == ascending``: some threads pass whatever the other side is, though it may be another one in each."""
    return (
        isinstance(term, Op)
        and term.operator in _EQUALITIES
        and any(is_truth(arg) and not arg.known for arg in term.args)
    )


def _compares_all(term: Op) -> bool:
    """``(a > b) == (c > d)``"""
    return term.operator in _EQUALITIES and all(map(is_truth, term.args))


@dataclass(slots=True)
class _GuardReader:
    here: Evaluator
    values: ValueFacts
    pointers: frozenset[str]
    loads: set[int] = field(default_factory=set)
    left: int = _MOST

    def decides(self, term: Term) -> bool:
        """Do data of each thread decide, and beside them only what is the same for all threads?"""
        if isinstance(term, Op) and (_compares_all(term) or term.operator == "||"):
            # the known side leaves it to the others, or lets in who comes anyhow
            unknown = [arg for arg in term.args if not arg.known]
            return bool(unknown) and all(map(self.decides, unknown))
        return self.of_data(term) is True

    def of_data(self, term: Term) -> bool | None:
        """True: it is made of what each thread has loaded, and perhaps of what is the same for all threads; False: only
        of the latter; None: of something else."""
        self.left -= 1
        if self.left < 0:
            return None
        if term.known:
            return False if self.here.uniform_value(term) is not None else None
        if isinstance(term, OpaqueTerm):
            if term.origin == "load":
                return self._load(term)
            if term.origin == "lost" and term.sources:
                return self._all(term.sources)
            if term.origin == "exit":  # what a loop has made of the data, whatever it has run over
                return self._all([each for each in term.sources if not each.known]) or None
            return False if term.level <= Level.BLOCK and not term.carried and not term.sources else None
        if isinstance(term, Op) and term.operator == "?:" and term.args[0].known:
            return self._all(term.args[1:])
        if isinstance(term, Op) and not ("_sync" in term.operator or term.operator.startswith("atomic")):
            return self._all(term.args)
        return None

    def _all(self, terms: Sequence[Term]) -> bool | None:
        found = [self.of_data(term) for term in terms]
        return None if None in found else any(found)

    def _load(self, term: OpaqueTerm) -> bool | None:
        if term.access is not None:
            address = self.values.address(term.access)
            self.loads.add(term.access)
            return True if address is not None and any(map(self._own, address)) else None
        if term.level <= Level.BLOCK and not term.carried:
            return False
        names = {each.name for each in parts_of(*term.sources[:1]) if isinstance(each, Sym)}
        return True if names & self.pointers and any(map(self._own, term.sources)) else None

    def _own(self, term: Term) -> bool:
        """Does it differ between threads?"""
        if not term.known:
            return self.of_data(term) is True
        return self.here.uniform_value(term) is None and (
            term.level == Level.THREAD or self.here.values(term) is not None
        )
