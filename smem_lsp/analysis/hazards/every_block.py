"""For which blocks of any size something is shown, where nobody names the block.

Two arguments. A kernel that does not ask how large its block is does the same in its first threads, however many follow
them: what two threads show holds for every block that has them. Otherwise the kernel is run with each block of whole
warps that it can be launched with, from the largest down. Both are about blocks in ``x``, of kernels that read no
other coordinate; the second one, too, about blocks with rows of whole warps.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field

from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.interpreter import ProgramInterpreter
from smem_lsp.analysis.execution.named_barrier_arrivals import Counts
from smem_lsp.analysis.execution.program import Program, RaceFree
from smem_lsp.analysis.execution.program_builder import build_program
from smem_lsp.analysis.hazards.model import Hazards, Key, MissingLane, Overrun, ProxyHazard, Race
from smem_lsp.analysis.hazards.races import Search
from smem_lsp.analysis.threads.block_shape import evidence, single_axes
from smem_lsp.analysis.threads.divergence import Verdicts
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockAssumption, most_threads
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Dims, Kernel, Node, Proxy, walk
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass

_MOST_BLOCKS = 40  # that are run


def proved_grounds(
    kernel: Kernel,
    values: ValueFacts,
    control: Control,
    verdicts: Verdicts,
    found: Hazards,
    race_free: RaceFree,
) -> Mapping[Key, BlockAssumption]:
    """The ground of each of the ``found`` that holds for every block above some size."""
    shown: list[Race | Overrun | MissingLane | ProxyHazard] = [*found.races, *found.overruns]
    shown += [*found.missing_lanes, *found.proxies]
    wanted = {each.key for each in shown if each.ground.tried is not None}
    axes = values.table.axes()
    if "x" not in (single := single_axes(kernel)):
        axes = "".join(axis for axis in axes if axis not in single)
    if not wanted or axes not in ("", "x", "xy") or verdicts.paired:
        return {}
    upper = evidence(kernel, values, control).upper
    program = build_program(kernel, values, control, verdicts, race_free=race_free)
    search = search_for(program, kernel, values, wanted)
    leaving = frozenset(key for key in wanted if key[0] == "outside")
    rows = axes == "xy"
    by_first = not rows and not values.table.asks_for_block()
    blocks = _whole_warps(upper, most_threads(kernel)[0], kernel.dialect.lanes, rows=rows)
    if values.given:
        blocks = [dims for dims in blocks if next(search.assignments(dims), None) is not None]
    grounds: dict[Key, BlockAssumption] = {}
    for keys in (leaving, frozenset(wanted) - leaving):
        runs = _Runs(kernel, search, keys, inside=keys is not leaving)
        if keys and by_first:
            grounds |= runs.in_first_threads(upper[0])
        elif keys and 0 < len(blocks) <= _MOST_BLOCKS:
            grounds |= runs.in_every_block(blocks, rows=rows)
    return grounds


def _whole_warps(upper: Dims, most: int, warp: int, *, rows: bool) -> list[Dims]:
    """All blocks whose rows are whole warps, the largest first."""
    found: list[Dims] = [
        (x, y, 1)
        for x in range(warp, upper[0] + 1, warp)
        for y in range(1, (min(upper[1], most // x) if rows else 1) + 1)
    ]
    return sorted(found, key=math.prod, reverse=True)


def search_for(program: Program, kernel: Kernel, values: ValueFacts, wanted: Collection[Key]) -> Search:
    """Runs of the ``program`` of a kernel that look at what is wanted, and at the rest only where it decides
    something."""
    nodes = tuple(walk(kernel.body))
    pairs = _pairs(wanted)
    proxies = any(isinstance(node, Proxy) and node.buffer >= 0 for node in nodes)
    pairwise = not (proxies or values.named)
    if pairwise and not values.masks:
        program = program.only(_points(wanted, nodes))
    return Search(
        kernel,
        values,
        program,
        ground=BlockAssumption(),
        traced_threads=None,
        proxy_reads=proxies,
        pairwise=pairwise,
        asked=None,
        compared=pairs if pairwise else None,
        counts=Counts(kernel, values),
    )


def _pairs(wanted: Collection[Key]) -> frozenset[Pair]:
    return frozenset((one, other) for kind, one, other in wanted if kind in ("across", "within"))


def _points(wanted: Collection[Key], nodes: Collection[Node]) -> frozenset[int]:
    return frozenset(point for _, one, other in wanted for point in (one, other))


@dataclass(slots=True)
class _Runs:
    """``inside``: only blocks count that stay inside the arrays; the kernel is not written for others."""

    kernel: Kernel
    search: Search
    wanted: frozenset[Key]
    inside: bool
    _known: dict[Dims, Mapping[Key, int]] = field(default_factory=dict)
    _too_large: set[Dims] = field(default_factory=set)

    def in_first_threads(self, most: int) -> Iterator[tuple[Key, BlockAssumption]]:
        """For a kernel that does not ask for the size of its block: by the smallest that shows it."""
        most = self._largest(most)
        shown = self._shown((most, 1, 1))
        for key in self.wanted & shown.keys():
            fails, holds = 0, shown[key] + 1
            while holds - fails > 1:
                checkpoint()
                middle = (fails + holds) // 2
                found = self._shown((middle, 1, 1))
                if key in found:
                    holds = min(middle, found[key] + 1)
                else:
                    fails = middle
            yield key, BlockAssumption(above=fails, warp=self.kernel.dialect.lanes, largest=most)

    def in_every_block(self, blocks: Sequence[Dims], *, rows: bool) -> Iterator[tuple[Key, BlockAssumption]]:
        """By the largest of these that does not show it; ``blocks``: all of whole warps, the largest first."""
        left = set(self.wanted)
        blocks = [dims for dims in blocks if self._is_possible(dims) and not self._outgrows(dims)]
        if not blocks:
            return
        most, warp = math.prod(blocks[0]), self.kernel.dialect.lanes
        for dims in blocks:
            checkpoint()
            if not left:
                return
            threads, shown = math.prod(dims), self._shown(dims)
            for key in left - shown.keys():
                left.discard(key)
                if threads < most:  # else no larger one is left for which it holds
                    yield (
                        key,
                        BlockAssumption(above=threads, whole_warps=True, rows=rows, warp=warp, largest=most),
                    )
        # where nobody chooses the block, one of whole warps need not be launched
        in_all = self._shown((2, 1, 1)) if left and self.kernel.unfollowed_launches else {}
        for key in left:
            above = 1 if key in in_all else warp - 1
            yield key, BlockAssumption(above=above, whole_warps=True, rows=rows, warp=warp, largest=most)

    def _largest(self, most: int) -> int:
        """Threads of the largest block in ``x``, of at most so many, that stays inside the arrays."""
        fits, leaves = 1, most + 1
        if not self._outgrows((most, 1, 1)):
            return most
        while leaves - fits > 1:
            middle = (fits + leaves) // 2
            if self._outgrows((middle, 1, 1)):
                leaves = middle
            else:
                fits = middle
        return fits

    def _is_possible(self, dims: Dims) -> bool:
        """May a launch have such a block?"""
        return next(self.search.assignments(dims), None) is not None

    def _outgrows(self, dims: Dims) -> bool:
        """Does such a block leave an array, whatever the inputs are?"""
        if self.inside:
            self._shown(dims)
        return dims in self._too_large

    def _shown(self, dims: Dims) -> Mapping[Key, int]:
        """What all runs of such a block show, with the number of the last thread that takes part."""
        if dims in self._known:
            return self._known[dims]
        common: dict[Key, int] | None = None
        for symbols in self.search.assignments(dims):
            run = self.search.run(dims, symbols)
            if self.inside and run.recorder.outgrows:
                self._too_large.add(dims)
            shown = _shown_by(run)
            common = (
                shown if common is None else {k: max(v, shown[k]) for k, v in common.items() if k in shown}
            )
        found = common or {}
        if any(kind == "tail" for kind, _, _ in self.wanted):
            missing = self.search.run_tail(dims).synchronisation.missing
            found |= {("tail", point, 0): max(w.thread, w.other) for point, w in missing.items()}
        self._known[dims] = found
        return found


def _shown_by(run: ProgramInterpreter) -> dict[Key, int]:
    conflicts, proxies = run.conflicts, run.recorder.proxies
    found: dict[Key, int] = {}
    for pair, conflict in conflicts.within.items():
        found["within", pair[0], pair[1]] = max(conflict.threads)
    for pair, conflict in conflicts.across.items():
        found["across", pair[0], pair[1]] = max(conflict.threads)
        found.setdefault(("within", pair[0], pair[1]), max(conflict.threads))
    for point, outside in run.recorder.outside.items():
        found["outside", point, 0] = outside.thread
    for point, witness in run.synchronisation.missing.items():
        found["missing", point, 0] = max(witness.thread, witness.other)
    for pair, unfenced in (proxies.found if proxies is not None else {}).items():
        found["unfenced", pair[0], pair[1]] = max(unfenced.threads)
    return found
