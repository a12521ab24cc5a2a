"""Which asynchronous copies a wait covers, path by path of one thread.

Groups of which the newest are left open and stages of pipelines need more to be known of a path: ``proxy_paths``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from smem_lsp.ir.copy_events import IN_GROUP, OPEN, CopyEvent, Wait, in_stages
from smem_lsp.ir.nodes import Access, AccessKind, CopyWait, CopyWaitKind, Node, Seq, changed
from smem_lsp.ir.paths import PathWalk
from smem_lsp.ir.values import Bytes

# buffer; barrier object that the copy is bound to, OPEN or IN_GROUP; of a barrier object: the arrival before which it
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
            return frozenset((buffer, IN_GROUP if by == OPEN else by, at) for buffer, by, at in state)
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
        return by == IN_GROUP
    if node.event is CopyEvent.ALL:
        return by in (OPEN, IN_GROUP)
    if by != node.bound:
        return False
    if node.event is CopyEvent.BARRIER:
        return True
    return node.event is CopyEvent.TOKEN and at == node.arrival


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
