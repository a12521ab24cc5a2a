"""Where a fence of the asynchronous proxy makes it see what threads have written, judged again with the fence there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smem_lsp.analysis.execution.program import Added
from smem_lsp.analysis.hazards.model import ProxyHazard
from smem_lsp.analysis.repairs.copy_waits import Judge
from smem_lsp.analysis.repairs.insertion_points import InsertionPoint
from smem_lsp.ir.nodes import Barrier, Kernel
from smem_lsp.source import checkpoint

_TRIES = 3  # places for each
_MOST = 4  # hazards of a kernel that places are sought for


@dataclass(frozen=True, slots=True)
class Fence:
    """``place``: point of the place where a fence helps; None: nowhere, as far as one can prove."""

    hazard: ProxyHazard
    place: int | None


def fences(
    kernel: Kernel, hazards: Sequence[ProxyHazard], spots: Sequence[InsertionPoint], judge: Judge
) -> Iterator[Fence]:
    """``spots``: where all threads of the block come to."""
    for number, hazard in enumerate(hazards):
        checkpoint()
        place = None
        if not hazard.overwritten and number < _MOST:
            tried = _candidates(hazard, spots)[:_TRIES]
            place = next((point for point in tried if _ends(judge, hazard, point)), None)
        yield Fence(hazard, place)


def _candidates(hazard: ProxyHazard, spots: Sequence[InsertionPoint]) -> list[int]:
    """Directly in front of a barrier between the two, the first one in front."""
    first, second = hazard.first.point, hazard.second.point
    behind = [spot for spot in spots if spot.place.point > first and isinstance(spot.before, Barrier)]
    between = [spot for spot in behind if spot.place.point < second or second < first]
    return [spot.place.point for spot in sorted(between, key=lambda spot: spot.place.point)]


def _ends(judge: Judge, hazard: ProxyHazard, point: int) -> bool:
    still = judge(added=Added(fences=frozenset((point,)))).proxies
    pair = hazard.first.point, hazard.second.point
    return not any((each.first.point, each.second.point) == pair for each in still)
