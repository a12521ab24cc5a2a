"""Everything that is found out about one kernel: facts, layouts, occupancy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.layouts import Task, best_layouts, layouts, task
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.banks.conflicts import BankConflict, bank_conflicts
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import interference, relate
from smem_lsp.analysis.execution.program import NONE_RACE_FREE
from smem_lsp.analysis.hazards.candidates import race_free_accesses
from smem_lsp.analysis.hazards.model import Hazards
from smem_lsp.analysis.hazards.races import find_hazards
from smem_lsp.analysis.hazards.redundant_barriers import Redundant, redundant_barriers
from smem_lsp.analysis.occupancy import registers_cap
from smem_lsp.analysis.repairs.barrier_hoisting import hoists
from smem_lsp.analysis.repairs.missing_barriers import MissingBarriers, find_missing_barriers, warp_places
from smem_lsp.analysis.storage.dynamic_need import Need, dynamic_need
from smem_lsp.analysis.threads.block_shape import block_shape, shape_of_threads, threads_per_block
from smem_lsp.analysis.threads.divergence import judge
from smem_lsp.analysis.threads.mispairing import Mispaired, mispairings
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.threads.uniformity import prove_levels
from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.extents import extents
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.config import Config
from smem_lsp.engine.attempts import LIMITS, Attempts, Limits
from smem_lsp.engine.caller_reuse import plan_lending
from smem_lsp.engine.dynamic_partition import plan_carving
from smem_lsp.engine.plan_storage import plan_storages
from smem_lsp.ir.nodes import Access, AddressSpace, Branch, Buffer, Dims, Kernel, Loop, Seq, walk
from smem_lsp.rules.facts import Candidate, Carved, KernelFacts, Occupied
from smem_lsp.rules.merging import WORTH_SAYING
from smem_lsp.source import Budget, SourceText, checkpoint
from smem_lsp.targets import target
from smem_lsp.targets.every import MAX_THREADS, STATIC_LIMIT

MAX_LOOP_DEPTH = 12
MAX_DEPTH = 250  # three frames of the interpreter each; a chain of `else if` counts as well


def plan_kernel(
    index: int,
    kernel: Kernel,
    source: SourceText,
    config: Config,
    *,
    layouts_only: bool = False,
    limits: Limits = LIMITS,
) -> KernelFacts:
    """Analyse one kernel. ``layouts_only``: nobody asks for races, bank conflicts, touched bytes and the layouts that
    are only compared; there are none. What is out of budget or fails is missing, and the facts say so."""
    attempts = Attempts(limits, kernel.instance or kernel.name)
    with Budget(seconds=limits.kernel_seconds):
        found = attempts.run(
            "data flow",
            lambda: _plan(index, _bounded(kernel), source, config, attempts, layouts_only=layouts_only),
            None,
            limits.kernel_seconds,
        )
        if found is None:  # what needs no flow of control is still known: buffers, bytes, launches
            flat = _flattened(kernel, "its analysis was stopped")
            found = _plan(index, flat, source, config, attempts, layouts_only=True)
    return replace(found, stopped=tuple(attempts.stopped)) if attempts.stopped else found


def _plan(
    index: int,
    kernel: Kernel,
    source: SourceText,
    config: Config,
    attempts: Attempts,
    *,
    layouts_only: bool,
) -> KernelFacts:
    attempt = attempts.run
    assumed = dict(kernel.stated.dims)
    shape = block_shape(kernel, assumed=assumed, setting=config.threads)
    rows = shape is not None and shape.fact and shape.dims[0] % 32 == 0
    values = propagate(kernel.body, memory=kernel.memory, rows=rows, agreed=kernel.agreed)
    shape = block_shape(kernel, assumed=assumed, setting=config.threads, axes=values.table.axes())
    fact = shape if shape is not None and shape.fact else None
    control, levels = prove_levels(
        kernel.body, values, buffers=kernel.buffers, shape=fact, upper=most_threads(kernel)
    )
    if shape is None and config.threads is not None and not kernel.launches and not assumed:
        shape = shape_of_threads(config.threads, kernel, values, control)
    facts = prove(kernel, control, fact, values)
    assuming = facts if shape is None or shape.fact else prove(kernel, control, shape, values)
    kept = _kept_buffers(kernel)
    items = _items(kept)
    fixed = _fixed(kernel, kept)
    found = interference(kernel.body, facts, fixed)
    natural: Plan | None = None
    compared: dict[str, Plan] = {}
    best: tuple[Candidate, ...] = ()
    if items is not None:
        natural = declared([Item(i.index, i.name, i.size, kernel.buffers[i.index].align or 1) for i in items])
        of = task(items, kernel.body, facts, fixed, found)
        compared = {} if layouts_only else attempt("compared layouts", partial(layouts, of), {})
        best = attempt("layouts", partial(_best, of), ())
        if assuming is not facts and len(items) > 1:

            def under_assumption(items: Sequence[Item] = items) -> tuple[Candidate, ...]:
                also = interference(kernel.body, assuming, fixed, found)
                return _best(task(items, kernel.body, assuming, fixed, also), assumes_shape=True)

            best = _merge(best, attempt("layouts for the assumed block", under_assumption, ()))
    drained: tuple[Candidate, ...] = ()
    known = kernel.irregular is None and not layouts_only
    if kernel.drained is not None and known and items is not None and len(items) > 1:
        freed = fixed - kernel.drained.buffers
        drained = attempt(
            "layouts with one more wait", lambda: _drained(kernel, facts, assuming, items, freed), ()
        )
    verdicts = judge(kernel.body, levels, control, None if shape is None else shape.dims)
    hazards = Hazards()
    gaps = MissingBarriers()
    redundant: tuple[Redundant, ...] = ()
    if not layouts_only:
        race_free = attempt("data races", partial(race_free_accesses, kernel, values, assuming, shape), None)
        judged = partial(
            find_hazards, kernel, values, control, verdicts, shape, race_free=race_free or NONE_RACE_FREE
        )
        searched = None if race_free is None else attempt("data races", judged, None)
        hazards = searched or hazards
        if hazards.races or hazards.proxies:

            def missing() -> MissingBarriers:
                in_warps = warp_places(kernel, values, levels, control.places)
                return find_missing_barriers(kernel, hazards, control.places, in_warps, judged)

            gaps = attempt("places of missing barriers", missing, gaps)
        elif searched is not None:
            sharing = _sharing(items or (), best)
            redundant = attempt(
                "redundant barriers",
                lambda: redundant_barriers(kernel, values, levels, assuming, shape, sharing),
                (),
            )
    storages: tuple[Carved, ...] = ()
    if natural is not None and not layouts_only:
        planned = partial(plan_storages, kernel, control, values, shape, items or (), natural)
        storages = attempt("members of classes", planned, ())
    lending = None
    if natural is not None and not layouts_only:
        lending = attempt(
            "arrays of functions", lambda: plan_lending(kernel, items or (), facts, fixed), None
        )
    if lending is not None or any(
        _saves(each) for each in storages
    ):  # which barriers the members then need is not asked
        redundant = tuple(replace(each, merging=True) for each in redundant)
    mispaired: tuple[Mispaired, ...] = ()
    if not layouts_only:
        paired = partial(mispairings, kernel, levels, control, verdicts, shape)
        mispaired = attempt("divergent barriers", paired, ())

    def right(changed: Kernel, barrier: int) -> bool:
        proved, reached = prove_levels(
            changed.body, values, buffers=changed.buffers, shape=fact, upper=most_threads(changed)
        )
        agreed = judge(changed.body, reached, proved, None if shape is None else shape.dims)
        again = find_hazards(changed, values, proved, agreed, shape)
        return barrier in proved.barriers and not (
            again.races or again.missing_lanes or mispairings(changed, reached, proved, agreed, shape)
        )

    carved: Carved | None = None
    banks: tuple[BankConflict, ...] = ()
    needs: Mapping[Dims, Need] = {}
    touched: Mapping[int, tuple[int, int]] = {}
    if not layouts_only:
        planned_ranges = partial(plan_carving, kernel, control, values, shape)
        carved = attempt("ranges of dynamic shared memory", planned_ranges, None)
        banks = attempt("bank conflicts", partial(bank_conflicts, kernel, values, levels, shape), ())
        needs = attempt("dynamic bytes", partial(_needs, kernel, values), {})
        touched = attempt("touched bytes", partial(extents, kernel, values, fact), {})
    several = carved is not None and len(carved.carving.ranges) > 1
    return KernelFacts(
        index=index,
        source=source,
        kernel=kernel,
        control=control,
        verdicts=verdicts,
        items=items or (),
        liveness=found.liveness,
        declared=natural,
        stack=compared.get("stack"),
        compared=tuple(compared[name] for name in ("alias", "best_fit") if name in compared),
        best=best,
        occupied=_occupied(kernel, shape, config),
        static_limit=STATIC_LIMIT,
        targets=tuple(config.arch),
        configured=config.arch_configured,
        shape=shape,
        withheld=kernel.irregular,
        hazards=hazards,
        missing=gaps,
        redundant=redundant,
        mispaired=mispaired,
        hoists=attempt("barriers to move", partial(hoists, kernel, mispaired, right), ()),
        banks=banks,
        needs=needs,
        extents=touched,
        carved=carved if several else None,
        uncarved=None if several else carved,
        storages=storages,
        lending=lending,
        drained=drained,
    )


def _sharing(items: Sequence[Item], best: Sequence[Candidate]) -> list[list[int]]:
    """Buffers that have bytes in common in the best layout that needs no further barrier, where that is worth it."""
    groups: list[list[int]] = []
    together = sum(item.size for item in items)
    if best and not best[0].plan.barriers and together - best[0].plan.bytes >= WORTH_SAYING:
        offsets, end = best[0].plan.offsets, 0
        for item in sorted(items, key=lambda each: offsets[each.index]):
            if groups and offsets[item.index] < end:
                groups[-1].append(item.index)
            else:
                groups.append([item.index])
            end = max(end, offsets[item.index] + item.size)
    return groups


def _saves(storage: Carved) -> bool:
    """May members of a class share bytes as the kernel stands, so many that it is worth saying?"""
    return any(
        not each.plan.barriers and storage.declared.bytes - each.plan.bytes >= WORTH_SAYING
        for each in storage.best
    )


def _needs(kernel: Kernel, values: ValueFacts) -> Mapping[Dims, Need]:
    blocks = {
        site.block for site in kernel.launches if site.block is not None and site.dynamic_bytes is not None
    }
    found = {dims: dynamic_need(kernel, values, dims) for dims in blocks if math.prod(dims) <= MAX_THREADS}
    return {dims: need for dims, need in found.items() if need is not None}


def _bounded(kernel: Kernel) -> Kernel:
    """The walks repeat inner loops inside outer ones until nothing changes, and go down into each branch: deep nests
    are not walked."""
    loops, depth = _nesting(kernel.body)
    if loops > MAX_LOOP_DEPTH:
        return _flattened(kernel, f"loops are nested more than {MAX_LOOP_DEPTH} deep")
    if depth > MAX_DEPTH:
        return _flattened(kernel, f"branches and loops are nested more than {MAX_DEPTH} deep")
    return kernel


def _flattened(kernel: Kernel, why: str) -> Kernel:
    """The accesses of a kernel without its flow of control."""
    accesses = Seq(tuple(node for node in walk(kernel.body) if isinstance(node, Access)))
    return replace(kernel, body=accesses, irregular=why)


def _nesting(body: Seq) -> tuple[int, int]:
    """(loops in each other, branches and loops in each other), at the deepest place of each."""
    loops = depth = 0
    stack = [(body, 0, 0)]
    while stack:
        seq, within_loops, within = stack.pop()
        loops, depth = max(loops, within_loops), max(depth, within)
        for node in seq:
            if isinstance(node, Loop):
                stack.append((node.body, within_loops + 1, within + 1))
            elif isinstance(node, Branch):
                stack += (node.then, within_loops, within + 1), (node.otherwise, within_loops, within + 1)
    return loops, depth


def _kept_buffers(kernel: Kernel) -> list[Buffer]:
    """Static buffers that ptxas keeps: it drops those that nobody reads, unless writing is an effect of its own."""
    read: set[int] = set()
    written: set[int] = set()
    for node in walk(kernel.body):
        if isinstance(node, Access):
            (read if node.kind.reads else written).add(node.buffer)
    kept: list[Buffer] = []
    for buffer in kernel.buffers:
        effect = buffer.index in written and (buffer.stays or buffer.fixed is not None)
        if buffer.space is AddressSpace.STATIC and (buffer.index in read or effect or _escapes(buffer)):
            kept.append(buffer)
    return sorted(kept, key=lambda buffer: (buffer.rank, buffer.index))


def _escapes(buffer: Buffer) -> bool:
    return buffer.fixed is not None


def _items(buffers: Sequence[Buffer]) -> tuple[Item, ...] | None:
    """Buffers to lay out; None when a size or alignment is not known."""
    items: list[Item] = []
    for buffer in buffers:
        if buffer.bytes is None or buffer.align is None:
            return None
        items.append(Item(buffer.index, buffer.name, buffer.bytes, max(buffer.align, buffer.required_align)))
    return tuple(items)


def _fixed(kernel: Kernel, kept: Sequence[Buffer]) -> frozenset[int]:
    """Buffers that never share; all of them where the flow of control is not known."""
    if kernel.irregular is not None:
        return frozenset(buffer.index for buffer in kept)
    return frozenset(buffer.index for buffer in kernel.buffers if buffer.fixed is not None)


def _best(of: Task, *, assumes_shape: bool = False) -> tuple[Candidate, ...]:
    """The curve of plans under one set of facts."""
    return tuple(
        Candidate(plan, relate(of.found, frozenset(plan.barriers)), of.facts, assumes_shape)
        for plan in best_layouts(of)
    )


def _drained(
    kernel: Kernel, facts: Facts, assuming: Facts, items: Sequence[Item], fixed: frozenset[int]
) -> tuple[Candidate, ...]:
    """The curve of plans with one more wait for copies."""
    assert kernel.drained is not None
    drained = _best(task(items, kernel.drained.body, facts, fixed))
    if assuming is not facts:
        of = task(items, kernel.drained.body, assuming, fixed)
        drained = _merge(drained, _best(of, assumes_shape=True))
    return drained


def _merge(proved: tuple[Candidate, ...], assumed: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """For each number of barriers the smaller plan; the proved one where both are equal. Bytes fall strictly."""
    counts = sorted({len(c.plan.barriers) for c in (*proved, *assumed)})
    merged: list[Candidate] = []
    for count in counts:
        checkpoint()
        choices = [c for c in (*proved, *assumed) if len(c.plan.barriers) == count]
        chosen = min(choices, key=lambda c: (c.plan.bytes, c.assumes_shape))
        if not merged or chosen.plan.bytes < merged[-1].plan.bytes:
            merged.append(chosen)
    return tuple(merged)


def _occupied(kernel: Kernel, shape: BlockShape | None, config: Config) -> tuple[Occupied, ...]:
    known = threads_per_block(kernel, shape, config.threads)
    if known is None:
        return ()
    if any(buffer.bytes is None for buffer in kernel.helper_bytes):
        return ()
    threads = known[0]
    passed = kernel.passed
    dynamic = {each for each in passed if each is not None}
    if None in passed or (not passed and any(b.space is AddressSpace.DYNAMIC for b in kernel.buffers)):
        return ()  # blocks per SM depend on bytes that are not known
    rows: list[Occupied] = []
    for name in config.arch:
        registers, source = config.registers, "setting" if config.registers is not None else "unknown"
        bounds = kernel.launch_bounds
        if registers is None and bounds is not None and bounds[1]:
            registers, source = registers_cap(name, bounds[0], bounds[1]), "launch_bounds"
        if threads <= target(name).threads_per_block:
            most = max(dynamic, default=0)
            rows.append(Occupied(name, threads, registers, source, most, most_of_several=len(dynamic) > 1))
    return tuple(rows)
