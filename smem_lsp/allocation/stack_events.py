"""What the stack allocator does at each position, as nvFuser's dump of its allocator shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.allocation.plan import Item
from smem_lsp.allocation.resolve_overlaps import resolve_overlaps
from smem_lsp.allocation.stack import Walk, collect, run
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.ir.nodes import Seq
from smem_lsp.source import checkpoint, record

Lives = dict[int, tuple[int, int]]


@record
class StackEvent:
    """``kind``: "write" and "read", the ends of a life; "sync", a barrier that counts; "push" and "reclaim", of one
    buffer; "wait", a barrier at which nothing is reclaimed, because nothing that has come since the last one is dead.

    ``position``: a point, after the last one at the end. ``buffer``: None for a barrier. ``address``: in bytes, of
    what is pushed or reclaimed.
    """

    position: int
    kind: str
    buffer: int | None = None
    address: int | None = None


@record
class StackRun:
    """``lives``: buffer -> first write and last read, lifted to loops; ``extended``: those that were made longer, with
    the last read that they had; ``offsets`` in bytes."""

    lives: Lives
    extended: dict[int, int]
    events: tuple[StackEvent, ...]
    offsets: dict[int, int]


def stack_run(items: Sequence[Item], body: Seq, facts: Facts, conflicts: Conflicts) -> StackRun | None:
    """The run of ``stack`` whose plan counts; None where there are too many buffers and the declared layout stays."""
    walk = Walk(facts, frozenset())
    end = collect(body, None, True, walk) + 1
    natural = {item.index: walk.interval(item.index) for item in items}
    lives = dict(natural)
    offsets = resolve_overlaps(items, lives, conflicts, end, lambda found: run(items, found, walk.barriers))
    if offsets is None:
        return None
    extended = {index: life[1] for index, life in natural.items() if life != lives[index]}
    events = tuple(_replay(items, lives, sorted(walk.barriers), offsets, end))
    return StackRun(lives, extended, events, offsets)


def _replay(
    items: Sequence[Item], lives: Lives, barriers: Sequence[int], offsets: dict[int, int], end: int
) -> Iterator[StackEvent]:
    """The events in order. At one position lives begin and end before a barrier is looked at."""
    piled: list[int] = []
    waiting: list[int] = []

    def push(position: int) -> Iterator[StackEvent]:
        checkpoint()
        for index in sorted(waiting, key=lambda index: offsets[index]):
            yield StackEvent(position, "push", index, offsets[index])
        piled.extend(sorted(waiting, key=lambda index: offsets[index]))
        waiting.clear()

    order = [item.index for item in items]
    stops = set(barriers)
    for position in sorted({*stops, *(edge for life in lives.values() for edge in life)}):
        for index in order:
            if lives[index][0] == position:
                waiting.append(index)
                yield StackEvent(position, "write", index)
        for index in order:
            if lives[index][1] == position:
                yield StackEvent(position, "read", index)
        if position not in stops:
            continue
        if waiting and not any(lives[index][1] <= position for index in waiting):
            yield StackEvent(position, "wait")
            continue
        yield StackEvent(position, "sync")
        yield from push(position)
        while piled and lives[piled[-1]][1] <= position:
            index = piled.pop()
            yield StackEvent(position, "reclaim", index, offsets[index])
    yield from push(end)
