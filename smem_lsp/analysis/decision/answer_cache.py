"""Answers about pairs of accesses that hold wherever the same question is asked again.

To ask also spends effort, of which a kernel has only so much, and notes what a proof takes for granted. Both are kept
beside the answer: whether it was known before must not decide what is found later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from smem_lsp.analysis.decision.model import Witness
from smem_lsp.analysis.decision.query_fingerprints import Name, Terms
from smem_lsp.analysis.decision.reply import PairResult
from smem_lsp.source import record
from smem_lsp.source.queries import Query
from smem_lsp.source.record import dataclass
from smem_lsp.terms.language import Term

Question = tuple[bytes, bool, int]
"""What the solver was asked, whether for values, and with how much effort."""


@dataclass(slots=True)
class QueryEffects:
    """What asking has done. ``effort``: that each time costs; ``questions``: what each costs the first time;
    ``not_negative``, ``hard``: as in ``RaceQueries``."""

    effort: int = 0
    questions: dict[Question, int] = field(default_factory=dict)
    not_negative: set[str] = field(default_factory=set)
    hard: int = 0

    def add(self, other: QueryEffects) -> None:
        self.effort += other.effort
        self.questions.update(other.questions)
        self.not_negative |= other.not_negative
        self.hard += other.hard


@record
class KnownAnswer:
    """``reply``: but for terms; ``unknown``: the names of those in it; ``given``: for each thread of the witness, what
    terms are, by name."""

    reply: PairResult
    unknown: tuple[Name, ...]
    given: tuple[Mapping[Name, int], ...]
    effects: QueryEffects

    def placed(self, terms: Terms) -> PairResult | None:
        """The reply in the terms of another kernel; None: it has not all of them."""
        unknown = [terms.term(name) for name in self.unknown]
        given = [{terms.term(name): value for name, value in each.items()} for each in self.given]
        if None in unknown or any(None in each for each in given):
            return None
        reply, witness = self.reply, self.reply.witness
        if witness is not None:
            witness = replace(witness, given=tuple(map(_known, given)))
        return replace(reply, unknown=tuple(each for each in unknown if each is not None), witness=witness)


ANSWERS: Query[Name, KnownAnswer] = Query("answers about pairs of accesses", each=1_400)


def known_answer(reply: PairResult, effects: QueryEffects, terms: Terms) -> KnownAnswer:
    """What is kept of a reply."""
    given = () if reply.witness is None else tuple(map(terms.named, reply.witness.given))
    witness: Witness | None = reply.witness
    if witness is not None:
        witness = replace(witness, given=())
    unknown = tuple(map(terms.name, reply.unknown))
    return KnownAnswer(replace(reply, unknown=(), witness=witness), unknown, given, effects)


def _known(values: Mapping[Term | None, int]) -> Mapping[Term, int]:
    return {term: value for term, value in values.items() if term is not None}
