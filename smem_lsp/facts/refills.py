"""What a plan rests on: the proved facts of a kernel, and which of its writes fill a buffer again.

The solver is asked only about buffers that may share bytes if all that could be a refill were one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import Interference, interference
from smem_lsp.analysis.dataflow.masks import bits, mask_of
from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.analysis.decision.overwrites import possible_refills, proved_refills, with_kills
from smem_lsp.analysis.decision.verdict import asker_of
from smem_lsp.analysis.threads.block_shape import evidence, single_axes
from smem_lsp.analysis.threads.divergence import samples_for
from smem_lsp.analysis.threads.uniformity import Control, prove_levels
from smem_lsp.analysis.values.block_shape import BlockShape, dims_of, most_threads
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Dims, Kernel

_EFFORT = 1_500_000  # of the solver, for one kernel in one block


def with_refills(
    of: KernelModel,
    facts: Facts,
    fixed: frozenset[int],
    found: Interference,
    dims: Dims | None,
    named: Sequence[BlockShape] | None = None,
) -> tuple[Facts, Interference]:
    """``facts`` with the refills of the kernel, and which buffers may share then. ``found``: which may by ``facts``;
    ``fixed``: buffers that never share; ``dims``: of the block, where it is known. ``named``: blocks that somebody
    names; where they are given, be it none, the block is taken to fill all that it reads if one of these does, or one
    that the kernel may be for."""
    body = of.kernel.body
    before = found.liveness.apart
    free = before.within(before.buffers() & ~mask_of(fixed))
    possible = possible_refills(of, frozenset(bits(free.buffers()))) if free else ()
    if not possible:
        return facts, found
    at_best = interference(body, with_kills(facts, possible, of), fixed, found).liveness.apart
    wanted = (before - at_best).buffers()
    possible = tuple(each for each in possible if wanted >> each.buffer & 1)
    if not possible:
        return facts, found
    tried = (
        () if named is None else tuple(asker_of(of, each, of.effort(_EFFORT)) for each in _tried(of, named))
    )
    proved = proved_refills(asker_of(of, dims, of.effort(_EFFORT)), possible, facts, tried)
    if not proved:
        return facts, found
    more = with_kills(facts, proved, of)
    return more, interference(body, more, fixed, found)


def of_parts(
    applied: Kernel,
    values: ValueFacts,
    control: Control,
    facts: Facts,
    fixed: frozenset[int],
    found: Interference,
    shape: BlockShape | None,
    named: Sequence[BlockShape] | None = None,
) -> tuple[Facts, Interference]:
    """The same for a kernel with the parts of a buffer as buffers of their own. ``values``: its own; ``control``: of
    the kernel as it is; ``shape``: the block, where it is known."""
    if not found.liveness.apart:
        return facts, found
    fact = shape if shape is not None and shape.fact else None
    _, levels = prove_levels(
        applied.body, values, buffers=applied.buffers, shape=fact, upper=most_threads(applied)
    )
    return with_refills(
        KernelModel(applied, values, control, levels), facts, fixed, found, dims_of(shape), named
    )


def _tried(of: KernelModel, named: Sequence[BlockShape]) -> list[Dims]:
    """Blocks of which one has to fill the tiles whole: those that somebody names, or that the kernel may be for."""
    if named:
        return [each.dims for each in named]
    shown, most = evidence(of.kernel, of.values, of.control), most_threads(of.kernel)[0]
    blocks = dict.fromkeys([shown.sample, *samples_for(of.values, single_axes(of.kernel))])
    return [
        dims
        for dims in blocks
        if math.prod(dims) <= most and all(size <= limit for size, limit in zip(dims, shown.upper))
    ]
