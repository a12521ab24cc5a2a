"""The lanes that operations of a warp miss: what runs show, and what is decided of their conditions."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.analysis.decision.lanes import lanes_missing
from smem_lsp.analysis.hazards.model import Hazards, MissingLane, all_hazards
from smem_lsp.analysis.values.block_shape import BlockAssumption, dims_of
from smem_lsp.facts.data_flow import DataFlow
from smem_lsp.facts.decided import judge_of


def decided_lanes(flow: DataFlow) -> tuple[MissingLane, ...]:
    """For each block that somebody names."""
    if not flow.values.masks or not flow.shapes:
        return ()
    found = []
    for shape, verdicts in flow.judged:
        judge = judge_of(flow, verdicts, dims_of(shape)).barriers
        ground = BlockAssumption() if shape is None else BlockAssumption(named=(shape,))
        lanes = (
            MissingLane(
                each.node,
                each.thread,
                each.other,
                ground,
                each.condition is not None,
                each.condition,
                each.data,
            )
            for each in lanes_missing(judge)
        )
        found.append(Hazards(missing_lanes=tuple(lanes)))
    return all_hazards(found).missing_lanes


def with_lanes(shown: Hazards, decided: tuple[MissingLane, ...]) -> Hazards:
    """``shown`` by runs, which choose sizes, and what is decided besides: of one operation the sizes that were solved
    for, else what happens whatever they are."""
    surely = {each.node.point for each in shown.missing_lanes if not each.tail}
    solved = {each.node.point: each for each in decided if each.condition or each.node.point not in surely}
    kept = tuple(each for each in shown.missing_lanes if each.node.point not in solved)
    return replace(shown, missing_lanes=(*kept, *solved.values())) if solved else shown
