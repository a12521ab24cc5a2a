"""Two calls in a row of a device function that no kernel in sight calls, with no barrier of the caller between: what
the last interval of the first one leaves open meets the first interval of the second one in the function's own arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from smem_lsp.analysis.decision.model import Decision
from smem_lsp.analysis.decision.path_classes import SAME_TURN, Open
from smem_lsp.analysis.decision.verdict import RaceChecker, decide
from smem_lsp.analysis.hazards.replayed import Replay
from smem_lsp.analysis.hazards.sample_blocks import sample_blocks
from smem_lsp.analysis.threads.ordering_calls import ordering_calls
from smem_lsp.facts.data_flow import DataFlow
from smem_lsp.ir.nodes import Access, AddressSpace, Barrier, BarrierKind, Loop, walk
from smem_lsp.source import checkpoint

_EFFORT = 200_000
_MOST = 16  # pairs that are asked about


def called_again(flow: DataFlow) -> tuple[Decision, ...]:
    """The pairs that meet in one block that its text does not rule out: the first access in one call, the second one in
    the next. ``calls``: names of what would have to order them but for the caller."""
    kernel = flow.kernel
    if not kernel.uncalled or kernel.irregular is not None or not _of_the_block(flow):
        return ()
    samples = sample_blocks(kernel, flow.values, flow.control, None, in_warps=False)
    pairs = list(_pairs(flow))
    if not samples.blocks or not pairs:
        return ()
    judge = RaceChecker(flow.followed, flow.verdicts, samples.blocks[0])
    judge.asker.effort = _EFFORT
    replay = Replay(kernel, flow.values, flow.control, flow.verdicts, judge.valid)
    found: list[Decision] = []
    for pair in pairs[:_MOST]:
        checkpoint()
        if not (judge.is_followed(pair.first) and judge.is_followed(pair.second)):
            continue
        decision = decide(judge.asker, pair)
        witness = decision.witness
        if decision.answer.is_race and witness is not None:
            if replay.byte_of_both(decision, witness) is not None:
                found.append(replace(decision, calls=tuple(_calls(flow, pair))))
    return tuple(found)


def _of_the_block(flow: DataFlow) -> bool:
    """Does a barrier of its own tell that all threads of the block call it?"""
    return any(
        isinstance(each, Barrier) and each.kind is BarrierKind.BLOCK and each.point in flow.control.barriers
        for each in walk(flow.kernel.body)
    )


def _pairs(flow: DataFlow) -> Iterator[Open]:
    """Of what surely follows all that may order threads with what surely comes before it, whichever way is taken."""
    kernel = flow.kernel
    nodes = list(walk(kernel.body))
    ordering = [
        each.point for each in nodes if isinstance(each, Barrier) and each.kind is not BarrierKind.WARP
    ]
    ordering += [point for point in ordering_calls(kernel, flow.control) if point not in kernel.presumed]
    turns = [
        range(each.point, each.end_point + 1)
        for each in nodes
        if isinstance(each, Loop) and any(each.point <= point <= each.end_point for point in ordering)
    ]
    own = [each for each in nodes if isinstance(each, Access) and _is_own(flow, each)]
    once = [each for each in own if not any(each.point in turn for turn in turns)]
    ways = frozenset((SAME_TURN,))
    for first in (each for each in once if each.point > max(ordering)):
        for second in (each for each in once if each.point < min(ordering)):
            if first.buffer == second.buffer and (first.kind.writes or second.kind.writes):
                yield Open(first, second, ways, ways, lanes=False)


def _is_own(flow: DataFlow, access: Access) -> bool:
    """Is it made by the thread itself, in an array that the function declares?"""
    buffer = flow.kernel.buffers[access.buffer]
    return (
        buffer.space is AddressSpace.STATIC
        and not (buffer.handed or access.serves or access.asynchronous or access.guess)
        and "volatile" not in buffer.written.qualifiers
    )


def _calls(flow: DataFlow, pair: Open) -> Iterator[str]:
    """The calls behind the first access, and those in front of the second one."""
    names = (
        each.name
        for point, each in flow.kernel.presumed.items()
        if point not in flow.control.split and not pair.second.point <= point < pair.first.point
    )
    yield from dict.fromkeys(names)
