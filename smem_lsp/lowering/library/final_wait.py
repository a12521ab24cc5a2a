"""Asynchronous copies that are never waited for: where one more wait would end them all.

It stands at the top of the kernel's body, behind every copy, so each thread comes to it once at most; a thread that
returns before it leaves its copies in flight. What has landed there is worked out as for a wait of the author.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from smem_lsp.analysis.copies.flights import Flights, settled
from smem_lsp.ir.copy_events import OPEN, CopyEvent, Wait, wait_for
from smem_lsp.ir.nodes import Access, Assignment, BarrierSite, GlobalAccess, Node, Seq, WithFinalWait, walk
from smem_lsp.lowering.state.context import Context


def drained(
    ctx: Context,
    left: Collection[int],
    bound: Mapping[int, int],
    covered: Mapping[int, frozenset[int]],
    numbers: Mapping[int, int],
) -> WithFinalWait | None:
    """``ctx``: with its waits as they were lowered; ``left``: buffers with copies in flight at the end, that nothing
    else keeps from sharing bytes; ``bound``: the issues of all copies into buffers with some in flight there -> what
    these are bound to; ``covered``: wait -> buffers; ``numbers``: how many points behind a wait the copies of a buffer
    land."""
    at = _behind(ctx.out.items)
    if not left or at is None or len(numbers) > ctx.copies.landings:
        return None
    place = ctx.out.items[at]
    assert isinstance(place, BarrierSite)
    point = place.point - ctx.copies.landings - 1  # as many are kept free in front of each place
    for event in (CopyEvent.GROUPS, CopyEvent.ALL):
        wait = wait_for(point, event, place.line, OPEN)
        items = [*ctx.out.items[:at], wait, *ctx.out.items[at:]]
        flights = Flights(bound)
        if not flights.left(items):
            landing = {**covered, point: flights.covered[point]}
            body = settled(items, landing, numbers, ctx.copies.into)
            return WithFinalWait(place.point, event is CopyEvent.ALL, frozenset(left), body)
    return None


def _behind(items: Sequence[Node]) -> int | None:
    """Behind every copy and every wait the last place before something that matters; a statement follows it."""
    last = max((at for at, node in enumerate(items) if _copies(node)), default=len(items))
    found: int | None = None
    for at in range(last + 1, len(items)):
        node = items[at]
        if isinstance(node, BarrierSite) and not node.at_end and node.statement is not None:
            found = at
        elif not isinstance(node, (BarrierSite, Assignment, GlobalAccess)) and found is not None:
            break
    return found


def _copies(node: Node) -> bool:
    return any(
        isinstance(each, Wait) or (isinstance(each, Access) and each.asynchronous)
        for each in walk(Seq((node,)))
    )
