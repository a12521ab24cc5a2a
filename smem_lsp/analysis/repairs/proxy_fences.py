"""Where a fence lets the asynchronous proxy see what threads have written; judged again with the fence there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.analysis.execution.program import Added
from smem_lsp.analysis.hazards.model import ProxyHazard
from smem_lsp.analysis.repairs.copy_waits import WaitChecker
from smem_lsp.analysis.repairs.insertion_points import InsertionPoint
from smem_lsp.ir.nodes import Barrier, Kernel
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_TRIES = 3  # places that are tried for one hazard
_MOST = 4  # hazards of one kernel for which places are tried


@dataclass(frozen=True, slots=True)
class Fence:
    """``place``: point of the place where a fence ends the hazard; None: no place is proved to."""

    hazard: ProxyHazard
    place: int | None


def fences(
    kernel: Kernel, hazards: Sequence[ProxyHazard], points: Sequence[InsertionPoint], judge: WaitChecker
) -> Iterator[Fence]:
    """``points``: where all threads of the block come to."""
    for number, hazard in enumerate(hazards):
        checkpoint()
        place = None
        if not hazard.overwritten and number < _MOST:
            tried = _candidates(hazard, points)[:_TRIES]
            place = next((point for point in tried if _ends(judge, hazard, point)), None)
        yield Fence(hazard, place)


def _candidates(hazard: ProxyHazard, points: Sequence[InsertionPoint]) -> list[int]:
    """Points directly in front of a barrier between the two, in the order of the text."""
    first, second = hazard.first.point, hazard.second.point
    behind = [each.point for each in points if each.point > first and isinstance(each.following, Barrier)]
    return sorted(point for point in behind if point < second or second < first)


def _ends(judge: WaitChecker, hazard: ProxyHazard, point: int) -> bool:
    still = judge(added=Added(fences=frozenset((point,)))).proxies
    pair = hazard.first.point, hazard.second.point
    return not any((each.first.point, each.second.point) == pair for each in still)
