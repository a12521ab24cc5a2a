"""Work of the asynchronous proxy on shared memory: what a thread waits for it with, and where it is surely over.

From its start to that wait its bytes are in use, whatever barriers stand between; for the work of other threads a
barrier has to follow. What no wait surely ends keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from smem_lsp.analysis.copies.proxy_paths import ends
from smem_lsp.ir.copy_events import Family, ProxyEvent, ProxyWait, WordPlace
from smem_lsp.ir.nodes import NO_OBJECT, Access, AccessKind, CopyWaitKind, Node, Seq, changed
from smem_lsp.ir.values import Unknown, Value
from smem_lsp.lowering.state.context import Context


def note(
    ctx: Context,
    event: ProxyEvent,
    lo: int,
    family: Family = Family.BULK,
    *,
    left: int = 0,
    word: WordPlace | None = None,
    parity: Value | None = None,
    answer: Unknown | None = None,
) -> None:
    """A thread does something that its work of the asynchronous proxy is waited for with. ``left``: groups that need
    not be done."""
    ctx.copies.waits = True
    told = family, word, parity, answer
    point, line = ctx.out.next_point(), ctx.at.line(lo)
    ctx.out.emit(ProxyWait(point, CopyWaitKind.UNKNOWN, left, line, NO_OBJECT, event, *told))
    ctx.out.reserve(ctx.copies.landings)


def settle(ctx: Context, numbers: Mapping[int, int]) -> None:
    """Iteration every wait into updates of the buffers that work was in flight on until then, and fix those that it may
    be on at the end. ``numbers``: how many points behind a wait the work on a buffer ends."""
    started = ctx.copies.in_flight
    found = ends(ctx.out.items, {point: each.over for point, each in started.items()})
    for point in found.left:
        why = started[point].why
        if why is not None:
            ctx.buffers.pin_because(frozenset((started[point].buffer,)), why, within=started[point].within)
    ended = {point: issues - found.left for point, issues in found.over.items()}

    def settled(node: Node) -> Iterable[Node]:
        if isinstance(node, ProxyWait):
            return _ends(ctx, node, ended.get(node.point, frozenset()), numbers)
        if isinstance(node, Access) and node.point in started:
            node = (
                replace(node, asynchronous=False) if node.point in found.left else replace(node, keeps=None)
            )
        return (node,)

    ctx.out.items[:] = changed(Seq(tuple(ctx.out.items)), settled)


def _ends(
    ctx: Context, wait: ProxyWait, issues: Collection[int], numbers: Mapping[int, int]
) -> Iterator[Node]:
    """What was in flight until a wait."""
    by_buffer: dict[int, list[int]] = {}
    for issue in sorted(issues):
        by_buffer.setdefault(ctx.copies.in_flight[issue].buffer, []).append(issue)
    for buffer, own in sorted(by_buffer.items()):
        point = wait.point + numbers[buffer]
        update = Access(point, buffer, AccessKind.UPDATE, None, None, wait.line, guess=True)
        within = ctx.copies.into[buffer]
        yield replace(update, asynchronous=True, within=within, issues=tuple(own))
