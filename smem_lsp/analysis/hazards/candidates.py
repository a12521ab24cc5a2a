"""Race candidates: accesses that neither barriers nor thread-private elements keep apart. The others need no run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smem_lsp.analysis.dataflow.facts import Facts, Footprint
from smem_lsp.analysis.dataflow.interference import open_interfering, own_slots
from smem_lsp.analysis.dataflow.interfering import interfering_accesses
from smem_lsp.analysis.dataflow.masks import bits
from smem_lsp.analysis.execution.program import NONE_RACE_FREE, RaceFree
from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.extents import extent_of
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Kernel, Proxy, storages_of, walk
from smem_lsp.source import checkpoint
from smem_lsp.terms.language import is_free

_MOST = 400  # accesses of a kernel that are compared


def race_free_accesses(
    kernel: Kernel, values: ValueFacts, facts: Facts, shape: BlockShape | None
) -> RaceFree:
    """The accesses that need no run: proved barriers stand in front and behind, or all conflicting accesses in between
    are to thread-private elements. No barrier ends an asynchronous copy, so nothing is said of what it fills.
    ``facts``: with the thread-private elements for ``shape``."""
    nodes = tuple(walk(kernel.body))
    accesses = [node for node in nodes if isinstance(node, Access)]
    if len(accesses) > _MOST or kernel.irregular is not None or any(isinstance(n, Proxy) for n in nodes):
        return NONE_RACE_FREE  # no barrier orders what a proxy does
    storages = storages_of(kernel.buffers)
    copied = {
        storages[access.buffer] for access in accesses if access.asynchronous or access.start is not None
    }
    candidates = _candidates(kernel, facts, accesses, storages)
    no_conflict = [
        access
        for index, access in enumerate(accesses)
        if not candidates >> index & 1 and storages[access.buffer] not in copied
    ]
    if shape is None:
        bounds = Bounds(values.loops, most_threads(kernel))
    else:
        bounds = Bounds(values.loops, shape.dims, exact=True)
    in_bounds = (access.point for access in no_conflict if _stays_inside(kernel, values, bounds, access))
    return RaceFree(frozenset(access.point for access in no_conflict), frozenset(in_bounds))


def _candidates(kernel: Kernel, facts: Facts, accesses: Sequence[Access], storages: Mapping[int, int]) -> int:
    """The accesses, as bits, that may conflict with another one."""
    interfering = interfering_accesses(accesses, storages)
    found = 0
    known: dict[tuple[int, int], bool] = {}
    for later, mask in enumerate(open_interfering(kernel.body, facts, accesses, interfering)):
        checkpoint()
        itself = interfering[later] & 1 << later  # by other threads at once
        for earlier in bits(mask | itself):
            both = 1 << later | 1 << earlier
            if found & both != both and not _disjoint(accesses[later], accesses[earlier], facts.slots, known):
                found |= both
    return found


def _stays_inside(kernel: Kernel, values: ValueFacts, bounds: Bounds, access: Access) -> bool:
    buffer = kernel.buffers[access.buffer]
    offset = values.offset(access, buffer)
    if access.guess or access.part is not None or offset is None or is_free(offset):
        return True
    extent = extent_of(kernel, values, bounds, access)
    return extent is not None and buffer.bytes is not None and extent[0] >= 0 and extent[1] <= buffer.bytes


def _disjoint(
    one: Access, other: Access, slots: Mapping[int, Footprint], known: dict[tuple[int, int], bool]
) -> bool:
    """Are the two accesses disjoint, whichever two threads make them?"""
    mine, theirs = slots.get(one.point), slots.get(other.point)
    if one.buffer != other.buffer or mine is None or theirs is None:
        return False
    key = id(mine), id(theirs)
    if key not in known:
        known[key] = own_slots(mine, theirs)
    return known[key]
