"""The answer to one question."""

from __future__ import annotations

from smem_lsp.analysis.decision.model import Answer, Witness
from smem_lsp.analysis.decision.size_sets import SizeCondition
from smem_lsp.analysis.decision.unknowns import Origin
from smem_lsp.analysis.values.terms import Term
from smem_lsp.source import record


@record
class Reply:
    """``origin``: which freedom the answer makes use of; ``unknown``: what of the two is not followed; ``condition``:
    for which parameters they meet; ``any_block``: that does not depend on the block."""

    answer: Answer
    origin: Origin = Origin.NOTHING
    unknown: tuple[Term, ...] = ()
    witness: Witness | None = None
    condition: SizeCondition | None = None
    any_block: bool = False
    out_of_effort: bool = False
    no_solver: bool = False  # none is installed
    leaves_row: bool = False  # only where an index leaves its row, or its array in a class
    changed: bool = False  # only where others change what a thread loads twice
    sign: bool = False  # it depends on whether a negative number is one, or a large unsigned one
