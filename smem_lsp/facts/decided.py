"""The races of a kernel that are decided by its terms, and its verdicts, for each block that is named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from smem_lsp.analysis.decision.interval_paths import ALL_COPIES
from smem_lsp.analysis.decision.model import Decision, PairVerdict, Verdict, VerdictKind
from smem_lsp.analysis.decision.size_sets import SizeCondition, for_some
from smem_lsp.analysis.decision.verdict import RaceChecker
from smem_lsp.analysis.execution.program import NOTHING_ADDED, Added
from smem_lsp.analysis.hazards.handed_memory import memory_of_block
from smem_lsp.analysis.hazards.model import Hazards, Race
from smem_lsp.analysis.hazards.replayed import Replay, as_shown
from smem_lsp.analysis.hazards.sample_blocks import sample_blocks
from smem_lsp.analysis.threads.assignments import assignments
from smem_lsp.analysis.threads.block_shape import evidence
from smem_lsp.analysis.threads.divergence import Verdicts
from smem_lsp.analysis.values.block_shape import BlockAssumption, BlockShape, dims_of, most_threads
from smem_lsp.facts.data_flow import DataFlow
from smem_lsp.ir.nodes import Dims
from smem_lsp.source import checkpoint

_TO_REFUTE = 600_000  # effort about all races of a kernel that runs show
Races = tuple[tuple[Race, ...], ...]  # for each block that is judged


def decide_races(flow: DataFlow, found: Sequence[list[Race]]) -> None:
    """What is decided of the pairs that may be told, and replayed with the witnesses. ``found``: for each block that is
    judged, where it is put as it is found: what there is when the time is up stands."""
    for (shape, verdicts), races in zip(flow.judged, found):
        for race in _races(flow, shape, verdicts):
            races.append(race)


def verdicts_of(flow: DataFlow, replayed: Races, searched: Iterable[Race]) -> tuple[Verdict, ...]:
    """The verdict for each block that is judged, from every pair of accesses. ``replayed``: the races that replays
    show; ``searched``: those that other runs do, in a block that somebody names or in every one above some size."""
    replays = replayed or [()] * len(flow.judged)
    others = [race for race in searched if not race.data]
    return tuple(
        _verdict(flow, shape, verdicts, [*(race for race in others if _is_in(shape, race)), *shown])
        for (shape, verdicts), shown in zip(flow.judged, replays)
    )


def _is_in(shape: BlockShape | None, race: Race) -> bool:
    return shape in race.ground.named if shape is not None else not race.ground.named


def not_refuted(flow: DataFlow, shown: Hazards) -> Hazards:
    """``shown`` without races between accesses that are proved apart in their block: a run takes some of what it does
    not know for granted, and chooses parameters. What is decided to rest on data, or on parameters, is told so. Of very
    many races, only the first ones are looked at, and kept."""
    verdicts = dict(flow.judged)
    kept, effort = [], flow.followed.effort(_TO_REFUTE)
    for race in shown.races:
        of_block = verdicts.get(race.ground.named[0] if race.ground.named else None)
        if of_block is not None and not (race.named or race.first.serves):
            if effort <= 0:
                continue
            judge = judge_of(flow, of_block, race.dims)
            both = list(judge.decisions({race.pair, race.pair[::-1]}))
            effort -= judge.spent
            decided = [each for each in both if (each.first.point, each.second.point) == race.pair] or both
            if decided and all(each.answer.is_safe for each in decided):
                continue
            if decided:
                worst = max(decided, key=lambda each: each.answer.danger)
                data = race.data or worst.answer in (PairVerdict.DATA, PairVerdict.LIKELY)
                if any(each.answer is PairVerdict.RACE for each in both):
                    race = replace(race, data=data, any_block=worst.any_block)
                else:
                    race = _under_condition(flow, of_block, replace(race, data=data), worst)
        kept.append(race)
    return replace(shown, races=tuple(kept))


def _under_condition(flow: DataFlow, verdicts: Verdicts, race: Race, decision: Decision) -> Race:
    """``race``, which a run shows for parameters that it chose, under the condition that was solved for. The threads
    are then those that meet at its bound, as a run with the witness shows it; without one the condition says only that
    there are such parameters."""
    condition = decision.condition
    solved = replace(race, condition=condition, any_block=decision.any_block)
    if condition is None or not condition.is_solved:
        return solved
    replay = Replay(
        flow.kernel, flow.values, flow.control, verdicts, judge_of(flow, verdicts, race.dims).valid
    )
    found = next(replay.races([replace(decision, condition=None)], race.ground), None)
    if found is not None and found.lanes == race.lanes:
        ground = _where_alike(flow, race, condition)
        return replace(solved, byte=found.byte, threads=_in_order(race, found), ground=ground)
    return replace(solved, condition=for_some(condition.sets[0].names), any_block=False)


def _where_alike(flow: DataFlow, race: Race, condition: SizeCondition) -> BlockAssumption:
    """The blocks for which a race is shown, without those in which the same accesses race under another condition than
    in the first one."""
    ground, verdicts = race.ground, dict(flow.judged)
    alike = list(ground.named[:1])
    for shape in ground.named[1:]:
        checkpoint()
        judge = judge_of(flow, verdicts[shape], shape.dims)
        if any(each.condition == condition for each in judge.decisions({race.pair, race.pair[::-1]})):
            alike.append(shape)
    whole = ground.all_named and len(alike) == len(ground.named)
    return replace(ground, named=tuple(alike), all_named=whole)


def _in_order(race: Race, found: Race) -> tuple[int, int]:
    """The threads of ``found`` in the order of the accesses of ``race``."""
    one, other = found.threads
    return (one, other) if found.pair == race.pair else (other, one)


def of_the_block(flow: DataFlow, shown: Hazards) -> Hazards:
    """``shown`` without races in memory that a function gets by pointer, where it is not shown to be the block's, or
    where its caller may wait for what is copied there."""
    handed = {each.index for each in flow.kernel.buffers if each.handed}
    left = {race.first.buffer for race in shown.races if race.first.buffer in handed}
    if not left:
        return shown
    for dims in sample_blocks(flow.kernel, flow.values, flow.control, None, in_warps=False).blocks:
        left -= memory_of_block(RaceChecker(flow.followed, flow.verdicts, dims), left)
    kept = (
        race
        for race in shown.races
        if race.first.buffer not in left and not (race.first.buffer in handed and race.first.asynchronous)
    )
    return replace(shown, races=tuple(kept))


def still_racing(flow: DataFlow, races: Iterable[Race], added: Added) -> Iterator[Race]:
    """Those of ``races`` that are not proved to be none with what is ``added`` to the kernel."""
    verdicts = dict(flow.judged)
    for race in races:
        shape = race.ground.named[0] if race.ground.named else None
        of_block = verdicts.get(shape)
        if of_block is None:
            yield race
            continue
        judge = judge_of(flow, of_block, race.dims, added)
        if not all(each.answer.is_safe for each in judge.decisions({race.pair})):
            yield race


def judge_of(
    flow: DataFlow, verdicts: Verdicts, dims: Dims | None, added: Added = NOTHING_ADDED
) -> RaceChecker:
    """Decides the pairs of a kernel, with what is ``added``, in a block; None: in every one."""
    if added is not NOTHING_ADDED:
        waits = {point: ALL_COPIES if ungrouped else 0 for point, ungrouped in added.waits.items()}
        covering = frozenset((waits | dict(added.left)).items())
        return RaceChecker(flow.followed, verdicts, dims, added.barriers, added.in_warps, covering)
    known = flow.judges.get((verdicts, dims))
    if known is None:
        known = flow.judges[verdicts, dims] = RaceChecker(flow.followed, verdicts, dims)
        known.asker.of_one_address = True
    return known


def _verdict(flow: DataFlow, shape: BlockShape | None, verdicts: Verdicts, races: Iterable[Race]) -> Verdict:
    judge = judge_of(flow, verdicts, dims_of(shape))
    found = judge.verdict(shape, as_shown(judge.decisions(), races, named=shape is not None))
    if shape is None and found.kind is VerdictKind.UNDECIDED:
        return _inside_arrays(flow, verdicts, found) or found
    return found


def _inside_arrays(flow: DataFlow, verdicts: Verdicts, found: Verdict) -> Verdict | None:
    """The verdict on blocks of which no thread leaves an array that all threads index by their coordinates, as
    ``tile[8][33]`` at ``[threadIdx.y][threadIdx.x]``: the kernel is written for no others. None: it is race-free under
    no more of these than it was before (``found``)."""
    upper = evidence(flow.kernel, flow.values, flow.control).upper
    if upper == most_threads(flow.kernel):
        return None
    judge = RaceChecker(flow.followed, verdicts, None, most=upper)
    judge.asker.of_one_address = True
    open_ = {(each.first.point, each.second.point) for each in found.decisions}
    decisions: list[Decision] = []
    for each in judge.decisions(open_):
        if not each.answer.is_safe:
            return None
        decisions.append(each)
    inside = judge.verdict(None, decisions)
    if inside.kind is not VerdictKind.RACE_FREE:
        return None
    assumes = tuple(dict.fromkeys((*found.assumes, *inside.assumes)))
    return replace(inside, pairs=found.pairs, apart=found.pairs, assumes=assumes)


def _is_launched(flow: DataFlow, dims: Dims) -> bool:
    """May a launch have this block, as far as is known?"""
    given = flow.values.given
    return not given or next(assignments(given, dims, given=given), None) is not None


def _races(flow: DataFlow, shape: BlockShape | None, verdicts: Verdicts) -> Iterator[Race]:
    """In the block that is named, else in one that the text of the kernel does not rule out."""
    if shape is not None:
        blocks, ground = [shape.dims], BlockAssumption(named=(shape,))
    else:
        in_terms = any(site.block is None for site in flow.kernel.launches) or bool(flow.values.given)
        samples = sample_blocks(
            flow.kernel, flow.values, flow.control, None, in_warps=False, decided=in_terms
        )
        possible = [dims for dims in samples.blocks if _is_launched(flow, dims)]
        blocks, ground = (
            possible[:1],
            replace(samples.ground, tried=possible[0]) if possible else samples.ground,
        )
    replay = Replay(flow.kernel, flow.values, flow.control, verdicts, flow.control)
    for dims in blocks:
        judge = judge_of(flow, verdicts, dims)
        replay.valid = judge.valid
        yield from replay.races(judge.decisions(to_tell=True), ground)
