"""What is decided of two accesses, and of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from smem_lsp.analysis.decision.reasons import Assumption, Reason, ReasonKind
from smem_lsp.analysis.decision.size_sets import SizeCondition
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.ir.nodes import Access, Dims
from smem_lsp.ir.places import Row
from smem_lsp.source import record
from smem_lsp.terms.language import Term


class PairVerdict(Enum):
    """Of a pair of accesses, from what is safe to what is not."""

    APART = "apart"  # no values make them touch one byte
    IN_BOUNDS = "apart in bounds"  # none that keep both inside their buffer
    SAME_VALUE = "same value"  # they do, and store the same
    UNDECIDED = "undecided"
    PRESUMED = "presumed"  # they do unless a call of which nothing says that it waits orders them
    DATA = "data"  # they do if what threads load is so
    LIKELY = "likely"  # the same, for data of no special kind
    SIZES = "sizes"  # they do for some values of parameters that nobody need pass
    CONDITION = "condition"  # they do for some values of parameters, on which the block decides, or from some number on
    RACE = "race"  # they do whatever the parameters are

    @property
    def is_safe(self) -> bool:
        return self in (PairVerdict.APART, PairVerdict.IN_BOUNDS, PairVerdict.SAME_VALUE)

    @property
    def danger(self) -> int:
        """How far it is from what is safe."""
        return _FROM_SAFE.index(self)

    @property
    def is_race(self) -> bool:
        return self in (PairVerdict.RACE, PairVerdict.CONDITION, PairVerdict.LIKELY)


_FROM_SAFE = tuple(PairVerdict)


@record
class Witness:
    """Two threads of one block that touch one byte; a replay tells which. ``threads``: linear numbers, of the first
    access and of the second; ``sizes``: parameters and the place in the grid; ``given``: for each
    thread, what loop variables and loaded values are; ``smaller``: other sizes for which it happens, to other threads
    perhaps."""

    dims: Dims
    threads: tuple[int, int]
    sizes: Mapping[str, int]
    given: tuple[Mapping[Term, int], ...] = ({}, {})
    smaller: Mapping[str, int] | None = None


@record
class Decision:
    """``first`` and ``second``: the accesses; ``lanes``: two lanes of one warp, else threads of different warps;
    ``back``: the second one in a later iteration of a loop; ``reason``: why it is not decided; ``condition``: for which
    parameters it happens; None: for all that keep both accesses inside the buffer; ``any_block``: which does not depend
    on the block; ``calls``: names of what would have to order them."""

    first: Access
    second: Access
    answer: PairVerdict
    lanes: bool = False
    back: bool = False
    witness: Witness | None = None
    reason: Reason | None = None
    condition: SizeCondition | None = None
    any_block: bool = False
    calls: tuple[str, ...] = ()

    @property
    def why(self) -> Reason | None:
        """Why it is open; None: it is safe, or a race."""
        return self.reason or _BY_ANSWER.get(self.answer)


_BY_ANSWER = {PairVerdict.DATA: Reason(ReasonKind.DATA), PairVerdict.SIZES: Reason(ReasonKind.SIZES)}


@record
class Undecided:
    """Why something about an access is not known."""

    line: Row
    reason: Reason


class VerdictKind(Enum):
    RACE_FREE = "race-free"
    RACY = "racy"
    UNDECIDED = "undecided"


@record
class Verdict:
    """Of the shared memory of a kernel. ``blocks``: those that it is about; none: every block, or (``most``) every one
    of so many threads at most in x, y and z. ``pairs`` of accesses were asked about, ``apart`` of them are safe;
    ``assumes``: what a proof takes for granted; ``reasons``: why it is undecided, the most limiting first."""

    kind: VerdictKind
    blocks: tuple[BlockShape, ...] = ()
    axes: str = "x"
    pairs: int = 0
    apart: int = 0
    assumes: tuple[Assumption, ...] = ()
    reasons: tuple[Undecided, ...] = ()
    decisions: tuple[Decision, ...] = ()  # but those that are safe
    most: Dims | None = None
