"""Where a barrier that some threads miss may stand instead: in front of its branch, or behind it.

Only the first or the last statement of an arm can be moved alone. The kernel with the barrier at its new place is
judged from the start: all threads have to come to it, and nothing may race.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from smem_lsp.analysis.decision.mispaired import Mispaired
from smem_lsp.analysis.repairs.insertion_points import is_own_text
from smem_lsp.ir.nodes import (
    Assignment,
    Barrier,
    BarrierSite,
    Branch,
    Kernel,
    Node,
    Seq,
    bodies,
    changed,
    walk,
)
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class Hoist:
    """The barrier (its point) may stand at a place (its point) instead."""

    barrier: int
    place: int


def possible_hoists(kernel: Kernel, found: Sequence[Mispaired]) -> Iterator[tuple[Hoist, Kernel]]:
    """For each barrier of ``found`` that can be moved: where to, and the kernel with the barrier there."""
    for each in found:
        place = _place(kernel, each)
        if place is not None:
            yield Hoist(each.barrier.point, place.point), _moved(kernel, each.barrier, place)


def _place(kernel: Kernel, found: Mispaired) -> BarrierSite | None:
    """Where the barrier may stand instead: in front of the branch if it is the first statement of its arm, behind the
    branch if it is the last one. None: it is neither, or has no such place in the kernel's own text."""
    branch = found.decision
    if not isinstance(branch, Branch) or _holds_others(branch, found.barrier):
        return None
    every = (kernel.body, *(seq for node in walk(kernel.body) for seq in bodies(node)))
    around = next((seq for seq in every if any(node is branch for node in seq)), None)
    arm = next((seq for seq in (branch.then, branch.otherwise) if any(n is found.barrier for n in seq)), None)
    if around is None or arm is None:
        return None
    nodes = [node for node in arm if not isinstance(node, BarrierSite)]
    at = next(i for i, node in enumerate(around) if node is branch)
    if nodes[-1] is found.barrier:
        place = next((node for node in around.items[at + 1 :] if isinstance(node, BarrierSite)), None)
    elif nodes[0] is found.barrier:
        place = _last_place(around.items[:at])
    else:
        return None
    return place if place is not None and is_own_text(kernel, place) else None


def _holds_others(branch: Branch, barrier: Barrier) -> bool:
    """Does any other barrier stand in the branch?"""
    return any(isinstance(node, Barrier) and node is not barrier for node in walk(Seq((branch,))))


def _last_place(nodes: Sequence[Node]) -> BarrierSite | None:
    """The place at the end of ``nodes``, assignments left out."""
    ahead = [node for node in nodes if not isinstance(node, Assignment)]
    return ahead[-1] if ahead and isinstance(ahead[-1], BarrierSite) else None


def _moved(kernel: Kernel, barrier: Barrier, to: BarrierSite) -> Kernel:
    def moved(node: Node) -> tuple[Node, ...]:
        if node is to:
            return (replace(barrier, point=to.point, line=to.line),)
        return () if node is barrier else (node,)

    return replace(kernel, body=changed(kernel.body, moved))
