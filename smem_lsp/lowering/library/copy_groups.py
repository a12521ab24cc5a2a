"""Which asynchronous copies a wait covers, path by path of one thread.

A copy of a pipeline is committed as the last of the stages that are under way, and a wait is for the oldest of them.
Where paths with different numbers of stages meet, both are followed: a copy lands late, never early.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from smem_lsp.ir.nodes import Access, AccessKind, Barrier, Branch, CopyWait, Jump, Loop, Node, Seq
from smem_lsp.ir.values import Bytes
from smem_lsp.lowering.state.context import Context
from smem_lsp.source import checkpoint, record

COMMIT, COMMITTED, ALL, UNKNOWN = "commit", "groups", "all", "unknown"  # of groups of copies
ARRIVE, BARRIER, TOKEN = "arrive", "barrier", "token"  # of a barrier object
STAGE, STAGE_DONE, EVERY_STAGE, RELEASE = "stage", "stage done", "every stage", "release"  # of a pipeline
UNCOUNTED = "uncounted"  # of a pipeline: how many stages are under way is not known any more
OPEN = -1  # what a copy waits for that is bound to no object
_IN_GROUP = -2

_UNDER_WAY = -1  # in the place of a buffer: a stage that is committed, be there copies in it or not
_MOST_STAGES = 8
_NEVER = 99  # stages: more than are counted

# buffer; object that the copy is bound to, OPEN or _IN_GROUP; of a pipeline: stages until it has landed, 0: it is not
# committed; of a barrier object: the arrival before which it was issued, 0: none that is followed
Flight = tuple[int, int, int]
_State = frozenset[Flight]


@dataclass(slots=True)
class Flights:
    """What may be in flight. ``bound``: issue -> object that it is bound to; ``covered``: wait -> buffers."""

    bound: dict[int, int]
    covered: dict[int, frozenset[int]] = field(default_factory=dict)
    returned: _State = frozenset()

    def left(self, nodes: Iterable[Node]) -> frozenset[int]:
        """The buffers with copies that may be in flight at the end."""
        end, breaks, continues = self.seq(nodes, frozenset())
        every = end | breaks | continues | self.returned
        return frozenset(buffer for buffer, _, _ in every if buffer != _UNDER_WAY)

    def seq(self, nodes: Iterable[Node], state: _State) -> tuple[_State, _State, _State]:
        """In flight at the end, at the breaks and at the continues."""
        breaks = continues = _State()
        for node in nodes:
            if isinstance(node, Access):
                if node.asynchronous:
                    state |= {(node.buffer, self.bound[node.point], 0)}
            elif isinstance(node, Wait):
                state = self.wait(node, state)
            elif isinstance(node, Branch):
                then, other = self.seq(node.then, state), self.seq(node.otherwise, state)
                state = then[0] | other[0]
                breaks |= then[1] | other[1]
                continues |= then[2] | other[2]
            elif isinstance(node, Loop):
                state = self.loop(node, state)
            elif isinstance(node, Jump):
                if node.kind == "break":
                    breaks |= state
                elif node.kind == "continue":
                    continues |= state
                else:
                    self.returned |= state
                state = _State()
        return state, breaks, continues

    def loop(self, node: Loop, state: _State) -> _State:
        before = state
        while True:
            end, breaks, continues = self.seq(node.body, state)
            around = state | end | continues
            if around == state:
                break
            state = around
        return end | breaks | continues | (before if node.min_trip == 0 else _State())

    def wait(self, node: Wait, state: _State) -> _State:
        if node.kind == COMMIT:
            return frozenset((buffer, _IN_GROUP if by == OPEN else by, at) for buffer, by, at in state)
        if node.kind == UNKNOWN or node.left:
            return state
        own = frozenset(each for each in state if each[1] == node.bound)
        if node.kind == ARRIVE:
            return (state - own) | {(buffer, by, at or node.arrival) for buffer, by, at in own}
        if node.kind == STAGE:
            return (state - own) | _committed(own, node.bound)
        if node.kind == RELEASE:
            return (state - own) | _released(own)
        if node.kind == UNCOUNTED:
            far = frozenset((buffer, by, at and _NEVER) for buffer, by, at in own)
            return (state - own) | far | {(_UNDER_WAY, node.bound, _NEVER)}
        done = frozenset(each for each in state if _lands(node, each))
        known = self.covered.get(node.point, frozenset())
        self.covered[node.point] = known | {buffer for buffer, _, _ in done if buffer != _UNDER_WAY}
        if node.kind == STAGE_DONE:  # the stage is under way until it is released
            done = frozenset(each for each in done if each[0] != _UNDER_WAY)
        return state - done


def _lands(node: Wait, flight: Flight) -> bool:
    _, by, at = flight
    if node.kind == COMMITTED:
        return by == _IN_GROUP
    if node.kind == ALL:
        return by in (OPEN, _IN_GROUP)
    if by != node.bound:
        return False
    if node.kind == BARRIER:
        return True
    return at == node.arrival if node.kind == TOKEN else at == 1 if node.kind == STAGE_DONE else at > 0


def _committed(own: _State, by: int) -> _State:
    """A stage more is under way, with all that was not committed."""
    at = 1 + max((at for _, _, at in own), default=0)
    at = at if at <= _MOST_STAGES else _NEVER
    moved = frozenset((buffer, by, at if old == 0 else old) for buffer, _, old in own)
    return moved | {(_UNDER_WAY, by, at)}


def _released(own: _State) -> _State:
    """The oldest stage makes way; what it did not wait for is never known to have landed."""
    left = frozenset(each for each in own if each[::2] != (_UNDER_WAY, 1))
    return frozenset(
        (buffer, by, at if at in (0, _NEVER) else _NEVER if at == 1 else at - 1) for buffer, by, at in left
    )


def settled(
    nodes: Iterable[Node],
    covered: Mapping[int, frozenset[int]],
    numbers: Mapping[int, int],
    within: Mapping[int, Bytes | None],
) -> list[Node]:
    """``nodes`` with updates of what has landed in the place of every wait. ``numbers``: how many points after the wait
    the copies of a buffer land; ``within``: the bytes of it that they are of."""
    found: list[Node] = []
    for node in nodes:
        checkpoint()
        if isinstance(node, Wait):
            if node.kind in (COMMIT, COMMITTED, ALL, UNKNOWN):
                kind = UNKNOWN if node.guess else node.kind
                found.append(CopyWait(node.point, kind, node.left, node.line))
            for buffer in sorted(covered.get(node.point, frozenset())):
                update = Access(
                    node.point + numbers[buffer], buffer, AccessKind.UPDATE, None, None, node.line
                )
                found.append(replace(update, asynchronous=True, within=within[buffer]))
            continue
        if isinstance(node, Branch):
            then = settled(node.then, covered, numbers, within)
            otherwise = settled(node.otherwise, covered, numbers, within)
            node = replace(node, then=Seq(tuple(then)), otherwise=Seq(tuple(otherwise)))
        elif isinstance(node, Loop):
            tail = len(node.body) - node.tail
            body = settled(node.body.items[:tail], covered, numbers, within)
            step = settled(node.body.items[tail:], covered, numbers, within)
            node = replace(node, body=Seq((*body, *step)), tail=len(step))
        found.append(node)
    return found


@record
class Wait(Barrier):
    """A thread commits its asynchronous copies or waits for them; only while a tree is built (``ir.copies``)."""

    bound: int = -1  # the object that they are bound to, a barrier by its buffer
    arrival: int = 0  # at a barrier object: its place in the text
    left: int = 0  # groups that stay open


def mark(ctx: Context, kind: str, lo: int, bound: int = OPEN, arrival: int = 0, left: int = 0) -> None:
    """Copies are committed or waited for. ``bound``: the object that they are bound to, a barrier by its buffer;
    ``left``: groups that stay open."""
    ctx.waits = True
    ctx.emit(Wait(ctx.next_point(), kind, None, ctx.line(lo), "", bound=bound, arrival=arrival, left=left))
    ctx.point += ctx.landings
