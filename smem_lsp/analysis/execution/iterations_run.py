"""Which iterations of a loop are run: the first ones, and the last ones where they can be counted.

Two iterations show what happens over the back edge. More are run for a race that one iteration alone has, and the last
ones because tails often go another way.
"""

from __future__ import annotations

from smem_lsp.analysis.execution.program import LoopInstruction
from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.trip_counts import iterations_of
from smem_lsp.analysis.values.value_facts import LoopFacts

_WITH_BARRIERS = (
    12,
    5,
    4,
)  # iterations that are run of a loop with barriers, by how many loops are around it
_WITHOUT_BARRIERS = (8, 4, 3, 2)  # of one without
_FEW = 4
_LAST_STAGES = 6  # iterations at its end that are run of a loop with asynchronous copies


def most_iterations(loop: LoopInstruction, around: int) -> int:
    """How many iterations are run. ``around``: the number of loops around this one."""
    limits = _WITH_BARRIERS if loop.effects.block_barriers else _WITHOUT_BARRIERS
    return limits[min(around, len(limits) - 1)]


def last_iterations(
    loop: LoopInstruction, facts: LoopFacts, before: Evaluator, most: int
) -> list[Evaluator | None]:
    """The last iterations of a loop that is counted and has more than ``most``, for the threads that run them; None: no
    thread runs this one. ``before``: evaluates in front of the loop."""
    counted = iterations_of(facts, before)
    if counted is None or max(counted.counts) <= most or facts.exits or loop.effects.returns:
        return []
    if loop.effects.block_barriers and min(counted.counts) != max(counted.counts):
        return []
    count = _LAST_STAGES if loop.effects.copies and most > _LAST_STAGES else 2 if most > _FEW else 1
    return [counted.last(back) for back in reversed(range(count))]
