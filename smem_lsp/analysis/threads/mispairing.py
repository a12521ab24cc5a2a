"""Barriers that some threads of a block bypass on their way to another one.

A thread that has exited counts as arrived (from sm_70 on), so a barrier that some threads miss is harmless if these run
to the end. If they reach another barrier, the hardware pairs the two: threads run ahead of data, or wait for ever.
Found by evaluation, with an example block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from smem_lsp.analysis.threads.divergence import (
    Guard,
    Verdicts,
    agreed,
    open_barriers,
    samples_for,
    split,
)
from smem_lsp.analysis.threads.uniformity import Control, Levels
from smem_lsp.analysis.values.block_shape import BlockShape, Ground, most_threads
from smem_lsp.ir.nodes import (
    Barrier,
    BarrierKind,
    Branch,
    Dims,
    Jump,
    Kernel,
    Loop,
    Node,
    Seq,
    walk,
)
from smem_lsp.source import checkpoint


@dataclass(frozen=True, slots=True)
class Mispaired:
    """``dims``: a block in which threads ``inside`` reach the barrier while thread ``outside`` goes on to the one at
    line ``other``. ``ground``: the blocks that show it."""

    barrier: Barrier
    decision: Branch | Loop  # that parts the threads
    inside: tuple[int, ...]
    outside: int
    other: Barrier
    dims: Dims
    ground: Ground

    @property
    def proved(self) -> bool:
        """Does it happen in a block that somebody names, or in every block of more than one warp?"""
        return self.ground.is_certain or self.ground.covers_most


def mispairings(
    kernel: Kernel,
    levels: Levels,
    control: Control,
    judged: Sequence[tuple[BlockShape | None, Verdicts]],
) -> tuple[Mispaired, ...]:
    """Each mispaired barrier, with an example. ``judged``: the blocks that somebody names, or None, and what is known
    of the barriers there."""
    if kernel.irregular is not None:
        return ()
    found: dict[int, Mispaired] = {}
    for shape, verdicts in judged:
        for each in _mispaired(kernel, levels, control, verdicts, shape) if verdicts.divergent else ():
            known = found.get(each.barrier.point)
            ground = each.ground if known is None else known.ground.joined(each.ground)
            found[each.barrier.point] = replace(known or each, ground=ground)
    return tuple(
        replace(each, ground=replace(each.ground, all_named=len(each.ground.named) == len(judged)))
        for each in found.values()
    )


def _mispaired(
    kernel: Kernel, levels: Levels, control: Control, verdicts: Verdicts, shape: BlockShape | None
) -> Iterator[Mispaired]:
    for barrier, guards, returned in open_barriers(kernel.body, control, (), [False]):
        checkpoint()
        if barrier.point not in verdicts.divergent or returned:
            continue
        position = next(
            (i for i, guard in enumerate(guards) if not agreed(guard, levels.values, levels)), None
        )
        if position is None:
            continue
        other = _following(kernel.body, guards[: position + 1], control, levels)
        example = None if other is None else _example(kernel, guards, levels, shape)
        if other is not None and example is not None:
            dims, inside, outside, ground = example
            decision = guards[position].node
            yield Mispaired(barrier, decision, inside, outside, other, dims, ground)


def _example(
    kernel: Kernel, guards: tuple[Guard, ...], levels: Levels, shape: BlockShape | None
) -> tuple[Dims, tuple[int, ...], int, Ground] | None:
    values = levels.values
    if shape is not None:
        seen = _split(kernel, guards, levels, shape.dims)
        return None if seen is None else (shape.dims, *seen, Ground(named=(shape,)))
    most = most_threads(kernel)
    axes = values.table.axes()
    flat = "y" not in axes and "z" not in axes
    samples: list[Dims] = (
        [(threads, 1, 1) for threads in range(64, most[0] + 1, 32)] if flat else samples_for(values)
    )
    samples = [dims for dims in samples if all(n <= limit for n, limit in zip(dims, most))]
    samples = [dims for dims in samples if math.prod(dims) > kernel.dialect.lanes]
    shown: tuple[Dims, tuple[int, ...], int, Ground] | None = None
    for dims in samples:
        seen = _split(kernel, guards, levels, dims)
        if seen is None:
            return None
        if shown is None or dims[0] == 256:
            ground = (
                Ground(above=kernel.dialect.lanes, warp=kernel.dialect.lanes, whole_warps=True)
                if flat
                else Ground(tried=dims)
            )
            shown = (dims, *seen, ground)
    return shown


def _split(
    kernel: Kernel, guards: tuple[Guard, ...], levels: Levels, dims: Dims
) -> tuple[tuple[int, ...], int] | None:
    """As ``split``. Where warps come to a barrier as a whole and their size depends on the device, the thread that does
    not pass the guards is of a warp without one that does."""
    seen, lanes = split(guards, levels.values, levels, dims), kernel.dialect.lanes
    if seen is None or kernel.dialect.warp_size is not None:
        return seen
    warps = {thread // lanes for thread in seen[0]}
    outside = next((thread for thread in range(math.prod(dims)) if thread // lanes not in warps), None)
    return None if outside is None else (seen[0], outside)


def _following(body: Seq, guards: tuple[Guard, ...], control: Control, levels: Levels) -> Barrier | None:
    """A barrier that threads reach if they do not pass the last guard; all threads decide the earlier guards alike.
    None if there is none, or if a thread may jump on the way."""
    path: list[tuple[Seq, int]] = []
    seq = body
    for guard in guards:
        checkpoint()
        path.append((seq, next(i for i, node in enumerate(seq.items) if node is guard.node)))
        seq = _arm(guard)
    for depth in range(len(guards) - 1, -1, -1):
        seq, position = path[depth]
        if _jumps((guards[depth].node,)):
            return None
        behind = seq.items[position + 1 :]
        found = next(_reached(behind, control), None)
        if found is not None:
            return found
        if _jumps(behind):
            return None
        if depth and _runs_again(guards[depth - 1].node, levels):
            found = next(_reached(seq.items[:position], control), None)
            if found is not None:
                return found
    return None


def _arm(guard: Guard) -> Seq:
    if isinstance(guard.node, Loop):
        return guard.node.body
    return guard.node.then if guard.arm else guard.node.otherwise


def _jumps(nodes: tuple[Node, ...]) -> bool:
    return any(isinstance(node, Jump) for node in walk(Seq(nodes)))


def _reached(nodes: tuple[Node, ...], control: Control) -> Iterator[Barrier]:
    """Block barriers that every thread here reaches, up to the first jump."""
    for node in nodes:
        if isinstance(node, Barrier):
            if node.kind is BarrierKind.BLOCK and node.point in control.barriers:
                yield node
        elif _jumps((node,)):
            return
        elif isinstance(node, Loop) and node.min_trip > 0:
            yield from _reached(node.body.items, control)


def _runs_again(node: Branch | Loop, levels: Levels) -> bool:
    """Is it a loop that can run more than once?"""
    facts = levels.values.loops.get(node.point)
    return (
        facts is not None
        and isinstance(node, Loop)
        and not facts.once
        and (node.trips is None or node.trips > 1)
    )
