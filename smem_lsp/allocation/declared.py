"""The layout a compiler makes: one buffer after the other."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.allocation.plan import Item, Plan, align_up


def declared(items: Sequence[Item]) -> Plan:
    """``items`` in the given order, each at the next multiple of its alignment: the
    layout that ptxas makes of static shared arrays. Bytes."""
    offsets: dict[int, int] = {}
    end = 0
    for item in items:
        offsets[item.index] = align_up(end, item.align)
        end = offsets[item.index] + item.size
    return Plan("declared", end, offsets)
