"""Arrays of the functions that a kernel calls, in the bytes of its own buffers: their author could hand these over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.allocation.validate import validate
from smem_lsp.analysis.dataflow.conflicts import Pairs, pair
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import interference, relate
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import Kernel, Owner
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass


@dataclass(frozen=True, slots=True)
class CallerReuse:
    """Arrays of the functions that a kernel calls, each in the bytes of one of its own buffers: ``hosts``, by the index
    of the array. ``bytes``: of the buffers that are left; ``plan``: where everything is."""

    hosts: Mapping[int, int]
    bytes: int
    plan: Plan


def plan_caller_reuse(
    kernel: Kernel, items: Sequence[Item], facts: Facts, fixed: frozenset[int]
) -> CallerReuse | None:
    """Each array of a helper with a buffer of the kernel that is free whenever the helper runs, as far as there are
    any; None: there are none, or not every call is in sight."""
    lent = [item for item in items if kernel.buffers[item.index].owner is Owner.LENT]
    if not lent or kernel.open(Opens.FLOW | Opens.ANYTHING) or kernel.opaque or kernel.helper_bytes:
        return None
    others = fixed - {item.index for item in lent}
    apart = relate(interference(kernel.body, facts, others)).every
    hosts = [i for i in items if kernel.buffers[i.index].function == kernel.name and i.index not in others]
    found = _hosted(lent, hosts, apart)
    natural = {item.index: kernel.buffers[item.index].align or 1 for item in items}
    left = [Item(i.index, i.name, i.size, natural[i.index]) for i in items if i.index not in found]
    plan = declared(left)
    offsets = {**plan.offsets, **{guest: plan.offsets[host] for guest, host in found.items()}}
    after = Plan("rewrite", plan.bytes, offsets)
    if not found or validate(items, after, kernel.body, facts, others):
        return None
    return CallerReuse(found, plan.bytes, after)


def _hosted(lent: Sequence[Item], hosts: Sequence[Item], apart: Pairs) -> dict[int, int]:
    """The host of each array that has one: it is large enough, as aligned, and neither it nor another guest of it is
    ``apart`` from the array. The largest arrays choose first."""
    found: dict[int, int] = {}
    for item in sorted(lent, key=lambda each: -each.size):
        checkpoint()
        for host in hosts:
            guests = (host.index, *(guest for guest, at in found.items() if at == host.index))
            fits = host.size >= item.size and host.align % item.align == 0
            if fits and not any(pair(item.index, other) in apart for other in guests):
                found[item.index] = host.index
                break
    return found
