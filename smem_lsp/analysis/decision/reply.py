"""The answer to one question."""

from __future__ import annotations

from smem_lsp.analysis.decision.model import PairVerdict, Witness
from smem_lsp.analysis.decision.reasons import ReasonKind
from smem_lsp.analysis.decision.size_sets import SizeCondition
from smem_lsp.analysis.decision.unknowns import Origin
from smem_lsp.source import record
from smem_lsp.terms.language import Term


@record
class PairResult:
    """``origin``: which freedom the answer makes use of; ``unknown``: what of the two is not followed; ``condition``:
    for which parameters they meet; ``any_block``: that does not depend on the block; ``why``: it is not decided, where
    that is known."""

    answer: PairVerdict
    origin: Origin = Origin.NOTHING
    unknown: tuple[Term, ...] = ()
    witness: Witness | None = None
    condition: SizeCondition | None = None
    any_block: bool = False
    why: ReasonKind | None = None
