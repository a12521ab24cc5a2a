"""The iterations of a counted loop, each thread's own number of them."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.analysis.values.evaluate import Evaluator, Vector, advance
from smem_lsp.analysis.values.value_facts import LoopFacts
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import LoopVar, Op

_Advancing = Mapping[LoopVar, tuple[list[int], int]]


@dataclass(frozen=True, slots=True)
class CountedIterations:
    """``counts``: how often each of ``threads`` runs the body."""

    threads: Evaluator
    counts: list[int]
    advancing: _Advancing

    def first(self) -> Evaluator | None:
        """The first iteration, for the threads that run it."""
        return self._iteration([0] * len(self.counts), [count > 0 for count in self.counts])

    def last(self, back: int = 0) -> Evaluator | None:
        """The iteration ``back`` before each thread's last one. Only loop variables with a constant step are
        known."""
        numbers = [count - 1 - back for count in self.counts]
        return self._iteration(numbers, [number >= 0 for number in numbers])

    def _iteration(self, numbers: list[int], running: list[bool]) -> Evaluator | None:
        if not any(running):
            return None
        bound: dict[LoopVar, Vector] = {}
        for atom, (start, step) in self.advancing.items():
            checkpoint()
            values = [each + number * step for each, number in zip(start, numbers)]
            bound[atom] = [value for value, runs in zip(values, running) if runs]
        here = self.threads if all(running) else self.threads.only([int(runs) for runs in running])
        return here.within(bound)


def iterations_of(facts: LoopFacts, threads: Evaluator) -> CountedIterations | None:
    """The iterations of a loop; None: unknown number. ``threads``: evaluates before the loop."""
    advancing: dict[LoopVar, tuple[list[int], int]] = {}
    for recurrence in facts.recurrences:
        found = advance(recurrence, threads)
        if found is not None:
            advancing[recurrence.atom] = found
    if facts.trips is not None:
        return CountedIterations(threads, [facts.trips] * len(threads.threads), advancing)
    counts = _counts(facts, threads, advancing)
    return None if counts is None else CountedIterations(threads, counts, advancing)


def _counts(facts: LoopFacts, threads: Evaluator, advancing: _Advancing) -> list[int] | None:
    """Of ``for (i = first; i < bound; i += step)``."""
    head = facts.head
    if not facts.tested or facts.exits or not isinstance(head, Op) or head.operator not in ("<", "<="):
        return None
    atom, bound = head.args
    if not isinstance(atom, LoopVar) or atom not in advancing:
        return None
    first, step = advancing[atom]
    end = threads.uniform_value(bound)
    if end is None or step <= 0:
        return None
    end += head.operator == "<="
    return [max(0, -((each - end) // step)) for each in first]
