"""nvFuser's in-place reuse: buffers of one size whose elements stay with their thread take the same bytes."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, Plan, align_up
from smem_lsp.analysis.dataflow.conflicts import Conflicts
from smem_lsp.source import checkpoint


def alias(items: Sequence[Item], conflicts: Conflicts) -> Plan:
    """The layout in bytes where each buffer takes the bytes of an earlier one that it may alias, or else gets its own.

    Two buffers may alias when they have one size and every thread touches only its own elements of both, so that no
    barrier is needed; barriers that are there already are not used. An alias takes the bytes of a buffer that is none
    (nvFuser csrc/device_lower/pass/alias_memory.cpp).
    """
    piles: list[list[Item]] = []
    for item in items:
        checkpoint()
        equal = conflicts.equal.row(item.index)
        apart = conflicts.hard.row(item.index) | conflicts.soft.row(item.index)
        for pile in piles if equal else ():
            host = pile[0]
            if (
                host.size == item.size
                and equal >> host.index & 1
                and not any(apart >> other.index & 1 for other in pile)
            ):
                pile.append(item)
                break
        else:
            piles.append([item])
    offsets: dict[int, int] = {}
    end = 0
    for pile in piles:
        start = align_up(end, max(item.align for item in pile))
        offsets.update((item.index, start) for item in pile)
        end = start + pile[0].size
    plan = declared(items)
    return Plan("alias", *min((plan.bytes, plan.offsets), (end, offsets), key=lambda layout: layout[0]))
