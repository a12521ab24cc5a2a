"""Which asynchronous copies a wait covers, path by path of one thread.

Groups of which the newest are left open and stages of pipelines need more to be known of a path: ``proxy_paths``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from smem_lsp.ir.nodes import NO_OBJECT, Access, AccessKind, CopyWait, CopyWaitKind, Node, Seq, changed
from smem_lsp.ir.paths import PathWalk
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Bytes
from smem_lsp.lowering.state.context import Context
from smem_lsp.source import record


class CopyEvent(enum.Enum):
    """What a thread does with the copies that it has issued."""

    # groups of copies (PTX ISA, "cp.async.commit_group", "cp.async.wait_group")
    COMMIT = enum.auto()
    GROUPS = enum.auto()  # waits till all but the newest groups have landed
    ALL = enum.auto()  # waits till those of no group have landed, too
    UNKNOWN = enum.auto()  # perhaps one of these
    # a barrier object (libcu++, "cuda::barrier")
    ARRIVE = enum.auto()  # gets the token of an arrival
    BARRIER = enum.auto()  # waits for all copies bound to the object
    TOKEN = enum.auto()  # waits for those issued before the token was got
    # a pipeline (libcu++, "cuda::pipeline")
    STAGE = enum.auto()  # commits one more stage
    STAGE_DONE = enum.auto()  # waits for the oldest stage
    EVERY_STAGE = enum.auto()  # waits for all stages
    OLDER_STAGES = enum.auto()  # waits for all but the newest stages
    RELEASE = enum.auto()  # the oldest stage makes way
    UNCOUNTED = enum.auto()  # how many stages are under way is no longer known


_KINDS: Mapping[CopyEvent, CopyWaitKind] = {
    CopyEvent.COMMIT: CopyWaitKind.COMMIT,
    CopyEvent.GROUPS: CopyWaitKind.GROUPS,
    CopyEvent.ALL: CopyWaitKind.ALL,
    CopyEvent.UNKNOWN: CopyWaitKind.UNKNOWN,
    CopyEvent.ARRIVE: CopyWaitKind.COMMIT,
    CopyEvent.BARRIER: CopyWaitKind.ALL,
    CopyEvent.TOKEN: CopyWaitKind.GROUPS,
    CopyEvent.STAGE: CopyWaitKind.STAGE,
    CopyEvent.STAGE_DONE: CopyWaitKind.OLDEST,
    CopyEvent.EVERY_STAGE: CopyWaitKind.GROUPS,
    CopyEvent.OLDER_STAGES: CopyWaitKind.UNKNOWN,
    CopyEvent.RELEASE: CopyWaitKind.RELEASE,
    CopyEvent.UNCOUNTED: CopyWaitKind.UNKNOWN,
}

OPEN = NO_OBJECT
_IN_GROUP = -2
_PIPELINES = -10  # the first, and those behind it

# buffer; barrier object that the copy is bound to, OPEN or _IN_GROUP; of a barrier object: the arrival before which it
# was issued, 0: none that is followed
Flight = tuple[int, int, int]
_State = frozenset[Flight]


class Flights(PathWalk[Flight]):
    """What may be in flight. ``bound``: issue -> object that it is bound to; ``covered``: wait -> buffers."""

    def __init__(self, bound: Mapping[int, int]) -> None:
        super().__init__()
        self.bound = bound
        self.covered: dict[int, frozenset[int]] = {}

    def left(self, nodes: Iterable[Node]) -> frozenset[int]:
        """The buffers with copies that may be in flight at the end."""
        return frozenset(buffer for buffer, _, _ in self.leaving(nodes, frozenset()))

    def step(self, node: Node, states: _State) -> _State:
        if isinstance(node, Access) and node.point in self.bound:
            return states | {(node.buffer, self.bound[node.point], 0)}
        return self.wait(node, states) if isinstance(node, Wait) else states

    def wait(self, node: Wait, state: _State) -> _State:
        if node.event is CopyEvent.COMMIT:
            return frozenset((buffer, _IN_GROUP if by == OPEN else by, at) for buffer, by, at in state)
        if node.event is CopyEvent.UNKNOWN or node.left or in_stages(node.bound):
            return state
        own = frozenset(each for each in state if each[1] == node.bound)
        if node.event is CopyEvent.ARRIVE:
            return (state - own) | {(buffer, by, at or node.arrival) for buffer, by, at in own}
        done = frozenset(each for each in state if _lands(node, each))
        known = self.covered.get(node.point, frozenset())
        self.covered[node.point] = known | {buffer for buffer, _, _ in done}
        return state - done


def _lands(node: Wait, flight: Flight) -> bool:
    _, by, at = flight
    if node.event is CopyEvent.GROUPS:
        return by == _IN_GROUP
    if node.event is CopyEvent.ALL:
        return by in (OPEN, _IN_GROUP)
    if by != node.bound:
        return False
    if node.event is CopyEvent.BARRIER:
        return True
    return node.event is CopyEvent.TOKEN and at == node.arrival


def pipeline(variable: int) -> int:
    """What stands for a pipeline among the objects that copies are bound to."""
    return _PIPELINES - variable


def in_stages(bound: int) -> bool:
    """Is it a pipeline that a copy is bound to?"""
    return bound <= _PIPELINES


def settled(
    nodes: Iterable[Node],
    covered: Mapping[int, frozenset[int]],
    numbers: Mapping[int, int],
    within: Mapping[int, Bytes | None],
) -> Seq:
    """``nodes`` with updates of what has landed behind every wait. ``numbers``: how many points after the wait the
    copies of a buffer land; ``within``: the bytes of it that they are of."""

    def landed(node: Node) -> Iterator[Node]:
        if not isinstance(node, Wait):
            yield node
            return
        kind = CopyWaitKind.UNKNOWN if node.guess else node.kind
        yield CopyWait(node.point, kind, node.left, node.line, node.bound)
        for buffer in sorted(covered.get(node.point, frozenset())):
            update = Access(node.point + numbers[buffer], buffer, AccessKind.UPDATE, None, None, node.line)
            yield replace(update, asynchronous=True, within=within[buffer])

    return changed(Seq(tuple(nodes)), landed)


@record
class Wait(CopyWait):
    """What a thread does with its asynchronous copies, while the tree is built: ``settled`` replaces it. An object that
    copies are bound to is a barrier by its buffer, or the key of a pipeline."""

    event: CopyEvent
    arrival: int = 0  # at a barrier object: its place in the text
    guess: bool = False  # perhaps in a function that is not called at all


def wait_for(point: int, event: CopyEvent, line: Row, bound: int, arrival: int = 0, left: int = 0) -> Wait:
    return Wait(point, _KINDS[event], left, line, bound, event, arrival)


def mark(ctx: Context, event: CopyEvent, lo: int, bound: int = OPEN, arrival: int = 0, left: int = 0) -> None:
    """Copies are committed or waited for. ``bound``: the object that they are bound to, a barrier by its buffer;
    ``left``: groups that stay open."""
    ctx.copies.waits = True
    ctx.out.emit(wait_for(ctx.out.next_point(), event, ctx.at.line(lo), bound, arrival, left))
    ctx.out.reserve(ctx.copies.landings)
