"""What is decided, in words: conditions on sizes, reasons, and what a proof takes for granted."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.reasons import Assumption, Reason, ReasonKind
from smem_lsp.analysis.decision.size_sets import Relation, SizeCondition, SizeSet, for_some
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.rules.decision_words import assumed, bare, when, why


def of_n(relation: Relation, *numbers: int, below: int = 0, exact: bool = True) -> SizeSet:
    return SizeSet(exact, ("n",), relation, numbers, below)


AT_LEAST_3 = of_n(Relation.FROM, 3)
CONDITIONS = {
    "when n ≥ 3": SizeCondition((AT_LEAST_3,)),
    "when n ≤ 3": SizeCondition((of_n(Relation.UP_TO, 3),)),
    "when n ≠ 3": SizeCondition((of_n(Relation.OTHER, 3),)),
    "when n is 3": SizeCondition((of_n(Relation.WITHIN, 3, 3),)),
    "when n is 3 to 5": SizeCondition((of_n(Relation.WITHIN, 3, 5),)),
    "when n is even": SizeCondition((of_n(Relation.MULTIPLE, 2, 0),)),
    "when n - 3 is odd": SizeCondition((of_n(Relation.NO_MULTIPLE, 2, 3),)),
    "when n is no multiple of 32": SizeCondition((of_n(Relation.NO_MULTIPLE, 32, 0),)),
    "when n is below 129 and a multiple of 32": SizeCondition((of_n(Relation.MULTIPLE, 32, 0, below=129),)),
    "when n ≥ 3, or when n is even": SizeCondition((AT_LEAST_3, of_n(Relation.MULTIPLE, 2, 0))),
    "for all n ≥ 3, perhaps for others": SizeCondition((AT_LEAST_3,), enough=True),
    "for some n ≥ 3": SizeCondition((of_n(Relation.FROM, 3, exact=False),)),
    "for some m and n": for_some(["n", "m"]),
    "when blockDim.x is A and B and blockDim.y is C": SizeCondition((), (("x", ("A", "B")), ("y", ("C",)))),
    "when n ≥ 3, when blockDim.x is A": SizeCondition((AT_LEAST_3,), (("x", ("A",)),)),
}


@pytest.mark.parametrize("words", CONDITIONS)
def test_conditions(words: str) -> None:
    assert when(CONDITIONS[words]) == words
    assert bare(CONDITIONS[words]) == (words[5:] if words[:5] == "when " else words)


def test_no_condition() -> None:
    assert not when(None)


ARGS = {
    ReasonKind.NOT_READ: (Cause(CauseKind.GOTO),),
    ReasonKind.UNSEEN: ("s",),
    ReasonKind.CALL_ORDERS: ("wait",),
    ReasonKind.CALLED_VALUE: ("pick",),
    ReasonKind.LOOP_VARIABLE: ("i",),
    ReasonKind.VALUE_BEHIND_LOOP: ("r",),
    ReasonKind.LOADED_VALUE: ("idx",),
    ReasonKind.IN_SOME_BLOCKS: (65, 1, 1),
}


def test_every_reason_has_words_of_its_own() -> None:
    told = {str(why(Reason(kind, ARGS.get(kind, ())))) for kind in ReasonKind}
    assert len(told) == len(ReasonKind) and "" not in told
    assert {"goto", "not every access to s is seen", "wait() may order the accesses"} <= told
    assert "what pick() returns is not known" in told
    assert {"how a loop changes i is not followed", "what r is behind a loop is not known"} <= told
    assert "a value loaded from idx decides" in told
    assert "a race in some blocks (65×1×1)" in told


def test_what_a_proof_takes_for_granted() -> None:
    assert assumed(Assumption()) == "no index leaves its buffer"
    assert assumed(Assumption(("n",))) == "n is not negative"
    assert assumed(Assumption(("m", "n"))) == "m and n are not negative"
