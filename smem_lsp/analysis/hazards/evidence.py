"""What all runs of a kernel have in common, and what may be reported because of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeVar

from smem_lsp.analysis.execution.access_recorder import Outside
from smem_lsp.analysis.execution.async_proxy import Unfenced
from smem_lsp.analysis.execution.conflicting_accesses import Conflict, Pair
from smem_lsp.analysis.execution.interpreter import ProgramInterpreter
from smem_lsp.analysis.execution.missing_lanes import LaneWitness, others_return
from smem_lsp.analysis.hazards.model import Hazards, MissingLane, Overrun, ProxyHazard, Race
from smem_lsp.analysis.values.block_shape import BlockAssumption
from smem_lsp.ir.nodes import (
    Access,
    Barrier,
    BarrierSite,
    Dims,
    Kernel,
    Loop,
    Node,
    Proxy,
    WarpCollective,
    walk,
)
from smem_lsp.source.record import dataclass

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class RunEvidence:
    """What every run so far shows; None before the first.

    ``across``: conflicts between warps; ``within``: these, and conflicts between lanes of one warp; ``outside``:
    accesses that leave their buffer; ``missing``: operations of a warp that are run without a lane that they name;
    ``unfenced``: reads by the asynchronous proxy without a fence; ``cut``: branches and loops
    (points) that some run did not run as a whole; ``full``: some run found so many conflicts that it stopped looking.
    """

    across: dict[Pair, Conflict] | None = None
    within: dict[Pair, Conflict] | None = None
    outside: dict[int, Outside] | None = None
    missing: dict[int, LaneWitness] | None = None
    unfenced: dict[Pair, Unfenced] | None = None
    cut: set[int] = field(default_factory=set)
    full: bool = False

    def note(self, run: ProgramInterpreter) -> None:
        """One more run: only what it shows, too, is kept."""
        conflicts, proxies = run.conflicts, run.recorder.proxies
        self.cut |= run.cut
        self.full = self.full or conflicts.full
        self.within = _common(self.within, {**conflicts.within, **conflicts.across})
        self.across = _common(self.across, conflicts.across)
        self.outside = _common(self.outside, run.recorder.outside)
        self.missing = _common(self.missing, run.synchronisation.missing)
        self.unfenced = _common(self.unfenced, {} if proxies is None else proxies.found)

    @property
    def anything(self) -> bool:
        return bool(self.within or self.outside or self.missing or self.unfenced)

    @property
    def by_data(self) -> bool:
        """Do data decide some conflict? Then it counts what other accesses do in between."""
        return any(conflict.data for conflict in (self.within or {}).values())

    @property
    def points(self) -> frozenset[int]:
        """The accesses of which something is shown."""
        return frozenset(self.outside or ()).union(point for pair in self.within or () for point in pair)


def _common(before: Mapping[K, V] | None, now: Mapping[K, V]) -> dict[K, V]:
    """What was found before and is found again."""
    return dict(now) if before is None else {key: before[key] for key in before if key in now}


@dataclass(frozen=True, slots=True)
class Report:
    """Iterations evidence into hazards. ``samples``: the blocks that were run; ``ground``: what they stand for."""

    kernel: Kernel
    samples: Sequence[Dims]
    ground: BlockAssumption

    def hazards(self, evidence: RunEvidence, tails: RunEvidence) -> Hazards:
        """``tails``: what runs show where sizes are no multiple of the block's."""
        nodes = {node.point: node for node in walk(self.kernel.body)}
        return Hazards(
            tuple(self._races(nodes, evidence)),
            tuple(self._overruns(nodes, evidence)),
            tuple(self._missing_lanes(nodes, evidence.missing or {}, tails.missing or {})),
            frozenset(point for point in evidence.missing or () if isinstance(nodes[point], BarrierSite)),
            proxies=tuple(self._proxies(nodes, evidence)),
            full=evidence.full,
        )

    def _races(self, nodes: Mapping[int, Node], evidence: RunEvidence) -> Iterator[Race]:
        across, within = evidence.across or {}, evidence.within or {}
        loops = [node for node in nodes.values() if isinstance(node, Loop) and node.point in evidence.cut]
        inside = {p for pair in within for p in pair if any(n.point < p < n.end_point for n in loops)}
        for pair, conflict in across.items():
            yield self._race(nodes, pair, conflict, lanes=False)
        for pair, conflict in within.items():
            one, other = (thread // self.kernel.dialect.lanes for thread in conflict.threads)
            if pair not in across and one == other:
                race = self._race(nodes, pair, conflict, lanes=True)
                yield replace(race, cut=not inside.isdisjoint(pair))

    def _race(self, nodes: Mapping[int, Node], pair: Pair, conflict: Conflict, *, lanes: bool) -> Race:
        first, second = nodes[pair[0]], nodes[pair[1]]
        assert isinstance(first, Access) and isinstance(second, Access)
        return Race(
            first,
            second,
            conflict.byte,
            conflict.threads,
            self.samples[0],
            self.ground,
            lanes=lanes,
            exchanged=lanes and conflict.exchanged,
            data=conflict.data,
            pending=conflict.pending,
            named=conflict.named,
        )

    def _overruns(self, nodes: Mapping[int, Node], evidence: RunEvidence) -> Iterator[Overrun]:
        for point, outside in (evidence.outside or {}).items():
            node = nodes[point]
            if isinstance(node, Access) and (self.ground.is_certain or outside.thread == 0):
                yield Overrun(node, outside.byte, outside.thread, self.ground)  # every block has thread 0

    def _missing_lanes(
        self, nodes: Mapping[int, Node], surely: Mapping[int, LaneWitness], tails: Mapping[int, LaneWitness]
    ) -> Iterator[MissingLane]:
        for point, witness in {**tails, **surely}.items():
            node, tail = nodes[point], point not in surely
            if isinstance(node, Barrier | WarpCollective) and not (tail and others_return(self.kernel, node)):
                yield MissingLane(node, witness.thread, witness.other, self.ground, tail)

    def _proxies(self, nodes: Mapping[int, Node], evidence: RunEvidence) -> Iterator[ProxyHazard]:
        for pair, found in (evidence.unfenced or {}).items():
            first, second = nodes[pair[0]], nodes[pair[1]]
            assert isinstance(first, Access | Proxy) and isinstance(second, Access | Proxy)
            yield ProxyHazard(first, second, found.byte, found.threads, found.overwritten, self.ground)
